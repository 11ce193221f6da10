//! The device under the real runtime, on programs of the real exporter.
#![allow(unsafe_code)]

mod exported;
mod isolated;

use std::{
    ffi::c_void,
    path::Path,
    sync::{Arc, Barrier},
};

use device::{Buffer, Copies, Counters, Device, Element, Origin, POISON, Policy};
use executorch::{
    evalue::IntoEValue,
    tensor::{TensorPtr, TensorPtrBuilder, View},
};
use executorch_device::{
    Code, DeviceMemory, DeviceType, Module, ModuleBuilder, ScalarType, TensorMut, TensorRef,
};
use export::{Eager, Exported};
use exported::{add, mlp, own};
use isolated::{dies_by_sigsegv, isolated};

const SIZES: [i32; 2] = [8, 8];

/// The two inputs of `a + b`, and what eager PyTorch makes of them.
struct Sum {
    a: Vec<f32>,
    b: Vec<f32>,
    expected: Vec<f32>,
}

impl Sum {
    fn of(eager: &Eager) -> Self {
        let values = |tensor: &export::Tensor| tensor.f32().unwrap();
        Self {
            a: values(&eager.inputs[0]),
            b: values(&eager.inputs[1]),
            expected: values(&eager.outputs[0]),
        }
    }
}

fn load(exported: &Exported) -> Module<'static> {
    Module::load(&exported.pte).unwrap()
}

fn load_with_data(program: &Path, data: &Path) -> Module<'static> {
    ModuleBuilder::new(program).data_file(data).load().unwrap()
}

fn float<'a, T: Element>(buffer: &'a Buffer<T>, sizes: &[i32]) -> TensorRef<'a> {
    TensorRef::over(buffer, ScalarType::Float, sizes).unwrap()
}

/// The same for the `executorch` crate's own module.
fn on_device(buffer: &Buffer<f32>) -> TensorPtr<'_, View<f32>> {
    on_device_at(buffer.as_ptr())
}

fn on_device_at<'a>(address: *const f32) -> TensorPtr<'a, View<f32>> {
    let cuda = executorch_device::Device::new(DeviceType::Cuda, 0);
    // SAFETY: every test keeps the memory for as long as the tensor, and reads none of it on the host.
    let tensor = unsafe { TensorPtrBuilder::<View<f32>>::from_ptr(address, SIZES).device(cuda) };
    tensor.build().unwrap()
}

fn is_poison(values: &[f32]) -> bool {
    values.iter().all(|value| value.to_bits() == POISON)
}

fn address(tensor: &TensorRef<'_>) -> *const f32 {
    tensor.data_ptr().cast()
}

/// The elements of a result, without waiting.
fn read_output(gpu: Device, output: &TensorRef<'_>) -> Vec<f32> {
    gpu.read(address(output), output.numel()).unwrap()
}

/// Loads a byte as any code on the host would.
fn touch(address: *const c_void) {
    println!("touching");
    // SAFETY: none. The process is to die here.
    let byte = unsafe { address.cast::<u8>().read_volatile() };
    println!("survived with {byte:#x}");
}

#[test]
fn one_device_however_often_and_from_wherever_it_is_installed() {
    isolated(|| {
        let start = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let start = Arc::clone(&start);
                std::thread::spawn(move || {
                    start.wait();
                    let gpu = device::install().unwrap();
                    std::mem::forget(gpu.buffer(&[1_u8; 16]).unwrap());
                    gpu.describe()
                })
            })
            .collect();
        let descriptions: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(
            descriptions[0].starts_with("fenced host memory: "),
            "{}",
            descriptions[0]
        );
        assert!(
            descriptions
                .iter()
                .all(|description| *description == descriptions[0])
        );
        assert_eq!(device::install().unwrap().counters().live_bytes, 64);
    });
}

#[test]
fn the_host_cannot_read_device_memory() {
    dies_by_sigsegv("touching", || {
        let buffer = device::install().unwrap().buffer(&[1.0_f32; 16]).unwrap();
        touch(buffer.as_ptr().cast());
    });
}

#[test]
fn the_host_cannot_read_inside_a_block() {
    dies_by_sigsegv("touching", || {
        let buffer = device::install().unwrap().buffer(&[1.0_f32; 4096]).unwrap();
        touch(buffer.as_ptr().wrapping_add(1500).cast());
    });
}

#[test]
fn the_host_cannot_write_device_memory() {
    dies_by_sigsegv("writing", || {
        let mut buffer = device::install().unwrap().buffer(&[1.0_f32; 16]).unwrap();
        println!("writing");
        // SAFETY: none. The process is to die here.
        unsafe { buffer.as_mut_ptr().write_volatile(2.0) };
    });
}

#[test]
fn the_host_cannot_read_freed_memory() {
    dies_by_sigsegv("touching", || {
        let gpu = device::install().unwrap();
        let buffer = gpu.buffer(&[1.0_f32; 16]).unwrap();
        let address = buffer.as_ptr();
        drop(buffer);
        let _others: Vec<_> = (0..100)
            .map(|_| gpu.buffer(&[2.0_f32; 16]).unwrap())
            .collect();
        touch(address.cast());
    });
}

#[test]
fn the_host_cannot_write_freed_memory() {
    dies_by_sigsegv("writing", || {
        let mut buffer = device::install().unwrap().buffer(&[1.0_f32; 16]).unwrap();
        let address = buffer.as_mut_ptr();
        drop(buffer);
        println!("writing");
        // SAFETY: none. The process is to die here.
        unsafe { address.write_volatile(2.0) };
    });
}

