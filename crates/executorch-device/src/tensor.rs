//! Tensors over memory that the caller holds, and views of the runtime's own.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use cxx::SharedPtr;
use executorch::device::{Device, DeviceIndex, DeviceType};
use executorch::tensor::{Scalar, ScalarType, TensorPtr, TensorPtrBuilder, View};
use executorch_sys as sys;

use crate::bridge::ffi;
use crate::error::{Code, Error};
use crate::meta::copied;

/// The most dimensions that a tensor can have (`kTensorDimensionLimit`).
const MAX_DIMENSIONS: usize = 16;

/// A device's memory that tensors can be made over. (For the host's there are [`TensorRef::host`] and
/// [`TensorMut::host`].)
///
/// # Safety
///
/// From a call of these functions until the value is dropped or borrowed exclusively, they give the same answer, and
///
/// * `as_ptr` is the start of `nbytes` bytes on `device`, which may be read and written there, and stay where they are
///   when the value is moved;
/// * the bytes are not freed or used again while work that was queued on the device with their address is unfinished,
///   also after the value is dropped: ExecuTorch may return from an execution that the device has only queued. (What
///   `cudaFree` does; a stream-ordered free must be on the stream that the delegate uses.)
/// * no Rust reference into the bytes lives while the value is borrowed: a program that mutates its input writes there.
pub unsafe trait DeviceMemory: Send + Sync {
    /// The address of the first byte, on [`device`](Self::device).
    fn as_ptr(&self) -> *mut c_void;

    /// How many bytes.
    fn nbytes(&self) -> usize;

    /// Where they are: not the CPU.
    fn device(&self) -> Device;
}

/// A tensor that may be read: over memory borrowed for `'a`, or one that the runtime holds for `'a`.
#[derive(Clone)]
pub struct TensorRef<'a> {
    handle: Handle<'a>,
    scalar_type: ScalarType,
    device: Device,
    /// Whether the memory is where the tag says, and nothing writes it for `'a`: the tensor was made over it, or
    /// [`Module`](crate::Module) has compared the tags. Of a delegate's argument nobody knows.
    vouched: bool,
}

#[derive(Clone)]
enum Handle<'a> {
    Made(SharedPtr<ffi::Tensor>),
    Lent(&'a ffi::Tensor),
}

/// A tensor that may be written: over memory borrowed exclusively for `'a`. For
/// [`Module::set_output`](crate::Module::set_output), and for an input that the program mutates.
pub struct TensorMut<'a> {
    tensor: TensorRef<'a>,
    memory: PhantomData<&'a mut ()>,
}

impl<'a> TensorRef<'a> {
    /// A contiguous tensor of these sizes at the start of `memory`, tagged with the memory's device.
    ///
    /// [`Code::InvalidArgument`] when the bytes do not fit, the address is not aligned to the element, or a size is
    /// negative.
    pub fn over<M: DeviceMemory + ?Sized>(
        memory: &'a M,
        dtype: ScalarType,
        sizes: &[i32],
    ) -> Result<Self, Error> {
        let tensor = over(memory, dtype, sizes)?;
        Ok(Self::made(tensor, dtype, memory.device()))
    }

    /// A contiguous tensor of these sizes over host memory.
    ///
    /// [`Code::InvalidArgument`] when the elements do not fit.
    pub fn host<T: HostElement>(memory: &'a [T], sizes: &[i32]) -> Result<Self, Error> {
        let tensor = host(memory.as_ptr().cast_mut(), memory.len(), sizes)?;
        Ok(Self::made(tensor, T::TYPE, cpu()))
    }

    fn made(tensor: SharedPtr<ffi::Tensor>, scalar_type: ScalarType, device: Device) -> Self {
        Self {
            handle: Handle::Made(tensor),
            scalar_type,
            device,
            vouched: true,
        }
    }

    /// A tensor that the runtime holds; `None` when its tag is of a type or device that this crate does not know.
    pub(crate) fn lent(tensor: &'a ffi::Tensor) -> Option<Self> {
        let tag = ffi::tag(tensor);
        Some(Self {
            handle: Handle::Lent(tensor),
            scalar_type: scalar_type_of(tag.scalar_type).ok()?,
            device: device_from(tag.device_type, tag.device_index).ok()?,
            vouched: true,
        })
    }

    /// The same as a delegate is given it.
    pub(crate) fn of_delegate(self) -> Self {
        Self {
            vouched: false,
            ..self
        }
    }

