//! A loaded program whose inputs and outputs may be the caller's device memory.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use cxx::{CxxString, UniquePtr, let_cxx_string};
use executorch::device::Device;
use executorch::tensor::ScalarType;
use executorch_sys as sys;

use crate::bridge::ffi;
use crate::error::{Code, Error};
use crate::log::capturing;
use crate::meta::MethodMeta;
use crate::tensor::{TensorMut, TensorRef, device_from, scalar_type_of};
use crate::value::{Input, UNKNOWN_TENSOR, Value};

/// How a program's file is read.
pub use executorch::module::LoadMode;

/// A program and its loaded methods: the `executorch` crate's `Module` with [`set_input`](Self::set_input) and
/// [`set_output`](Self::set_output), and with errors that say why.
///
/// # Who may free what
///
/// A method keeps the address of every *unplanned* input and output that it was given; there is no call that makes it
/// forget one. (A planned input is copied, a planned output is the method's own.) So:
///
/// * **Memory given to [`set_output`](Self::set_output) or [`set_input`](Self::set_input) is borrowed for `'buf`**, which
///   the module cannot outlive. Outputs are borrowed exclusively: nobody else reads or writes them through Rust meanwhile.
///   Read them through [`Outputs`].
/// * **Inputs given to [`execute`](Self::execute) are borrowed as long as its [`Outputs`] are kept**, because an output can
///   be an input that the program passes through. After that they may be freed: the address stays in the method, but
///   every `execute` sets *all* inputs before the method runs, and [`execute_held`](Self::execute_held), which sets none,
///   refuses unless each was set by `set_input` since. Nothing else in the runtime looks at an input.
/// * **A planned input holds for one execution**, whoever set it: memory planning lets later tensors take its bytes after
///   its last use (`exir/memory_planning.py`). `execute_held` refuses to run on what is left of it.
/// * **[`Outputs`] borrow the module**, so that no execution can overwrite them while they are held.
///
/// # What it refuses, and the runtime would not
///
/// * an output without memory: the runtime hands a null pointer to the operator or delegate that writes it;
/// * a host tensor borrowed shared for an unplanned input that the method also returns: the exporter makes such a method
///   of a program that mutates the input, which then writes to the caller's memory. It takes a [`TensorMut`].
/// * a device tensor for an unplanned input or output that the program has on the host: an operator on the host would
///   read or write it there. The other way round (host memory where a device is expected) is left to the delegate, which
///   alone can tell;
/// * an output tensor of another scalar type, or smaller than the largest shape that the program was exported for: the
///   runtime looks at the current shape only.
pub struct Module<'buf> {
    module: UniquePtr<ffi::Module>,
    path: PathBuf,
    /// For each method, what `set_input` gave to each input.
    held: HashMap<String, Vec<Held>>,
    /// Whether the methods use one set of planned buffers, so that each can overwrite another's planned inputs.
    share_memory_arenas: bool,
    buffers: PhantomData<&'buf mut ()>,
}

// SAFETY: nothing in it is bound to a thread: the runtime keeps no thread-local state, a Rust delegate's handle is `Send`,
// and the memory it points to is `DeviceMemory`, which is `Send + Sync`. It is not `Sync`: C++ does not lock.
unsafe impl Send for Module<'_> {}

/// What an input has for an execution that sets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nothing that is valid for `'buf`.
    Unset,
    /// An address that is valid for `'buf`, or a number, which is the program's own.
    Kept,
    /// A copy in planned memory, for the next execution.
    Copied,
    /// A copy in planned memory that may have been overwritten since.
    Spent,
}

/// How a program is to be loaded; [`load`](Self::load) does it.
#[derive(Clone, Debug)]
#[must_use]
pub struct ModuleBuilder {
    path: PathBuf,
    data_files: Vec<PathBuf>,
    load_mode: LoadMode,
    share_memory_arenas: bool,
}

/// What a loaded method says about one of its input or output tensors. Unlike
/// [`TensorMeta`](crate::TensorMeta), it knows the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Where the program expects the data.
    pub device: Device,
    /// Whether memory planning reserved a buffer for it. If not, the caller supplies the memory.
    pub planned: bool,
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// Bytes of the largest shape that it was exported for.
    pub nbytes: usize,
    /// For an input: whether the method also returns it, as it does when it mutates it.
    pub returned: bool,
}

