//! What a program says: the types of the answer.
//!
//! Sizes are in bytes. A *value* is an entry of a method's value table, named by its index there, as in the runtime's
//! log lines. What ExecuTorch's own documentation has a word for is called by that word.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CompileSpec, DType, Device, Layout, NamedData};

/// A whole program: what [`Program::open`], [`Program::from_bytes`] and [`Program::read`] answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// The schema's version number; 0 in every program of ExecuTorch up to 1.5.1.
    pub version: u32,
    /// The methods, in the file's order.
    pub methods: Vec<Method>,
    /// Data with names that the file itself holds. What a delegate asks for and is not here comes from a `.ptd`.
    pub named_data: Vec<NamedData>,
    /// Where everything lies in the file.
    pub layout: Layout,
}

/// One method: what a caller hands over, what happens then, what comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// The name to load it by; `forward` unless the exporter was told otherwise.
    pub name: String,
    /// What the caller hands over, by position.
    pub inputs: Vec<Value>,
    /// What the caller gets back, by position.
    pub outputs: Vec<Value>,
    /// The buffers that the runtime reserves when it loads the method, numbered as `MethodMeta` numbers them.
    pub arenas: Vec<Arena>,
    /// What an execution does, step by step.
    pub chain: Vec<Step>,
    /// The delegates that the steps call.
    pub delegates: Vec<Delegate>,
    /// The operators that must be registered for the method to load, as `name.overload`.
    pub operators: Vec<Arc<str>>,
    /// Tensors whose data is in the program or in a `.ptd` and never changes.
    pub constants: Vec<TensorInfo>,
    /// Tensors that keep their contents from one execution to the next, as far as the file tells them from scratch
    /// memory: those with an initial state, and those that the exporter named (`emit_mutable_buffer_names=True`).
    pub mutable_buffers: Vec<TensorInfo>,
    /// Every tensor that is nothing of the above.
    pub activations: Vec<TensorInfo>,
    /// The values of device tensors that nobody can give memory to: a delegate's argument, not planned, without data,
    /// and neither an input nor an output. A program with one cannot run.
    pub unreachable: Vec<u32>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Value {
    /// A tensor.
    Tensor(TensorInfo),
    /// A number that the program was exported for; the runtime refuses another one as input.
    Int {
        /// The number.
        value: i64,
    },
    /// A number that the program was exported for; the runtime refuses another one as input.
    Double {
        /// The number; `None` (in JSON `null`) if it is not finite.
        value: Option<f64>,
    },
    /// A truth value that the program was exported for; the runtime refuses the other one as input.
    Bool {
        /// The value.
        value: bool,
    },
    /// A string.
    String {
        /// The value.
        value: String,
    },
    /// Python's `None`.
    None,
    /// A list.
    List {
        /// What it is a list of.
        of: ListKind,
        /// How many entries it has.
        len: usize,
    },
    /// A kind that this version of the schema has no name for.
    Unknown {
        /// Its number in the schema's `KernelTypes`.
        code: u8,
    },
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// Integers.
    Int,
    /// Floating-point numbers.
    Double,
    /// Truth values.
    Bool,
    /// Tensors.
    Tensor,
    /// Tensors, or `None` in places.
    OptionalTensor,
}

/// One tensor of a method, as the exporter described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorInfo {
    /// Its index in the method's value table.
    pub value: u32,
    /// The name of a constant or buffer (`linear.weight`), or of an input or output where the export's call or result
    /// had a keyword or a dictionary key for it (`mask`, `0.mask`). Positional inputs have none: the file does not say.
    pub name: Option<String>,
    /// The type of its elements.
    pub dtype: DType,
    /// Its sizes; with [`Dynamism::Bound`] their upper bounds.
    pub sizes: Vec<u32>,
    /// Whether `sizes` may be smaller in a run.
    pub dynamism: Dynamism,
    /// Its dimensions in memory order, outermost first; `[0, 1, 2]` is contiguous.
    pub dim_order: Vec<u8>,
    /// Its bytes at those `sizes`: element size times all of them. What `MethodMeta` calls `nbytes`.
    pub nbytes: u64,
    /// Where the program expects its memory to be.
    pub device: Device,
    /// Where the runtime puts it. `None`: it has no memory until somebody brings some.
    pub planned: Option<Planned>,
    /// Where its contents come from at load. `None`: it has none.
    pub data: Option<TensorData>,
}

