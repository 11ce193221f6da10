//! What a caller holds: the device and its buffers. The same for every kind of device.

use std::{ffi::c_void, fmt, marker::PhantomData};

use executorch_device::{DeviceMemory, DeviceType};

use crate::{Counters, Error, LogLine, log};

/// What a kind of device can do: the one trait behind [`Device`].
///
/// Addresses are device addresses; 0 is null and has no bytes. Every method may be called from any thread.
pub(crate) trait Memory: Send + Sync + fmt::Debug {
    /// What it is, and why this one: `fenced host memory: no NVIDIA driver`.
    fn describe(&self) -> String;

    /// A block of `nbytes`, aligned to 256 bytes, or 0 for no bytes.
    fn allocate(&self, nbytes: usize) -> Result<usize, Error>;

    /// Frees the block that starts at `address`; waits for queued work that uses it. Anything else is a line in the log.
    fn free(&self, address: usize);

    /// Whether all these bytes lie in one live block.
    fn check(&self, address: usize, nbytes: usize) -> Result<(), Error>;

    /// Copies host bytes to a live block, after the queued work that uses them.
    fn upload(&self, address: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Copies bytes of a live block to the host, without waiting for queued work.
    fn download(&self, address: usize, bytes: &mut [u8]) -> Result<(), Error>;

    /// Queues a copy from one live block to another, after all queued work and before all that follows.
    fn duplicate(&self, to: usize, from: usize, nbytes: usize) -> Result<(), Error>;

    /// Waits for all queued work.
    fn synchronize(&self) -> Result<(), Error>;

    /// The arguments of the delegate's last call, inputs first.
    fn last_call(&self) -> Vec<Seen>;

    /// What it has done so far.
    fn counters(&self) -> Counters;

    /// What copies do with a pointer on the wrong side.
    fn set_policy(&self, policy: Policy);
}

/// The device of this process. Get it from [`install`](crate::install()); it is one pointer and can be copied freely.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    memory: &'static dyn Memory,
}

/// What ExecuTorch's copies do with a pointer on the wrong side: a host pointer where device memory is expected, or the
/// reverse.
///
/// The CUDA allocator does not check that. It passes the pointer to `cudaMemcpy`, whose answer depends on the driver, so
/// what holds under one policy alone is not known of CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The copy is `InvalidArgument`, with a line in the log.
    #[default]
    Refuse,
    /// The copy works on whatever side the pointer is, as it may with unified addressing.
    Accept,
}

/// A tensor as the delegate was given it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its data pointer. Only a number to the host.
    pub data: *const c_void,
    /// Its size in bytes.
    pub nbytes: usize,
}

// SAFETY: a `Seen` does nothing with its pointer.
unsafe impl Send for Seen {}
// SAFETY: as above.
unsafe impl Sync for Seen {}