#[test]
fn the_host_cannot_read_the_runtimes_own_buffer() {
    dies_by_sigsegv("touching", || {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        gpu.synchronize().unwrap();
        touch(outputs.tensor(0).unwrap().data_ptr());
    });
}

#[test]
fn a_read_of_what_is_no_live_block_is_an_error() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let buffer = gpu.buffer(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
        let address = buffer.as_ptr();
        assert_eq!(
            gpu.read(address.wrapping_add(1), 3).unwrap(),
            [2.0, 3.0, 4.0],
            "interior pointers are fine"
        );
        let host = [0.0_f32];
        let message = |address: *const f32, len| gpu.read(address, len).unwrap_err().to_string();
        assert!(message(host.as_ptr(), 1).contains("the pointer is no device memory"));
        assert!(message(std::ptr::null(), 1).contains("the pointer is no device memory"));
        assert!(message(address, 5).contains("the pointer is inside a live device block"));
        assert!(
            message(address, usize::MAX).contains("wanted a live device block with all of them")
        );
        assert!(gpu.read(std::ptr::null::<f32>(), 0).unwrap().is_empty());
        drop(buffer);
        assert!(message(address, 1).contains("the pointer is device memory that was freed"));
        assert!(gpu.empty::<u64>(usize::MAX).is_err());
        assert!(
            gpu.empty::<u8>(1 << 50)
                .unwrap_err()
                .to_string()
                .contains("no device memory for")
        );
        assert_eq!(
            gpu.buffer(&[1.0_f32])
                .unwrap()
                .write(&[])
                .unwrap_err()
                .to_string(),
            "the buffer has 1 elements, got 0 values"
        );
    });
}

#[test]
fn no_bytes_are_null_and_are_not_counted() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let mut empty = gpu.buffer::<f32>(&[]).unwrap();
        assert!(empty.is_empty() && empty.as_ptr().is_null());
        empty.write(&[]).unwrap();
        assert!(empty.read().unwrap().is_empty());
        drop(empty);
        assert_eq!((gpu.counters().allocations, gpu.counters().frees), (0, 0));
    });
}

#[test]
fn fresh_memory_is_poison() {
    isolated(|| {
        let gpu = device::install().unwrap();
        assert!(is_poison(&gpu.empty::<f32>(100).unwrap().read().unwrap()));
        assert_eq!(
            gpu.empty::<u8>(4).unwrap().read().unwrap(),
            POISON.to_le_bytes()
        );
        assert!(f32::from_bits(POISON).is_nan());
    });
}

#[test]
fn counters_are_exact() {
    isolated(|| {
        let gpu = device::install().unwrap();
        assert_eq!(gpu.counters(), Counters::default());

        // Host to host: two copies in, one out, and the runtime's own buffers for all three tensors.
        let program = add("h0d0_i1o1");
        let sum = Sum::of(&program.eager);
        let mut module = load(&program);
        module.load_method("forward").unwrap();
        let loaded = gpu.counters();
        assert_eq!((loaded.allocations, loaded.live_bytes), (1, 768));
        let (mut a, mut b) = (sum.a.clone(), sum.b.clone());
        let (a, b) = (
            TensorMut::host(&mut a, &SIZES).unwrap(),
            TensorMut::host(&mut b, &SIZES).unwrap(),
        );
        let outputs = module.forward([a.as_ref(), b.as_ref()]).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().as_slice::<f32>().unwrap(),
            sum.expected
        );
        let ran = gpu.counters().since(&loaded);
        let expected = Counters {
            live_bytes: 768,
            h2d: Copies {
                calls: 2,
                bytes: 512,
            },
            d2h: Copies {
                calls: 1,
                bytes: 256,
            },
            executions: 1,
            enqueued: 1,
            finished: 1,
            ..Counters::default()
        };
        assert_eq!(ran, expected);
        drop(module);
        assert_eq!(gpu.counters().live_bytes, 0);
        assert_eq!((gpu.counters().allocations, gpu.counters().frees), (1, 1));

        // Device to device: no copy by the runtime, three by the caller.
        let program = add("h1d1_i0o1");
        let before = gpu.counters();
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        let queued = gpu.counters().since(&before);
        assert_eq!((queued.enqueued, queued.finished), (1, 0));
        gpu.synchronize().unwrap();
        assert_eq!(read_output(gpu, &outputs.tensor(0).unwrap()), sum.expected);
        drop((module, a, b));
        let whole = gpu.counters().since(&before);
        let addresses = whole.addresses;
        let expected = Counters {
            allocations: 3,
            frees: 3,
            caller_h2d: Copies {
                calls: 2,
                bytes: 512,
            },
            caller_d2h: Copies {
                calls: 1,
                bytes: 256,
            },
            executions: 1,
            enqueued: 1,
            finished: 1,
            addresses,
            ..Counters::default()
        };
        assert_eq!(whole, expected);
        assert_eq!(gpu.counters().live_blocks(), 0);
    });
}

#[test]
fn the_callers_pointers_reach_the_delegate() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o0");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut out = gpu.empty::<f32>(64).unwrap();
        let pointer = out.as_ptr();
        let mut module = load(&program);
        module
            .set_output(
                "forward",
                0,
                TensorMut::over(&mut out, ScalarType::Float, &SIZES).unwrap(),
            )
            .unwrap();
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().data_ptr(),
            pointer.cast_mut().cast()
        );
        let seen: Vec<_> = gpu
            .last_call()
            .iter()
            .map(|seen| (seen.data.cast::<f32>(), seen.nbytes))
            .collect();
        assert_eq!(seen, [(a.as_ptr(), 256), (b.as_ptr(), 256), (pointer, 256)]);
        gpu.synchronize().unwrap();
        assert_eq!(
            gpu.read(pointer, 64).unwrap(),
            sum.expected,
            "the result lies in the caller's buffer"
        );
        assert_eq!((gpu.counters().h2d.calls, gpu.counters().d2h.calls), (0, 0));
    });
}