/// The outputs of an execution. They borrow the module, which would overwrite them in its next execution.
///
/// An execution may have been queued only: before the data of a device tensor is used outside of the device's queue,
/// synchronise.
pub struct Outputs<'m> {
    method: &'m ffi::Method,
}

impl ModuleBuilder {
    /// A program's file (`.pte`).
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            data_files: Vec::new(),
            load_mode: LoadMode::File,
            share_memory_arenas: false,
        }
    }

    /// Adds a file of the program's external data (`.ptd`).
    pub fn data_file(mut self, path: impl AsRef<Path>) -> Self {
        self.data_files.push(path.as_ref().to_path_buf());
        self
    }

    /// How the files are read; into memory by default.
    pub fn load_mode(mut self, mode: LoadMode) -> Self {
        self.load_mode = mode;
        self
    }

    /// Lets all methods use one set of planned buffers, as a program exported with `share_mutable_buffers` needs. The
    /// runtime refuses it for a method with planned device memory.
    pub fn share_memory_arenas(mut self, share: bool) -> Self {
        self.share_memory_arenas = share;
        self
    }

    /// Loads the program, not yet its methods.
    ///
    /// The file is checked to be consistent in itself, not to be harmless: load programs from where you would load
    /// libraries from.
    pub fn load<'buf>(self) -> Result<Module<'buf>, Error> {
        let text = |path: &PathBuf| {
            let refuse = |why| Error::new(Code::NotSupported, format!("the path {path:?} {why}"));
            match path.to_str() {
                None => Err(refuse("is not UTF-8; rename it")),
                // C++ would open the file that is named by what is before it.
                Some(text) if text.contains('\0') => Err(refuse("holds a NUL, as no file's does")),
                Some(text) => Ok(text.to_owned()),
            }
        };
        let path = text(&self.path)?;
        let data_files = self
            .data_files
            .iter()
            .map(text)
            .collect::<Result<Vec<_>, _>>()?;
        let data_files: Vec<&str> = data_files.iter().map(String::as_str).collect();
        let_cxx_string!(file = &path);
        let (loaded, log) = capturing(|| {
            let mut module = sys::Module_new(
                &file,
                &data_files,
                load_mode(self.load_mode),
                UniquePtr::null(),
                UniquePtr::null(),
                UniquePtr::null(),
                self.share_memory_arenas,
            );
            let verification =
                sys::ET_ProgramVerification::ET_ProgramVerification_InternalConsistency;
            // SAFETY: null stands for no backend options.
            let code =
                unsafe { sys::Module_load(module.pin_mut(), std::ptr::null(), verification) };
            (module, code as u32)
        });
        match loaded {
            (module, 0) => Ok(Module {
                module,
                path: self.path,
                held: HashMap::new(),
                share_memory_arenas: self.share_memory_arenas,
                buffers: PhantomData,
            }),
            (_, code) => Err(Error::from_runtime(
                code,
                format!("cannot load the program {path}"),
                log,
            )),
        }
    }
}

