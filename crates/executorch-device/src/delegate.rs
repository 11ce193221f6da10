//! Delegates (backends) in Rust: `executorch::runtime::BackendInterface`.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::PoisonError;

use cxx::{UniquePtr, let_cxx_string};

use crate::allocator::REGISTRIES;
use crate::bridge::ffi;
use crate::error::{Code, Error, RegisterError};
use crate::tensor::TensorRef;
use crate::unwind::guarded;
use crate::value::Value;

/// What runs the parts of a program that were lowered to it.
///
/// One value serves every method of every program that names its id. A `Handle` is made when a method is loaded, used by
/// one execution at a time, and dropped when the method is unloaded or failed to load further.
///
/// An `Err` is logged and its code given to the runtime, which gives up the load or the execution; a panic is
/// [`Code::Internal`]. After a panic the handle is used again by the next execution: leave it usable.
pub trait Delegate: Sync + 'static {
    /// What [`init`](Self::init) makes of the compiled blob.
    type Handle: Send + 'static;

    /// Whether programs that name this delegate can be loaded in this process.
    fn is_available(&self) -> bool {
        true
    }

    /// Makes a handle from `processed`, the bytes that the exporter's `preprocess` returned. They are lent for the call.
    fn init(
        &self,
        context: &InitContext<'_>,
        processed: &[u8],
        specs: &[CompileSpec<'_>],
    ) -> Result<Self::Handle, Error>;

    /// Runs it once. `args` are the inputs followed by the outputs, as the exporter ordered them.
    ///
    /// A tensor's data pointer is whatever the program's caller handed over: it may be null (an output that the caller
    /// did not supply), and nothing proves that it is memory of the device that the tensor is tagged with. So
    /// [`TensorRef::as_slice`] refuses it: read and write through [`TensorRef::data_ptr`], in `unsafe` code that says why
    /// the memory is what it is taken for.
    fn execute(
        &self,
        context: &ExecutionContext<'_>,
        handle: &mut Self::Handle,
        args: &[Arg<'_>],
    ) -> Result<(), Error>;
}

/// Makes `delegate` the one that programs name `id`, for the life of the process.
///
/// Register before a program is loaded on another thread: the runtime reads its table without a lock.
pub fn register_delegate<D: Delegate>(id: &str, delegate: &'static D) -> Result<(), RegisterError> {
    if id.is_empty() || id.contains('\0') {
        return Err(RegisterError::Invalid(format!(
            "{id:?} is no delegate id: it is empty or holds a NUL"
        )));
    }
    let_cxx_string!(name = id);
    let _lock = REGISTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if ffi::has_delegate(&name) {
        return Err(RegisterError::AlreadyRegistered(format!("delegate `{id}`")));
    }
    let shim = Box::new(DelegateShim {
        id: id.to_owned(),
        delegate,
    });
    match ffi::register_delegate(&name, shim) {
        0 => Ok(()),
        code => Err(Error::from_runtime(
            code,
            format!("registering delegate `{id}` failed"),
            Vec::new(),
        )
        .into()),
    }
}

/// What a delegate is told while a method is loaded.
pub struct InitContext<'a>(&'a ffi::BackendInitContext);

impl InitContext<'_> {
    /// The method that is being loaded, such as `forward`. Empty when the runtime does not say.
    pub fn method_name(&self) -> &str {
        std::str::from_utf8(ffi::method_name(self.0)).unwrap_or_default()
    }

    /// The bytes stored under `key` in the program or in one of its data files (`.ptd`).
    ///
    /// Fails with [`Code::NotFound`] when no file that the caller gave has the key.
    pub fn named_data(&self, key: &str) -> Result<NamedData<'_>, Error> {
        let mut code = 0;
        let buffer = ffi::named_data(self.0, key, &mut code);
        if code != 0 || buffer.is_null() {
            let message =
                format!("no named data `{key}`: give the program's data file (.ptd) to the module");
            return Err(Error::from_runtime(code, message, Vec::new()));
        }
        Ok(NamedData {
            buffer,
            context: PhantomData,
        })
    }
}

/// Named data, lent by the runtime and freed on drop; reads as `[u8]`. Copy what must outlive the load.
pub struct NamedData<'a> {
    buffer: UniquePtr<ffi::FreeableBuffer>,
    /// A buffer may lead into the program's loader, which outlives the context.
    context: PhantomData<&'a ()>,
}

impl Deref for NamedData<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        ffi::buffer_bytes(&self.buffer)
    }
}

impl fmt::Debug for NamedData<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NamedData({} bytes)", self.len())
    }
}

/// One setting that the partitioner gave the compiled blob, such as `target_device` = `cuda:0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileSpec<'a> {
    /// Its name.
    pub key: &'a str,
    /// Its value, often text.
    pub value: &'a [u8],
}

/// What a delegate is told while a method runs.
pub struct ExecutionContext<'a>(&'a ffi::BackendExecutionContext);

impl ExecutionContext<'_> {
    /// The method that is running. Empty when the runtime does not say.
    pub fn method_name(&self) -> &str {
        std::str::from_utf8(ffi::executing_method_name(self.0)).unwrap_or_default()
    }
}

/// One input or output of a delegate call.
#[derive(Clone, Copy)]
pub struct Arg<'a>(&'a ffi::EValue);