#[test]
fn a_forgotten_synchronise_finds_poison() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        for _ in 0..2 {
            // The second time the buffer already holds the right numbers; they must not be found either.
            let outputs = module
                .forward([float(&a, &SIZES), float(&b, &SIZES)])
                .unwrap();
            let output = outputs.tensor(0).unwrap();
            let before = gpu.counters();
            assert!(is_poison(&read_output(gpu, &output)));
            let part = gpu
                .read(output.data_ptr().cast::<u8>().wrapping_add(6), 4)
                .unwrap();
            assert_eq!(
                part,
                [0xa5, 0x7f, 0xa5, 0xa5],
                "the pattern keeps its place in a part of it"
            );
            let read = gpu.counters().since(&before);
            assert_eq!((read.poisoned, read.finished), (2, 0));
            gpu.synchronize().unwrap();
            assert_eq!(read_output(gpu, &output), sum.expected);
        }
        assert_eq!(gpu.counters().poisoned, 4);
        assert_eq!(a.read().unwrap(), sum.a, "inputs are not poisoned");
    });
}

#[test]
fn the_runtimes_own_copy_to_the_host_waits() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d0_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().as_slice::<f32>().unwrap(),
            sum.expected
        );
        assert_eq!((gpu.counters().finished, gpu.counters().d2h.calls), (1, 1));
    });
}

#[test]
fn work_keeps_its_inputs_although_the_caller_overwrites_and_frees_them() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let mut module = load(&program);

        let (mut a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        let output = address(&outputs.tensor(0).unwrap());
        a.write(&[100.0; 64]).unwrap();
        assert_eq!(
            gpu.counters().finished,
            1,
            "an upload waits for the work that uses its target"
        );
        assert_eq!(gpu.read(output, 64).unwrap(), sum.expected);

        a.write(&sum.a).unwrap();
        let unrelated = gpu.buffer(&[0.0_f32]).unwrap();
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        let output = address(&outputs.tensor(0).unwrap());
        drop(unrelated);
        assert_eq!(
            gpu.counters().finished,
            1,
            "freeing memory that no queued work uses waits for nothing"
        );
        drop(b);
        assert_eq!(
            gpu.counters().finished,
            2,
            "freeing an input of queued work waits for it"
        );
        assert_eq!(gpu.read(output, 64).unwrap(), sum.expected);
    });
}

#[test]
fn a_result_is_kept_by_a_copy_on_the_device() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, mut b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        let outputs = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        let output = outputs.tensor(0).unwrap().data_ptr().cast::<f32>();
        let kept = gpu.copy_of(output.cast_const(), 64).unwrap();
        assert!(
            is_poison(&kept.read().unwrap()),
            "the copy is queued as well"
        );
        b.write(&[0.0; 64]).unwrap();
        module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap();
        gpu.synchronize().unwrap();
        assert_eq!(kept.read().unwrap(), sum.expected);
        assert_eq!(
            gpu.read(output, 64).unwrap(),
            sum.a,
            "the first result has become the second"
        );
        assert_eq!((gpu.counters().h2d.calls, gpu.counters().d2h.calls), (0, 0));
    });
}

#[test]
fn every_operator_equals_eager_pytorch_bit_for_bit() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = own("every_operator");
        let mut module = load_with_data(&program.pte, &program.ptd[0]);
        let x = gpu.buffer(&program.eager.inputs[0].f32().unwrap()).unwrap();
        let outputs = module.forward([float(&x, &SIZES)]).unwrap();
        gpu.synchronize().unwrap();
        assert_eq!(outputs.len(), 3);
        for (index, expected) in program.eager.outputs.iter().enumerate() {
            let result = read_output(gpu, &outputs.tensor(index).unwrap());
            let bytes: Vec<u8> = result
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            assert_eq!(bytes, expected.bytes, "output {index}");
        }
    });
}

#[test]
fn weights_live_on_the_device_while_the_method_is_loaded() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = mlp("h1d1_i0o1");
        let mut module = load_with_data(&program.pte, &program.ptd[0]);
        module.load_method("forward").unwrap();
        let loaded = gpu.counters();
        let bytes = 4 * (8 * 16 + 16 + 16 * 4 + 4);
        assert_eq!(loaded.weights, Copies { calls: 4, bytes });
        assert_eq!(
            loaded.live_bytes,
            bytes + 8 * 4 * 4,
            "the weights and the planned output"
        );
        let x = gpu.buffer(&program.eager.inputs[0].f32().unwrap()).unwrap();
        let outputs = module.forward([float(&x, &SIZES)]).unwrap();
        gpu.synchronize().unwrap();
        assert_eq!(
            read_output(gpu, &outputs.tensor(0).unwrap()),
            program.eager.outputs[0].f32().unwrap()
        );
        drop((module, x));
        assert_eq!(
            (gpu.counters().live_bytes, gpu.counters().live_blocks()),
            (0, 0)
        );
    });
}