impl<'buf> Module<'buf> {
    /// Loads a program that has no external data. [`ModuleBuilder`] has the other settings.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        ModuleBuilder::new(path).load()
    }

    /// The program's methods, sorted.
    pub fn method_names(&mut self) -> Result<Vec<String>, Error> {
        let mut names = std::mem::MaybeUninit::uninit();
        let module = self.module.pin_mut();
        // SAFETY: C++ makes the vector when it answers Ok.
        let (code, log) =
            capturing(|| unsafe { sys::Module_method_names(module, names.as_mut_ptr()) } as u32);
        self.check(code, || "the program has no list of methods".into(), log)?;
        // SAFETY: as above.
        let mut names = unsafe { names.assume_init() };
        names.sort();
        Ok(names)
    }

    /// What the program's file says about a method, without loading it: no delegate and no device memory is needed.
    pub fn method_meta(&mut self, method: &str) -> Result<MethodMeta, Error> {
        let_cxx_string!(name = method);
        let mut meta = std::mem::MaybeUninit::uninit();
        let module = self.module.pin_mut();
        // SAFETY: C++ makes the metadata when it answers Ok.
        let (code, log) =
            capturing(
                || unsafe { sys::Module_method_meta(module, &name, meta.as_mut_ptr()) } as u32,
            );
        self.check(code, || format!("no metadata of method `{method}`"), log)?;
        // SAFETY: as above; it points into the program, which the module holds.
        MethodMeta::read(&unsafe { meta.assume_init() })
    }

    /// Loads a method: makes its delegates' handles and allocates its planned memory. Without it, the first use does.
    pub fn load_method(&mut self, method: &str) -> Result<(), Error> {
        let_cxx_string!(name = method);
        self.loaded(&name, method).map(|_| ())
    }

    /// Whether a method is loaded.
    pub fn is_method_loaded(&self, method: &str) -> bool {
        let_cxx_string!(name = method);
        sys::Module_is_method_loaded(&self.module, &name)
    }

    /// Drops a loaded method: its delegates' handles, its planned memory, and what it was told by
    /// [`set_input`](Self::set_input) and [`set_output`](Self::set_output). False if it was not loaded.
    pub fn unload_method(&mut self, method: &str) -> bool {
        let_cxx_string!(name = method);
        self.held.remove(method);
        // SAFETY: nothing borrows the method: `Outputs` would borrow the module.
        unsafe { sys::Module_unload_method(self.module.pin_mut(), &name) }
    }

    /// What a method expects of input `index`; `None` when that is not a tensor. Loads the method.
    pub fn input(&mut self, method: &str, index: usize) -> Result<Option<Slot>, Error> {
        let_cxx_string!(name = method);
        let loaded = self.loaded(&name, method)?;
        in_range("input", method, index, loaded.inputs_size())?;
        // SAFETY: in range.
        Slot::of(&unsafe { ffi::input_slot(loaded, index) })
    }

    /// What a method says of output `index`; `None` when that is not a tensor. Loads the method.
    pub fn output(&mut self, method: &str, index: usize) -> Result<Option<Slot>, Error> {
        let_cxx_string!(name = method);
        let loaded = self.loaded(&name, method)?;
        in_range("output", method, index, loaded.outputs_size())?;
        // SAFETY: in range.
        Slot::of(&unsafe { ffi::output_slot(loaded, index) })
    }

    /// Gives a method one input for [`execute_held`](Self::execute_held). Loads the method.
    ///
    /// Of an unplanned input the method keeps the address, and reads it in each execution to come. A planned one is copied
    /// now, for the *next* execution: that one may reuse its memory, so set it before each.
    /// ([`input`](Self::input) says which it is. With [`share_memory_arenas`](ModuleBuilder::share_memory_arenas), setting
    /// a planned input of another method, loading or executing one ends it too.)
    pub fn set_input(
        &mut self,
        method: &str,
        index: usize,
        input: impl Into<Input<'buf>>,
    ) -> Result<(), Error> {
        let_cxx_string!(name = method);
        let count = self.loaded(&name, method)?.inputs_size();
        in_range("input", method, index, count)?;
        let set = |module: &mut Self, held| {
            module
                .held
                .entry(method.to_owned())
                .or_insert_with(|| vec![Held::Unset; count])[index] = held;
        };
        // A refusal can come after the runtime has resized the input: the memory from before may be too small then.
        set(self, Held::Unset);
        // SAFETY: in range; the memory outlives the module.
        let held = unsafe { self.place(&name, method, index, &input.into()) }?;
        set(self, held);
        Ok(())
    }

    /// Gives a method the memory for an unplanned output, for all executions to come. Loads the method.
    ///
    /// The runtime answers [`Code::InvalidState`] (0x2) for a planned output, which has memory already.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "consumed: the buffer is given to one output of one module"
    )]
    pub fn set_output(
        &mut self,
        method: &str,
        index: usize,
        output: TensorMut<'buf>,
    ) -> Result<(), Error> {
        let_cxx_string!(name = method);
        let loaded = self.loaded(&name, method)?;
        in_range("output", method, index, loaded.outputs_size())?;
        // SAFETY: in range.
        let slot = Slot::of(&unsafe { ffi::output_slot(loaded, index) })?;
        if let Some(slot) = slot.filter(|slot| !slot.planned) {
            slot.accepts_output(method, index, &output.as_ref())?;
        }
        let module = self.module.pin_mut();
        // SAFETY: the memory outlives the module, is borrowed by nobody else, and is large enough for every shape.
        let set = || unsafe { ffi::set_output(module, &name, output.as_cxx(), index) };
        let (code, log) = capturing(set);
        self.check(
            code,
            || format!("set_output({method:?}, {index}) refused"),
            log,
        )
    }

    /// Sets all inputs of a method and runs it. Loads the method.
    ///
    /// Inputs are tensors ([`TensorRef`]), numbers, or `EValue`s of the `executorch` crate, by reference.
    pub fn execute<'m, I>(&'m mut self, method: &str, inputs: I) -> Result<Outputs<'m>, Error>
    where
        I: IntoIterator,
        I::Item: Into<Input<'m>>,
    {
        let_cxx_string!(name = method);
        let count = self.loaded(&name, method)?.inputs_size();
        let inputs: Vec<Input<'m>> = inputs.into_iter().map(Into::into).collect();
        if inputs.len() != count {
            let message = format!(
                "method `{method}` takes {count} inputs, not {}",
                inputs.len()
            );
            return Err(Error::new(Code::InvalidArgument, message));
        }
        // From here on the method may hold addresses that are valid for 'm only.
        self.held.remove(method);
        for (index, input) in inputs.iter().enumerate() {
            // SAFETY: in range; the memory is borrowed for 'm, during which this call runs the method and the outputs are
            // read. Before any later run the input is set again, by `execute` or `set_input`.
            unsafe { self.place(&name, method, index, input) }?;
        }
        // SAFETY: all inputs were set just now, for 'm.
        unsafe { self.run(&name, method) }
    }

    /// Sets all inputs of `forward` and runs it.
    pub fn forward<'m, I>(&'m mut self, inputs: I) -> Result<Outputs<'m>, Error>
    where
        I: IntoIterator,
        I::Item: Into<Input<'m>>,
    {
        self.execute("forward", inputs)
    }

    /// Runs a method on the inputs that it was given by [`set_input`](Self::set_input).
    ///
    /// [`Code::InvalidState`] unless each input was set so since the method's last [`execute`](Self::execute), whose inputs
    /// may be gone, and each planned input since the method's last execution, which may have overwritten it.
    pub fn execute_held(&mut self, method: &str) -> Result<Outputs<'_>, Error> {
        let_cxx_string!(name = method);
        let count = self.loaded(&name, method)?.inputs_size();
        let held = self.held.get(method).map_or(&[][..], Vec::as_slice);
        for index in 0..count {
            let fix = match held.get(index).copied().unwrap_or(Held::Unset) {
                Held::Kept | Held::Copied => continue,
                Held::Unset => "give it with set_input",
                Held::Spent => {
                    "it is planned, and what was copied there may be overwritten since; give it again with set_input \
                     before each execution, or export with MemoryPlanningPass(alloc_graph_input=False)"
                }
            };
            let message = format!("input {index} of method `{method}` is not set: {fix}");
            return Err(Error::new(Code::InvalidState, message));
        }
        // SAFETY: each input is valid for 'buf.
        unsafe { self.run(&name, method) }
    }

    /// Gives a method one input; what it then has.
    ///
    /// # Safety
    ///
    /// `index` is an input of the loaded method; the input stays valid until the next time that it is set, or the method
    /// is not run before.
    unsafe fn place(
        &mut self,
        name: &CxxString,
        method: &str,
        index: usize,
        input: &Input<'_>,
    ) -> Result<Held, Error> {
        let mut held = Held::Kept;
        if let Some((tensor, exclusive)) = input.tensor() {
            let loaded = self.loaded(name, method)?;
            // SAFETY: the caller's promise.
            if let Some(slot) = Slot::of(&unsafe { ffi::input_slot(loaded, index) })? {
                slot.accepts_input(method, index, &tensor, exclusive)?;
                if slot.planned {
                    held = Held::Copied;
                    if self.share_memory_arenas {
                        self.spend(|other| other != method);
                    }
                }
            }
        }
        let value = input.to_cxx()?;
        let module = self.module.pin_mut();
        // SAFETY: the caller's promise.
        let (code, log) = capturing(|| unsafe { ffi::set_input(module, name, &value, index) });
        self.check(
            code,
            || format!("input {index} of method `{method}` refused"),
            log,
        )?;
        Ok(held)
    }

    /// Notes that something writes to planned memory of these methods.
    fn spend(&mut self, of: impl Fn(&str) -> bool) {
        for (_, inputs) in self.held.iter_mut().filter(|(method, _)| of(method)) {
            for held in inputs.iter_mut().filter(|held| **held == Held::Copied) {
                *held = Held::Spent;
            }
        }
    }

    /// # Safety
    ///
    /// Every input was set, to memory that is valid for the life of the result.
    unsafe fn run(&mut self, name: &CxxString, method: &str) -> Result<Outputs<'_>, Error> {
        let outputs = Outputs {
            method: self.loaded(name, method)?,
        };
        for index in 0..outputs.len() {
            let (code, why) = match outputs.get(index) {
                Some(Value::Tensor(tensor))
                    if tensor.data_ptr().is_null() && tensor.nbytes() > 0 =>
                {
                    let why = "has no memory: it is not planned; call set_output";
                    (Code::InvalidState, why)
                }
                Some(Value::Other(kind)) if kind == UNKNOWN_TENSOR => {
                    let why = "has a scalar type or device that ExecuTorch 1.5.1 does not have";
                    (Code::NotSupported, why)
                }
                _ => continue,
            };
            let message = format!("output {index} of method `{method}` {why}");
            return Err(Error::new(code, message));
        }
        let shared = self.share_memory_arenas;
        self.spend(|other| shared || other == method);
        let module = self.module.pin_mut();
        // SAFETY: the inputs, by the caller's promise; outputs given by `set_output` are valid for 'buf; the rest is the
        // method's own.
        let (code, log) = capturing(|| unsafe { ffi::execute(module, name) });
        self.check(code, || format!("executing method `{method}` failed"), log)?;
        Ok(Outputs {
            method: self.loaded(name, method)?,
        })
    }

    /// The loaded method; loads it if need be.
    fn loaded(&mut self, name: &CxxString, method: &str) -> Result<&ffi::Method, Error> {
        if !sys::Module_is_method_loaded(&self.module, name) {
            if self.share_memory_arenas {
                // It writes the initial values of the method's mutable buffers.
                self.spend(|_| true);
            }
            let (memory, tracer) = (std::ptr::null_mut(), std::ptr::null_mut());
            let module = self.module.pin_mut();
            // SAFETY: null stands for the module's own memory, and for no tracer.
            let (code, log) =
                capturing(
                    || unsafe { sys::Module_load_method(module, name, memory, tracer) } as u32,
                );
            self.check(code, || format!("cannot load method `{method}`"), log)?;
        }
        let loaded = ffi::method(self.module.pin_mut(), name);
        // SAFETY: the module holds the method behind a pointer of its own until it is unloaded, which needs the module
        // exclusively.
        unsafe { loaded.as_ref() }
            .ok_or_else(|| Error::new(Code::Internal, format!("method `{method}` is not loaded")))
    }

    fn check(
        &self,
        code: u32,
        call: impl FnOnce() -> String,
        log: Vec<String>,
    ) -> Result<(), Error> {
        match code {
            0 => Ok(()),
            code => Err(Error::from_runtime(
                code,
                format!("{}: {}", self.path.display(), call()),
                log,
            )),
        }
    }
}

