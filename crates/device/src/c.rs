//! The device for callers in other languages: what `libguide_device.so` (`crates/device-library`) exports. The declarations for C++ are
//! in `include/guide_device.h`.
//!
//! Load the library before the first program is loaded, into the process that has `libexecutorch.so`, and call
//! [`guide_device_install`]. Every other function needs that to have worked.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Mutex, PoisonError};

use crate::{Buffer, Device, Policy, install};

/// The blocks of [`guide_device_allocate`] that [`guide_device_free`] did not free.
static BLOCKS: Mutex<Vec<Buffer<f32>>> = Mutex::new(Vec::new());

/// The text of the last report.
static TEXT: Mutex<Option<CString>> = Mutex::new(None);

/// [`install`](crate::install()): null if it worked, or why not, as a line of text that lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn guide_device_install() -> *const c_char {
    match install() {
        Ok(_) => std::ptr::null(),
        Err(error) => CString::new(error.to_string())
            .unwrap_or_default()
            .into_raw(),
    }
}

/// [`Device::set_policy`]: whether copies accept a pointer on the wrong side.
#[unsafe(no_mangle)]
pub extern "C" fn guide_device_accept(accept: bool) {
    if let Some(device) = device() {
        device.set_policy(if accept {
            Policy::Accept
        } else {
            Policy::Refuse
        });
    }
}

/// A new block with these values, or unwritten if `values` is null; null if there is no memory.
///
/// # Safety
///
/// `values` is null or points to `len` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guide_device_allocate(values: *const f32, len: usize) -> *mut c_void {
    let made = device().and_then(|device| {
        if values.is_null() {
            return device.empty::<f32>(len).ok();
        }
        // SAFETY: the caller's promise.
        device
            .buffer(unsafe { std::slice::from_raw_parts(values, len) })
            .ok()
    });
    let Some(mut block) = made else {
        return std::ptr::null_mut();
    };
    let address = block.as_mut_ptr();
    BLOCKS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(block);
    address.cast()
}

/// [`Buffer::write`]: these values, to a block of [`guide_device_allocate`]. False, and nothing written, if
/// it is none, or of another length.
///
/// # Safety
///
/// `values` points to `len` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guide_device_write(
    block: *const c_void,
    len: usize,
    values: *const f32,
) -> bool {
    // SAFETY: the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(values, len) };
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = blocks.iter_mut().find(|known| is(known, block));
    found.is_some_and(|found| found.write(values).is_ok())
}

/// Frees a block of [`guide_device_allocate`], after the queued work that uses it. False if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn guide_device_free(block: *const c_void) -> bool {
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = blocks.iter().position(|known| is(known, block));
    found.map(|index| blocks.swap_remove(index)).is_some()
}

/// [`Device::synchronize`].
#[unsafe(no_mangle)]
pub extern "C" fn guide_device_synchronize() {
    // The fenced device has no error here.
    let _ = device().map(|device| device.synchronize());
}

/// [`Device::read`]: copies `len` floats at `source` to `values`, without waiting for queued work. False, and nothing
/// copied, if they are in no live block.
///
/// # Safety
///
/// `values` can take `len` floats. `source` may be anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guide_device_read(
    source: *const c_void,
    len: usize,
    values: *mut f32,
) -> bool {
    let read = device().and_then(|device| device.read::<f32>(source.cast(), len).ok());
    let Some(read) = read else { return false };
    // SAFETY: the caller's promise; the vector is its own memory.
    unsafe { values.copy_from_nonoverlapping(read.as_ptr(), len) };
    true
}

/// [`Device::report`] as JSON, on one line. The text lives until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn guide_device_report() -> *const c_char {
    let report = device()
        .map(|device| device.report())
        .and_then(|report| serde_json::to_string(&report).ok())
        .and_then(|text| CString::new(text).ok())
        .unwrap_or_default();
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    text.insert(report).as_ptr()
}

fn is(known: &Buffer<f32>, block: *const c_void) -> bool {
    known.as_ptr().cast() == block
}

fn device() -> Option<Device> {
    install().ok()
}
