//! What our device and delegate answer where the answer is theirs alone: the rows of the table of differences.
#![allow(unsafe_code)]

use std::error::Error;

use device::{Device, POISON, Policy};
use executorch::device::{Device as Where, DeviceType};
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use executorch::tensor::{TensorPtr, TensorPtrBuilder, View};
use export::{Exported, pte};
use listings::{address, host_values, on_device, with_device};
use proof::Origin::StandIn;
use proof::fact;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let planned = pte("stand-in/planned_output")?;
    let host = planned.eager.inputs[0].f32()?;
    let (a, b) = (
        gpu.buffer(&host)?,
        gpu.buffer(&planned.eager.inputs[1].f32()?)?,
    );

    // One input's pointer at a time is not what the delegate expects.
    let freed = gpu.buffer(&host)?.as_ptr();
    let mut longer = vec![0.0];
    longer.extend(&host);
    let longer = gpu.buffer(&longer)?;
    let pointers = [
        ("a freed pointer", "freed", freed),
        ("a host pointer, tagged CUDA", "host", host.as_ptr()),
        (
            "a pointer 4 bytes into a block",
            "offset",
            longer.as_ptr().wrapping_add(1),
        ),
        (
            "a pointer 1 byte into a block",
            "misaligned",
            longer.as_ptr().wrapping_byte_add(1),
        ),
    ];
    for (what, id, pointer) in pointers {
        let answer = answer(gpu, &planned, pointer, b.as_ptr())?;
        println!("{what}: {answer}");
        fact(StandIn, &format!("stand-in.{id}"), answer);
    }

    let unset =
        answer(gpu, &pte("stand-in/caller_output")?, a.as_ptr(), b.as_ptr())?;
    println!("a null output: {unset}");
    fact(StandIn, "stand-in.null_output", unset);

    let second =
        answer(gpu, &pte("stand-in/second_device")?, a.as_ptr(), b.as_ptr())?;
    println!("a program for cuda:1: {second}");
    fact(StandIn, "stand-in.second_device", second);

    let copied = pte("stand-in/copied_inputs")?;
    for (policy, id) in [(Policy::Refuse, "refuse"), (Policy::Accept, "accept")] {
        gpu.set_policy(policy);
        let answer = answer(gpu, &copied, a.as_ptr(), b.as_ptr())?;
        println!("a copy from the wrong side, policy `{id}`: {answer}");
        fact(StandIn, &format!("stand-in.wrong_side.{id}"), answer);
    }
    gpu.set_policy(Policy::Refuse);

    // Of the second execution: the buffer has the first result's bytes.
    let mut module = Module::new(&planned.pte);
    module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&a, [8, 8]).into_evalue(),
    ])?;
    gpu.synchronize()?;
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    let early = gpu.read(address(&outputs[0]), 64)?;
    let early = if early.iter().all(|value| value.to_bits() == POISON) {
        "poison"
    } else {
        "values"
    };
    println!("a second result, read before the synchronise: {early}");
    fact(StandIn, "stand-in.early", early);
    gpu.synchronize()?;
    Ok(())
}

/// What comes of one execution with these pointers, tagged CUDA: `right`, `wrong`, or the error.
fn answer(
    gpu: Device,
    program: &Exported,
    a: *const f32,
    b: *const f32,
) -> Result<String, Box<dyn Error>> {
    let mut module = Module::new(&program.pte);
    let outputs =
        match module.forward(&[tagged(a).into_evalue(), tagged(b).into_evalue()]) {
            Ok(outputs) => outputs,
            Err(error) => return Ok(format!("{error} ({:#x})", error as u32)),
        };
    gpu.synchronize()?;
    let result = if outputs[0].as_tensor().device().is_cpu() {
        host_values(&outputs[0])
    } else {
        gpu.read(address(&outputs[0]), 64)?
    };
    let right = result == program.eager.outputs[0].f32()?;
    Ok(if right { "right" } else { "wrong" }.to_owned())
}

/// A tensor that says CUDA, whatever is at its address.
fn tagged<'a>(data: *const f32) -> TensorPtr<'a, View<f32>> {
    // SAFETY: the runtime hands the pointer on, and the fenced device looks it up before it is used; what this listing shows
    // is that look-up's answer.
    let tensor = unsafe {
        let cuda = Where::new(DeviceType::Cuda, 0);
        TensorPtrBuilder::<View<f32>>::from_ptr(data, [8, 8]).device(cuda)
    };
    tensor.build().expect("contiguous sizes have valid strides")
}