impl Drop for Module<'_> {
    /// Written out so that `'buf` must outlive the drop: a delegate's handle may hold an address until then.
    fn drop(&mut self) {
        self.module = UniquePtr::null();
    }
}

impl std::fmt::Debug for Module<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Module({})", self.path.display())
    }
}

impl Slot {
    fn of(slot: &ffi::Slot) -> Result<Option<Self>, Error> {
        if !slot.is_tensor {
            return Ok(None);
        }
        Ok(Some(Self {
            device: device_from(slot.device_type, slot.device_index)?,
            planned: slot.planned,
            returned: slot.returned,
            scalar_type: scalar_type_of(slot.scalar_type)?,
            nbytes: slot.nbytes,
        }))
    }

    fn accepts_input(
        &self,
        method: &str,
        index: usize,
        tensor: &TensorRef<'_>,
        exclusive: bool,
    ) -> Result<(), Error> {
        // A planned input is copied, after the runtime has compared the devices.
        if self.planned || !self.device.is_cpu() && !tensor.device().is_cpu() {
            return Ok(());
        }
        let refuse = |why| {
            let message = format!("{tensor:?} cannot be input {index} of method `{method}`: {why}");
            Err(Error::new(Code::InvalidArgument, message))
        };
        if self.device.is_cpu() && !tensor.device().is_cpu() {
            return refuse(
                "the program reads it on the host; copy it there, or export with skip_h2d_for_method_inputs=True",
            );
        }
        if self.returned && !exclusive {
            return refuse("the method returns it, and may write to it; give a TensorMut");
        }
        Ok(())
    }

