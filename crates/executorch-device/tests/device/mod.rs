//! A device for the tests: host memory under the device type CUDA, which counts, and whose delegate adds its inputs up.

#![allow(unsafe_code)]
#![allow(dead_code)] // each test binary uses its part

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs};

use executorch_device::{
    Arg, Code, CompileSpec, Delegate, Device, DeviceAllocator, DeviceIndex, DeviceMemory,
    DeviceType, Error, ExecutionContext, InitContext, Value, load_kernels, register_allocator,
    register_delegate, set_log_sink,
};

pub static MEMORY: Memory = Memory {
    blocks: Mutex::new(BTreeMap::new()),
    allocated: AtomicUsize::new(0),
    freed: AtomicUsize::new(0),
};
pub static SUM: Sum = Sum;

/// What the delegate is to do wrong, and where.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    FailInit,
    PanicInit,
    FailExecute,
    PanicExecute,
    PanicDrop,
    FailAllocate,
    PanicAllocate,
}

/// What the delegate saw and is to do.
pub struct State {
    pub fault: Fault,
    /// The data pointers of the last call, inputs first.
    pub pointers: Vec<usize>,
    pub log: Vec<String>,
}

static STATE: Mutex<State> = Mutex::new(State {
    fault: Fault::None,
    pointers: Vec::new(),
    log: Vec::new(),
});
pub static HANDLES: AtomicUsize = AtomicUsize::new(0);

pub fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tests of a binary share the process, and with it the device: one at a time. Starts with a quiet device.
pub fn device() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    INSTALLED.get_or_init(|| {
        load_kernels().unwrap();
        register_allocator(&MEMORY).unwrap();
        register_delegate("TestDelegate", &SUM).unwrap();
        set_log_sink(|level, message| state().log.push(format!("{level:?}: {message}")));
    });
    *state() = State {
        fault: Fault::None,
        pointers: Vec::new(),
        log: Vec::new(),
    };
    turn
}

pub struct Memory {
    blocks: Mutex<BTreeMap<usize, Layout>>,
    pub allocated: AtomicUsize,
    pub freed: AtomicUsize,
}

impl Memory {
    pub fn is_live(&self, address: usize, nbytes: usize) -> bool {
        let blocks = self.blocks.lock().unwrap();
        let block = blocks.range(..=address).next_back();
        block.is_some_and(|(start, layout)| address + nbytes <= start + layout.size())
    }

    pub fn live(&self) -> usize {
        self.blocks.lock().unwrap().len()
    }
}

// SAFETY: blocks of the host's allocator, of the size and alignment asked for, each given out once.
unsafe impl DeviceAllocator for Memory {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn allocate(
        &self,
        nbytes: usize,
        _: DeviceIndex,
        alignment: usize,
    ) -> Result<*mut c_void, Error> {
        match state().fault {
            Fault::FailAllocate => {
                return Err(Error::new(
                    Code::MemoryAllocationFailed,
                    "the test's device is full",
                ));
            }
            Fault::PanicAllocate => panic!("the test's allocator panics"),
            _ => {}
        }
        let layout = Layout::from_size_align(nbytes.max(1), alignment.max(64)).unwrap();
        // SAFETY: at least one byte.
        let address = unsafe { alloc_zeroed(layout) };
        self.blocks.lock().unwrap().insert(address.addr(), layout);
        self.allocated.fetch_add(1, SeqCst);
        Ok(address.cast())
    }

    unsafe fn deallocate(&self, ptr: *mut c_void, _: DeviceIndex) {
        let layout = self
            .blocks
            .lock()
            .unwrap()
            .remove(&ptr.addr())
            .expect("a live block");
        self.freed.fetch_add(1, SeqCst);
        // SAFETY: allocated above with this layout, and taken out of the map.
        unsafe { dealloc(ptr.cast(), layout) };
    }

    unsafe fn copy_host_to_device(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        _: DeviceIndex,
    ) -> Result<(), Error> {
        if !self.is_live(dst.addr(), nbytes) || self.is_live(src.addr(), 1) {
            return Err(Error::new(Code::InvalidArgument, "not from host to device"));
        }
        // SAFETY: `dst` is a live block, `src` is the caller's promise.
        unsafe { src.cast::<u8>().copy_to(dst.cast(), nbytes) };
        Ok(())
    }

    unsafe fn copy_device_to_host(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        _: DeviceIndex,
    ) -> Result<(), Error> {
        if !self.is_live(src.addr(), nbytes) || self.is_live(dst.addr(), 1) {
            return Err(Error::new(Code::InvalidArgument, "not from device to host"));
        }
        // SAFETY: `src` is a live block, `dst` is the caller's promise.
        unsafe { src.cast::<u8>().copy_to(dst.cast(), nbytes) };
        Ok(())
    }
}

/// Adds its inputs up, and the "bias" if it was partitioned with one.
pub struct Sum;

pub struct Handle {
    bias: f32,
}

impl Handle {
    fn new(bias: f32) -> Self {
        HANDLES.fetch_add(1, SeqCst);
        Self { bias }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        HANDLES.fetch_sub(1, SeqCst);
        assert!(
            state().fault != Fault::PanicDrop,
            "the test's handle panics"
        );
    }
}

impl Delegate for Sum {
    type Handle = Handle;