/// How far a tensor's sizes are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dynamism {
    /// Always as written.
    Static,
    /// Up to what is written.
    Bound,
    /// Anything: the written sizes mean nothing.
    Unbound,
}

/// A place in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planned {
    /// The arena, by index into [`Method::arenas`].
    pub arena: u32,
    /// Bytes from the arena's start.
    pub offset: u64,
}

/// Where a tensor's contents come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum TensorData {
    /// A segment of the file.
    Segment {
        /// The segment, by index into [`Layout::segments`].
        segment: u32,
        /// Bytes from the segment's start.
        offset: u64,
    },
    /// The program part itself: old programs.
    Inline {
        /// The entry of the program's `constant_buffer`.
        index: u32,
    },
    /// A data file (`.ptd`) that the caller must name when it loads the program.
    External {
        /// The name of the data there.
        key: String,
        /// The tensor's number among the exporter's external tensors. It finds nothing; it is here because the runtime
        /// takes any but 0 for a sign that the tensor is planned.
        index: u32,
    },
}

/// One buffer that the runtime reserves at load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arena {
    /// Its bytes.
    pub nbytes: u64,
    /// Where it is reserved.
    pub device: Device,
}

/// One step of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A copy between host and device.
    Copy(CopyCall),
    /// A call of a delegate.
    Delegate(DelegateCall),
    /// An operator on the host.
    Operator(OperatorCall),
    /// One value becomes another, without a copy of its contents.
    Move {
        /// The value moved from.
        from: u32,
        /// The value moved to.
        to: u32,
    },
    /// Another step follows if a value is false: the chain is no straight line.
    JumpIfFalse {
        /// The value that decides.
        condition: u32,
        /// The step that follows if it is false, by index into [`Method::chain`].
        to: u32,
    },
    /// The memory of a value is given back.
    Free {
        /// The value.
        value: u32,
    },
    /// An instruction that this version of the schema has no name for.
    Unknown {
        /// Its number in the schema's `InstructionArguments`.
        code: u8,
    },
}

/// A copy between host and device: `et_copy::_h2d_copy.out` or `et_copy::_d2h_copy.out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyCall {
    /// Which way.
    pub direction: Direction,
    /// The value copied from.
    pub from: u32,
    /// The value copied to.
    pub to: u32,
    /// The device that is not the host.
    pub device: Device,
    /// Bytes copied at the tensor's full sizes.
    pub nbytes: u64,
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the host to the device (`h2d`).
    HostToDevice,
    /// From the device to the host (`d2h`).
    DeviceToHost,
}

/// A call of a delegate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegateCall {
    /// The delegate, by index into [`Method::delegates`].
    pub delegate: u32,
    /// Its id, as [`Delegate::id`].
    pub id: Arc<str>,
    /// The values that it reads and writes: its inputs, then its outputs. Which are which is for the delegate to know.
    pub args: Vec<u32>,
}

/// A call of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorCall {
    /// The operator, as `name.overload`.
    pub name: Arc<str>,
    /// The values that it reads and writes, in the operator's own order.
    pub args: Vec<u32>,
}

/// Something compiled for a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delegate {
    /// The name of the backend that must be registered to run it, such as `CudaBackend`.
    pub id: Arc<str>,
    /// What it was compiled with.
    pub specs: Vec<CompileSpec>,
    /// What the backend made of it.
    pub processed: Blob,
    /// The names of the data that the blob will ask the runtime for, where its format is known: that of ExecuTorch's
    /// AOTInductor backends (`CudaBackend`, `MetalBackend`). `None`: not known, which is not none.
    pub data_keys: Option<Vec<String>>,
}

/// A piece of the file that means nothing to the runtime itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blob {
    /// The segment that holds it, by index into [`Layout::segments`]; `None` if it is in the program part.
    pub segment: Option<u32>,
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its bytes.
    pub nbytes: u64,
}

/// Copies of one execution, each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copied {
    /// From the host to the device.
    pub host_to_device: CopiedBytes,
    /// From the device to the host.
    pub device_to_host: CopiedBytes,
}

/// Copies of one execution in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopiedBytes {
    /// How many copies.
    pub copies: u32,
    /// Their bytes together, at the tensors' full sizes.
    pub nbytes: u64,
}

