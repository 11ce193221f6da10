//! The operators' library, which registers its kernels when it is loaded.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use executorch_sys as sys;

/// Why a library was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot load {path}: {reason}", path = path.display())]
pub struct LoadError {
    path: PathBuf,
    reason: String,
}

/// The optimised kernels of the wheel, the copies between host and device (`et_copy`) among them.
const KERNELS: &str = "libexecutorch_kernels_optimized.so";

/// Loads the kernels that lie beside this process's `libexecutorch.so`. A program with an operator that no loaded library
/// has fails to load with [`Code::OperatorMissing`](crate::Code::OperatorMissing) (0x14). Loading twice is loading once.
pub fn load_kernels() -> Result<(), LoadError> {
    let path = runtime_library().with_file_name(KERNELS);
    // SAFETY: the runtime's own companion, made to be loaded into it.
    unsafe { load_library(&path) }
}

/// Loads a library for all of the process, so that what it registers with the runtime when loaded is found.
///
/// # Safety
///
/// It runs the library's initialisers, which can do anything.
pub unsafe fn load_library(path: &Path) -> Result<(), LoadError> {
    let fail = |reason: String| LoadError {
        path: path.to_owned(),
        reason,
    };
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| fail("the path holds a NUL".into()))?;
    // SAFETY: a C string; the initialisers are the caller's promise.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !handle.is_null() {
        return Ok(());
    }
    // SAFETY: `dlerror` gives null or a C string that is valid until this thread's next call to the loader.
    let reason = unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "no reason given".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    Err(fail(reason))
}

/// The file of the runtime that this process is linked with.
fn runtime_library() -> PathBuf {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // A data structure of the runtime itself: the address of one of its functions may be a stub of this executable.
    // SAFETY: no arguments.
    let inside = unsafe { sys::executorch_get_pal_impl() }.cast::<c_void>();
    // SAFETY: `info` is written; on failure it stays zeroed, with a null name.
    let name = unsafe {
        libc::dladdr(inside, info.as_mut_ptr());
        info.assume_init().dli_fname
    };
    if name.is_null() {
        return PathBuf::new();
    }
    // SAFETY: a C string that lives as long as the library is loaded.
    PathBuf::from(OsStr::from_bytes(
        unsafe { CStr::from_ptr(name) }.to_bytes(),
    ))
}
