//! Says what an ExecuTorch program (`.pte`) expects of its caller, from the file alone.
//!
//! Which memory an input or an output must live in, whether the runtime brings the buffer or the caller does, and which
//! copies run between the two is decided at export and cannot be changed afterwards. No public API of ExecuTorch 1.5.1
//! tells a caller the device of an input or an output. This crate does:
//!
//! ```no_run
//! let program = pte::Program::open("model.pte")?;
//! let forward = program.method("forward").expect("a method named forward");
//! for input in forward.input_tensors() {
//!     println!("{} {:?} {} bytes on {}, planned: {:?}", input.dtype, input.sizes, input.nbytes, input.device, input.planned);
//! }
//! println!("{} bytes are planned, {:?} are copied a call", forward.planned_bytes(), forward.copied());
//! # Ok::<(), pte::Error>(())
//! ```
//!
//! It is Rust alone: no ExecuTorch, no Python, no C++. It reads the file's header and then only the program part, by
//! positioned reads, so a call costs the same for 10 kB and for 10 GB of weights. Whatever the bytes are, the answer is
//! a [`Program`] or an [`Error`], never a panic: the FlatBuffers data is verified first, and every index and size in it
//! is checked on the way into the types here.

#[cfg(feature = "command")]
pub mod command;
mod contract;
mod data;
mod device;
pub mod diff;
mod dtype;
mod error;
mod file;
mod generated;
mod header;
mod keys;
pub mod lint;
mod names;
mod parse;
mod shape;
mod source;
mod spec;
mod stream;
mod verify;

pub use contract::{
    Arena, Blob, Copied, CopiedBytes, CopyCall, Delegate, DelegateCall, Direction, Dynamism,
    ListKind, Method, OperatorCall, Planned, Program, Step, TensorData, TensorInfo, Value,
};
pub use data::{DataEntry, DataFile, DataTensor};
pub use device::{Device, DeviceType};
pub use dtype::DType;
pub use error::{Error, Found};
pub use file::{Files, System};
pub use header::{ExtendedHeader, Layout, NamedData, Segment};
pub use source::{Limits, ReadAt};
pub use spec::{CompileSpec, SpecValue};
