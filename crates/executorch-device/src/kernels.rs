//! The operators' library, which registers its kernels when it is loaded.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
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

/// The wheel's delegate for the CPU.
const XNNPACK: &str = "libexecutorch_backend_xnnpack.so";

/// Loads the kernels that lie beside this process's `libexecutorch.so`. A program with an operator that no loaded library
/// has fails to load with [`Code::OperatorMissing`](crate::Code::OperatorMissing) (0x14). Loading twice is loading once.
pub fn load_kernels() -> Result<(), LoadError> {
    let path = runtime_library()?.with_file_name(KERNELS);
    // SAFETY: the runtime's own companion, made to be loaded into it.
    unsafe { load_library(&path) }
}

/// Loads XNNPACK's delegate, which lies beside this process's `libexecutorch.so` and registers itself as `XnnpackBackend`:
/// for programs that run in part on the CPU through it. Loading twice is loading once.
pub fn load_xnnpack() -> Result<(), LoadError> {
    let path = runtime_library()?.with_file_name(XNNPACK);
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

/// The file of the runtime that this process is linked with. Without it there is no folder to look in; a bare name would
/// be looked up wherever the loader is told to, and load another release's kernels.
fn runtime_library() -> Result<PathBuf, LoadError> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // A data structure of the runtime itself: the address of one of its functions may be a stub of this executable.
    // SAFETY: no arguments.
    let inside = unsafe { sys::executorch_get_pal_impl() }.cast::<c_void>();
    // SAFETY: `info` is written; on failure it stays zeroed, with a null name.
    let name = unsafe {
        libc::dladdr(inside, info.as_mut_ptr());
        info.assume_init().dli_fname
    };
    // SAFETY: null, or a C string that lives as long as the library is loaded.
    unsafe { file_named(name) }
}

/// # Safety
///
/// Null, or a C string.
unsafe fn file_named(name: *const c_char) -> Result<PathBuf, LoadError> {
    if name.is_null() {
        return Err(LoadError {
            path: KERNELS.into(),
            reason: "the dynamic loader does not say where libexecutorch.so is; load the kernels by path, with load_library"
                .into(),
        });
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Ok(OsStr::from_bytes(name.to_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_without_a_file_has_no_kernels_beside_it() {
        // SAFETY: null.
        let error = unsafe { file_named(std::ptr::null()) }.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot load libexecutorch_kernels_optimized.so: the dynamic loader")
        );
        // SAFETY: a C string.
        let file = unsafe { file_named(c"/lib/libexecutorch.so".as_ptr()) }.unwrap();
        assert_eq!(file, Path::new("/lib/libexecutorch.so"));
    }
}