#[test]
fn dynamic_shapes_resize_the_output() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = own("dynamic");
        let sum = Sum::of(program.method("add").unwrap());
        let mut module = load(&program);
        for rows in [8, 3, 1, 3, 8] {
            let len = rows * 8;
            let (a, b) = (
                gpu.buffer(&sum.a[..len]).unwrap(),
                gpu.buffer(&sum.b[..len]).unwrap(),
            );
            let sizes = [rows as i32, 8];
            let outputs = module
                .execute("add", [float(&a, &sizes), float(&b, &sizes)])
                .unwrap();
            let output = outputs.tensor(0).unwrap();
            assert_eq!(output.sizes(), sizes);
            gpu.synchronize().unwrap();
            assert_eq!(read_output(gpu, &output), sum.expected[..len]);
        }

        let program = own("dynamic_caller");
        let mut out = gpu.buffer(&[7.0_f32; 64]).unwrap();
        let pointer = out.as_ptr();
        let mut module = load(&program);
        module
            .set_output(
                "add",
                0,
                TensorMut::over(&mut out, ScalarType::Float, &SIZES).unwrap(),
            )
            .unwrap();
        let (a, b) = (
            gpu.buffer(&sum.a[..16]).unwrap(),
            gpu.buffer(&sum.b[..16]).unwrap(),
        );
        module
            .execute("add", [float(&a, &[2, 8]), float(&b, &[2, 8])])
            .unwrap();
        gpu.synchronize().unwrap();
        let all = gpu.read(pointer, 64).unwrap();
        assert_eq!(all[..16], sum.expected[..16]);
        assert_eq!(
            all[16..],
            [7.0; 48],
            "nothing is written past the rows of this run"
        );
    });
}

#[test]
fn inputs_that_do_not_go_together_are_refused_by_name() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let mut module = load(&own("dynamic"));
        let (a, b) = (
            gpu.buffer(&[0.0_f32; 16]).unwrap(),
            gpu.buffer(&[0.0_f32; 24]).unwrap(),
        );
        let error = module
            .execute("add", [float(&a, &[2, 8]), float(&b, &[3, 8])])
            .unwrap_err();
        assert_eq!(error.kind(), Code::InvalidArgument);
        assert_eq!(
            error.log()[0],
            "method add: add: sizes [2, 8] and [3, 8] do not broadcast"
        );
    });
}

#[test]
fn host_memory_behind_a_device_tensor_is_refused_in_the_cuda_delegates_words() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let b = gpu.buffer(&sum.b).unwrap();
        let mut host = sum.a.clone();
        let address = host.as_ptr();
        let mut module = load(&program);
        module.load_method("forward").unwrap();
        let before = gpu.counters();
        gpu.take_log();
        // The tensor is tagged CPU; of an unplanned input the runtime takes over the pointer alone.
        let a = TensorMut::host(&mut host, &SIZES).unwrap();
        let error = module.forward([a.as_ref(), float(&b, &SIZES)]).unwrap_err();
        assert_eq!(error.code(), 0x12);
        let expected = format!(
            "Tensor 0 has device_type=CUDA but its data pointer {address:p} is not backed by CUDA device memory \
             (cudaPointerGetAttributes err=0, cudaMemoryType=0)."
        );
        let log = gpu.take_log();
        assert_eq!(
            (&log[0].message, log[0].origin),
            (&expected, Origin::StandIn)
        );
        assert!(
            log.iter().any(|line| line.origin == Origin::Runtime),
            "the runtime's own lines are told apart"
        );
        let refused = gpu.counters().since(&before);
        assert_eq!((refused.executions, refused.enqueued), (1, 0));
        drop((module, b));
        assert_eq!(
            (gpu.counters().live_bytes, gpu.counters().live_blocks()),
            (0, 0),
            "nothing leaks"
        );
    });
}

#[test]
fn a_tensor_that_is_not_tagged_cuda_is_refused_in_the_cuda_delegates_words() {
    isolated(|| {
        let mut module = load(&own("untagged"));
        let (mut a, mut b) = ([0.0_f32; 64], [0.0_f32; 64]);
        device::install().unwrap();
        let (a, b) = (
            TensorMut::host(&mut a, &SIZES).unwrap(),
            TensorMut::host(&mut b, &SIZES).unwrap(),
        );
        let error = module.execute("add", [a.as_ref(), b.as_ref()]).unwrap_err();
        assert_eq!(error.code(), 0x12);
        let expected = "Tensor 0 expected device_type=CUDA (1), got 0. \
                        Device info may not be properly propagated from CudaPartitioner.";
        assert_eq!(error.log()[0], expected);
    });
}

#[test]
fn freed_device_memory_is_no_device_memory() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let (a, b) = (
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
        );
        let mut module = load(&add("h1d1_i0o1"));
        let freed = Claimed {
            address: a.as_ptr().cast_mut().cast(),
        };
        drop(a);
        let freed = TensorRef::over(&freed, ScalarType::Float, &SIZES).unwrap();
        let error = module.forward([freed, float(&b, &SIZES)]).unwrap_err();
        assert_eq!(error.code(), 0x12);
        assert!(
            error.log()[0].contains("Tensor 0 has device_type=CUDA but its data pointer"),
            "{error}"
        );
    });
}

#[test]
fn a_tensor_that_leaves_its_block_is_refused() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let (a, b) = (
            gpu.buffer(&[0.0_f32; 128]).unwrap(),
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
        );
        let mut module = load(&add("h1d1_i0o1"));
        for (elements, expected) in [
            (
                65,
                "input 0 does not lie in one device block with all its 256 bytes",
            ),
            (64, ""),
        ] {
            let inside = Claimed {
                address: a.as_ptr().wrapping_add(elements).cast_mut().cast(),
            };
            let inside = TensorRef::over(&inside, ScalarType::Float, &SIZES).unwrap();
            match module.forward([inside, float(&b, &SIZES)]) {
                Ok(_) => assert_eq!(expected, ""),
                Err(error) => {
                    assert_eq!(error.code(), 0x1);
                    assert!(error.log()[0].ends_with(expected), "{error}");
                }
            }
        }
    });
}