    fn init(
        &self,
        context: &InitContext<'_>,
        processed: &[u8],
        specs: &[CompileSpec<'_>],
    ) -> Result<Handle, Error> {
        assert_eq!((context.method_name(), processed), ("forward", &b"sum"[..]));
        assert!(specs.contains(&CompileSpec {
            key: "target_device",
            value: b"cuda:0"
        }));
        assert_eq!(
            context.named_data("no such key").unwrap_err().kind(),
            Code::NotFound
        );
        let handle = Handle::new(match specs.iter().any(|spec| spec.key == "bias") {
            true => f32::from_le_bytes(
                (&*context.named_data("bias")?)
                    .try_into()
                    .expect("four bytes"),
            ),
            false => 0.0,
        });
        let fault = state().fault;
        match fault {
            Fault::FailInit => Err(Error::new(
                Code::DelegateInvalidCompatibility,
                "the test's delegate fails to init",
            )),
            Fault::PanicInit => panic!("the test's delegate panics in init"),
            _ => Ok(handle),
        }
    }

    fn execute(
        &self,
        context: &ExecutionContext<'_>,
        handle: &mut Handle,
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        assert_eq!(context.method_name(), "forward");
        assert!(
            args.iter()
                .all(|arg| matches!(arg.value(), Value::Tensor(_)))
        );
        let tensors: Vec<_> = args
            .iter()
            .map(|arg| arg.tensor().expect("a tensor"))
            .collect();
        let pointers: Vec<usize> = tensors
            .iter()
            .map(|tensor| tensor.data_ptr().addr())
            .collect();
        state().pointers.clone_from(&pointers);
        let fault = state().fault;
        match fault {
            Fault::FailExecute => {
                return Err(Error::new(
                    Code::NotSupported,
                    "the test's delegate fails to execute",
                ));
            }
            Fault::PanicExecute => panic!("the test's delegate panics in execute"),
            _ => {}
        }
        let (output, inputs) = tensors.split_last().expect("an output");
        args[inputs.len()].resize(&inputs[0].sizes())?;
        for (index, tensor) in tensors.iter().enumerate() {
            assert!(!tensor.device().is_cpu(), "the program's own tag");
            if !MEMORY.is_live(pointers[index], tensor.nbytes()) {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("tensor {index} is not device memory"),
                ));
            }
        }
        for element in 0..output.numel() {
            // SAFETY: float32 elements of live blocks.
            unsafe {
                let sum: f32 = inputs
                    .iter()
                    .map(|input| *input.data_ptr().cast::<f32>().add(element))
                    .sum();
                *output.data_ptr().cast::<f32>().add(element) = sum + handle.bias;
            }
        }
        Ok(())
    }
}

/// A buffer on the test's device, of float32.
pub struct Buffer {
    pub address: *mut c_void,
    nbytes: usize,
}

impl Buffer {
    pub fn new(values: &[f32]) -> Self {
        let nbytes = size_of_val(values);
        let address = MEMORY.allocate(nbytes, 0, 64).unwrap();
        // SAFETY: just allocated; the slice is on the host.
        unsafe { MEMORY.copy_host_to_device(address, values.as_ptr().cast(), nbytes, 0) }.unwrap();
        Self { address, nbytes }
    }

    pub fn read(&self) -> Vec<f32> {
        read(self.address, self.nbytes / 4)
    }
}

/// Copies `len` elements from the device.
pub fn read(address: *mut c_void, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    // SAFETY: the allocator checks the device's side; the vector has the room.
    unsafe { MEMORY.copy_device_to_host(values.as_mut_ptr().cast(), address, len * 4, 0) }.unwrap();
    values
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        unsafe { MEMORY.deallocate(self.address, 0) };
    }
}

// SAFETY: the address is plain memory that this value owns.
unsafe impl Send for Buffer {}
// SAFETY: as above; it is written through the runtime only.
unsafe impl Sync for Buffer {}

// SAFETY: the block lives as long as the value; the delegate queues nothing; no reference into it is made.
unsafe impl DeviceMemory for Buffer {
    fn as_ptr(&self) -> *mut c_void {
        self.address
    }

    fn nbytes(&self) -> usize {
        self.nbytes
    }

    fn device(&self) -> Device {
        Device::new(DeviceType::Cuda, 0)
    }
}

/// The file of an exported program of `program.py`. Exports all of them at the first call, with the Python that the wheel
/// is installed for, into a folder named by the script and the wheel's version.
pub fn program(file: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(export).join(file)
}

fn export() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.py");
    let wheel =
        fs::canonicalize(env::var_os("EXECUTORCH_WHEEL").expect("set by .cargo/config.toml"))
            .unwrap();
    let made_from = [
        fs::read(&script).unwrap(),
        fs::read(wheel.join("version.py")).unwrap(),
    ]
    .concat();
    let name = made_from
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join(format!("programs-{name:016x}"));
    if !folder.exists() {
        let python = wheel
            .ancestors()
            .map(|folder| folder.join("bin/python"))
            .find(|python| python.exists());
        let making = tempfile::tempdir_in(target).unwrap();
        let output = Command::new(python.expect("the wheel's Python"))
            .arg(&script)
            .arg(making.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        // Another test binary may have been faster.
        if fs::rename(making.path(), &folder).is_err() {
            assert!(folder.exists());
        }
    }
    folder
}
