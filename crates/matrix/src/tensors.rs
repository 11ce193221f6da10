//! Tensors over any memory with any tag: what is measured here includes what no caller should do.
#![allow(unsafe_code)]

use executorch::device::{Device, DeviceType};
use executorch::evalue::{EValue, IntoEValue as _};
use executorch::tensor::{Scalar, TensorPtr, TensorPtrBuilder, View};

use crate::observe::COLUMNS;

/// A float32 tensor of `rows` rows at `address`, tagged CUDA or CPU whatever is there. Keep the memory for as long as
/// a module uses the tensor.
pub(crate) fn tensor(address: usize, rows: usize, cuda: bool) -> TensorPtr<'static, View<f32>> {
    let kind = if cuda {
        DeviceType::Cuda
    } else {
        DeviceType::Cpu
    };
    let data = std::ptr::with_exposed_provenance::<f32>(address);
    // SAFETY: none can be given: whether the runtime looks at the tag is what is measured. Each case runs in a process of
    // its own, which has nothing to lose. Callers keep the memory until the process ends.
    let tensor = unsafe {
        TensorPtrBuilder::<View<f32>>::from_ptr(data, [rows as i32, COLUMNS as i32])
            .device(Device::new(kind, 0))
    };
    tensor.build().expect("contiguous sizes have valid strides")
}

/// Any tensor at `address`, as a value that lives until the process ends.
///
/// # Errors
///
/// The crate's own, for strides that no order of the dimensions has.
pub(crate) fn value<S: Scalar>(
    address: usize,
    sizes: &[i32],
    strides: Option<&[i32]>,
    cuda: bool,
) -> Result<EValue<'static>, executorch::Error> {
    let kind = if cuda {
        DeviceType::Cuda
    } else {
        DeviceType::Cpu
    };
    let data = std::ptr::with_exposed_provenance::<S>(address);
    // SAFETY: as in `tensor`.
    let mut builder = unsafe {
        TensorPtrBuilder::<View<S>>::from_ptr(data, sizes.iter().copied())
            .device(Device::new(kind, 0))
    };
    if let Some(strides) = strides {
        // SAFETY: as in `tensor`.
        builder = unsafe { builder.strides(strides.iter().copied()) };
    }
    let tensor: &'static _ = Box::leak(Box::new(builder.build()?));
    Ok(tensor.into_evalue())
}
