//! From verified FlatBuffers data to the types of [`contract`](crate::contract).
//!
//! The verifier proves that every table, vector and string lies in the buffer. Nothing proves that the numbers in them
//! fit together, so every index and size is checked here before it is used, and whatever a small file could blow up by
//! pointing at one piece of it many times is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use crate::contract::{
    Arena, Blob, CopyCall, Delegate, DelegateCall, Direction, Dynamism, ListKind, Method,
    OperatorCall, Planned, Program, Step, TensorData, TensorInfo, Value,
};
use crate::error::Error;
use crate::generated::program_generated::executorch_flatbuffer as schema;
use crate::header::{ExtendedHeader, HEAD_BYTES, Layout, NamedData, Segment};
use crate::shape::Shape;
use crate::source::{Limits, ReadAt, read_exactly};
use crate::spec::{CompileSpec, SpecValue};
use crate::verify::{inconsistent, printable, verified};
use crate::{Device, DeviceType, keys, names};

/// Longer names of operators and backends are no names; each step of a chain repeats one.
const LONGEST_NAME: usize = 1024;
/// Inputs and outputs are entries of the value table; one entry may be several outputs, but not very many.
const MOST_REPEATED: usize = 4096;
const H2D: &str = "et_copy::_h2d_copy";
const D2H: &str = "et_copy::_d2h_copy";

impl Program {
    /// Reads the program in these bytes, which may go on behind it.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`] and [`Error::Read`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_program_part(bytes, bytes.len() as u64)
    }

    /// Reads the program whose file has `file_bytes` bytes and begins with these, which hold at least the program part:
    /// for a reader that cannot fetch more when asked, as in a browser. [`ExtendedHeader::parse`] says how many they
    /// must be. Delegates whose blob is not among the bytes have no [`data_keys`](crate::Delegate::data_keys).
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`] and [`Error::Read`]; [`Error::CutShort`] if there are too few bytes.
    pub fn from_program_part(bytes: &[u8], file_bytes: u64) -> Result<Self, Error> {
        let head = &bytes[..bytes.len().min(HEAD_BYTES)];
        let header = ExtendedHeader::parse(head, file_bytes)?;
        let end = header.map_or(file_bytes, |header| header.program_bytes);
        let program = usize::try_from(end).ok().and_then(|end| bytes.get(..end));
        let program = program.ok_or_else(|| Error::CutShort {
            part: "the program".into(),
            end,
            file_bytes: bytes.len() as u64,
        })?;
        Self::parse(program, header, file_bytes, bytes)
    }

    /// Reads the program in this source: its head, its program part, and what [`ReadAt`] says.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`].
    pub fn read(source: &(impl ReadAt + ?Sized), limits: Limits) -> Result<Self, Error> {
        let file_bytes = source.len();
        let head = read_exactly(source, 0, file_bytes.min(HEAD_BYTES as u64) as usize)?;
        let header = ExtendedHeader::parse(&head, file_bytes)?;
        let bytes = header.map_or(file_bytes, |header| header.program_bytes);
        let count = match usize::try_from(bytes) {
            Ok(count) if bytes <= limits.program_bytes => count,
            _ => {
                return Err(Error::TooLarge {
                    bytes,
                    limit: limits.program_bytes,
                });
            }
        };
        let program = read_exactly(source, 0, count)?;
        if program[..HEAD_BYTES] != head[..] {
            return Err(Error::Changed {
                offset: 0,
                wanted: HEAD_BYTES as u64,
                got: 0,
            });
        }
        Self::parse(&program, header, file_bytes, source)
    }

    pub(crate) fn parse(
        bytes: &[u8],
        header: Option<ExtendedHeader>,
        file_bytes: u64,
        source: &(impl ReadAt + ?Sized),
    ) -> Result<Self, Error> {
        let root = verified(bytes, schema::root_as_program_with_opts)?;
        let segments = segments(&root, header, file_bytes)?;
        let named = root.named_data().into_iter().flatten();
        let named_data = named.map(|entry| named_data(&entry, &segments));
        let named_data = named_data.collect::<Result<_, _>>()?;
        let parts = Parts {
            bytes,
            root,
            segments: &segments,
        };
        let plans = root.execution_plan().into_iter().flatten().enumerate();
        let methods = plans.map(|(index, plan)| method(&parts, index, &plan));
        let mut methods: Vec<Method> = methods.collect::<Result<_, _>>()?;
        keys::fill(
            methods.iter_mut().flat_map(|method| &mut method.delegates),
            source,
        )?;
        let layout = Layout {
            file_bytes,
            program_bytes: bytes.len() as u64,
            header,
            segments,
            constant_segment: root
                .constant_segment()
                .filter(|table| table.offsets().is_some_and(|offsets| !offsets.is_empty()))
                .map(|table| table.segment_index()),
        };
        Ok(Self {
            version: root.version(),
            methods,
            named_data,
            layout,
        })
    }
}

