//! A case's process: does what it is told, says what it saw, judges nothing.

use std::cell::RefCell;
use std::ffi::CString;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use std::{process, thread};

use device::{Buffer, Copies, Device, Part, Report};
use executorch::data_loader::FileDataLoader;
use executorch::evalue::EValue;
use executorch::memory::{HierarchicalAllocator, MallocMemoryAllocator, MemoryManager};
use executorch::program::{Method, Program};
use executorch::util::Span;
use executorch_device::{ScalarType, TensorMut};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::observe::{Failure, Tensor};
use crate::schema::{Call, json};
use crate::tensors::value;

/// The most time that a case may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How often each of several threads executes.
pub(super) const REPETITIONS: usize = 100;

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) pte: PathBuf,
    pub(super) ptd: Vec<PathBuf>,
    /// Whether the caller is the crate `executorch` instead of `executorch-device`.
    pub(super) public: bool,
    /// Whether copies accept a pointer on the wrong side.
    pub(super) accept: bool,
    pub(super) missing: Option<Part>,
    /// Whether XNNPACK's delegate is loaded.
    pub(super) xnnpack: bool,
    pub(super) share_memory_arenas: bool,
    /// Whether the caller gives the method its arenas itself, all of them on the host.
    pub(super) host_arenas: bool,
    /// Whether each execution has a thread and a module of its own, and is repeated.
    pub(super) at_once: bool,
    /// The methods to load first.
    pub(super) methods: Vec<String>,
    /// Tensors for `set_output`, by index of the first method's outputs.
    pub(super) outputs: Vec<Option<Given>>,
    pub(super) executions: Vec<Execution>,
}

/// One execution to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Execution {
    pub(super) method: String,
    pub(super) inputs: Vec<Given>,
    /// What happens between `set_input` of all inputs and the execution; `None`: one call does both.
    pub(super) between: Option<Between>,
}

/// What happens to the memory of inputs that were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Between {
    /// It gets twice the values.
    Overwritten,
    /// It is freed.
    Freed,
}

/// A tensor to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) memory: Memory,
    /// Whether it is tagged CUDA. (An output is tagged as what it is.)
    pub(super) cuda: bool,
    pub(super) sizes: Vec<i32>,
    pub(super) strides: Option<Vec<i32>>,
    pub(super) elements: Elements,
    /// In the order of memory.
    pub(super) values: Vec<f32>,
}

/// Where a tensor's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Memory {
    Host,
    Device,
    /// Where this output of the execution before is, whichever side that is.
    Output(usize),
}

/// A tensor's element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Elements {
    Float,
    Double,
    Int,
}

/// What was seen of one call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) call: Call,
    pub(super) failure: Option<Failure>,
    /// The addresses of the tensors that were passed.
    pub(super) given: Vec<usize>,
    pub(super) report: Report,
    pub(super) results: Vec<Tensor>,
}

/// Memory of the caller's.
enum Storage {
    Host(Vec<u64>),
    Device(Buffer<u64>),
}

/// What a call of either module gives.
type Results = Result<Vec<Tensor>, Failure>;

/// Runs the case in `line` and writes what it sees to standard output. Whatever the case does to this process it may do:
/// call it in a process of its own.
///
/// # Errors
///
/// When the case cannot be read or prepared. What it shows is no error.
pub fn run(line: &str) -> Result<(), Error> {
    let failed = |why: String| Error::Case {
        case: line.chars().take(200).collect(),
        why,
    };
    // A case takes milliseconds; one that hangs must not hold up the sweep.
    thread::spawn(|| {
        thread::sleep(LIMIT);
        process::abort();
    });
    let asked: Asked = serde_json::from_str(line).map_err(|error| failed(error.to_string()))?;
    let gpu = device::install_without(asked.missing).map_err(|error| failed(error.to_string()))?;
    if asked.xnnpack {
        executorch_device::load_xnnpack().map_err(|error| failed(error.to_string()))?;
    }
    gpu.set_policy(if asked.accept {
        device::Policy::Accept
    } else {
        device::Policy::Refuse
    });
    let said = if asked.at_once {
        at_once(gpu, &asked)
    } else {
        Process::new(gpu, &asked, |seen| print(&seen)).run()
    };
    said.map_err(|error| failed(error.to_string()))
}

fn print(seen: &Seen) {
    let mut out = std::io::stdout();
    // The reader notices what is missing.
    let _ = writeln!(out, "{}", json(seen)).and_then(|()| out.flush());
}