    fn accepts_output(
        &self,
        method: &str,
        index: usize,
        tensor: &TensorRef<'_>,
    ) -> Result<(), Error> {
        let refuse = |why: String| {
            let message =
                format!("{tensor:?} cannot be output {index} of method `{method}`: {why}");
            Err(Error::new(Code::InvalidArgument, message))
        };
        if self.device.is_cpu() && !tensor.device().is_cpu() {
            return refuse("the program writes it on the host".into());
        }
        if tensor.scalar_type() != self.scalar_type {
            return refuse(format!("its elements are {:?}", self.scalar_type));
        }
        if tensor.nbytes() < self.nbytes {
            return refuse(format!("it can take up to {} bytes", self.nbytes));
        }
        Ok(())
    }
}

impl<'m> Outputs<'m> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.method.outputs_size()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Output `index`.
    pub fn get(&self, index: usize) -> Option<Value<'m>> {
        // SAFETY: in range.
        (index < self.len()).then(|| Value::of(unsafe { self.method.get_output(index) }))
    }

    /// Output `index`, which must be a tensor.
    pub fn tensor(&self, index: usize) -> Result<TensorRef<'m>, Error> {
        match self.get(index) {
            Some(Value::Tensor(tensor)) => Ok(tensor),
            Some(other) => Err(Error::new(
                Code::InvalidType,
                format!("output {index} is {other:?}, not a tensor"),
            )),
            None => Err(Error::new(
                Code::InvalidArgument,
                format!("no output {index}: there are {}", self.len()),
            )),
        }
    }
}