/// What is needed to resolve a method's references.
struct Parts<'a> {
    bytes: &'a [u8],
    root: schema::Program<'a>,
    segments: &'a [Segment],
}

fn segments(
    root: &schema::Program,
    header: Option<ExtendedHeader>,
    file_bytes: u64,
) -> Result<Vec<Segment>, Error> {
    let Some(table) = root.segments().filter(|table| !table.is_empty()) else {
        return Ok(Vec::new());
    };
    let base = header.map_or(0, |header| header.segment_base_offset);
    let segment = |(index, entry): (usize, schema::DataSegment)| {
        let place = || format!("segment {index}");
        // A program without constants has one segment of no bytes for them, and then no header.
        if base == 0 && entry.size_() != 0 {
            let problem = format!("has {} bytes, and no header says where", entry.size_());
            return Err(inconsistent(place(), problem));
        }
        let offset = base
            .checked_add(entry.offset())
            .ok_or_else(|| inconsistent(place(), "begins beyond any file"))?;
        let end = offset
            .checked_add(entry.size_())
            .ok_or_else(|| inconsistent(place(), "ends beyond any file"))?;
        if end > file_bytes {
            return Err(Error::CutShort {
                part: place(),
                end,
                file_bytes,
            });
        }
        Ok(Segment {
            offset,
            nbytes: entry.size_(),
        })
    };
    table.iter().enumerate().map(segment).collect()
}

fn named_data(entry: &schema::NamedData, segments: &[Segment]) -> Result<NamedData, Error> {
    let key = entry
        .key()
        .ok_or_else(|| inconsistent("an entry of the named data", "has no name"))?;
    let segment = entry.segment_index();
    let place = segments.get(segment as usize);
    let nbytes = place
        .ok_or_else(|| {
            inconsistent(
                format!("named data `{}`", printable(key)),
                no_segment(segment, segments),
            )
        })?
        .nbytes;
    Ok(NamedData {
        key: key.to_owned(),
        segment,
        nbytes,
    })
}

fn no_segment(index: u32, segments: &[Segment]) -> String {
    format!("is in segment {index}, and the file has {}", segments.len())
}

/// One method while it is read.
struct Plan<'a> {
    parts: &'a Parts<'a>,
    name: &'a str,
    plan: &'a schema::ExecutionPlan<'a>,
    arenas: u32,
    values: u32,
}

/// Why a value is in the answer.
#[derive(Clone, Copy, Default)]
struct Role {
    input: bool,
    output: bool,
    delegate_argument: bool,
}

