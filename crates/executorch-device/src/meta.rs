//! What a program's file says about a method.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use executorch::device::Device;
use executorch::tensor::ScalarType;
use executorch_sys as sys;

use crate::error::Error;
use crate::tensor::{device_from, scalar_type_of};

/// A method, as the program's file describes it: `executorch::program::MethodMeta`, copied out.
///
/// It does not say on which device an input or output is: ExecuTorch's metadata has no word for it. Once the method is
/// loaded, [`Module::input`](crate::Module::input) and [`Module::output`](crate::Module::output) do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodMeta {
    /// Its name, such as `forward`.
    pub name: String,
    /// Its inputs; `None` for one that is not a tensor.
    pub inputs: Vec<Option<TensorMeta>>,
    /// Its outputs; `None` for one that is not a tensor.
    pub outputs: Vec<Option<TensorMeta>>,
    /// The buffers that memory planning reserved (its arenas), in order.
    pub planned_buffers: Vec<PlannedBuffer>,
    /// The ids of the delegates that it uses.
    pub delegates: Vec<String>,
}

/// One input or output tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMeta {
    /// Its name, if the exporter kept one.
    pub name: String,
    /// The sizes of the largest shape that it was exported for.
    pub sizes: Vec<i32>,
    /// The dimensions from the outermost in memory to the innermost.
    pub dim_order: Vec<u8>,
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// Bytes of the largest shape.
    pub nbytes: usize,
    /// Whether memory planning reserved a buffer for it. If not, the caller supplies the memory.
    pub planned: bool,
}

/// One planned buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// Its size in bytes.
    pub nbytes: usize,
    /// Where the runtime allocates it.
    pub device: Device,
}

impl MethodMeta {
    pub(crate) fn read(meta: &sys::ET_MethodMeta) -> Result<Self, Error> {
        // SAFETY: live metadata.
        let (inputs, outputs, buffers, delegates) = unsafe {
            (
                sys::executorch_MethodMeta_num_inputs(meta),
                sys::executorch_MethodMeta_num_outputs(meta),
                sys::executorch_MethodMeta_num_memory_planned_buffers(meta),
                sys::executorch_MethodMeta_num_backends(meta),
            )
        };
        Ok(Self {
            // SAFETY: live metadata; a C string in the program.
            name: unsafe { text(sys::executorch_MethodMeta_name(meta)) },
            inputs: (0..inputs)
                .map(|index| input(meta, index))
                .collect::<Result<_, _>>()?,
            outputs: (0..outputs)
                .map(|index| output(meta, index))
                .collect::<Result<_, _>>()?,
            planned_buffers: (0..buffers)
                .map(|index| planned_buffer(meta, index))
                .collect::<Result<_, _>>()?,
            delegates: (0..delegates)
                .map(|index| delegate(meta, index))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn input(meta: &sys::ET_MethodMeta, index: usize) -> Result<Option<TensorMeta>, Error> {
    // SAFETY: live metadata; written when the answer is Ok.
    let tag = unsafe {
        made("input", |tag| {
            sys::executorch_MethodMeta_input_tag(meta, index, tag)
        })
    }?;
    if tag != sys::ET_Tag::ET_Tag_Tensor {
        return Ok(None);
    }
    // SAFETY: as above.
    let info = unsafe {
        made("input", |info| {
            sys::executorch_MethodMeta_input_tensor_meta(meta, index, info)
        })
    }?;
    TensorMeta::read(&info).map(Some)
}

fn output(meta: &sys::ET_MethodMeta, index: usize) -> Result<Option<TensorMeta>, Error> {
    // SAFETY: live metadata; written when the answer is Ok.
    let tag = unsafe {
        made("output", |tag| {
            sys::executorch_MethodMeta_output_tag(meta, index, tag)
        })
    }?;
    if tag != sys::ET_Tag::ET_Tag_Tensor {
        return Ok(None);
    }
    // SAFETY: as above.
    let info = unsafe {
        made("output", |info| {
            sys::executorch_MethodMeta_output_tensor_meta(meta, index, info)
        })
    }?;
    TensorMeta::read(&info).map(Some)
}

impl TensorMeta {
    fn read(info: &sys::ET_TensorInfo) -> Result<Self, Error> {
        // SAFETY: live metadata, whose arrays lead into the program.
        unsafe {
            let name = sys::executorch_TensorInfo_name(info);
            let sizes = sys::executorch_TensorInfo_sizes(info);
            let order = sys::executorch_TensorInfo_dim_order(info);
            Ok(Self {
                name: String::from_utf8_lossy(&copied(name.data.cast(), name.len)).into_owned(),
                sizes: copied(sizes.data, sizes.len),
                dim_order: copied(order.data, order.len),
                scalar_type: scalar_type_of(sys::executorch_TensorInfo_scalar_type(info) as i8)?,
                nbytes: sys::executorch_TensorInfo_nbytes(info),
                planned: sys::executorch_TensorInfo_is_memory_planned(info),
            })
        }
    }
}

fn planned_buffer(meta: &sys::ET_MethodMeta, index: usize) -> Result<PlannedBuffer, Error> {
    // SAFETY: live metadata; written when the answer is Ok.
    let nbytes = unsafe {
        made("planned buffer", |nbytes| {
            sys::executorch_MethodMeta_memory_planned_buffer_size(meta, index, nbytes)
        })
    }?;
    // As numbers: a program's file can hold a device type that the C interface's enum does not have.
    // SAFETY: as above; `ET_Device` is two `i8`, the type first.
    let [device_type, device_index]: [i8; 2] = unsafe {
        made("planned buffer", |device: *mut [i8; 2]| {
            sys::executorch_MethodMeta_memory_planned_buffer_device(meta, index, device.cast())
        })
    }?;
    Ok(PlannedBuffer {
        nbytes: usize::try_from(nbytes).unwrap_or(0),
        device: device_from(device_type, device_index)?,
    })
}

fn delegate(meta: &sys::ET_MethodMeta, index: usize) -> Result<String, Error> {
    // SAFETY: live metadata; written when the answer is Ok, with a C string in the program.
    unsafe {
        made("delegate", |id| {
            sys::executorch_MethodMeta_get_backend_name(meta, index, id)
        })
        .map(|id| text(id))
    }
}

/// What `make` writes.
///
/// # Safety
///
/// It writes when it answers Ok.
unsafe fn made<T>(what: &str, make: impl FnOnce(*mut T) -> sys::ET_Error) -> Result<T, Error> {
    let mut value = MaybeUninit::uninit();
    match make(value.as_mut_ptr()) as u32 {
        // SAFETY: the caller's promise.
        0 => Ok(unsafe { value.assume_init() }),
        code => {
            let message = format!("the program does not describe its {what}");
            Err(Error::from_runtime(code, message, Vec::new()))
        }
    }
}

/// # Safety
///
/// Null, or a C string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// # Safety
///
/// `data` leads to `len` values, or `len` is 0.
pub(crate) unsafe fn copied<T: Copy>(data: *const T, len: usize) -> Vec<T> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, len) }.to_vec()
}
