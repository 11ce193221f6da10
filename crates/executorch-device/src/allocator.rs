//! Device memory for the runtime: `executorch::runtime::DeviceAllocator`, from Rust.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use executorch::device::{DeviceIndex, DeviceType};

use crate::bridge::ffi;
use crate::error::{Code, Error, RegisterError};
use crate::unwind::guarded;

/// Allocates the memory of one type of device, and copies to and from it.
///
/// The runtime calls it for the planned buffers of a method that live on the device (when the method is loaded and
/// unloaded), for the operators `et_copy::_h2d_copy` and `et_copy::_d2h_copy` (when it runs), and for
/// `TensorPtr::clone_to`. It may call from any thread, from several at once.
///
/// An `Err` is logged and its code given to the runtime; a panic is [`Code::Internal`].
///
/// # Safety
///
/// The runtime and every delegate use what [`allocate`](Self::allocate) returns as memory of the device, unchecked. For
/// `nbytes > 0` it must be the start of `nbytes` bytes on device `index`, at a multiple of `alignment`, that nothing else
/// uses until they are given to [`deallocate`](Self::deallocate).
pub unsafe trait DeviceAllocator: Send + Sync {
    /// The type of device; asked once, at registration.
    fn device_type(&self) -> DeviceType;

    /// `nbytes` bytes on device `index`. `alignment` is a power of two, in bytes. No bytes may be a null pointer.
    fn allocate(
        &self,
        nbytes: usize,
        index: DeviceIndex,
        alignment: usize,
    ) -> Result<*mut c_void, Error>;

    /// Frees what [`allocate`](Self::allocate) returned. Work that was queued on the device and uses the memory must
    /// finish first: the runtime does not wait for it.
    ///
    /// # Safety
    ///
    /// `ptr` came from `allocate` with this `index` and has not been freed.
    unsafe fn deallocate(&self, ptr: *mut c_void, index: DeviceIndex);

    /// Copies `nbytes` bytes from the host to device `index`.
    ///
    /// # Safety
    ///
    /// `src` must be readable for `nbytes` on the host, and `dst` writable on the device, unless the implementation
    /// checks: the runtime passes on what its caller gave it.
    unsafe fn copy_host_to_device(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        index: DeviceIndex,
    ) -> Result<(), Error>;

    /// Copies `nbytes` bytes from device `index` to the host, once the work queued before has written them.
    ///
    /// # Safety
    ///
    /// `src` must be readable for `nbytes` on the device, and `dst` writable on the host, unless the implementation
    /// checks: the runtime passes on what its caller gave it.
    unsafe fn copy_device_to_host(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        index: DeviceIndex,
    ) -> Result<(), Error>;
}

/// Held while a registry of the runtime is asked and then written, which the runtime does not do itself.
pub(crate) static REGISTRIES: Mutex<()> = Mutex::new(());

/// Makes `allocator` the one for its device type, for the life of the process.
///
/// Register before a program is loaded on another thread: the runtime reads its table without a lock.
pub fn register_allocator(allocator: &'static dyn DeviceAllocator) -> Result<(), RegisterError> {
    let device_type = allocator.device_type();
    if device_type == DeviceType::Cpu {
        return Err(RegisterError::Invalid(
            "the host's memory has no device allocator; register one for a device".into(),
        ));
    }
    let _lock = REGISTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if ffi::has_allocator(device_type as i8) {
        return Err(RegisterError::AlreadyRegistered(format!(
            "an allocator for {device_type:?}"
        )));
    }
    ffi::register_allocator(device_type as i8, Box::new(AllocatorShim(allocator)));
    Ok(())
}

/// What C++ holds.
pub(crate) struct AllocatorShim(&'static dyn DeviceAllocator);

impl AllocatorShim {
    pub(crate) fn allocate(&self, nbytes: usize, index: i8, alignment: usize) -> ffi::Allocation {
        let allocated = guarded("a device allocator's `allocate`", || {
            let address = self.0.allocate(nbytes, index, alignment)?;
            // The runtime would hand null on as a buffer, and a delegate reads null as "no output given".
            if address.is_null() && nbytes > 0 {
                return Err(Error::new(
                    Code::MemoryAllocationFailed,
                    format!("null for {nbytes} bytes on device {index}"),
                ));
            }
            Ok(address)
        });
        match allocated {
            Ok(address) => ffi::Allocation {
                code: 0,
                address: address.cast(),
            },
            Err(code) => ffi::Allocation {
                code,
                address: std::ptr::null_mut(),
            },
        }
    }

    /// # Safety
    ///
    /// As [`DeviceAllocator::deallocate`].
    pub(crate) unsafe fn deallocate(&self, address: *mut u8, index: i8) {
        let freed = || {
            // SAFETY: passed on.
            unsafe { self.0.deallocate(address.cast(), index) };
            Ok(())
        };
        // C++ takes no answer here; `guarded` has logged it.
        let _ = guarded("a device allocator's `deallocate`", freed);
    }

    /// # Safety
    ///
    /// As [`DeviceAllocator::copy_host_to_device`].
    pub(crate) unsafe fn copy_host_to_device(
        &self,
        dst: *mut u8,
        src: *const u8,
        nbytes: usize,
        index: i8,
    ) -> u32 {
        // SAFETY: passed on.
        let copied = || unsafe {
            self.0
                .copy_host_to_device(dst.cast(), src.cast(), nbytes, index)
        };
        guarded("a device allocator's `copy_host_to_device`", copied)
            .err()
            .unwrap_or(0)
    }

    /// # Safety
    ///
    /// As [`DeviceAllocator::copy_device_to_host`].
    pub(crate) unsafe fn copy_device_to_host(
        &self,
        dst: *mut u8,
        src: *const u8,
        nbytes: usize,
        index: i8,
    ) -> u32 {
        // SAFETY: passed on.
        let copied = || unsafe {
            self.0
                .copy_device_to_host(dst.cast(), src.cast(), nbytes, index)
        };
        guarded("a device allocator's `copy_device_to_host`", copied)
            .err()
            .unwrap_or(0)
    }
}
