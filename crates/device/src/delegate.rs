//! The delegate: what stands in for ExecuTorch's CUDA backend, under its id.

use std::sync::Arc;

use executorch_device::{
    Arg, Code, CompileSpec, Delegate, DeviceType, Error, ExecutionContext, InitContext, ScalarType,
    TensorRef,
};

use crate::{
    device::{Memory, Seen},
    fault::{Fault, planted},
    fence::Place,
    fenced::{Fenced, State, Stream},
    log,
    plan::{Argument, Plan, elements},
    recipe::{Program, Recipe},
};

/// The id under which programs name their delegate: that of ExecuTorch's CUDA backend.
pub(crate) const ID: &str = "CudaBackend";

/// The delegate of the fenced device.
#[derive(Debug)]
pub(crate) struct CudaBackend {
    device: &'static Fenced,
}

/// A loaded partition.
#[derive(Debug)]
pub(crate) struct Partition {
    program: Program,
    weights: Weights,
    /// For the input sizes of the last execution.
    plan: Option<Arc<Plan>>,
    stream: Stream,
}

/// The weights of a partition in device memory; freed on drop, also when loading stops half way.
#[derive(Debug)]
struct Weights {
    device: &'static Fenced,
    addresses: Vec<usize>,
}

impl Drop for Weights {
    fn drop(&mut self) {
        for &address in &self.addresses {
            self.device.free(address);
        }
    }
}

impl CudaBackend {
    pub(crate) fn new(device: &'static Fenced) -> Self {
        Self { device }
    }

    fn load(&self, context: &InitContext<'_>, program: &Program) -> Result<Weights, Error> {
        let mut weights = Weights {
            device: self.device,
            addresses: Vec::with_capacity(program.weights.len()),
        };
        for weight in &program.weights {
            let data = context
                .named_data(&weight.key)
                .inspect_err(|error| log::announce(error.message()))?;
            let wanted = elements(&weight.sizes).map_or(usize::MAX, |len| len * size_of::<f32>());
            if data.len() != wanted {
                return Err(log::refusal(
                    Code::InvalidExternalData,
                    format!(
                        "weight {} of method {}: its sizes {:?} take {wanted} bytes, the data under its key has {}; \
                         the data file is of another export",
                        weight.name,
                        program.method,
                        weight.sizes,
                        data.len()
                    ),
                ));
            }
            let address = self.device.load_weight(&data).map_err(|error| {
                log::refusal(
                    Code::DelegateMemoryAllocationFailed,
                    format!("weight {}: {error}", weight.name),
                )
            })?;
            weights.addresses.push(address);
        }
        Ok(weights)
    }
}

impl Delegate for CudaBackend {
    type Handle = Partition;

