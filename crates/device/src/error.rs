//! What can go wrong for a caller, in one line each.

use std::io;

/// What the device answers a caller. What it answers ExecuTorch is in the log and in ExecuTorch's own error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused the address range.
    #[error(
        "cannot reserve addresses for the fenced device: {0}; raise the limit of address space (`ulimit -v`) to 1 GiB or more"
    )]
    Addresses(#[source] io::Error),
    /// ExecuTorch's kernels could not be loaded.
    #[error(
        "{0}; run `cargo xtask setup`, or set GUIDE_RUNTIME_LIB to the folder `lib` of the ExecuTorch package"
    )]
    Kernels(#[from] executorch_device::LoadError),
    /// Somebody else registered an allocator or a delegate of the same name first.
    #[error("cannot register the device with ExecuTorch: {0}")]
    Register(#[from] executorch_device::RegisterError),
    /// There is no device memory for an allocation.
    #[error("no device memory for {nbytes} bytes: {why}")]
    Allocation {
        /// Bytes asked for.
        nbytes: usize,
        /// Why.
        why: String,
    },
    /// A pointer where live device memory is needed.
    #[error(
        "{nbytes} bytes at {address:#x}: the pointer is {place}; wanted a live device block with all of them"
    )]
    Pointer {
        /// The pointer.
        address: usize,
        /// Bytes asked for.
        nbytes: usize,
        /// What is there.
        place: &'static str,
    },
    /// A write with another number of values than the buffer has elements.
    #[error("the buffer has {wanted} elements, got {got} values")]
    Length {
        /// Elements of the buffer.
        wanted: usize,
        /// Values given.
        got: usize,
    },
    /// The device is gone. Never on the fenced device.
    #[error("the device is lost: {0}; start a new process")]
    Lost(String),
    /// `GUIDE_DEVICE_PLANT` names no fault.
    #[error("GUIDE_DEVICE_PLANT={name} is no fault that can be planted: there are {known}")]
    UnknownFault {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// `GUIDE_DEVICE_PLANT` is set in a build without faults.
    #[error(
        "GUIDE_DEVICE_PLANT={name} is set, but this build has no faults to plant: build with `--features device/planted`, or unset it"
    )]
    NoFaults {
        /// What was asked for.
        name: String,
    },
}
