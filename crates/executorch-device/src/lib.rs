#![doc = include_str!("../README.md")]
#![allow(unsafe_code)] // it wraps C++; each block argues its case

mod allocator;
mod bridge;
mod delegate;
mod error;
mod kernels;
mod log;
mod meta;
mod module;
mod tensor;
mod unwind;
mod value;

pub use allocator::{DeviceAllocator, register_allocator};
pub use delegate::{
    Arg, CompileSpec, Delegate, ExecutionContext, InitContext, NamedData, register_delegate,
};
pub use error::{Code, Error, RegisterError};
pub use executorch::device::{Device, DeviceIndex, DeviceType};
pub use executorch::tensor::ScalarType;
pub use kernels::{LoadError, load_kernels, load_library, load_xnnpack};
pub use log::{LogLevel, log, set_log_sink};
pub use meta::{MethodMeta, PlannedBuffer, TensorMeta};
pub use module::{LoadMode, Module, ModuleBuilder, Outputs, Slot};
pub use tensor::{DeviceMemory, HostElement, TensorMut, TensorRef};
pub use value::{Input, Value};