/// 256 bytes that are claimed to be there.
struct Claimed {
    address: *mut c_void,
}

// SAFETY: not kept in one case, which the device must notice before it uses the memory.
unsafe impl DeviceMemory for Claimed {
    fn as_ptr(&self) -> *mut c_void {
        self.address
    }

    fn nbytes(&self) -> usize {
        256
    }

    fn device(&self) -> executorch_device::Device {
        executorch_device::Device::new(DeviceType::Cuda, 0)
    }
}

// SAFETY: an address.
unsafe impl Send for Claimed {}
// SAFETY: an address.
unsafe impl Sync for Claimed {}

#[test]
fn a_null_output_reaches_the_delegate_and_is_refused_by_it() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o0");
        let (a, b) = (
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
        );
        // The `executorch` crate's own module: ours refuses before the delegate is asked.
        let mut module = executorch::module::Module::new(&program.pte);
        let (a, b) = (on_device(&a), on_device(&b));
        let error = module
            .forward(&[a.into_evalue(), b.into_evalue()])
            .unwrap_err();
        assert_eq!(error, Code::Internal);
        let log = gpu.take_log();
        let expected = "method forward: output 0 has no memory";
        assert!(
            log.iter()
                .any(|line| line.message == expected && line.origin == Origin::StandIn),
            "{log:?}"
        );
        assert!(gpu.last_call()[2].data.is_null());
        assert_eq!(gpu.counters().enqueued, 0);
    });
}

#[test]
fn a_device_source_where_the_host_is_expected_is_refused_or_copied_as_the_policy_says() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h0d0_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        // The `executorch` crate's own module: ours refuses a device tensor for an input on the host.
        let mut module = executorch::module::Module::new(&program.pte);
        module.load_method("forward", None, None).unwrap();
        for (policy, works) in [
            (Policy::Refuse, false),
            (Policy::Accept, true),
            (Policy::Refuse, false),
        ] {
            gpu.set_policy(policy);
            gpu.take_log();
            let before = gpu.counters();
            let (a, b) = (on_device(&a), on_device(&b));
            match module.forward(&[a.into_evalue(), b.into_evalue()]) {
                Ok(outputs) => {
                    assert!(works);
                    assert_eq!(
                        outputs[0]
                            .as_tensor()
                            .into_typed::<f32>()
                            .as_array_dyn()
                            .iter()
                            .copied()
                            .collect::<Vec<_>>(),
                        sum.expected
                    );
                    assert_eq!(
                        gpu.counters().since(&before).h2d,
                        Copies {
                            calls: 2,
                            bytes: 512
                        }
                    );
                }
                Err(_) => {
                    assert!(!works);
                    let log = gpu.take_log();
                    assert!(
                        log[0].message.starts_with("copy_host_to_device: src 0x"),
                        "{log:?}"
                    );
                    assert!(log[0].message.ends_with(" is device memory"), "{log:?}");
                    assert_eq!(gpu.counters().since(&before).h2d, Copies::default());
                }
            }
        }
    });
}

#[test]
fn two_methods_without_a_synchronise_in_between_are_a_race() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = own("methods");
        let values = program.method("double").unwrap().inputs[0].f32().unwrap();
        let expected: Vec<f32> = values.iter().map(|x| (x + x) * (x + x)).collect();
        let x = gpu.buffer(&values).unwrap();
        let mut module = load(&program);
        for synchronise in [false, true] {
            let before = gpu.counters();
            gpu.take_log();
            let doubled = module
                .execute("double", [float(&x, &SIZES)])
                .unwrap()
                .tensor(0)
                .unwrap()
                .data_ptr();
            if synchronise {
                gpu.synchronize().unwrap();
            }
            let doubled = Claimed { address: doubled };
            let doubled = TensorRef::over(&doubled, ScalarType::Float, &SIZES).unwrap();
            let outputs = module.execute("square", [doubled]).unwrap();
            gpu.synchronize().unwrap();
            let result = read_output(gpu, &outputs.tensor(0).unwrap());
            let races = gpu.counters().since(&before).races;
            if synchronise {
                assert_eq!((result, races), (expected.clone(), 0));
            } else {
                assert!(
                    result.iter().all(|value| value.is_nan()),
                    "what poison gives"
                );
                assert_eq!(races, 1);
                assert!(
                    gpu.take_log()
                        .iter()
                        .any(|line| line.message.contains("synchronise in between"))
                );
            }
        }
    });
}

#[test]
fn one_method_after_itself_is_in_order() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = own("methods");
        let values = program.method("double").unwrap().inputs[0].f32().unwrap();
        let x = gpu.buffer(&values).unwrap();
        let mut module = load(&program);
        let doubled = Claimed {
            address: module
                .execute("double", [float(&x, &SIZES)])
                .unwrap()
                .tensor(0)
                .unwrap()
                .data_ptr(),
        };
        let again = TensorRef::over(&doubled, ScalarType::Float, &SIZES).unwrap();
        let outputs = module.execute("double", [again]).unwrap();
        gpu.synchronize().unwrap();
        let expected: Vec<f32> = values.iter().map(|x| 4.0 * x).collect();
        assert_eq!(
            read_output(gpu, &outputs.tensor(0).unwrap()),
            expected,
            "its output was its input, too"
        );
        assert_eq!(gpu.counters().races, 0);
    });
}

