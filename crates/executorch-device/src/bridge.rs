//! The boundary with C++: what `cpp/bridge.cc` offers and what it calls back. An error code is the number of ExecuTorch's
//! `Error`, 0 for none. `Module` and `Tensor` are the types of `executorch-sys`, so values pass between the two crates as
//! what they are.

use crate::allocator::AllocatorShim;
use crate::delegate::{DelegateHandle, DelegateShim};
use crate::log::log_line;

#[cxx::bridge(namespace = "executorch_device")]
// cxx writes the bodies; each declaration below says what its caller must hold.
#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
pub(crate) mod ffi {
    /// What an allocator answered: a code, or an address (null for no bytes).
    struct Allocation {
        code: u32,
        address: *mut u8,
    }

    /// What a delegate's `init` answered: a code, or the handle that C++ now owns and hands to `destroy` once.
    struct Initialized {
        code: u32,
        handle: *mut DelegateHandle,
    }

    /// What a loaded method says about one input or output. `nbytes` is that of the largest shape it is made for;
    /// `returned`: an input that is an output too.
    struct Slot {
        is_tensor: bool,
        planned: bool,
        returned: bool,
        device_type: i8,
        device_index: i8,
        scalar_type: i8,
        nbytes: usize,
    }

    /// What a tensor is tagged with: numbers of ExecuTorch's enums, which a program's file can hold any of.
    struct Tag {
        scalar_type: i8,
        device_type: i8,
        device_index: i8,
    }

    extern "Rust" {
        type AllocatorShim;
        fn allocate(self: &AllocatorShim, nbytes: usize, index: i8, alignment: usize)
        -> Allocation;
        unsafe fn deallocate(self: &AllocatorShim, address: *mut u8, index: i8);
        unsafe fn copy_host_to_device(
            self: &AllocatorShim,
            dst: *mut u8,
            src: *const u8,
            nbytes: usize,
            index: i8,
        ) -> u32;
        unsafe fn copy_device_to_host(
            self: &AllocatorShim,
            dst: *mut u8,
            src: *const u8,
            nbytes: usize,
            index: i8,
        ) -> u32;

        type DelegateShim;
        type DelegateHandle;
        fn is_available(self: &DelegateShim) -> bool;
        fn init(
            self: &DelegateShim,
            context: &BackendInitContext,
            processed: &[u8],
            specs: &CompileSpecs,
        ) -> Initialized;
        unsafe fn execute(
            self: &DelegateShim,
            context: &BackendExecutionContext,
            handle: *mut DelegateHandle,
            args: &Args,
        ) -> u32;
        unsafe fn destroy(self: &DelegateShim, handle: *mut DelegateHandle);

        fn log_line(level: u32, message: &[u8]) -> bool;
    }

    unsafe extern "C++" {
        include!("executorch-device/cpp/bridge.h");

        #[namespace = "executorch::extension"]
        type Module = executorch_sys::Module;
        #[namespace = "executorch::aten"]
        type Tensor = executorch_sys::Tensor;
        #[namespace = "executorch::runtime"]
        type Method;
        #[namespace = "executorch::runtime"]
        type EValue;
        #[namespace = "executorch::runtime"]
        type FreeableBuffer;
        #[namespace = "executorch::runtime"]
        type BackendInitContext;
        #[namespace = "executorch::runtime"]
        type BackendExecutionContext;
        type Args;
        type CompileSpecs;

        fn has_allocator(device_type: i8) -> bool;
        fn register_allocator(device_type: i8, shim: Box<AllocatorShim>);
        fn has_delegate(name: &CxxString) -> bool;
        fn register_delegate(name: &CxxString, shim: Box<DelegateShim>) -> u32;

        fn method_name(context: &BackendInitContext) -> &[u8];
        fn executing_method_name(context: &BackendExecutionContext) -> &[u8];
        fn named_data(
            context: &BackendInitContext,
            key: &str,
            code: &mut u32,
        ) -> UniquePtr<FreeableBuffer>;
        fn buffer_bytes(buffer: &FreeableBuffer) -> &[u8];
        fn spec_count(specs: &CompileSpecs) -> usize;
        /// Unchecked: `index < spec_count`.
        unsafe fn spec_key(specs: &CompileSpecs, index: usize) -> &[u8];
        /// Unchecked: `index < spec_count`.
        unsafe fn spec_value(specs: &CompileSpecs, index: usize) -> &[u8];
        fn arg_count(args: &Args) -> usize;
        /// Unchecked: `index < arg_count`.
        unsafe fn arg(args: &Args, index: usize) -> &EValue;
        fn resize(value: &EValue, sizes: &[i32]) -> u32;

        /// `data` must be valid for the sizes and type for as long as the tensor is used; an empty dim order and empty
        /// strides mean contiguous. C++ aborts on a dim order or strides that contradict each other.
        unsafe fn tensor_over(
            data: *mut u8,
            sizes: &[i32],
            dim_order: &[u8],
            strides: &[i32],
            scalar_type: i8,
            device_type: i8,
            device_index: i8,
        ) -> SharedPtr<Tensor>;
        /// C++ aborts when the value is not a tensor.
        fn tensor_of(value: &EValue) -> &Tensor;
        fn tag(tensor: &Tensor) -> Tag;
        fn value_of_tensor(tensor: &Tensor) -> UniquePtr<EValue>;
        #[cxx_name = "value_of"]
        fn value_of_int(value: i64) -> UniquePtr<EValue>;
        #[cxx_name = "value_of"]
        fn value_of_double(value: f64) -> UniquePtr<EValue>;
        #[cxx_name = "value_of"]
        fn value_of_bool(value: bool) -> UniquePtr<EValue>;
        fn value_of_none() -> UniquePtr<EValue>;

        fn method(module: Pin<&mut Module>, name: &CxxString) -> *const Method;
        /// The method keeps the tensor's data pointer when its input is not planned.
        unsafe fn set_input(
            module: Pin<&mut Module>,
            method: &CxxString,
            value: &EValue,
            index: usize,
        ) -> u32;
        /// The method keeps the tensor's data pointer.
        unsafe fn set_output(
            module: Pin<&mut Module>,
            method: &CxxString,
            tensor: &Tensor,
            index: usize,
        ) -> u32;
        /// Every pointer that the method keeps must be valid.
        unsafe fn execute(module: Pin<&mut Module>, method: &CxxString) -> u32;
        /// Unchecked: `index < inputs_size`.
        unsafe fn input_slot(method: &Method, index: usize) -> Slot;
        /// Unchecked: `index < outputs_size`.
        unsafe fn output_slot(method: &Method, index: usize) -> Slot;
        fn inputs_size(self: &Method) -> usize;
        fn outputs_size(self: &Method) -> usize;
        /// Unchecked: `i < outputs_size`.
        unsafe fn get_output(self: &Method, i: usize) -> &EValue;
    }
}