/// A type whose values are device memory as they are: every pattern of bits is one, and no byte is padding.
///
/// # Safety
///
/// Both have to be true.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($element:ty)*) => { $(
        // SAFETY: a primitive number: all patterns are values, no padding.
        unsafe impl Element for $element {}
    )* };
}
elements!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl Device {
    pub(crate) fn new(memory: &'static dyn Memory) -> Self {
        Self { memory }
    }

    /// What this device is, and why: `fenced host memory: no NVIDIA driver`.
    pub fn describe(&self) -> String {
        self.memory.describe()
    }

    /// A new buffer with these values. A copy from host to device; it is counted in [`Counters::caller_h2d`].
    ///
    /// # Errors
    ///
    /// [`Error::Allocation`] when there is no memory.
    pub fn buffer<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.empty(values.len())?;
        self.memory.upload(buffer.address, bytes_of(values))?;
        Ok(buffer)
    }

    /// A new buffer of `len` elements that nobody has written. (On the fenced device they are [`POISON`](crate::POISON);
    /// on a GPU they are what was there before.)
    ///
    /// # Errors
    ///
    /// [`Error::Allocation`] when there is no memory.
    pub fn empty<T: Element>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let nbytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::Allocation {
                nbytes: usize::MAX,
                why: format!(
                    "{len} elements of {} bytes cannot be counted",
                    size_of::<T>()
                ),
            })?;
        Ok(Buffer {
            address: self.memory.allocate(nbytes)?,
            len,
            device: *self,
            elements: PhantomData,
        })
    }

    /// A new buffer with a copy of `len` elements at the device address `source`: how a result outlives the buffer that
    /// the next execution overwrites. The copy is queued, after all work that is queued now; the new buffer holds the
    /// values after [`synchronize`](Self::synchronize).
    ///
    /// # Errors
    ///
    /// [`Error::Pointer`] when those elements are in no live block, [`Error::Allocation`] when there is no memory.
    pub fn copy_of<T: Element>(&self, source: *const T, len: usize) -> Result<Buffer<T>, Error> {
        let buffer: Buffer<T> = self.empty(len)?;
        self.memory
            .duplicate(buffer.address, source.addr(), len * size_of::<T>())?;
        Ok(buffer)
    }

    /// Waits until all queued work is done. A result that was left on the device is ready after this and not before.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] when the device is gone. The fenced device has no error here.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.memory.synchronize()
    }

    /// The `len` elements at the device address `source`, as they are now.
    ///
    /// This does **not** wait for queued work: it is a copy that nothing orders after the delegate's stream, as
    /// `cudaMemcpyAsync` on another, non-blocking stream is. Where queued work is still to write, it finds
    /// [`POISON`](crate::POISON) (on a GPU: the old bytes, the new, or a mixture). Call [`synchronize`](Self::synchronize)
    /// first. It is counted in [`Counters::caller_d2h`].
    ///
    /// # Errors
    ///
    /// [`Error::Pointer`] when those elements are in no live block: a host pointer, a freed one, or past the end.
    pub fn read<T: Element>(&self, source: *const T, len: usize) -> Result<Vec<T>, Error> {
        self.memory
            .check(source.addr(), len.saturating_mul(size_of::<T>()))?;
        // SAFETY: every pattern of bits is an `Element`.
        let mut values = vec![unsafe { std::mem::zeroed::<T>() }; len];
        self.memory
            .download(source.addr(), bytes_of_mut(&mut values))?;
        Ok(values)
    }

    /// The tensors that the delegate was given in its last call (of all threads), inputs first and outputs after them,
    /// whether it ran or refused them.
    pub fn last_call(&self) -> Vec<Seen> {
        self.memory.last_call()
    }

    /// What the device has done so far, in all threads.
    pub fn counters(&self) -> Counters {
        self.memory.counters()
    }

    /// What ExecuTorch's copies do from now on with a pointer on the wrong side, in all threads.
    pub fn set_policy(&self, policy: Policy) {
        self.memory.set_policy(policy);
    }

    /// ExecuTorch's messages and the device's own since the last call, oldest first, of all threads. The last 4096 are
    /// kept.
    pub fn take_log(&self) -> Vec<LogLine> {
        log::take()
    }
}

/// Device memory of the caller's: freed when dropped, after the queued work that uses it.
///
/// It has an address and no contents: the host can only copy. Its pointers are numbers to the host (they have no
/// provenance); reading or writing through them ends the process by SIGSEGV on the fenced device.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    address: usize,
    len: usize,
    device: Device,
    elements: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// Its device address; null when it has no elements.
    pub fn as_ptr(&self) -> *const T {
        std::ptr::without_provenance(self.address)
    }

    /// Its device address, to be written by the device; null when it has no elements.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        std::ptr::without_provenance_mut(self.address)
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its elements as they are now: [`Device::read`], which does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] when the device is gone.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        self.device.read(self.as_ptr(), self.len)
    }

    /// Overwrites all elements, after the queued work that uses them. It is counted in [`Counters::caller_h2d`].
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when there are not as many values as elements.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        if values.len() != self.len {
            return Err(Error::Length {
                wanted: self.len,
                got: values.len(),
            });
        }
        self.device.memory.upload(self.address, bytes_of(values))
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.device.memory.free(self.address);
    }
}

// SAFETY: the address and the length never change; the block is live until the drop, which waits for queued work that
// uses it; no reference into device memory exists.
unsafe impl<T: Element> DeviceMemory for Buffer<T> {
    fn as_ptr(&self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.address)
    }

    fn nbytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn device(&self) -> executorch_device::Device {
        executorch_device::Device::new(DeviceType::Cuda, 0)
    }
}

fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: the bytes of a slice, all initialised as below; every pattern written to them is a `T`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) }
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the bytes of a slice; an `Element` has no padding, so all of them are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }
}