#[test]
fn nothing_leaks_when_loading_stops_half_way() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let (program, other) = (own("layers"), own("other_layers"));
        // The other program's data file has the first weight and not the second.
        let mut module = load_with_data(&program.pte, &other.ptd[0]);
        let error = module.load_method("layers").unwrap_err();
        assert_eq!(error.kind(), Code::NotFound);
        let counters = gpu.counters();
        assert_eq!(counters.weights.calls, 1, "the first weight was loaded");
        assert_eq!((counters.live_bytes, counters.live_blocks()), (0, 0));

        // Without any data file, and as it should be.
        assert_eq!(
            load(&program).load_method("layers").unwrap_err().kind(),
            Code::NotFound
        );
        load_with_data(&program.pte, &program.ptd[0])
            .load_method("layers")
            .unwrap();
        assert_eq!(
            (gpu.counters().live_bytes, gpu.counters().live_blocks()),
            (0, 0)
        );
    });
}

/// A program's bytes with the first `written` replaced by as many others.
fn replaced(program: &[u8], written: &[u8], planted: &[u8]) -> Vec<u8> {
    assert_eq!(written.len(), planted.len());
    let at = program
        .windows(written.len())
        .position(|window| window == written)
        .unwrap();
    let mut changed = program.to_vec();
    changed[at..at + planted.len()].copy_from_slice(planted);
    changed
}

#[test]
fn a_blob_that_does_not_match_its_program_or_its_data_is_refused() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changed.pte");

        let program = std::fs::read(add("h1d1_i0o1").pte).unwrap();
        let without_b = replaced(&program, br#",{"name":"b","dtype":"float32"}"#, &[b' '; 31]);
        std::fs::write(
            &path,
            replaced(&without_b, br#"["a","b"]"#, br#"["a","a"]"#),
        )
        .unwrap();
        let (a, b) = (
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
        );
        let mut module = Module::load(&path).unwrap();
        let error = module
            .forward([float(&a, &SIZES), float(&b, &SIZES)])
            .unwrap_err();
        assert_eq!(error.code(), 0x12);
        let expected =
            "method forward: the recipe has 1 inputs and 1 outputs, the runtime passes 3 tensors";
        assert_eq!(error.log()[0], expected);

        let program = own("layers");
        let bytes = std::fs::read(&program.pte).unwrap();
        std::fs::write(
            &path,
            replaced(&bytes, br#""sizes":[8,8]"#, br#""sizes":[8,4]"#),
        )
        .unwrap();
        let error = load_with_data(&path, &program.ptd[0])
            .load_method("layers")
            .unwrap_err();
        assert_eq!(error.code(), 0x24);
        assert!(
            error.log()[0].contains("sizes [8, 4] take 128 bytes, the data under its key has 256"),
            "{error}"
        );
    });
}

#[test]
fn tensors_that_no_operator_takes_are_refused_by_name() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let memory = gpu.buffer(&[0.0_f32; 64]).unwrap();
        for (program, dtype, sizes) in [
            ("integers", ScalarType::Int, &[8, 8][..]),
            ("channels_last", ScalarType::Float, &[1, 4, 4, 4][..]),
        ] {
            let mut module = load(&own(program));
            let tensor = || TensorRef::over(&memory, dtype, sizes).unwrap();
            let error = module.execute("add", [tensor(), tensor()]).unwrap_err();
            assert_eq!(error.code(), 0x1, "{error}");
            assert_eq!(
                error.log()[0],
                "method add: input 0 is not a contiguous float32 tensor"
            );
        }

        let mut module = executorch::module::Module::new(add("h1d1_i0o1").pte);
        let (shifted, b) = (
            on_device_at(memory.as_ptr().wrapping_byte_add(2)),
            gpu.buffer(&[0.0_f32; 64]).unwrap(),
        );
        module
            .forward(&[shifted.into_evalue(), on_device(&b).into_evalue()])
            .unwrap_err();
        let log = gpu.take_log();
        assert!(
            log.iter()
                .any(|line| line.message == "method forward: input 0 is not aligned to 4 bytes"),
            "{log:?}"
        );
    });
}

#[test]
fn the_log_keeps_its_last_lines() {
    isolated(|| {
        let gpu = device::install().unwrap();
        for line in 0..5000 {
            executorch_device::log(executorch_device::LogLevel::Info, &format!("line {line}"));
        }
        let log = gpu.take_log();
        assert_eq!(log.len(), 4096);
        assert_eq!(
            (&*log[0].message, &*log[4095].message),
            ("line 904", "line 4999")
        );
        assert!(gpu.take_log().is_empty());
    });
}

#[test]
fn another_blob_is_refused_with_its_reason() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = std::fs::read(add("h1d1_i0o1").pte).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            (
                &br#""version":1"#[..],
                &br#""version":7"#[..],
                "the recipe has version 7, this device reads version 1",
            ),
            (
                &br#""op":"add""#[..],
                &br#""op":"erf""#[..],
                "needs the operator erf, this device has: add, mul",
            ),
            (
                &br#"{"version""#[..],
                &br#"["version""#[..],
                "the delegate's blob is not a recipe",
            ),
        ];
        for (written, planted, expected) in cases {
            let path = folder.path().join("changed.pte");
            std::fs::write(&path, replaced(&program, written, planted)).unwrap();
            let error = Module::load(&path)
                .unwrap()
                .load_method("forward")
                .unwrap_err();
            assert_eq!(error.code(), 0x30);
            assert!(error.log()[0].contains(expected), "{error}");
        }
        assert_eq!(
            (gpu.counters().live_bytes, gpu.counters().live_blocks()),
            (0, 0)
        );
    });
}