impl Program {
    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// The names of the data that a method asks for and that this file does not hold, each once: a data file
    /// (`.ptd`) has them. Without one a method whose own tensors they are does not load; a delegate decides for itself what
    /// it does without its own (`CudaBackend` loads and logs it). What a delegate of an unknown format asks for is not among them.
    pub fn external_keys<'a>(&'a self, method: &'a Method) -> Vec<&'a str> {
        let of_tensors = method.tensors().filter_map(|tensor| match &tensor.data {
            Some(TensorData::External { key, .. }) => Some(key),
            _ => None,
        });
        let of_delegates = method
            .delegates
            .iter()
            .filter_map(|it| it.data_keys.as_ref())
            .flatten();
        let mut seen: HashSet<&str> = self
            .named_data
            .iter()
            .map(|data| data.key.as_str())
            .collect();
        of_tensors
            .chain(of_delegates)
            .map(String::as_str)
            .filter(|key| seen.insert(*key))
            .collect()
    }
}

impl Method {
    /// The inputs that are tensors, in order. The position of a tensor among all inputs is its index in
    /// [`inputs`](Self::inputs), which differs from the one here where an input is no tensor.
    pub fn input_tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.inputs.iter().filter_map(Value::tensor)
    }

    /// The outputs that are tensors, in order; see [`input_tensors`](Self::input_tensors).
    pub fn output_tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.outputs.iter().filter_map(Value::tensor)
    }

    /// Every tensor of the method, each once for every list that it is in: an input that is also an output twice.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        let rest = self
            .constants
            .iter()
            .chain(&self.mutable_buffers)
            .chain(&self.activations);
        self.input_tensors()
            .chain(self.output_tensors())
            .chain(rest)
    }

    /// The tensor at this index of the value table; `None` if another kind of value is there.
    pub fn tensor(&self, value: u32) -> Option<&TensorInfo> {
        self.tensors().find(|tensor| tensor.value == value)
    }

    /// Bytes that the runtime reserves when it loads the method, on all devices together.
    pub fn planned_bytes(&self) -> u64 {
        self.arenas
            .iter()
            .fold(0, |sum, arena| sum.saturating_add(arena.nbytes))
    }

    /// Bytes that the runtime reserves on one device when it loads the method.
    pub fn planned_bytes_on(&self, device: Device) -> u64 {
        self.arenas
            .iter()
            .filter(|arena| arena.device == device)
            .fold(0, |sum, arena| sum.saturating_add(arena.nbytes))
    }

    /// Whether the inputs, or the outputs, are on more than one device: a caller who treats them alike is wrong about some.
    pub fn is_mixed(&self) -> bool {
        fn differ<'a>(mut tensors: impl Iterator<Item = &'a TensorInfo>) -> bool {
            tensors
                .next()
                .is_some_and(|first| tensors.any(|tensor| tensor.device != first.device))
        }
        differ(self.input_tensors()) || differ(self.output_tensors())
    }

    /// The copies between host and device that are in the chain, in order.
    pub fn copies(&self) -> impl Iterator<Item = &CopyCall> {
        self.chain.iter().filter_map(|step| {
            if let Step::Copy(copy) = step {
                Some(copy)
            } else {
                None
            }
        })
    }

    /// What one execution copies between host and device, each way, at full sizes and with every step of the chain run
    /// once. What a delegate copies inside itself is not in the file.
    pub fn copied(&self) -> Copied {
        let mut copied = Copied::default();
        for copy in self.copies() {
            let way = match copy.direction {
                Direction::HostToDevice => &mut copied.host_to_device,
                Direction::DeviceToHost => &mut copied.device_to_host,
            };
            way.copies += 1;
            way.nbytes = way.nbytes.saturating_add(copy.nbytes);
        }
        copied
    }
}

impl Value {
    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&TensorInfo> {
        if let Self::Tensor(tensor) = self {
            Some(tensor)
        } else {
            None
        }
    }
}

impl TensorInfo {
    /// What the runtime's own `TensorInfo::is_memory_planned` answers: a constant counts as planned too, and of the
    /// constants in a data file all but the exporter's first.
    pub fn is_memory_planned(&self) -> bool {
        self.planned.is_some()
            || match self.data {
                Some(TensorData::Segment { .. } | TensorData::Inline { .. }) => true,
                Some(TensorData::External { index, .. }) => index != 0,
                None => false,
            }
    }
}

impl Delegate {
    /// The text of the compile spec with this key.
    pub fn spec(&self, key: &str) -> Option<&str> {
        self.specs
            .iter()
            .find(|spec| spec.key == key)
            .and_then(|spec| spec.value.as_str())
    }

    /// The device that it was compiled for (`cuda:0`), if the partitioner said so.
    pub fn target_device(&self) -> Option<&str> {
        self.spec("target_device")
    }
}