    /// A tensor made by the `executorch` crate.
    pub(crate) fn of_public<D>(tensor: &executorch::tensor::TensorBase<'a, D>) -> Self {
        // Asked only for a tensor with elements: the crate asserts in debug builds that the pointer is not null.
        let data = if tensor.numel() == 0 {
            std::ptr::null()
        } else {
            tensor.as_data_ptr_raw()
        };
        let device = tensor.device();
        // SAFETY: the tensor vouches for its data for 'a, and its sizes, dim order and strides agree.
        let made = unsafe {
            ffi::tensor_over(
                data.cast_mut().cast(),
                tensor.sizes(),
                tensor.dim_order(),
                tensor.strides(),
                tensor.scalar_type() as i8,
                device.type_() as i8,
                device.index(),
            )
        };
        Self::made(made, tensor.scalar_type(), device)
    }

    pub(crate) fn as_cxx(&self) -> &ffi::Tensor {
        match &self.handle {
            Handle::Made(tensor) => made(tensor),
            Handle::Lent(tensor) => tensor,
        }
    }

    fn raw(&self) -> sys::ET_TensorRef {
        raw(self.as_cxx())
    }

    /// Where the data is, as the tensor is tagged. Nothing in the runtime proves the tag.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The address of the first element, on [`device`](Self::device); null for an output without memory.
    pub fn data_ptr(&self) -> *mut c_void {
        // SAFETY: a live tensor.
        unsafe { sys::executorch_Tensor_mutable_data_ptr(self.raw()) }
    }

    /// The size of each dimension, now: a run can change an output's.
    pub fn sizes(&self) -> Vec<i32> {
        // SAFETY: a live tensor.
        let sizes = unsafe { sys::executorch_Tensor_sizes(self.raw()) };
        // SAFETY: ExecuTorch's array, unchanged during this function.
        unsafe { copied(sizes.data, sizes.len) }
    }

    /// The distance between neighbours in each dimension, in elements.
    pub fn strides(&self) -> Vec<i32> {
        // SAFETY: a live tensor.
        let strides = unsafe { sys::executorch_Tensor_strides(self.raw()) };
        // SAFETY: ExecuTorch's array, unchanged during this function.
        unsafe { copied(strides.data, strides.len) }
    }

    /// The dimensions from the outermost in memory to the innermost.
    pub fn dim_order(&self) -> Vec<u8> {
        // SAFETY: a live tensor.
        let order = unsafe { sys::executorch_Tensor_dim_order(self.raw()) };
        // SAFETY: ExecuTorch's array, unchanged during this function.
        unsafe { copied(order.data, order.len) }
    }

    /// The type of the elements.
    pub fn scalar_type(&self) -> ScalarType {
        self.scalar_type
    }

    /// How many elements.
    pub fn numel(&self) -> usize {
        // SAFETY: a live tensor.
        unsafe { sys::executorch_Tensor_numel(self.raw()) }
    }

    /// How many bytes the elements take.
    pub fn nbytes(&self) -> usize {
        // SAFETY: a live tensor.
        unsafe { sys::executorch_Tensor_nbytes(self.raw()) }
    }