impl std::fmt::Debug for Outputs<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_list()
            .entries((0..self.len()).filter_map(|index| self.get(index)))
            .finish()
    }
}

fn in_range(what: &str, method: &str, index: usize, count: usize) -> Result<(), Error> {
    if index < count {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!("method `{method}` has no {what} {index}: it has {count}"),
    ))
}

fn load_mode(mode: LoadMode) -> sys::ET_ModuleLoadMode {
    use sys::ET_ModuleLoadMode::*;
    match mode {
        LoadMode::File => ET_ModuleLoadMode_File,
        LoadMode::Mmap => ET_ModuleLoadMode_Mmap,
        LoadMode::MmapUseMlock => ET_ModuleLoadMode_MmapUseMlock,
        LoadMode::MmapUseMlockIgnoreErrors => ET_ModuleLoadMode_MmapUseMlockIgnoreErrors,
        LoadMode::MmapUseMadvise => ET_ModuleLoadMode_MmapUseMadvise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two implementations for a type that is `Sync`, so that `_` below cannot be inferred for one.
    trait AmbiguousIfSync<Which> {
        fn check() {}
    }
    struct Sync_;
    impl<T> AmbiguousIfSync<()> for T {}
    impl<T: Sync> AmbiguousIfSync<Sync_> for T {}

    #[test]
    fn a_module_may_move_to_another_thread_but_not_be_shared() {
        fn moves<T: Send>() {}
        moves::<Module<'_>>();
        <Module<'_> as AmbiguousIfSync<_>>::check();
        <Outputs<'_> as AmbiguousIfSync<_>>::check();
        <TensorRef<'_> as AmbiguousIfSync<_>>::check();
    }
}
