//! What the listings need alike: a tensor over memory that is already somewhere, and a plan in words.
#![allow(unsafe_code)]

use device::Buffer;
use executorch::device::{Device, DeviceType};
use executorch::tensor::{TensorPtr, TensorPtrBuilder, View};

// ANCHOR: on_device
/// A tensor of `sizes` over memory that is already on the device.
pub fn on_device<const N: usize>(buffer: &Buffer<f32>, sizes: [i32; N]) -> TensorPtr<'_, View<f32>> {
    assert_eq!(buffer.len() as i32, sizes.iter().product::<i32>());
    let cuda = Device::new(DeviceType::CUDA, 0);
    // SAFETY: the buffer is on device 0, holds as many elements as the sizes say, and outlives the tensor.
    let tensor = unsafe { TensorPtrBuilder::from_ptr(buffer.as_ptr(), sizes).device(cuda) };
    tensor.build().expect("contiguous sizes have valid strides")
}
// ANCHOR_END: on_device

/// A tensor of `sizes` over host memory.
pub fn on_host<const N: usize>(data: &[f32], sizes: [i32; N]) -> TensorPtr<'_, View<f32>> {
    assert_eq!(data.len() as i32, sizes.iter().product::<i32>());
    // SAFETY: the slice holds as many elements as the sizes say.
    let tensor = unsafe { TensorPtrBuilder::<View<f32>>::from_slice(data).sizes(sizes) };
    tensor.build().expect("contiguous sizes have valid strides")
}

/// Where tensors of a method's boundary live, in words: `planned, CPU` if they agree, else one after the other.
pub fn placement<'a>(tensors: impl IntoIterator<Item = &'a pte::TensorInfo>) -> String {
    let mut words: Vec<String> = tensors
        .into_iter()
        .map(|tensor| {
            let planned = if tensor.planned.is_some() { "planned" } else { "unplanned" };
            let device = if tensor.device.is_cpu() { "CPU" } else { "CUDA" };
            format!("{planned}, {device}")
        })
        .collect();
    words.dedup();
    words.join("; ")
}
