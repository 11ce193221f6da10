//! Putting the device into the process.

use std::{
    env,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::{
    Device, Error,
    delegate::{CudaBackend, ID},
    fault,
    fenced::Fenced,
    log, probe,
};

/// The environment variable with the folder to load ExecuTorch's kernels from, instead of the one known at build time.
pub(crate) const LIBRARY_FOLDER: &str = "GUIDE_RUNTIME_LIB";

/// The installed device.
static INSTALLED: Mutex<Option<&'static Fenced>> = Mutex::new(None);

/// Makes the device the one of this process: registers its allocator for CUDA, the delegate `CudaBackend` and the log
/// with ExecuTorch, and loads ExecuTorch's kernels. Call it before the first program is loaded. Every further call, from
/// any thread, gives the same device.
///
/// It asks for an NVIDIA driver first ([`Device::describe`] says what it found).
///
/// # Errors
///
/// [`Error::Kernels`], [`Error::Addresses`], [`Error::Register`] if another allocator or delegate took the place, and the
/// two about `GUIDE_DEVICE_PLANT`.
pub fn install() -> Result<Device, Error> {
    install_without(None)
}

/// What [`install`] puts into the process besides the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// ExecuTorch's own operators, the copies between host and device among them.
    Kernels,
    /// The allocator for CUDA.
    Allocator,
    /// The delegate `CudaBackend`.
    Delegate,
}

/// [`install`] with one part left out, as a program does that forgot it: for seeing what ExecuTorch then answers. Only the
/// first call of a process decides.
///
/// # Errors
///
/// As of [`install`].
pub fn install_without(missing: Option<Part>) -> Result<Device, Error> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(fenced) = *installed {
        return Ok(Device::new(fenced));
    }
    fault::choose()?;
    if missing != Some(Part::Kernels) {
        load_kernels()?;
    }
    let fenced: &'static Fenced = Box::leak(Box::new(Fenced::new(probe::why_fenced())?));
    executorch_device::set_log_sink(log::record);
    if missing != Some(Part::Allocator) {
        executorch_device::register_allocator(fenced)?;
    }
    if missing != Some(Part::Delegate) {
        executorch_device::register_delegate(ID, Box::leak(Box::new(CudaBackend::new(fenced))))?;
    }
    *installed = Some(fenced);
    Ok(Device::new(fenced))
}

fn load_kernels() -> Result<(), Error> {
    match env::var_os(LIBRARY_FOLDER) {
        None => executorch_device::load_kernels()?,
        Some(folder) => {
            let path = PathBuf::from(folder).join("libexecutorch_kernels_optimized.so");
            // SAFETY: ExecuTorch's own library of kernels, or what whoever set the variable put in its place.
            unsafe { executorch_device::load_library(&path) }?;
        }
    }
    Ok(())
}
