//! The callers in Rust: one case, in this process.

use std::io::Write as _;
use std::time::Duration;
use std::{fs, process, thread};

use device::{Buffer, Device};
use executorch::evalue::{EValue, IntoEValue};
use executorch_device::{ScalarType, TensorMut};

use crate::observe::{Asked, COLUMNS, Failure, Observation, Tensor};
use crate::schema::{Call, json};
use crate::tensors::tensor;
use crate::{Error, Inputs, Output, Policy};

/// The most time that a case may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the case in `line` and writes its observations to standard output. Whatever the case does to this process it
/// may do: call it in a process of its own.
///
/// # Errors
///
/// When the case cannot be read or prepared. What it shows is no error.
pub fn run(line: &str) -> Result<(), Error> {
    let failed = |why: String| Error::Case {
        case: line.to_owned(),
        why,
    };
    // A case takes milliseconds; one that hangs must not hold up the sweep.
    thread::spawn(|| {
        thread::sleep(LIMIT);
        process::abort();
    });
    let asked = Asked::parse(line).ok_or_else(|| failed("it is no case".to_owned()))?;
    let gpu = device::install().map_err(|error| failed(error.to_string()))?;
    gpu.set_policy(match asked.policy {
        Policy::Refuse => device::Policy::Refuse,
        Policy::Accept => device::Policy::Accept,
    });
    let values = fs::read(&asked.values).map_err(Error::io(&asked.values))?;
    let (elements, _) = values.as_chunks::<4>();
    let mut values = elements.iter().map(|bytes| f32::from_ne_bytes(*bytes));
    let mut inputs = Vec::new();
    for rows in asked.rows {
        let mut memory = || {
            let values = values.by_ref().take(rows * COLUMNS).collect();
            Memory::new(gpu, asked.inputs, values).map_err(|error| failed(error.to_string()))
        };
        inputs.push(([memory()?, memory()?], rows));
    }
    let output = asked.rows[0] * COLUMNS;
    let output = Destination {
        device: gpu
            .empty(output)
            .map_err(|error| failed(error.to_string()))?,
        host: vec![0.0; output],
    };
    let caller = Calls {
        gpu,
        asked: &asked,
        inputs: &inputs,
    };
    if asked.public {
        caller.public();
    } else {
        caller.own(output);
    }
    Ok(())
}

/// The memory of an input.
enum Memory {
    Host(Vec<f32>),
    Device(Buffer<f32>),
}

/// The memory for the output: as much as the larger execution needs.
struct Destination {
    device: Buffer<f32>,
    host: Vec<f32>,
}

struct Calls<'a> {
    gpu: Device,
    asked: &'a Asked,
    inputs: &'a [([Memory; 2], usize)],
}

impl Memory {
    fn new(gpu: Device, kind: Inputs, values: Vec<f32>) -> Result<Self, device::Error> {
        Ok(match kind {
            Inputs::Host | Inputs::HostAsCuda => Self::Host(values),
            Inputs::Device | Inputs::DeviceAsCpu => Self::Device(gpu.buffer(&values)?),
        })
    }

    fn address(&self) -> usize {
        match self {
            Self::Host(values) => values.as_ptr().expose_provenance(),
            Self::Device(buffer) => buffer.as_ptr().addr(),
        }
    }
}

impl Calls<'_> {
    /// The crate `executorch-device`.
    fn own(&self, mut output: Destination) {
        let method = &self.asked.method;
        let failure = |error: executorch_device::Error| Failure {
            code: Some(error.code()),
            refusal: error.log().is_empty().then(|| error.message().to_owned()),
            exception: None,
        };
        let loaded = executorch_device::Module::load(&self.asked.pte).and_then(|mut module| {
            module.load_method(method)?;
            Ok(module)
        });
        let Some(mut module) = self.say(Call::Load, loaded.map_err(failure), &[]) else {
            return;
        };
        let sizes = [self.asked.rows[0] as i32, COLUMNS as i32];
        let destination = match self.asked.output {
            Output::Device => Some((
                output.device.as_ptr().addr(),
                TensorMut::over(&mut output.device, ScalarType::Float, &sizes),
            )),
            Output::Host => Some((
                output.host.as_ptr().addr(),
                TensorMut::host(&mut output.host, &sizes),
            )),
            Output::Unset | Output::Uncloned => None,
        };
        if let Some((given, made)) = destination {
            let set = made.and_then(|tensor| module.set_output(method, 0, tensor));
            let set = self.say(Call::SetOutput, set.map_err(failure), &[given]);
            if set.is_none() {
                return;
            }
        }
        self.execute(|inputs| {
            let outputs = module.execute(method, inputs).map_err(failure)?;
            let tensor = outputs.tensor(0).map_err(failure)?;
            let host = || Some(tensor.as_slice::<f32>().ok()?.to_vec());
            Ok(self.seen(tensor.data_ptr().addr(), &tensor.sizes(), host))
        });
    }

    /// The crate `executorch`.
    fn public(&self) {
        let method = &self.asked.method;
        let failure = |error: executorch::Error| Failure {
            code: Some(error as u32),
            ..Failure::default()
        };
        let mut module = executorch::module::Module::new(&self.asked.pte);
        let loaded = module.load_method(method, None, None);
        if self.say(Call::Load, loaded.map_err(failure), &[]).is_none() {
            return;
        }
        self.execute(|inputs| {
            let outputs = module.execute(method, inputs).map_err(failure)?;
            let tensor = outputs[0].as_tensor();
            let (data, sizes) = (tensor.as_data_ptr_raw().addr(), tensor.sizes().to_vec());
            let on_host = tensor.device().is_cpu();
            let host = || {
                let tensor = outputs[0].as_tensor().into_typed::<f32>();
                on_host.then(|| tensor.as_array_dyn().iter().copied().collect())
            };
            Ok(self.seen(data, &sizes, host))
        });
    }

    /// Both executions.
    fn execute(&self, mut call: impl FnMut(&[EValue<'_>]) -> Result<Tensor, Failure>) {
        let cuda = matches!(self.asked.inputs, Inputs::Device | Inputs::HostAsCuda);
        for (memory, rows) in self.inputs {
            let given = memory.each_ref().map(Memory::address);
            let tensors = given.map(|address| tensor(address, *rows, cuda));
            let result = call(&tensors.each_ref().map(IntoEValue::into_evalue));
            let (result, failure) = match result {
                Ok(result) => (Some(result), None),
                Err(failure) => (None, Some(failure)),
            };
            self.observe(Call::Execute, failure, &given, result);
        }
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
        let on_device = device.is_some();
        Tensor {
            data,
            on_device,
            bits: device
                .or_else(host)
                .map(|values| values.into_iter().map(f32::to_bits).collect()),
            sizes,
        }
    }

    fn say<T>(&self, call: Call, result: Result<T, Failure>, given: &[usize]) -> Option<T> {
        let (value, failure) = match result {
            Ok(value) => (Some(value), None),
            Err(failure) => (None, Some(failure)),
        };
        self.observe(call, failure, given, None);
        value
    }

    fn observe(
        &self,
        call: Call,
        failure: Option<Failure>,
        given: &[usize],
        result: Option<Tensor>,
    ) {
        let line = json(&Observation {
            call,
            failure,
            given: given.to_vec(),
            report: self.gpu.report(),
            result,
        });
        let mut out = std::io::stdout();
        // The reader notices what is missing.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