/// Says of each thread its last execution, or the first that went otherwise than the one before. All copies are counted
/// in the first: the device cannot tell whose they are.
fn at_once(gpu: Device, asked: &Asked) -> Result<(), device::Error> {
    let threads: Vec<Asked> = asked
        .executions
        .iter()
        .map(|execution| Asked {
            executions: vec![execution.clone(); REPETITIONS],
            ..asked.clone()
        })
        .collect();
    let said = thread::scope(|scope| {
        let each = threads.iter().map(|asked| {
            scope.spawn(move || {
                let mut said = Vec::new();
                Process::new(gpu, asked, |seen| said.push(seen)).run()?;
                Ok::<_, device::Error>(said)
            })
        });
        let running: Vec<_> = each.collect();
        let ended = running.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    let reports = said.iter().flatten().map(|seen| &seen.report);
    let mut copies = reports.fold((Copies::default(), Copies::default()), |sum, report| {
        let add = |one: Copies, other: Copies| Copies {
            calls: one.calls + other.calls,
            bytes: one.bytes + other.bytes,
        };
        (add(sum.0, report.h2d), add(sum.1, report.d2h))
    });
    for thread in said {
        let bits = |seen: &Seen| -> Vec<_> {
            seen.results
                .iter()
                .map(|result| result.bits.clone())
                .collect()
        };
        let mut executed = thread
            .into_iter()
            .filter(|seen| seen.call == Call::Execute || seen.failure.is_some());
        let Some(mut said) = executed.next() else {
            continue;
        };
        let first = bits(&said);
        for seen in executed {
            if said.failure.is_some() || bits(&said) != first {
                break;
            }
            said = seen;
        }
        (said.report.h2d, said.report.d2h) = std::mem::take(&mut copies);
        print(&said);
    }
    Ok(())
}

struct Process<'a, Say> {
    gpu: Device,
    asked: &'a Asked,
    say: RefCell<Say>,
}

impl<'a, Say: FnMut(Seen)> Process<'a, Say> {
    fn new(gpu: Device, asked: &'a Asked, say: Say) -> Self {
        let say = RefCell::new(say);
        Self { gpu, asked, say }
    }

    fn run(&self) -> Result<(), device::Error> {
        if self.asked.host_arenas {
            self.host_arenas()
        } else if self.asked.public {
            self.public()
        } else {
            self.own()
        }
    }

    /// The crate `executorch-device`.
    fn own(&self) -> Result<(), device::Error> {
        let failure = |error: executorch_device::Error| Failure {
            code: Some(error.code()),
            refusal: error.log().is_empty().then(|| error.message().to_owned()),
            exception: None,
        };
        let mut builder = executorch_device::ModuleBuilder::new(&self.asked.pte)
            .share_memory_arenas(self.asked.share_memory_arenas);
        for file in &self.asked.ptd {
            builder = builder.data_file(file);
        }
        let loaded = builder.load().and_then(|mut module| {
            for method in &self.asked.methods {
                module.load_method(method)?;
            }
            Ok(module)
        });
        let Some(mut module) = self.says(Call::Load, &[], loaded.map_err(failure)) else {
            return Ok(());
        };
        for (index, output) in self.asked.outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            let (address, tensor) = self.destination(output)?;
            let set =
                tensor.and_then(|tensor| module.set_output(&self.asked.methods[0], index, tensor));
            if self
                .says(Call::SetOutput, &[address], set.map_err(failure))
                .is_none()
            {
                return Ok(());
            }
        }
        self.execute(|execution, inputs, storages| {
            let method = &execution.method;
            let outputs = match execution.between {
                None => module.execute(method, inputs.iter()),
                Some(between) => inputs
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, input)| module.set_input(method, index, input))
                    .and_then(|()| {
                        for storage in storages.iter_mut() {
                            storage.undergo(between);
                        }
                        if between == Between::Freed {
                            storages.clear();
                        }
                        module.execute_held(method)
                    }),
            };
            let outputs = outputs.map_err(failure)?;
            (0..outputs.len())
                .map(|index| {
                    let tensor = outputs.tensor(index).map_err(failure)?;
                    let host = || Some(tensor.as_slice::<f32>().ok()?.to_vec());
                    Ok(self.seen(tensor.data_ptr().addr(), &tensor.sizes(), host))
                })
                .collect()
        })
    }

    /// Memory for an output, until the process ends: its address and its tensor.
    fn destination(
        &self,
        output: &Given,
    ) -> Result<(usize, Result<TensorMut<'static>, executorch_device::Error>), device::Error> {
        let dtype = match output.elements {
            Elements::Float => ScalarType::Float,
            Elements::Double => ScalarType::Double,
            Elements::Int => ScalarType::Int,
        };
        let count = output.values.len();
        if output.memory == Memory::Device {
            let buffer = Box::leak(Box::new(self.gpu.empty::<u64>(count)?));
            let address = buffer.as_ptr().addr();
            return Ok((address, TensorMut::over(buffer, dtype, &output.sizes)));
        }
        let values = vec![0.0_f32; count].leak();
        let address = values.as_ptr().expose_provenance();
        Ok((address, TensorMut::host(values, &output.sizes)))
    }

    /// The crate `executorch`.
    fn public(&self) -> Result<(), device::Error> {
        let failure = |error: executorch::Error| Failure {
            code: Some(error as u32),
            ..Failure::default()
        };
        let files: Vec<_> = self.asked.ptd.iter().map(PathBuf::as_path).collect();
        let mut module = executorch::module::ModuleBuilder::new(&self.asked.pte)
            .data_files(&files)
            .share_memory_arenas(self.asked.share_memory_arenas)
            .build();
        let loaded = self
            .asked
            .methods
            .iter()
            .try_for_each(|method| module.load_method(method, None, None));
        if self
            .says(Call::Load, &[], loaded.map_err(failure))
            .is_none()
        {
            return Ok(());
        }
        self.execute(|execution, inputs, _| {
            let outputs = module.execute(&execution.method, inputs).map_err(failure)?;
            Ok(outputs
                .iter()
                .map(|output| self.of_public(output))
                .collect())
        })
    }

    /// The crate `executorch` without its `Module`: a runner that makes the arenas itself, all of them on the host.
    fn host_arenas(&self) -> Result<(), device::Error> {
        let failure = |error: executorch::Error| Failure {
            code: Some(error as u32),
            ..Failure::default()
        };
        let method = self.asked.methods[0].as_str();
        let loaded = self.says(
            Call::Load,
            &[],
            self.load_on_the_host(method).map_err(failure),
        );
        let Some(mut method) = loaded else {
            return Ok(());
        };
        self.execute(|_, inputs, _| {
            let mut execution = method.start_execution();
            for (index, input) in inputs.iter().enumerate() {
                execution.set_input(input, index).map_err(failure)?;
            }
            let outputs = execution.execute().map_err(failure)?;
            Ok((0..outputs.len())
                .map(|index| self.of_public(&outputs.get(index)))
                .collect())
        })
    }

    /// Everything lives until the process ends, as the inputs do.
    fn load_on_the_host(&self, method: &str) -> Result<Method<'static>, executorch::Error> {
        fn forever<T>(value: T) -> &'static mut T {
            Box::leak(Box::new(value))
        }
        let name = CString::new(method).map_err(|_| executorch::Error::InvalidArgument)?;
        let loader = forever(FileDataLoader::from_path(&self.asked.pte, None)?);
        let program = forever(Program::load(loader, None)?);
        let meta = program.method_meta(&name)?;
        let mut arenas = Vec::new();
        for arena in 0..meta.num_memory_planned_buffers() {
            let size = meta.memory_planned_buffer_size(arena)?;
            arenas.push(Span::from_slice(vec![0; size].leak()));
        }
        let planned = forever(HierarchicalAllocator::new(arenas.leak()));
        let [own, temporary] = [(), ()].map(|()| &*forever(MallocMemoryAllocator::new()));
        let manager = forever(MemoryManager::new(own, Some(planned), Some(temporary)));
        program.load_method(&name, manager, None, None, None)
    }

    /// A result of the crate `executorch`.
    fn of_public(&self, output: &EValue) -> Tensor {
        let tensor = output.as_tensor();
        let sizes = tensor.sizes().to_vec();
        // The crate asserts that the pointer is not null.
        if tensor.numel() == 0 {
            return self.seen(0, &sizes, || Some(Vec::new()));
        }
        let on_host = tensor.device().is_cpu();
        let host = || {
            let tensor = output.as_tensor().into_typed::<f32>();
            on_host.then(|| tensor.as_array_dyn().iter().copied().collect())
        };
        self.seen(tensor.as_data_ptr_raw().addr(), &sizes, host)
    }

    /// All executions.
    fn execute(
        &self,
        mut call: impl FnMut(&Execution, &'static [EValue<'static>], &mut Vec<Storage>) -> Results,
    ) -> Result<(), device::Error> {
        // Until the process ends, as a module may point there.
        let mut kept = Vec::new();
        let mut before: Vec<(usize, bool)> = Vec::new();
        for execution in &self.asked.executions {
            let mut storages = Vec::new();
            let mut addresses = Vec::new();
            let mut values = Vec::new();
            for input in &execution.inputs {
                let (address, cuda) = if let Memory::Output(index) = input.memory {
                    before.get(index).copied().unwrap_or_default()
                } else {
                    let storage = Storage::new(self.gpu, input)?;
                    let address = storage.address();
                    storages.push(storage);
                    (address, input.cuda)
                };
                addresses.push(address);
                values.push(input.value(address, cuda));
            }
            let result = values
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| Failure {
                    code: Some(error as u32),
                    ..Failure::default()
                })
                .and_then(|values| call(execution, values.leak(), &mut storages));
            if let Ok(results) = &result {
                before = results
                    .iter()
                    .map(|result| (result.data, result.on_device))
                    .collect();
            }
            self.observe(Call::Execute, &addresses, result);
            kept.extend(storages);
        }
        kept.leak();
        Ok(())
    }

    /// A result, read where it is.
    fn seen(&self, data: usize, sizes: &[i32], host: impl FnOnce() -> Option<Vec<f32>>) -> Tensor {
        let sizes: Vec<usize> = sizes.iter().map(|size| (*size).max(0) as usize).collect();
        let read = || {
            self.gpu.synchronize().ok()?;
            let source = std::ptr::without_provenance::<f32>(data);
            self.gpu.read(source, sizes.iter().product()).ok()
        };
        let device = read();
        Tensor {
            data,
            on_device: device.is_some(),
            bits: device
                .or_else(host)
                .map(|values| values.into_iter().map(f32::to_bits).collect()),
            sizes,
        }
    }

    fn says<T>(&self, call: Call, given: &[usize], result: Result<T, Failure>) -> Option<T> {
        let (value, result) = match result {
            Ok(value) => (Some(value), Ok(Vec::new())),
            Err(failure) => (None, Err(failure)),
        };
        self.observe(call, given, result);
        value
    }

    fn observe(&self, call: Call, given: &[usize], result: Results) {
        let (results, failure) = match result {
            Ok(results) => (results, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        let seen = Seen {
            call,
            failure,
            given: given.to_vec(),
            report: self.gpu.report(),
            results,
        };
        (self.say.borrow_mut())(seen);
    }
}

impl Given {
    /// The values as memory holds them, padded to whole words.
    fn words(&self) -> Vec<u64> {
        let bytes: Vec<u8> = match self.elements {
            Elements::Float => self
                .values
                .iter()
                .flat_map(|value| value.to_ne_bytes())
                .collect(),
            Elements::Double => (self.values.iter())
                .flat_map(|value| f64::from(*value).to_ne_bytes())
                .collect(),
            Elements::Int => (self.values.iter())
                .flat_map(|value| (*value as i32).to_ne_bytes())
                .collect(),
        };
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        };
        bytes.chunks(8).map(word).collect()
    }

    fn value(&self, address: usize, cuda: bool) -> Result<EValue<'static>, executorch::Error> {
        let strides = self.strides.as_deref();
        match self.elements {
            Elements::Float => value::<f32>(address, &self.sizes, strides, cuda),
            Elements::Double => value::<f64>(address, &self.sizes, strides, cuda),
            Elements::Int => value::<i32>(address, &self.sizes, strides, cuda),
        }
    }
}

impl Storage {
    fn new(gpu: Device, given: &Given) -> Result<Self, device::Error> {
        let words = given.words();
        Ok(match given.memory {
            Memory::Device => Self::Device(gpu.buffer(&words)?),
            Memory::Host | Memory::Output(_) => Self::Host(words),
        })
    }

    /// Twice the float values, where that is what happens.
    fn undergo(&mut self, between: Between) {
        let twice = |word: &u64| {
            let [low, high] = [*word as u32, (*word >> 32) as u32]
                .map(|bits| u64::from((2.0 * f32::from_bits(bits)).to_bits()));
            low | high << 32
        };
        match self {
            _ if between == Between::Freed => {}
            Self::Host(words) => words.iter_mut().for_each(|word| *word = twice(word)),
            Self::Device(buffer) => {
                let doubled = buffer
                    .read()
                    .map(|words| words.iter().map(twice).collect::<Vec<_>>());
                // What cannot be written stays as it was, which the result shows.
                let _ = doubled.and_then(|words| buffer.write(&words));
            }
        }
    }

    fn address(&self) -> usize {
        match self {
            Self::Host(words) => words.as_ptr().expose_provenance(),
            Self::Device(buffer) => buffer.as_ptr().addr(),
        }
    }
}