    /// The same tensor for the `executorch` crate, whose own `Module` takes `EValue::new(&tensor_ptr)`.
    ///
    /// [`Code::InvalidType`] when the elements are not `S`; [`Code::NotSupported`] when the tensor has no memory.
    ///
    /// # Safety
    ///
    /// Two things that crate does not check: unless [`device`](Self::device) is the CPU, the elements must not be read
    /// through it (`as_array`, indexing, accessors); and its `Module` must not be used again once the memory is freed,
    /// except to execute with new inputs.
    pub unsafe fn to_tensor_ptr<S: Scalar>(&self) -> Result<TensorPtr<'a, View<S>>, Error> {
        if self.scalar_type() != S::TYPE {
            let message = format!(
                "the tensor holds {:?}, not {:?}",
                self.scalar_type(),
                S::TYPE
            );
            return Err(Error::new(Code::InvalidType, message));
        }
        if self.data_ptr().is_null() {
            return Err(Error::new(Code::NotSupported, "the tensor has no memory"));
        }
        // SAFETY: this tensor vouches for its data for 'a, with these sizes, strides and device; the caller promises not
        // to read device memory through the result.
        let builder = unsafe {
            TensorPtrBuilder::<View<S>>::from_ptr(self.data_ptr().cast::<S>(), self.sizes())
                .strides(self.strides())
                .device(self.device())
        };
        builder.build().map_err(Error::from)
    }

    /// The elements of a contiguous host tensor, in order.
    ///
    /// [`Code::NotSupported`] when the data is on a device, is laid out otherwise, or is a delegate's argument, whose tag
    /// nothing vouches for; [`Code::InvalidType`] when the elements are not `T`.
    pub fn as_slice<T: HostElement>(&self) -> Result<&[T], Error> {
        let refuse = |code, why: &str| {
            Err(Error::new(
                code,
                format!("cannot read {self:?} from the host: {why}"),
            ))
        };
        if !self.vouched {
            return refuse(
                Code::NotSupported,
                "nothing proves that a delegate's argument is where it is tagged; read it through data_ptr",
            );
        }
        if !self.device().is_cpu() {
            return refuse(Code::NotSupported, "copy it from the device first");
        }
        if self.scalar_type() != T::TYPE {
            return refuse(
                Code::InvalidType,
                &format!("its elements are not {:?}", T::TYPE),
            );
        }
        if !self
            .dim_order()
            .into_iter()
            .map(usize::from)
            .eq(0..self.sizes().len())
        {
            return refuse(Code::NotSupported, "it is not contiguous");
        }
        let (data, len) = (self.data_ptr().cast::<T>().cast_const(), self.numel());
        match len {
            0 => Ok(&[]),
            _ if data.is_null() => refuse(Code::InvalidState, "it has no memory"),
            _ if !data.is_aligned() => refuse(Code::NotSupported, "it is not aligned"),
            // SAFETY: initialised host memory with `len` elements of `T`; every bit pattern is a `T`. Nothing writes it while the tensor is borrowed: a method's own memory is borrowed with its
            // module, a caller's was borrowed from it, and `Module` gives the memory of a `TensorRef` on the host to no
            // method that could write it.
            _ => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
        }
    }
}

impl fmt::Debug for TensorRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device();
        write!(
            formatter,
            "{:?}{:?}@{:?}:{}",
            self.scalar_type(),
            self.sizes(),
            device.type_(),
            device.index()
        )
    }
}

impl<'a> TensorMut<'a> {
    /// A contiguous tensor of these sizes at the start of `memory`, tagged with the memory's device.
    ///
    /// Fails as [`TensorRef::over`] does.
    pub fn over<M: DeviceMemory + ?Sized>(
        memory: &'a mut M,
        dtype: ScalarType,
        sizes: &[i32],
    ) -> Result<Self, Error> {
        let tensor = over(memory, dtype, sizes)?;
        Ok(Self {
            tensor: TensorRef::made(tensor, dtype, memory.device()),
            memory: PhantomData,
        })
    }

    /// A contiguous tensor over host memory.
    ///
    /// [`Code::InvalidArgument`] when the elements do not fit.
    pub fn host<T: HostElement>(memory: &'a mut [T], sizes: &[i32]) -> Result<Self, Error> {
        let tensor = host(memory.as_mut_ptr(), memory.len(), sizes)?;
        Ok(Self {
            tensor: TensorRef::made(tensor, T::TYPE, cpu()),
            memory: PhantomData,
        })
    }

    /// The tensor, to look at.
    pub fn as_ref(&self) -> TensorRef<'_> {
        self.tensor.clone()
    }

    pub(crate) fn as_cxx(&self) -> &ffi::Tensor {
        self.tensor.as_cxx()
    }
}

impl fmt::Debug for TensorMut<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(formatter)
    }
}

/// Elements that can be read on the host whatever their bytes are.
///
/// # Safety
///
/// Every bit pattern is a value of the type, and it has no padding.
pub unsafe trait HostElement: Scalar + Copy {}

macro_rules! host_elements {
    ($($element:ty),*) => { $(
        // SAFETY: a plain number.
        unsafe impl HostElement for $element {}
    )* };
}
host_elements!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

fn over<M: DeviceMemory + ?Sized>(
    memory: &M,
    dtype: ScalarType,
    sizes: &[i32],
) -> Result<SharedPtr<ffi::Tensor>, Error> {
    if memory.device().is_cpu() {
        let fix = "make the tensor over the slice, with TensorRef::host or TensorMut::host";
        return Err(Error::new(
            Code::InvalidArgument,
            format!("DeviceMemory on the CPU: {fix}"),
        ));
    }
    checked(
        memory.as_ptr(),
        memory.nbytes(),
        memory.device(),
        dtype,
        sizes,
    )
}

