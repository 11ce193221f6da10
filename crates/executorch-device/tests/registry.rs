//! Registering: once, and an error where C++ would abort the process.

mod device;

use std::thread;

use device::{MEMORY, SUM};
use executorch_device::{RegisterError, register_allocator, register_delegate};

/// Eight threads at once, and once more: one gets through.
fn once(register: fn() -> Result<(), RegisterError>, name: &str) {
    let registered = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(register)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(Result::is_ok)
            .count()
    });
    assert_eq!(registered, 1);
    let error = register().unwrap_err();
    assert_eq!(error, RegisterError::AlreadyRegistered(name.into()));
    assert_eq!(
        error.to_string(),
        format!("{name} is already registered in this process; it can be registered once")
    );
}

#[test]
fn one_allocator_for_a_device_type() {
    once(|| register_allocator(&MEMORY), "an allocator for Cuda");
}

#[test]
fn one_delegate_for_an_id() {
    once(
        || register_delegate("TestDelegate", &SUM),
        "delegate `TestDelegate`",
    );
    register_delegate("AnotherId", &SUM).unwrap();
    for id in ["", "nul\0nul"] {
        assert!(matches!(
            register_delegate(id, &SUM),
            Err(RegisterError::Invalid(_))
        ));
    }
    // The runtime's table has room for 16; the error is its own.
    let full = (0..16).find_map(|index| register_delegate(&format!("Id{index}"), &SUM).err());
    assert!(matches!(&full, Some(RegisterError::Runtime(_))), "{full:?}");
}