fn method(parts: &Parts, index: usize, plan: &schema::ExecutionPlan) -> Result<Method, Error> {
    let name = plan
        .name()
        .ok_or_else(|| inconsistent(format!("method {index}"), "has no name"))?;
    let values = plan.values().unwrap_or_default();
    let arenas = arenas(name, plan)?;
    let plan = Plan {
        parts,
        name,
        plan,
        arenas: arenas.len() as u32,
        values: values.len() as u32,
    };

    let mut tensors = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        tensors.push(
            value
                .val_as_tensor()
                .map(|tensor| plan.tensor(index as u32, &tensor))
                .transpose()?,
        );
    }
    let inputs = plan.io("input", plan.plan.inputs())?;
    let outputs = plan.io("output", plan.plan.outputs())?;
    let container = plan.plan.container_meta_type();
    let input_names = container
        .and_then(|it| it.encoded_inp_str())
        .map(|spec| names::of_inputs(spec, inputs.len()));
    let output_names = container
        .and_then(|it| it.encoded_out_str())
        .map(|spec| names::of_outputs(spec, outputs.len()));

    let delegates = plan.plan.delegates().into_iter().flatten().enumerate();
    let delegates = delegates
        .map(|(index, delegate)| plan.delegate(index, &delegate))
        .collect::<Result<Vec<_>, _>>()?;
    let operators = plan.plan.operators().into_iter().flatten().enumerate();
    let operators = operators
        .map(|(index, operator)| plan.operator(index, &operator))
        .collect::<Result<Vec<_>, _>>()?;
    let chain = plan.chain(&tensors, &delegates, &operators)?;

    let mut roles = vec![Role::default(); tensors.len()];
    inputs
        .iter()
        .for_each(|&value| roles[value as usize].input = true);
    outputs
        .iter()
        .for_each(|&value| roles[value as usize].output = true);
    for step in &chain {
        if let Step::Delegate(call) = step {
            plan.expand_lists(&call.args, |value| {
                roles[value as usize].delegate_argument = true;
            });
        }
    }

    let inputs = plan.named_values(&inputs, &tensors, input_names.unwrap_or_default())?;
    let outputs = plan.named_values(&outputs, &tensors, output_names.unwrap_or_default())?;
    let mut method = Method {
        name: name.to_owned(),
        inputs,
        outputs,
        arenas,
        chain,
        delegates,
        operators,
        constants: Vec::new(),
        mutable_buffers: Vec::new(),
        activations: Vec::new(),
        unreachable: Vec::new(),
    };
    for (tensor, role) in tensors.into_iter().zip(roles) {
        if let Some(tensor) = tensor {
            method.place(tensor, role);
        }
    }
    Ok(method)
}

impl Method {
    /// Puts a tensor into the one list that it belongs to, if it is not an input or an output.
    fn place(&mut self, tensor: TensorInfo, role: Role) {
        let homeless =
            tensor.planned.is_none() && tensor.data.is_none() && !role.input && !role.output;
        if homeless && role.delegate_argument && !tensor.device.is_cpu() {
            self.unreachable.push(tensor.value);
        }
        if tensor.data.is_some() && tensor.planned.is_none() {
            self.constants.push(tensor);
        } else if tensor.data.is_some() || (tensor.name.is_some() && !role.input && !role.output) {
            self.mutable_buffers.push(tensor);
        } else if !role.input && !role.output {
            self.activations.push(tensor);
        }
    }
}

fn arenas(method: &str, plan: &schema::ExecutionPlan) -> Result<Vec<Arena>, Error> {
    let devices = plan.non_const_buffer_device().unwrap_or_default();
    let mut device_of = HashMap::new();
    for entry in devices.iter() {
        // The runtime takes the first entry for a buffer.
        device_of.entry(entry.buffer_idx()).or_insert(Device {
            device_type: DeviceType::from_code(entry.device_type().0),
            index: entry.device_index(),
        });
    }
    // Entry 0 is reserved: memory id 1, the runtime's buffer 0, is entry 1.
    let sizes = plan.non_const_buffer_sizes().unwrap_or_default();
    let arena = |(entry, size): (usize, &schema::Int64)| {
        let size = size.value();
        let nbytes = u64::try_from(size).map_err(|_| {
            inconsistent(
                format!("method `{}`, arena {}", printable(method), entry - 1),
                format!("has {size} bytes"),
            )
        })?;
        let device = i32::try_from(entry)
            .ok()
            .and_then(|entry| device_of.get(&entry))
            .copied()
            .unwrap_or_default();
        Ok(Arena { nbytes, device })
    };
    sizes.iter().enumerate().skip(1).map(arena).collect()
}