fn host<T: HostElement>(
    memory: *mut T,
    len: usize,
    sizes: &[i32],
) -> Result<SharedPtr<ffi::Tensor>, Error> {
    checked(memory.cast(), len * size_of::<T>(), cpu(), T::TYPE, sizes)
}

fn cpu() -> Device {
    Device::new(DeviceType::Cpu, 0)
}

/// A tensor whose elements fit `nbytes` bytes at `address`.
fn checked(
    address: *mut c_void,
    nbytes: usize,
    device: Device,
    dtype: ScalarType,
    sizes: &[i32],
) -> Result<SharedPtr<ffi::Tensor>, Error> {
    let refuse = |why: String| {
        Err(Error::new(
            Code::InvalidArgument,
            format!("no {dtype:?}{sizes:?} tensor over {nbytes} bytes: {why}"),
        ))
    };
    // An element takes at least a byte: this bounds every product that C++ computes, strides (32 bits) included.
    let product = |sizes: &[i32]| {
        sizes.iter().try_fold(1_usize, |product, size| {
            product.checked_mul(usize::try_from(*size).ok()?)
        })
    };
    let (Some(numel), Some(stride)) = (product(sizes), product(sizes.get(1..).unwrap_or_default()))
    else {
        return refuse("a size is negative or too large".into());
    };
    if numel > nbytes || i32::try_from(stride).is_err() || sizes.len() > MAX_DIMENSIONS {
        return refuse("it does not fit".into());
    }
    // SAFETY: used only when the checks below hold. With them, the memory is valid for the tensor while the caller's
    // borrow lasts; an empty dim order and empty strides cannot contradict each other.
    let tensor = unsafe {
        ffi::tensor_over(
            address.cast(),
            sizes,
            &[],
            &[],
            dtype as i8,
            device.type_() as i8,
            device.index(),
        )
    };
    let view = raw(made(&tensor));
    // SAFETY: a live tensor.
    let (needed, element) = unsafe {
        (
            sys::executorch_Tensor_nbytes(view),
            sys::executorch_Tensor_element_size(view),
        )
    };
    if needed > nbytes {
        return refuse(format!("it takes {needed}"));
    }
    if !address.addr().is_multiple_of(element.max(1)) {
        return refuse(format!(
            "the address {address:?} is not a multiple of {element}"
        ));
    }
    Ok(tensor)
}

/// `make_tensor_ptr` gives a tensor or ends the process.
fn made(tensor: &SharedPtr<ffi::Tensor>) -> &ffi::Tensor {
    tensor.as_ref().expect("make_tensor_ptr returns a tensor")
}

/// How the C interface of `executorch-sys` names a tensor.
pub(crate) fn raw(tensor: &ffi::Tensor) -> sys::ET_TensorRef {
    sys::ET_TensorRef {
        ptr: std::ptr::from_ref(tensor).cast(),
    }
}

/// The device of a type's number; 1.5.1 has these two, and a program's file can hold another.
pub(crate) fn device_from(device_type: i8, index: DeviceIndex) -> Result<Device, Error> {
    [DeviceType::Cpu, DeviceType::Cuda]
        .into_iter()
        .find(|known| *known as i8 == device_type)
        .map(|known| Device::new(known, index))
        .ok_or_else(|| unknown("device type", device_type))
}

fn unknown(what: &str, number: i8) -> Error {
    let message = format!(
        "the program has {what} {number}, which ExecuTorch 1.5.1 does not have; export it with that release"
    );
    Error::new(Code::NotSupported, message)
}