#[test]
fn two_threads_with_a_module_each() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let (program, data) = (add("h1d1_i0o1"), mlp("h1d1_i0o1"));
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sum = Sum::of(&program.eager);
                let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
                let mut module = load(&program);
                start.wait();
                for _ in 0..500 {
                    let outputs = module
                        .forward([float(&a, &SIZES), float(&b, &SIZES)])
                        .unwrap();
                    gpu.synchronize().unwrap();
                    assert_eq!(read_output(gpu, &outputs.tensor(0).unwrap()), sum.expected);
                }
            });
            scope.spawn(|| {
                let x = gpu.buffer(&data.eager.inputs[0].f32().unwrap()).unwrap();
                let expected = data.eager.outputs[0].f32().unwrap();
                start.wait();
                for _ in 0..50 {
                    let mut module = load_with_data(&data.pte, &data.ptd[0]);
                    for _ in 0..10 {
                        let outputs = module.forward([float(&x, &SIZES)]).unwrap();
                        gpu.synchronize().unwrap();
                        assert_eq!(read_output(gpu, &outputs.tensor(0).unwrap()), expected);
                    }
                }
            });
        });
        let counters = gpu.counters();
        assert_eq!(
            (counters.executions, counters.enqueued, counters.finished),
            (1000, 1000, 1000)
        );
        assert_eq!(
            (counters.live_bytes, counters.live_blocks(), counters.races),
            (0, 0, 0)
        );
    });
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn ten_thousand_executions_take_constant_memory() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h1d1_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        let mut run = |count: usize, each: &mut dyn FnMut()| {
            for _ in 0..count {
                module
                    .forward([float(&a, &SIZES), float(&b, &SIZES)])
                    .unwrap();
                each();
            }
        };
        run(2000, &mut || ());
        let (counters, memory) = (gpu.counters(), resident());
        run(5000, &mut || gpu.synchronize().unwrap());
        // Without a synchronise the queue fills, and is then run.
        run(5000, &mut || ());
        let grown = resident().saturating_sub(memory);
        let used = gpu.counters().since(&counters);
        assert!(grown < 1 << 20, "{grown} bytes more");
        assert_eq!(
            (used.allocations, used.addresses, used.enqueued),
            (0, 0, 10_000)
        );
    });
}

#[test]
fn a_thousand_loads_take_constant_memory() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = mlp("h1d1_i0o1");
        let run = |count| {
            for _ in 0..count {
                let mut module = load_with_data(&program.pte, &program.ptd[0]);
                let x = gpu.buffer(&[0.5_f32; 64]).unwrap();
                module.forward([float(&x, &SIZES)]).unwrap();
            }
        };
        run(200);
        let (counters, memory) = (gpu.counters(), resident());
        run(1000);
        let grown = resident().saturating_sub(memory);
        let used = gpu.counters().since(&counters);
        assert!(grown < 2 << 20, "{grown} bytes more");
        assert_eq!(used.allocations, used.frees);
        assert_eq!(
            used.addresses,
            6 * 8192 * 1000,
            "six blocks a round, two pages of addresses each"
        );
    });
}

#[test]
fn a_fault_that_cannot_be_planted_is_an_error() {
    if std::env::var_os("GUIDE_DEVICE_PLANT").is_none() {
        let output = isolated::run(
            "a_fault_that_cannot_be_planted_is_an_error",
            &[("GUIDE_DEVICE_PLANT", "no-such-fault")],
        );
        assert!(output.status.success(), "{}", isolated::text(&output));
        return;
    }
    let message = device::install().unwrap_err().to_string();
    let expected = if cfg!(feature = "planted") {
        "is no fault that can be planted: there are"
    } else {
        "has no faults"
    };
    assert!(message.contains(expected), "{message}");
}

/// Which tests must fail when the device misbehaves in each way.
#[cfg(feature = "planted")]
const NOTICED_BY: &[(&str, &[&str])] = &[
    (
        "wrong-result",
        &[
            "counters_are_exact",
            "every_operator_equals_eager_pytorch_bit_for_bit",
        ],
    ),
    (
        "wrong-pointer",
        &["the_callers_pointers_reach_the_delegate"],
    ),
    (
        "never-runs",
        &[
            "the_callers_pointers_reach_the_delegate",
            "dynamic_shapes_resize_the_output",
        ],
    ),
    (
        "eager",
        &["a_forgotten_synchronise_finds_poison", "counters_are_exact"],
    ),
    ("no-poison", &["a_forgotten_synchronise_finds_poison"]),
    ("drains-on-read", &["a_forgotten_synchronise_finds_poison"]),
    (
        "stale-copy",
        &[
            "the_runtimes_own_copy_to_the_host_waits",
            "counters_are_exact",
        ],
    ),
    (
        "copies-on-execute",
        &[
            "counters_are_exact",
            "the_callers_pointers_reach_the_delegate",
        ],
    ),
    (
        "unchecked",
        &["host_memory_behind_a_device_tensor_is_refused_in_the_cuda_delegates_words"],
    ),
    (
        "wrong-side",
        &["a_device_source_where_the_host_is_expected_is_refused_or_copied_as_the_policy_says"],
    ),
    (
        "unfenced",
        &[
            "the_host_cannot_read_device_memory",
            "the_host_cannot_write_freed_memory",
        ],
    ),
    (
        "leak",
        &[
            "counters_are_exact",
            "nothing_leaks_when_loading_stops_half_way",
        ],
    ),
    ("miscounts", &["counters_are_exact"]),
    (
        "other-words",
        &["host_memory_behind_a_device_tensor_is_refused_in_the_cuda_delegates_words"],
    ),
];

