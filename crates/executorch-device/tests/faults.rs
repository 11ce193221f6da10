//! Errors and panics of a delegate and of an allocator: they reach the caller as errors, and nothing leaks.

mod device;

use std::sync::atomic::Ordering::SeqCst;

use device::{Buffer, Fault, HANDLES, MEMORY, device, program, read, state};
use executorch_device::{Code, Error, Module, ModuleBuilder, ScalarType, TensorMut, TensorRef};

/// Everything that was allocated was freed, and every handle dropped.
fn nothing_is_left() {
    assert_eq!((MEMORY.live(), HANDLES.load(SeqCst)), (0, 0));
    assert_eq!(MEMORY.allocated.load(SeqCst), MEMORY.freed.load(SeqCst));
}

/// Loads a program that plans device memory for its output, and runs it with the fault switched on.
fn run(fault: Fault) -> Error {
    let (a, b) = (Buffer::new(&[1.0; 64]), Buffer::new(&[2.0; 64]));
    let [a, b] =
        [&a, &b].map(|buffer| TensorRef::over(buffer, ScalarType::Float, &[8, 8]).unwrap());
    state().fault = fault;
    let mut module = Module::load(program("planned_output.pte")).unwrap();
    let error = module.forward([&a, &b]).unwrap_err();
    // The module stays usable: the same call works once the fault is gone.
    state().fault = Fault::None;
    let outputs = module.forward([&a, &b]).unwrap();
    assert_eq!(read(outputs.tensor(0).unwrap().data_ptr(), 64), [3.0; 64]);
    error
}

fn expect(fault: Fault, kind: Code, cause: &str) {
    let _device = device();
    let error = run(fault);
    assert_eq!((error.kind(), error.log()[0].as_str()), (kind, cause));
    assert!(
        state().log.contains(&format!("Error: {cause}")),
        "the sink saw it too"
    );
    nothing_is_left();
}

#[test]
fn init_fails() {
    expect(
        Fault::FailInit,
        Code::DelegateInvalidCompatibility,
        "the test's delegate fails to init",
    );
}

#[test]
fn init_panics() {
    let cause = "delegate `TestDelegate`: init panicked: the test's delegate panics in init";
    expect(Fault::PanicInit, Code::Internal, cause);
}

#[test]
fn execute_fails() {
    expect(
        Fault::FailExecute,
        Code::NotSupported,
        "the test's delegate fails to execute",
    );
}

#[test]
fn execute_panics() {
    let cause = "delegate `TestDelegate`: execute panicked: the test's delegate panics in execute";
    expect(Fault::PanicExecute, Code::Internal, cause);
}

#[test]
fn allocate_fails() {
    expect(
        Fault::FailAllocate,
        Code::MemoryAllocationFailed,
        "the test's device is full",
    );
}

#[test]
fn allocate_panics() {
    let cause = "a device allocator's `allocate` panicked: the test's allocator panics";
    expect(Fault::PanicAllocate, Code::Internal, cause);
}

#[test]
fn a_handles_drop_panics() {
    let _device = device();
    {
        let mut module = Module::load(program("planned_output.pte")).unwrap();
        module.load_method("forward").unwrap();
        state().fault = Fault::PanicDrop;
    }
    let cause = "delegate `TestDelegate`: handle's drop panicked: the test's handle panics";
    assert_eq!(state().log, [format!("Error: {cause}")]);
    nothing_is_left();
}

#[test]
fn loads_that_fail_half_way() {
    let _device = device();
    // The program is read, its data file is not there; then a method whose delegate lacks the data.
    ModuleBuilder::new(program("with_data.pte"))
        .data_file("/no/such.ptd")
        .load()
        .unwrap_err();
    let mut module = Module::load(program("with_data.pte")).unwrap();
    for _ in 0..3 {
        module.load_method("forward").unwrap_err();
        assert_eq!(
            (MEMORY.live(), HANDLES.load(SeqCst)),
            (0, 0),
            "given back at once, not when the module goes"
        );
    }
    nothing_is_left();
}

#[test]
fn thousands_of_executions_hold_no_more() {
    let _device = device();
    {
        let (a, b, mut sum) = (
            Buffer::new(&[1.0; 64]),
            Buffer::new(&[2.0; 64]),
            Buffer::new(&[0.0; 64]),
        );
        let mut module = Module::load(program("caller_output.pte")).unwrap();
        let sum = TensorMut::over(&mut sum, ScalarType::Float, &[8, 8]).unwrap();
        module.set_output("forward", 0, sum).unwrap();
        let mut resident = 0;
        for turn in 0..20_000 {
            let [a, b] =
                [&a, &b].map(|buffer| TensorRef::over(buffer, ScalarType::Float, &[8, 8]).unwrap());
            module.forward([&a, &b]).unwrap();
            if turn == 10_000 {
                resident = resident_kib();
            }
        }
        assert!(
            resident_kib() <= resident + 256,
            "{} KiB after 10 000 executions, then {}",
            resident,
            resident_kib()
        );
        for _ in 0..500 {
            assert!(module.unload_method("forward"));
            module.load_method("forward").unwrap();
        }
        assert_eq!((MEMORY.live(), HANDLES.load(SeqCst)), (3, 1));
    }
    nothing_is_left();
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