/// The `executorch` crate's name for a scalar type's number.
pub(crate) fn scalar_type_of(number: i8) -> Result<ScalarType, Error> {
    use ScalarType::*;
    const ALL: [ScalarType; 30] = [
        Byte,
        Char,
        Short,
        Int,
        Long,
        Half,
        Float,
        Double,
        ComplexHalf,
        ComplexFloat,
        ComplexDouble,
        Bool,
        QInt8,
        QUInt8,
        QInt32,
        BFloat16,
        QUInt4x2,
        QUInt2x4,
        Bits1x8,
        Bits2x4,
        Bits4x2,
        Bits8,
        Bits16,
        Float8_e5m2,
        Float8_e4m3fn,
        Float8_e5m2fnuz,
        Float8_e4m3fnuz,
        UInt16,
        UInt32,
        UInt64,
    ];
    ALL.into_iter()
        .find(|known| *known as i8 == number)
        .ok_or_else(|| unknown("scalar type", number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_types_by_number() {
        for number in 0..30 {
            assert_eq!(scalar_type_of(number).unwrap() as i8, number);
        }
        let error = scalar_type_of(30).unwrap_err();
        assert!(error.message().contains("scalar type 30"), "{error}");
    }

    #[test]
    fn devices_by_number() {
        for known in [DeviceType::Cpu, DeviceType::Cuda] {
            assert_eq!(device_from(known as i8, 1).unwrap(), Device::new(known, 1));
        }
        let error = device_from(2, 0).unwrap_err();
        assert!(error.message().contains("device type 2"), "{error}");
    }

    #[test]
    fn a_delegates_argument_is_not_read_on_its_tags_word() {
        let memory = [1.0_f32; 4];
        let tensor = TensorRef::host(&memory, &[4]).unwrap();
        assert_eq!(tensor.as_slice::<f32>().unwrap(), memory);
        let error = tensor.of_delegate().as_slice::<f32>().unwrap_err();
        assert!(error.message().contains("through data_ptr"), "{error}");
    }

    #[test]
    fn a_host_tensor_knows_its_memory() {
        let mut memory = [1.0_f32, 2.0, 3.0, 4.0];
        let address = memory.as_mut_ptr();
        let tensor = TensorMut::host(&mut memory, &[2, 2]).unwrap();
        let view = tensor.as_ref();
        assert_eq!(
            (view.data_ptr().cast(), view.nbytes(), view.numel()),
            (address, 16, 4)
        );
        assert_eq!(
            (view.sizes(), view.strides(), view.dim_order()),
            (vec![2, 2], vec![2, 1], vec![0, 1])
        );
        assert_eq!(view.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(
            view.as_slice::<i32>().unwrap_err().kind(),
            Code::InvalidType
        );
        assert_eq!(format!("{view:?}"), "Float[2, 2]@Cpu:0");
    }

    #[test]
    fn a_tensor_must_fit_its_memory() {
        let mut memory = [0_u8; 16];
        for sizes in [
            &[17][..],
            &[4, 5],
            &[-1],
            &[i32::MAX, i32::MAX, i32::MAX],
            &[0, i32::MAX, i32::MAX],
            &[1; 17],
        ] {
            let error = TensorMut::host(&mut memory, sizes).unwrap_err();
            assert_eq!(error.kind(), Code::InvalidArgument, "{sizes:?}");
        }
        for sizes in [&[16][..], &[4, 4], &[], &[0, 7]] {
            TensorMut::host(&mut memory, sizes).unwrap();
        }
    }

    struct Odd([u32; 4], DeviceType);

    // SAFETY: the array's own bytes but the first; on the heap or the stack, nobody moves it while it is borrowed.
    unsafe impl DeviceMemory for Odd {
        fn as_ptr(&self) -> *mut c_void {
            self.0
                .as_ptr()
                .cast_mut()
                .cast::<u8>()
                .wrapping_add(1)
                .cast()
        }
        fn nbytes(&self) -> usize {
            15
        }
        fn device(&self) -> Device {
            Device::new(self.1, 3)
        }
    }

    #[test]
    fn a_tensor_is_aligned_and_carries_the_memorys_device() {
        let memory = Odd([0; 4], DeviceType::Cuda);
        let error = TensorRef::over(&memory, ScalarType::Float, &[2]).unwrap_err();
        assert!(
            error.message().contains("is not a multiple of 4"),
            "{error}"
        );
        assert!(
            TensorRef::over(&memory, ScalarType::Float, &[4])
                .unwrap_err()
                .message()
                .contains("it takes 16")
        );
        let tensor = TensorRef::over(&memory, ScalarType::Char, &[3, 5]).unwrap();
        assert_eq!(tensor.device(), Device::new(DeviceType::Cuda, 3));
        assert_eq!(
            tensor.as_slice::<i8>().unwrap_err().kind(),
            Code::NotSupported
        );
        // 2^60 elements of 16 bytes: C++ counts their bytes to 0.
        let error = TensorRef::over(&memory, ScalarType::ComplexDouble, &[1 << 30; 2]).unwrap_err();
        assert!(error.message().contains("it does not fit"), "{error}");
        let memory = Odd([0; 4], DeviceType::Cpu);
        let host = TensorRef::over(&memory, ScalarType::Char, &[3, 5]).unwrap_err();
        assert!(
            host.message().starts_with("DeviceMemory on the CPU"),
            "{host}"
        );
    }
}
