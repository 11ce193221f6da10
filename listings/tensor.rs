//! Tensors of the public `executorch` crate over memory that is already somewhere.
#![allow(unsafe_code)]

// ANCHOR: tensors
use device::Buffer;
use executorch::device::{Device, DeviceType};
use executorch::evalue::EValue;
use executorch::tensor::{TensorPtr, TensorPtrBuilder, View};
use ndarray::ArrayViewD;

/// A tensor of `sizes` over memory that is already on the device.
pub fn on_device<const N: usize>(
    buffer: &Buffer<f32>,
    sizes: [i32; N],
) -> TensorPtr<'_, View<f32>> {
    assert_eq!(buffer.len() as i32, sizes.iter().product::<i32>());
    let cuda = Device::new(DeviceType::Cuda, 0);
    // SAFETY: on device 0, as many elements as the sizes say, and it outlives the tensor.
    let tensor = unsafe {
        TensorPtrBuilder::<View<f32>>::from_ptr(buffer.as_ptr(), sizes).device(cuda)
    };
    tensor.build().expect("contiguous sizes have valid strides")
}

/// A tensor of `sizes` over host memory.
pub fn on_host<const N: usize>(
    data: &[f32],
    sizes: [usize; N],
) -> TensorPtr<'_, View<f32>> {
    let array = ArrayViewD::from_shape(sizes.as_slice(), data)
        .expect("as many values as the sizes say");
    TensorPtr::from_array_view(array).expect("contiguous sizes have valid strides")
}

/// The elements of a float32 result on the host.
pub fn host_values(result: &EValue<'_>) -> Vec<f32> {
    let tensor = result.as_tensor();
    assert!(tensor.device().is_cpu(), "the result is not on the host");
    tensor
        .into_typed::<f32>()
        .as_array_dyn()
        .iter()
        .copied()
        .collect()
}

/// The address of a float32 result, wherever it is.
pub fn address(result: &EValue<'_>) -> *const f32 {
    result.as_tensor().as_data_ptr_raw().cast()
}
// ANCHOR_END: tensors

// ANCHOR: tagged_cpu
/// The mistake: the same tensor without `.device(…)`, so that it says it is on the host.
pub fn tagged_cpu<const N: usize>(
    buffer: &Buffer<f32>,
    sizes: [i32; N],
) -> TensorPtr<'_, View<f32>> {
    // SAFETY: none; what this guide shows is what comes of it.
    let tensor =
        unsafe { TensorPtrBuilder::<View<f32>>::from_ptr(buffer.as_ptr(), sizes) };
    tensor.build().expect("contiguous sizes have valid strides")
}
// ANCHOR_END: tagged_cpu