impl<'a> Arg<'a> {
    /// What it is.
    pub fn value(&self) -> Value<'a> {
        match Value::of(self.0) {
            Value::Tensor(tensor) => Value::Tensor(tensor.of_delegate()),
            other => other,
        }
    }

    /// The tensor, or `None` for another kind of value.
    pub fn tensor(&self) -> Option<TensorRef<'a>> {
        match self.value() {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Gives an output tensor the sizes of this run. The rank stays, and the result must fit the largest shape that the
    /// program was exported for, or the runtime refuses.
    pub fn resize(&self, sizes: &[i32]) -> Result<(), Error> {
        match ffi::resize(self.0, sizes) {
            0 => Ok(()),
            code => Err(Error::from_runtime(
                code,
                format!("cannot resize {self:?} to {sizes:?}"),
                Vec::new(),
            )),
        }
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(formatter)
    }
}

/// [`Delegate`] without its associated type, so that C++ can hold any.
trait ErasedDelegate: Sync {
    fn is_available(&self) -> bool;
    fn init(
        &self,
        context: &InitContext<'_>,
        processed: &[u8],
        specs: &[CompileSpec<'_>],
    ) -> Result<Box<dyn Any + Send>, Error>;
    fn execute(
        &self,
        context: &ExecutionContext<'_>,
        handle: &mut (dyn Any + Send),
        args: &[Arg<'_>],
    ) -> Result<(), Error>;
}

impl<D: Delegate> ErasedDelegate for D {
    fn is_available(&self) -> bool {
        Delegate::is_available(self)
    }

    fn init(
        &self,
        context: &InitContext<'_>,
        processed: &[u8],
        specs: &[CompileSpec<'_>],
    ) -> Result<Box<dyn Any + Send>, Error> {
        Ok(Box::new(Delegate::init(self, context, processed, specs)?))
    }

    fn execute(
        &self,
        context: &ExecutionContext<'_>,
        handle: &mut (dyn Any + Send),
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        let handle = handle
            .downcast_mut()
            .ok_or(Error::from(Code::DelegateInvalidHandle))?;
        Delegate::execute(self, context, handle, args)
    }
}

/// What C++ holds for a delegate.
pub(crate) struct DelegateShim {
    id: String,
    delegate: &'static dyn ErasedDelegate,
}

/// What C++ holds for a loaded method: a thin pointer to it is C++'s handle.
pub(crate) struct DelegateHandle(Box<dyn Any + Send>);

impl DelegateShim {
    pub(crate) fn is_available(&self) -> bool {
        guarded(&self.what("is_available"), || {
            Ok(self.delegate.is_available())
        })
        .unwrap_or(false)
    }

    pub(crate) fn init(
        &self,
        context: &ffi::BackendInitContext,
        processed: &[u8],
        specs: &ffi::CompileSpecs,
    ) -> ffi::Initialized {
        let made = guarded(&self.what("init"), || {
            let specs = (0..ffi::spec_count(specs))
                .map(|index| spec(specs, index))
                .collect::<Result<Vec<_>, _>>()?;
            self.delegate.init(&InitContext(context), processed, &specs)
        });
        match made {
            Ok(handle) => ffi::Initialized {
                code: 0,
                handle: Box::into_raw(Box::new(DelegateHandle(handle))),
            },
            Err(code) => ffi::Initialized {
                code,
                handle: std::ptr::null_mut(),
            },
        }
    }

    /// # Safety
    ///
    /// `handle` came from [`init`](Self::init), has not been destroyed, and no other call uses it.
    pub(crate) unsafe fn execute(
        &self,
        context: &ffi::BackendExecutionContext,
        handle: *mut DelegateHandle,
        args: &ffi::Args,
    ) -> u32 {
        // SAFETY: the caller's promise; a method runs one execution at a time.
        let Some(handle) = (unsafe { handle.as_mut() }) else {
            return Code::DelegateInvalidHandle as u32;
        };
        let ran = guarded(&self.what("execute"), || {
            // SAFETY: each index is below the count.
            let args: Vec<_> = (0..ffi::arg_count(args))
                .map(|index| Arg(unsafe { ffi::arg(args, index) }))
                .collect();
            self.delegate
                .execute(&ExecutionContext(context), &mut *handle.0, &args)
        });
        ran.err().unwrap_or(0)
    }

    /// # Safety
    ///
    /// `handle` came from [`init`](Self::init), or is null; it is not used again.
    pub(crate) unsafe fn destroy(&self, handle: *mut DelegateHandle) {
        if handle.is_null() {
            return;
        }
        // SAFETY: made by `Box::into_raw` in `init`, and given back once.
        let handle = unsafe { Box::from_raw(handle) };
        // C++ takes no answer here; `guarded` has logged it.
        let _ = guarded(&self.what("handle's drop"), || {
            drop(handle);
            Ok(())
        });
    }

    fn what(&self, call: &str) -> String {
        format!("delegate `{}`: {call}", self.id)
    }
}

fn spec(specs: &ffi::CompileSpecs, index: usize) -> Result<CompileSpec<'_>, Error> {
    // SAFETY: the caller counts up to `spec_count`.
    let (key, value) = unsafe { (ffi::spec_key(specs, index), ffi::spec_value(specs, index)) };
    let key = std::str::from_utf8(key).map_err(|_| {
        Error::new(
            Code::InvalidProgram,
            format!("the name of compile spec {index} is not UTF-8"),
        )
    })?;
    Ok(CompileSpec { key, value })
}