#[cfg(feature = "planted")]
#[test]
fn every_planted_fault_is_noticed() {
    let planted: Vec<_> = device::PLANTED_FAULTS.iter().map(|fault| fault.0).collect();
    let noticed: Vec<_> = NOTICED_BY.iter().map(|fault| fault.0).collect();
    assert_eq!(planted, noticed);
    for (fault, tests) in NOTICED_BY {
        for test in *tests {
            let output = isolated::run(test, &[("GUIDE_DEVICE_PLANT", fault)]);
            assert!(!output.status.success(), "{test} did not notice {fault}");
        }
    }
}

#[test]
fn a_report_says_what_happened_since_the_last_one() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h0d0_i0o1");
        let sum = Sum::of(&program.eager);
        let (a, b) = (gpu.buffer(&sum.a).unwrap(), gpu.buffer(&sum.b).unwrap());
        let mut module = load(&program);
        module.load_method("forward").unwrap();
        assert!(gpu.report().errors.is_empty());
        assert_eq!(gpu.report(), device::Report::default());

        let inputs = [&sum.a, &sum.b].map(|values| TensorRef::host(values, &SIZES).unwrap());
        module.forward(&inputs).unwrap();
        let report = gpu.report();
        let copies = |calls, bytes| Copies { calls, bytes };
        assert_eq!((report.h2d, report.d2h), (copies(2, 512), copies(1, 256)));
        let seen: Vec<usize> = gpu
            .last_call()
            .iter()
            .map(|seen| seen.data.addr())
            .collect();
        assert_eq!((seen.len(), &report.seen), (3, &seen));

        // A call that does not come to the delegate leaves nothing of the one before.
        let mut module = executorch::module::Module::new(&program.pte);
        let inputs = [on_device(&a), on_device(&b)];
        let refused = module.forward(&inputs.each_ref().map(IntoEValue::into_evalue));
        assert!(refused.is_err());
        drop(refused);
        let report = gpu.report();
        assert_eq!(report.seen, [0_usize; 0]);
        let first = &report.errors[0];
        assert_eq!(first.origin, Origin::StandIn);
        assert!(first.message.ends_with("is device memory"), "{first:?}");
        assert!(
            report.errors[1..]
                .iter()
                .all(|line| line.origin == Origin::Runtime)
        );
    });
}

#[test]
fn reports_of_four_threads_say_everything_once() {
    isolated(|| {
        let gpu = device::install().unwrap();
        let program = add("h0d0_i0o1");
        let sum = Sum::of(&program.eager);
        let before = gpu.counters();
        let counted = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                scope.spawn(|| {
                    let mut module = load(&program);
                    let inputs =
                        [&sum.a, &sum.b].map(|values| TensorRef::host(values, &SIZES).unwrap());
                    let mut counted = 0;
                    for _ in 0..10_000 {
                        module.forward(&inputs).unwrap();
                        counted += gpu.report().h2d.calls;
                    }
                    counted
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        let done = gpu.counters().since(&before);
        assert_eq!(done.h2d.calls, 2 * 4 * 10_000);
        assert_eq!(counted.iter().sum::<u64>(), done.h2d.calls);
    });
}

/// What `include/guide_device.h` declares.
mod c {
    use std::ffi::{c_char, c_void};

    unsafe extern "C" {
        pub safe fn guide_device_install() -> *const c_char;
        pub safe fn guide_device_synchronize();
        pub unsafe fn guide_device_allocate(values: *const f32, len: usize) -> *mut c_void;
        pub unsafe fn guide_device_write(
            block: *const c_void,
            len: usize,
            values: *const f32,
        ) -> bool;
        pub safe fn guide_device_free(block: *const c_void) -> bool;
        pub unsafe fn guide_device_read(
            source: *const c_void,
            len: usize,
            values: *mut f32,
        ) -> bool;
        pub safe fn guide_device_report() -> *const c_char;
    }
}

#[test]
fn callers_in_c_get_the_same_device() {
    isolated(|| {
        assert!(c::guide_device_install().is_null());
        let values = [1.0_f32, 2.0, 3.0];
        // SAFETY: three floats.
        let block = unsafe { c::guide_device_allocate(values.as_ptr(), 3) };
        let gpu = device::install().unwrap();
        assert_eq!(gpu.read(block.cast::<f32>(), 3).unwrap(), values);
        let mut read = [0.0_f32; 3];
        c::guide_device_synchronize();
        // SAFETY: room for three floats.
        assert!(unsafe { c::guide_device_read(block, 3, read.as_mut_ptr()) });
        assert_eq!(read, values);
        // SAFETY: as above; what is read is no device memory, which is refused.
        assert!(!unsafe { c::guide_device_read(values.as_ptr().cast(), 3, read.as_mut_ptr()) });
        // SAFETY: null is allowed.
        let empty = unsafe { c::guide_device_allocate(std::ptr::null(), 2) };
        assert!(is_poison(&gpu.read(empty.cast::<f32>(), 2).unwrap()));
        // SAFETY: at least two floats each time.
        let written =
            [2, 3].map(|len| unsafe { c::guide_device_write(empty, len, values.as_ptr()) });
        assert_eq!(written, [true, false], "all of a block or nothing");
        assert_eq!(gpu.read(empty.cast::<f32>(), 2).unwrap(), values[..2]);
        assert!(c::guide_device_free(empty) && !c::guide_device_free(empty));
        assert!(gpu.read(empty.cast::<f32>(), 2).is_err());

        // SAFETY: a C string that lives until the next report.
        let text = unsafe { std::ffi::CStr::from_ptr(c::guide_device_report()) };
        let report: device::Report = serde_json::from_slice(text.to_bytes()).unwrap();
        assert_eq!(report, device::Report::default());
    });
}