impl Plan<'_> {
    fn wrong(&self, place: impl std::fmt::Display, problem: impl Into<String>) -> Error {
        inconsistent(
            format!("method `{}`, {place}", printable(self.name)),
            problem,
        )
    }

    /// An index into the value table, checked.
    fn value(&self, index: i32, place: impl std::fmt::Display) -> Result<u32, Error> {
        u32::try_from(index)
            .ok()
            .filter(|&index| index < self.values)
            .ok_or_else(|| {
                self.wrong(
                    place,
                    format!("names value {index}, and the method has {}", self.values),
                )
            })
    }

    fn io(&self, what: &str, indices: Option<flatbuffers::Vector<i32>>) -> Result<Vec<u32>, Error> {
        let indices = indices.unwrap_or_default();
        if indices.len() > self.values as usize + MOST_REPEATED {
            return Err(self.wrong(
                format!("the {what} list"),
                format!("has {} entries for {} values", indices.len(), self.values),
            ));
        }
        indices
            .iter()
            .enumerate()
            .map(|(position, index)| self.value(index, format_args!("{what} {position}")))
            .collect()
    }

    fn tensor(&self, index: u32, tensor: &schema::Tensor) -> Result<TensorInfo, Error> {
        let place = format_args!("value {index}");
        let shape = Shape::read(tensor.scalar_type().0, tensor.sizes(), tensor.dim_order());
        let Shape {
            dtype,
            sizes,
            dim_order,
            nbytes,
        } = shape.map_err(|problem| self.wrong(place, problem))?;
        let dynamism = match tensor.shape_dynamism() {
            schema::TensorShapeDynamism::STATIC => Dynamism::Static,
            schema::TensorShapeDynamism::DYNAMIC_BOUND => Dynamism::Bound,
            schema::TensorShapeDynamism::DYNAMIC_UNBOUND => Dynamism::Unbound,
            other => {
                return Err(self.wrong(
                    place,
                    format!(
                        "has the shape dynamism {}, which ExecuTorch 1.5.1 does not define",
                        other.0
                    ),
                ));
            }
        };
        let extra = tensor.extra_tensor_info();
        Ok(TensorInfo {
            value: index,
            name: extra
                .and_then(|extra| extra.fully_qualified_name())
                .map(str::to_owned),
            dtype,
            sizes,
            dynamism,
            dim_order,
            nbytes,
            device: extra.map_or(Device::CPU, |extra| Device {
                device_type: DeviceType::from_code(extra.device_type().0),
                index: extra.device_index(),
            }),
            planned: tensor
                .allocation_info()
                .map(|details| self.planned(index, &details))
                .transpose()?,
            data: self.data(index, tensor)?,
        })
    }

    fn planned(&self, index: u32, details: &schema::AllocationDetails) -> Result<Planned, Error> {
        let id = details.memory_id();
        // Memory ids count from 1.
        let arena = id.checked_sub(1).filter(|&arena| arena < self.arenas);
        let arena = arena.ok_or_else(|| {
            self.wrong(
                format_args!("value {index}"),
                format!(
                    "is planned in memory {id}, and the method has {} arenas",
                    self.arenas
                ),
            )
        })?;
        let offset =
            u64::from(details.memory_offset_high()) << 32 | u64::from(details.memory_offset_low());
        Ok(Planned { arena, offset })
    }

    /// Where the runtime takes the tensor's contents from, in the order in which it asks.
    fn data(&self, value: u32, tensor: &schema::Tensor) -> Result<Option<TensorData>, Error> {
        let place = format_args!("value {value}");
        let extra = tensor.extra_tensor_info();
        if let Some(extra) =
            extra.filter(|extra| extra.location() == schema::TensorDataLocation::EXTERNAL)
        {
            let key = extra.fully_qualified_name().ok_or_else(|| {
                self.wrong(
                    place,
                    "has its data in another file and no name to find it by",
                )
            })?;
            return Ok(Some(TensorData::External {
                key: key.to_owned(),
                index: tensor.data_buffer_idx(),
            }));
        }
        let index = tensor.data_buffer_idx();
        if index == 0 {
            return Ok(None);
        }
        let root = &self.parts.root;
        let subsegments = if tensor.allocation_info().is_some() {
            let table = extra.map_or(0, |extra| extra.mutable_data_segments_idx());
            let entry = root
                .mutable_data_segments()
                .filter(|tables| table < tables.len() as u64)
                .map(|tables| tables.get(table as usize));
            Some(entry.ok_or_else(|| {
                self.wrong(
                    place,
                    "has an initial state, and the program has no data for it",
                )
            })?)
        } else {
            // One entry is the placeholder for tensors without data: then the constants are in the program part.
            root.constant_segment()
                .filter(|table| table.offsets().is_some_and(|offsets| offsets.len() > 1))
        };
        let Some(subsegments) = subsegments else {
            let count = root.constant_buffer().map_or(0, |buffers| buffers.len());
            if index as usize >= count {
                return Err(self.wrong(
                    place,
                    format!("has its data in constant {index}, and the program has {count}"),
                ));
            }
            return Ok(Some(TensorData::Inline { index }));
        };
        let segment = subsegments.segment_index();
        let Some(room) = self.parts.segments.get(segment as usize) else {
            return Err(self.wrong(place, no_segment(segment, self.parts.segments)));
        };
        let offset = subsegments
            .offsets()
            .filter(|offsets| (index as usize) < offsets.len())
            .map(|offsets| offsets.get(index as usize).value());
        let offset = offset.ok_or_else(|| {
            self.wrong(
                place,
                format!(
                    "has its data at entry {index} of segment {segment}, which has no such entry"
                ),
            )
        })?;
        if offset > room.nbytes {
            return Err(self.wrong(
                place,
                format!(
                    "has its data at byte {offset} of segment {segment}, which has {} bytes",
                    room.nbytes
                ),
            ));
        }
        Ok(Some(TensorData::Segment { segment, offset }))
    }

    fn delegate(
        &self,
        index: usize,
        delegate: &schema::BackendDelegate,
    ) -> Result<Delegate, Error> {
        let place = format_args!("delegate {index}");
        let id = delegate
            .id()
            .filter(|id| id.len() <= LONGEST_NAME)
            .ok_or_else(|| self.wrong(place, "has no name, or one without end"))?;
        let specs = delegate
            .compile_specs()
            .into_iter()
            .flatten()
            .map(|spec| CompileSpec {
                key: spec.key().unwrap_or_default().to_owned(),
                value: SpecValue::from_bytes(
                    spec.value().map(|value| value.bytes()).unwrap_or_default(),
                ),
            });
        let processed = delegate
            .processed()
            .ok_or_else(|| self.wrong(place, "has no data"))?;
        let index = processed.index();
        let processed = if processed.location() == schema::DataLocation::SEGMENT {
            let segment = self.parts.segments.get(index as usize);
            let segment =
                segment.ok_or_else(|| self.wrong(place, no_segment(index, self.parts.segments)))?;
            Blob {
                segment: Some(index),
                offset: segment.offset,
                nbytes: segment.nbytes,
            }
        } else {
            let inline = self
                .parts
                .root
                .backend_delegate_data()
                .filter(|data| (index as usize) < data.len());
            let inline = inline.ok_or_else(|| {
                self.wrong(
                    place,
                    format!(
                        "has its data at entry {index} of the program, which has no such entry"
                    ),
                )
            })?;
            let data = inline
                .get(index as usize)
                .data()
                .map(|data| data.bytes())
                .unwrap_or_default();
            // Both are in one buffer, so the difference of the addresses is the place in the file.
            let offset = if data.is_empty() {
                0
            } else {
                data.as_ptr().addr() - self.parts.bytes.as_ptr().addr()
            };
            Blob {
                segment: None,
                offset: offset as u64,
                nbytes: data.len() as u64,
            }
        };
        Ok(Delegate {
            id: id.into(),
            specs: specs.collect(),
            processed,
            data_keys: None,
        })
    }

    fn operator(&self, index: usize, operator: &schema::Operator) -> Result<Arc<str>, Error> {
        let name = operator.name().unwrap_or_default();
        let overload = operator.overload().unwrap_or_default();
        if name.is_empty() || name.len() + overload.len() > LONGEST_NAME {
            return Err(self.wrong(
                format_args!("operator {index}"),
                "has no name, or one without end",
            ));
        }
        Ok(if overload.is_empty() {
            name.into()
        } else {
            format!("{name}.{overload}").into()
        })
    }

    fn chain(
        &self,
        tensors: &[Option<TensorInfo>],
        delegates: &[Delegate],
        operators: &[Arc<str>],
    ) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for chain in self.plan.chains().into_iter().flatten() {
            // A jump counts from its own chain's start.
            let start = steps.len();
            let instructions = chain.instructions().unwrap_or_default();
            for instruction in instructions.iter() {
                let index = steps.len();
                let place = format_args!("step {index}");
                let step = if let Some(call) = instruction.instr_args_as_kernel_call() {
                    let name = usize::try_from(call.op_index())
                        .ok()
                        .and_then(|index| operators.get(index));
                    let name = name.ok_or_else(|| {
                        self.wrong(
                            place,
                            format!(
                                "calls operator {}, and the method has {}",
                                call.op_index(),
                                operators.len()
                            ),
                        )
                    })?;
                    self.kernel_call(index, name, self.args(index, call.args())?, tensors)?
                } else if let Some(call) = instruction.instr_args_as_delegate_call() {
                    let delegate = u32::try_from(call.delegate_index())
                        .ok()
                        .and_then(|index| Some((index, delegates.get(index as usize)?)));
                    let (delegate, called) = delegate.ok_or_else(|| {
                        self.wrong(
                            place,
                            format!(
                                "calls delegate {}, and the method has {}",
                                call.delegate_index(),
                                delegates.len()
                            ),
                        )
                    })?;
                    Step::Delegate(DelegateCall {
                        delegate,
                        id: called.id.clone(),
                        args: self.args(index, call.args())?,
                    })
                } else if let Some(call) = instruction.instr_args_as_move_call() {
                    Step::Move {
                        from: self.value(call.move_from(), place)?,
                        to: self.value(call.move_to(), place)?,
                    }
                } else if let Some(call) = instruction.instr_args_as_jump_false_call() {
                    let to = usize::try_from(call.destination_instruction())
                        .ok()
                        .filter(|&to| to <= instructions.len());
                    let to = to.ok_or_else(|| {
                        self.wrong(
                            place,
                            format!(
                                "jumps to step {} of {}",
                                call.destination_instruction(),
                                instructions.len()
                            ),
                        )
                    })?;
                    Step::JumpIfFalse {
                        condition: self.value(call.cond_value_index(), place)?,
                        to: (start + to) as u32,
                    }
                } else if let Some(call) = instruction.instr_args_as_free_call() {
                    Step::Free {
                        value: self.value(call.value_index(), place)?,
                    }
                } else {
                    Step::Unknown {
                        code: instruction.instr_args_type().0,
                    }
                };
                steps.push(step);
            }
        }
        Ok(steps)
    }

    fn args(&self, step: usize, args: Option<flatbuffers::Vector<i32>>) -> Result<Vec<u32>, Error> {
        args.into_iter()
            .flatten()
            .map(|index| self.value(index, format_args!("step {step}")))
            .collect()
    }

    /// A call of a kernel: one of the two copies, or any other operator.
    fn kernel_call(
        &self,
        step: usize,
        name: &Arc<str>,
        args: Vec<u32>,
        tensors: &[Option<TensorInfo>],
    ) -> Result<Step, Error> {
        let direction = match name.split('.').next() {
            Some(H2D) => Direction::HostToDevice,
            Some(D2H) => Direction::DeviceToHost,
            _ => {
                return Ok(Step::Operator(OperatorCall {
                    name: name.clone(),
                    args,
                }));
            }
        };
        // The arguments are (self, out) and once more the result, which is `out`.
        let ends = args
            .first()
            .zip(args.get(1))
            .map(|(&from, &to)| (&tensors[from as usize], &tensors[to as usize]));
        let Some((Some(from), Some(to))) = ends else {
            return Err(self.wrong(
                format_args!("step {step}"),
                format!(
                    "calls {} on something else than two tensors",
                    printable(name)
                ),
            ));
        };
        let device = if direction == Direction::HostToDevice {
            to.device
        } else {
            from.device
        };
        Ok(Step::Copy(CopyCall {
            direction,
            from: from.value,
            to: to.value,
            device,
            nbytes: from.nbytes,
        }))
    }

    /// Calls `each` with every value of `args`, and with the entries of those that are lists of tensors.
    fn expand_lists(&self, args: &[u32], mut each: impl FnMut(u32)) {
        let values = self.plan.values().unwrap_or_default();
        for &arg in args {
            each(arg);
            let value = values.get(arg as usize);
            let list = value.val_as_tensor_list().map(|list| list.items());
            let list =
                list.or_else(|| value.val_as_optional_tensor_list().map(|list| list.items()));
            // An absent entry of an optional list is -1.
            let items = list
                .flatten()
                .into_iter()
                .flatten()
                .filter_map(|item| u32::try_from(item).ok());
            items.filter(|&item| item < self.values).for_each(&mut each);
        }
    }

    fn named_values(
        &self,
        values: &[u32],
        tensors: &[Option<TensorInfo>],
        names: Vec<Option<String>>,
    ) -> Result<Vec<Value>, Error> {
        let mut names = names.into_iter();
        let named = |&index: &u32| {
            let name = names.next().flatten();
            match &tensors[index as usize] {
                Some(tensor) => Ok(Value::Tensor(TensorInfo {
                    name: tensor.name.clone().or(name),
                    ..tensor.clone()
                })),
                None => self.other(index),
            }
        };
        values.iter().map(named).collect()
    }

    /// A value that is no tensor.
    fn other(&self, index: u32) -> Result<Value, Error> {
        let value = self.plan.values().unwrap_or_default().get(index as usize);
        let kind = value.val_type();
        let len = |items: Option<usize>| items.unwrap_or_default();
        let known = match kind {
            schema::KernelTypes::Null => Some(Value::None),
            schema::KernelTypes::Int => value.val_as_int().map(|int| Value::Int {
                value: int.int_val(),
            }),
            schema::KernelTypes::Double => value.val_as_double().map(|double| Value::Double {
                value: Some(double.double_val()).filter(|value| value.is_finite()),
            }),
            schema::KernelTypes::Bool => value.val_as_bool().map(|bool| Value::Bool {
                value: bool.bool_val(),
            }),
            schema::KernelTypes::String => value.val_as_string().map(|string| Value::String {
                value: string.string_val().unwrap_or_default().to_owned(),
            }),
            schema::KernelTypes::IntList => value.val_as_int_list().map(|list| Value::List {
                of: ListKind::Int,
                len: len(list.items().map(|items| items.len())),
            }),
            schema::KernelTypes::DoubleList => value.val_as_double_list().map(|list| Value::List {
                of: ListKind::Double,
                len: len(list.items().map(|items| items.len())),
            }),
            schema::KernelTypes::BoolList => value.val_as_bool_list().map(|list| Value::List {
                of: ListKind::Bool,
                len: len(list.items().map(|items| items.len())),
            }),
            schema::KernelTypes::TensorList => value.val_as_tensor_list().map(|list| Value::List {
                of: ListKind::Tensor,
                len: len(list.items().map(|items| items.len())),
            }),
            schema::KernelTypes::OptionalTensorList => {
                value.val_as_optional_tensor_list().map(|list| Value::List {
                    of: ListKind::OptionalTensor,
                    len: len(list.items().map(|items| items.len())),
                })
            }
            other => Some(Value::Unknown { code: other.0 }),
        };
        known.ok_or_else(|| self.wrong(format_args!("value {index}"), "is empty"))
    }
}