    fn init(
        &self,
        context: &InitContext<'_>,
        processed: &[u8],
        _: &[CompileSpec<'_>],
    ) -> Result<Partition, Error> {
        let program = Recipe::parse(processed)
            .and_then(|recipe| recipe.resolve())
            .map_err(|error| log::refusal(Code::DelegateInvalidCompatibility, error.to_string()))?;
        let weights = self.load(context, &program)?;
        Ok(Partition {
            program,
            weights,
            plan: None,
            stream: self.device.stream(),
        })
    }

    fn execute(
        &self,
        _: &ExecutionContext<'_>,
        partition: &mut Partition,
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        let mut state = self.device.lock();
        state.counters.executions += 1;
        state.last_call.clear();
        for arg in args {
            let Some(tensor) = arg.tensor() else {
                return Err(log::refusal(
                    Code::InvalidArgument,
                    format!("{arg:?} is no tensor"),
                ));
            };
            state.last_call.push(Seen {
                data: tensor.data_ptr(),
                nbytes: tensor.nbytes(),
            });
        }
        let program = &partition.program;
        let (inputs, outputs) = (program.inputs, program.outputs.len());
        if args.len() != inputs + outputs {
            let why = format!(
                "method {}: the recipe has {inputs} inputs and {outputs} outputs, the runtime passes {} tensors",
                program.method,
                args.len()
            );
            return Err(log::refusal(Code::InvalidArgument, why));
        }
        check_as_cuda_does(&state, args)?;
        // From here on the checks are this device's own.
        check_layout(program, args)?;
        let (inputs, outputs) = args.split_at(inputs);
        let fits = |plan: &Plan| {
            inputs
                .iter()
                .zip(plan.inputs())
                .all(|(arg, sizes)| has_sizes(arg, sizes))
        };
        let plan = match &mut partition.plan {
            Some(plan) if fits(plan) => plan,
            plan => plan.insert(Arc::new(new_plan(program, inputs, &partition.weights)?)),
        };
        for (arg, sizes) in outputs.iter().zip(plan.outputs()) {
            if !has_sizes(arg, sizes) {
                let size = |&size: &usize| i32::try_from(size).unwrap_or(i32::MAX);
                let sizes: Vec<i32> = sizes.iter().map(size).collect();
                arg.resize(&sizes)
                    .inspect_err(|error| log::announce(error.message()))?;
            }
        }
        for (index, arg) in args.iter().enumerate() {
            check_memory(&state, program, index, &tensor(arg))?;
        }

        if planted(Fault::CopiesOnExecute) {
            state.copy_to_the_host_and_back(inputs.iter().map(argument));
        }
        let elsewhere = planted(Fault::WrongPointer)
            .then(|| state.somewhere_else(outputs.iter().map(argument)));
        match elsewhere {
            Some(elsewhere) => state.enqueue(
                partition.stream,
                plan,
                inputs.iter().map(argument).chain(elsewhere),
            ),
            None => state.enqueue(partition.stream, plan, args.iter().map(argument)),
        }
        Ok(())
    }
}

/// The CUDA delegate's two checks of each tensor, in its order and its words (ExecuTorch, `backends/cuda/runtime/
/// cuda_backend.cpp`, commit cff6f4dd32): the tag, then where the pointer really is. Like there, a null pointer skips the
/// second. It asks `cudaPointerGetAttributes`, which answers no error and type 0 for what CUDA does not know.
fn check_as_cuda_does(state: &State, args: &[Arg<'_>]) -> Result<(), Error> {
    for (index, arg) in args.iter().enumerate() {
        let tensor = tensor(arg);
        let device = tensor.device().type_();
        if device != DeviceType::Cuda {
            let message = format!(
                "Tensor {index} expected device_type=CUDA (1), got {}. \
                 Device info may not be properly propagated from CudaPartitioner.",
                device as i8
            );
            return Err(log::refusal(Code::InvalidArgument, message));
        }
        let data = tensor.data_ptr();
        let live = matches!(state.fence.locate(data.addr()), Place::Live { .. });
        if !data.is_null() && !live && !planted(Fault::Unchecked) {
            let memory = if planted(Fault::OtherWords) {
                "GPU memory"
            } else {
                "CUDA device memory"
            };
            let message = format!(
                "Tensor {index} has device_type=CUDA but its data pointer {data:p} is not backed by {memory} \
                 (cudaPointerGetAttributes err=0, cudaMemoryType=0)."
            );
            return Err(log::refusal(Code::InvalidArgument, message));
        }
    }
    Ok(())
}

/// A plan knows sizes alone, so this is asked in each execution.
fn check_layout(program: &Program, args: &[Arg<'_>]) -> Result<(), Error> {
    for (index, arg) in args.iter().enumerate() {
        let tensor = tensor(arg);
        if tensor.scalar_type() != ScalarType::Float || !tensor.dim_order().is_sorted() {
            return Err(refused(
                program,
                index,
                "is not a contiguous float32 tensor",
            ));
        }
    }
    Ok(())
}

fn new_plan(program: &Program, inputs: &[Arg<'_>], weights: &Weights) -> Result<Plan, Error> {
    let sizes = inputs.iter().map(sizes_of).collect();
    program.plan(sizes, &weights.addresses).map_err(|why| {
        log::refusal(
            Code::InvalidArgument,
            format!("method {}: {why}", program.method),
        )
    })
}

/// What the CUDA delegate does with a null pointer is not known; with memory past the end of a block, a GPU would use it,
/// or fault.
fn check_memory(
    state: &State,
    program: &Program,
    index: usize,
    tensor: &TensorRef<'_>,
) -> Result<(), Error> {
    let (address, nbytes) = (tensor.data_ptr().addr(), tensor.nbytes());
    if nbytes == 0 {
        Ok(())
    } else if address == 0 {
        Err(refused(program, index, "has no memory"))
    } else if !address.is_multiple_of(align_of::<f32>()) {
        Err(refused(program, index, "is not aligned to 4 bytes"))
    } else if state.fence.bytes(address, nbytes).is_none() {
        Err(refused(
            program,
            index,
            &format!("does not lie in one device block with all its {nbytes} bytes"),
        ))
    } else {
        Ok(())
    }
}

fn refused(program: &Program, index: usize, why: &str) -> Error {
    let (kind, number) = match index.checked_sub(program.inputs) {
        None => ("input", index),
        Some(output) => ("output", output),
    };
    log::refusal(
        Code::Internal,
        format!("method {}: {kind} {number} {why}", program.method),
    )
}

/// The tensor of an argument that was checked to be one.
fn tensor<'a>(arg: &Arg<'a>) -> TensorRef<'a> {
    arg.tensor()
        .expect("every argument was checked to be a tensor")
}

fn argument(arg: &Arg<'_>) -> Argument {
    let tensor = tensor(arg);
    Argument::new(tensor.data_ptr().addr(), tensor.numel())
}

fn sizes_of(arg: &Arg<'_>) -> Vec<usize> {
    // The runtime has no tensor of a negative size.
    tensor(arg)
        .sizes()
        .into_iter()
        .map(|size| usize::try_from(size).unwrap_or(0))
        .collect()
}

fn has_sizes(arg: &Arg<'_>, sizes: &[usize]) -> bool {
    tensor(arg)
        .sizes()
        .into_iter()
        .map(i64::from)
        .eq(sizes.iter().map(|&size| size as i64))
}
