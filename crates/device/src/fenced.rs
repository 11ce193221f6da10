//! The fenced device: host memory that behaves towards its users as a GPU's does.
//!
//! What is modelled, and after what:
//!
//! * **Memory**: the checks of ExecuTorch's CUDA allocator, in its order; `cudaMalloc`'s alignment; a fence where a GPU's
//!   memory would fault ([`fence`]).
//! * **Queueing**: the CUDA delegate gives each loaded partition a stream of its own (`cudaStreamCreate`) and only enqueues
//!   work there. Here one queue holds the work of all streams. Nothing runs before somebody waits; a GPU may run it earlier,
//!   so a program that is right here does not depend on when.
//! * **What waits**: `synchronize`; ExecuTorch's copies in both directions, which are `cudaMemcpy` on the legacy default
//!   stream, and that stream waits for all earlier work of such streams; and, for memory that queued work uses, the
//!   caller's uploads (the same stream) and freeing it (`cudaFree` waits for the work that uses the block). So no queued
//!   work can lose its memory, and none sees bytes that the host uploaded after it was queued. CUDA also waits when that
//!   memory is not in use; here nothing does, so that no upload or free that happens to stand in between hides a
//!   synchronise that is missing.
//! * **What does not wait**: [`Memory::download`], the caller's read. It is a copy on a stream of its own that nothing
//!   orders after the delegate's work (`cudaMemcpyAsync` on a non-blocking stream), so a caller who forgets to synchronise
//!   finds poison wherever queued work is still to write.
//! * **Two streams**: nothing orders them. Work that reads what queued work of another stream writes (or the reverse) is a
//!   race; the reader gets poison and the log says so.
//!
//! What is not modelled is a table in the crate's documentation.

use std::{
    ffi::c_void,
    ptr::NonNull,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use executorch_device::{Code, DeviceAllocator, DeviceIndex, DeviceType};

use crate::{
    Counters, Error, Policy,
    device::{Memory, Seen},
    fault::{Fault, planted},
    fence::{self, ALIGNMENT, Fence, POISON, Place},
    log,
    plan::{Argument, Plan},
};

/// Executions that can be queued before the next one waits for all of them, as a GPU's launch queue is bounded too. It
/// keeps memory constant for a program that never synchronises.
const DEPTH: usize = 1024;

/// The device.
#[derive(Debug)]
pub(crate) struct Fenced {
    state: Mutex<State>,
    /// Why it is this device: the second half of its description.
    because: String,
    streams: AtomicU64,
}

/// The order in which a partition's work runs among its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(u64);

/// Everything behind the one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) fence: Fence,
    pub(crate) counters: Counters,
    policy: Policy,
    /// In the order in which it was queued, which is one of the orders that the streams allow.
    queue: Vec<Work>,
    /// Whose work is queued since the last copy in the queue.
    users: Users,
    /// The arguments of all queued executions, one execution after the other.
    arguments: Vec<Argument>,
    scratch: Vec<f32>,
    pub(crate) last_call: Vec<Seen>,
}

#[derive(Debug)]
enum Work {
    /// An execution, with this many arguments.
    Execute {
        plan: Arc<Plan>,
        arguments: usize,
        stream: Stream,
    },
    /// A copy inside device memory on the legacy default stream: after all that is queued, before all that follows.
    Copy {
        to: usize,
        from: usize,
        nbytes: usize,
    },
}

/// The streams with work that nothing orders: the common case of one needs no look for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    None,
    One(Stream),
    Several,
}

/// Which way ExecuTorch copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToDevice,
    DeviceToHost,
}

/// Where one side of a copy is.
enum Side {
    /// In one live block, with all its bytes: these.
    Device(NonNull<u8>),
    /// No device address.
    Host,
    /// A device address, but not with all these bytes in one live block: what it is.
    Dead(&'static str),
}

impl Fenced {
    /// Reserves the device's addresses.
    pub(crate) fn new(because: String) -> Result<Self, Error> {
        let fence = Fence::reserve().map_err(Error::Addresses)?;
        let state = State {
            fence,
            counters: Counters::default(),
            policy: Policy::default(),
            queue: Vec::with_capacity(DEPTH),
            users: Users::None,
            arguments: Vec::new(),
            scratch: Vec::new(),
            last_call: Vec::new(),
        };
        Ok(Self {
            state: Mutex::new(state),
            because,
            streams: AtomicU64::new(0),
        })
    }

    /// The state, for as long as the guard lives. Nothing called under it takes the lock again; the log has its own.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block with a weight's bytes: the delegate's own upload.
    pub(crate) fn load_weight(&self, bytes: &[u8]) -> Result<usize, Error> {
        let address = Memory::allocate(self, bytes.len())?;
        let mut state = self.lock();
        state.write(address, bytes)?;
        state.counters.weights.count(bytes.len());
        Ok(address)
    }

    /// A stream that no other partition uses.
    pub(crate) fn stream(&self) -> Stream {
        Stream(self.streams.fetch_add(1, Ordering::Relaxed))
    }

    /// ExecuTorch's own copy, in either direction.
    ///
    /// # Safety
    ///
    /// A host side is valid for `nbytes`, for writes if it is the destination.
    unsafe fn copy(
        &self,
        direction: Direction,
        to: *mut c_void,
        from: *const c_void,
        nbytes: usize,
        index: DeviceIndex,
    ) -> Result<(), executorch_device::Error> {
        let refused = |why| {
            log::refusal(
                Code::InvalidArgument,
                format!("{}: {why}", direction.name()),
            )
        };
        let Some(to) = NonNull::new(to.cast::<u8>()) else {
            return Err(refused("dst is null".to_owned()));
        };
        let Some(from) = NonNull::new(from.cast_mut().cast::<u8>()) else {
            return Err(refused("src is null".to_owned()));
        };
        if index < -1 {
            return Err(refused(format!(
                "invalid device index {index} (must be >= -1)"
            )));
        }
        if nbytes == 0 {
            return Ok(());
        }
        let mut state = self.lock();
        if !planted(Fault::StaleCopy) {
            state.drain();
        }
        let wanted = direction.sides();
        for (name, pointer, wanted) in [("dst", to, wanted.0), ("src", from, wanted.1)] {
            match state.side(pointer, nbytes) {
                Side::Dead(place) => {
                    return Err(refused(format!(
                        "{nbytes} bytes at {name} {pointer:p}: it is {place}"
                    )));
                }
                side if side.is_device() != wanted
                    && state.policy == Policy::Refuse
                    && !planted(Fault::WrongSide) =>
                {
                    let place = if side.is_device() { "device" } else { "host" };
                    return Err(refused(format!("{name} {pointer:p} is {place} memory")));
                }
                _ => {}
            }
        }
        let (to, from) = (
            state.side(to, nbytes).bytes(to),
            state.side(from, nbytes).bytes(from),
        );
        // SAFETY: a device side has all its bytes in one live block, which the lock keeps alive; a host side is valid as
        // the caller promises. `copy_to` allows the two to overlap.
        unsafe { from.copy_to(to, nbytes) };
        state.counters.copies(direction).count(nbytes);
        Ok(())
    }
}

// SAFETY: `allocate` gives blocks of the fence: each is new, as long as asked for, at the start of a page, and used by
// nothing else until it is freed.
unsafe impl DeviceAllocator for Fenced {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    /// The checks of ExecuTorch's CUDA allocator, in its order. Like it, this accepts the index of a device that is not
    /// there, as it ignores the answer of `cudaSetDevice`.
    fn allocate(
        &self,
        nbytes: usize,
        index: DeviceIndex,
        alignment: usize,
    ) -> Result<*mut c_void, executorch_device::Error> {
        let refused = |code, why| Err(log::refusal(code, format!("allocate: {why}")));
        if index < -1 {
            return refused(
                Code::InvalidArgument,
                format!("invalid device index {index} (must be >= -1)"),
            );
        }
        if !alignment.is_power_of_two() {
            return refused(
                Code::InvalidArgument,
                format!("alignment must be a power of 2, got {alignment}"),
            );
        }
        if alignment > ALIGNMENT {
            return refused(
                Code::NotSupported,
                format!("alignment {alignment} exceeds the device's {ALIGNMENT} bytes"),
            );
        }
        match self.lock().allocate(nbytes) {
            // A number to the host: no access goes through it.
            Ok(address) => Ok(std::ptr::without_provenance_mut(address)),
            Err(error) => refused(Code::MemoryAllocationFailed, error.to_string()),
        }
    }

    unsafe fn deallocate(&self, ptr: *mut c_void, _: DeviceIndex) {
        self.free(ptr.addr());
    }

    unsafe fn copy_host_to_device(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        index: DeviceIndex,
    ) -> Result<(), executorch_device::Error> {
        // SAFETY: the caller's promise about its host side; device pointers are checked.
        unsafe { self.copy(Direction::HostToDevice, dst, src, nbytes, index) }
    }

    unsafe fn copy_device_to_host(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        nbytes: usize,
        index: DeviceIndex,
    ) -> Result<(), executorch_device::Error> {
        // SAFETY: the caller's promise about its host side; device pointers are checked.
        unsafe { self.copy(Direction::DeviceToHost, dst, src, nbytes, index) }
    }
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "copy_host_to_device",
            Self::DeviceToHost => "copy_device_to_host",
        }
    }

    /// Whether the destination and the source are to be device memory.
    fn sides(self) -> (bool, bool) {
        (self == Self::HostToDevice, self == Self::DeviceToHost)
    }
}

impl Side {
    fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// The bytes to copy for this side of `pointer`.
    fn bytes(&self, pointer: NonNull<u8>) -> NonNull<u8> {
        match self {
            Self::Device(bytes) => *bytes,
            Self::Host | Self::Dead(_) => pointer,
        }
    }
}

impl Counters {
    fn copies(&mut self, direction: Direction) -> &mut crate::Copies {
        match (direction, planted(Fault::Miscounts)) {
            (Direction::HostToDevice, false) | (Direction::DeviceToHost, true) => &mut self.h2d,
            (Direction::DeviceToHost, false) | (Direction::HostToDevice, true) => &mut self.d2h,
        }
    }
}

impl State {
    fn allocate(&mut self, nbytes: usize) -> Result<usize, fence::Error> {
        if nbytes == 0 {
            return Ok(0);
        }
        let address = self.fence.allocate(nbytes)?;
        self.counters.allocations += 1;
        Ok(address)
    }

    /// Runs all queued work. Should a piece panic, all of it is gone: what is queued later never meets its arguments.
    pub(crate) fn drain(&mut self) {
        let mut owned = std::mem::take(&mut self.arguments);
        self.users = Users::None;
        let mut arguments = &mut owned[..];
        for work in self.queue.drain(..) {
            match work {
                Work::Execute {
                    plan,
                    arguments: count,
                    ..
                } => {
                    let (own, rest) = std::mem::take(&mut arguments).split_at_mut(count);
                    arguments = rest;
                    if !planted(Fault::NeverRuns) {
                        plan.run(own, &self.fence, &mut self.scratch);
                    }
                    self.counters.finished += 1;
                }
                Work::Copy { to, from, nbytes } => {
                    let (to, from) = (self.fence.bytes(to, nbytes), self.fence.bytes(from, nbytes));
                    if let (Some(to), Some(from)) = (to, from) {
                        // SAFETY: both ranges lie in live blocks, and no reference points into device memory between
                        // two pieces of work.
                        unsafe { from.copy_to(to, nbytes) };
                    }
                }
            }
        }
        // Its memory is kept for the next ones.
        owned.clear();
        self.arguments = owned;
    }

    /// Queues an execution whose arguments were checked.
    pub(crate) fn enqueue(
        &mut self,
        stream: Stream,
        plan: &Arc<Plan>,
        arguments: impl Iterator<Item = Argument>,
    ) {
        if self.queue.len() >= DEPTH {
            self.drain();
        }
        let first = self.arguments.len();
        self.arguments.extend(arguments);
        let count = self.arguments.len() - first;
        self.users = match self.users {
            Users::None => Users::One(stream),
            Users::One(user) if user == stream => Users::One(stream),
            Users::One(_) | Users::Several => Users::Several,
        };
        if self.users == Users::Several && self.mark_races(stream, plan.inputs().len(), first) {
            self.counters.races += 1;
            log::error(
                "an execution uses memory that queued work of another method uses, and one of the two writes it: nothing \
                 orders them, so the reader gets poison; synchronise in between",
            );
        }
        self.queue.push(Work::Execute {
            plan: Arc::clone(plan),
            arguments: count,
            stream,
        });
        self.counters.enqueued += 1;
        if planted(Fault::Eager) {
            self.drain();
        }
    }

    /// Marks the inputs that two unordered streams fight for: those of the new execution, whose arguments start at `first`
    /// with `inputs` inputs, and those of queued ones.
    fn mark_races(&mut self, stream: Stream, inputs: usize, first: usize) -> bool {
        let (queued, new) = self.arguments.split_at_mut(first);
        let (new_inputs, new_outputs) = new.split_at_mut(inputs);
        let mut end = queued.len();
        let mut raced = false;
        for work in self.queue.iter().rev() {
            // A copy on the legacy stream orders all before it with all after it.
            let Work::Execute {
                plan,
                arguments,
                stream: other,
            } = work
            else {
                break;
            };
            let start = end - arguments;
            if *other != stream {
                let (inputs, outputs) = queued[start..end].split_at_mut(plan.inputs().len());
                raced |= mark(new_inputs, outputs);
                raced |= mark(inputs, new_outputs);
            }
            end = start;
        }
        raced
    }

    /// Where `nbytes > 0` bytes at `pointer` are.
    fn side(&self, pointer: NonNull<u8>, nbytes: usize) -> Side {
        let address = pointer.addr().get();
        match self.fence.locate(address) {
            Place::Host => Side::Host,
            place => self
                .fence
                .bytes(address, nbytes)
                .map_or(Side::Dead(place.words()), Side::Device),
        }
    }

    /// Device memory that queued work will write: address and bytes of each piece.
    fn to_be_written(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut rest = &self.arguments[..];
        self.queue.iter().flat_map(move |work| {
            let (outputs, copied) = match work {
                Work::Execute {
                    plan, arguments, ..
                } => {
                    let (own, after) = rest.split_at(*arguments);
                    rest = after;
                    (&own[plan.inputs().len()..], None)
                }
                Work::Copy { to, nbytes, .. } => (&[][..], Some((*to, *nbytes))),
            };
            outputs
                .iter()
                .map(|output| (output.address, output.nbytes()))
                .chain(copied)
        })
    }

    /// Whether queued work reads or writes any of these bytes.
    fn is_used(&self, address: usize, nbytes: usize) -> bool {
        let overlap = |other: usize| other < address + nbytes && address < other + nbytes;
        self.arguments
            .iter()
            .any(|argument| argument.overlaps(address, nbytes))
            || self.queue.iter().any(|work| match work {
                Work::Execute { plan, .. } => plan
                    .weights()
                    .iter()
                    .any(|weight| weight.overlaps(address, nbytes)),
                Work::Copy { to, from, .. } => overlap(*to) || overlap(*from),
            })
    }
}

fn mark(readers: &mut [Argument], writers: &[Argument]) -> bool {
    let mut raced = false;
    for reader in readers {
        if writers
            .iter()
            .any(|writer| writer.overlaps(reader.address, reader.nbytes()))
        {
            reader.raced = true;
            raced = true;
        }
    }
    raced
}

impl Memory for Fenced {
    fn describe(&self) -> String {
        format!("fenced host memory: {}", self.because)
    }

    fn allocate(&self, nbytes: usize) -> Result<usize, Error> {
        Fenced::lock(self)
            .allocate(nbytes)
            .map_err(|error| Error::Allocation {
                nbytes,
                why: error.to_string(),
            })
    }

    fn free(&self, address: usize) {
        if address == 0 || planted(Fault::Leak) {
            return;
        }
        let mut state = self.lock();
        match state.fence.locate(address) {
            Place::Live { start, nbytes } if start == address => {
                if state.is_used(address, nbytes) {
                    state.drain();
                }
                state.fence.free(address);
                state.counters.frees += 1;
            }
            place => {
                let place = place.words();
                log::error(&format!("deallocate: {address:#x} is {place}"));
            }
        }
    }

    fn check(&self, address: usize, nbytes: usize) -> Result<(), Error> {
        if nbytes == 0 {
            Ok(())
        } else {
            self.lock().bytes(address, nbytes).map(drop)
        }
    }

    fn upload(&self, address: usize, bytes: &[u8]) -> Result<(), Error> {
        let mut state = self.lock();
        state.write(address, bytes)?;
        state.counters.caller_h2d.count(bytes.len());
        Ok(())
    }

    fn download(&self, address: usize, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut state = self.lock();
        if planted(Fault::DrainsOnRead) {
            state.drain();
        }
        let nbytes = bytes.len();
        let source = state.bytes(address, nbytes)?;
        // SAFETY: all in one live block, which the lock keeps alive, and `bytes` is no device memory.
        unsafe { source.copy_to_nonoverlapping(NonNull::from(&mut bytes[..]).cast(), nbytes) };
        let mut poisoned = false;
        if !planted(Fault::NoPoison) {
            for (start, len) in state.to_be_written() {
                let from = start.max(address);
                for at in from..(start + len).min(address + nbytes) {
                    bytes[at - address] = POISON.to_le_bytes()[at % 4];
                    poisoned = true;
                }
            }
        }
        state.counters.poisoned += u64::from(poisoned);
        state.counters.caller_d2h.count(nbytes);
        Ok(())
    }

    fn duplicate(&self, to: usize, from: usize, nbytes: usize) -> Result<(), Error> {
        if nbytes == 0 {
            return Ok(());
        }
        let mut state = self.lock();
        state.bytes(to, nbytes)?;
        state.bytes(from, nbytes)?;
        if state.queue.len() >= DEPTH {
            state.drain();
        }
        state.users = Users::None;
        state.queue.push(Work::Copy { to, from, nbytes });
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.lock().drain();
        Ok(())
    }

    fn last_call(&self) -> Vec<Seen> {
        self.lock().last_call.clone()
    }

    fn counters(&self) -> Counters {
        let state = self.lock();
        Counters {
            live_bytes: state.fence.live_bytes() as u64,
            addresses: state.fence.addresses() as u64,
            ..state.counters
        }
    }

    fn set_policy(&self, policy: Policy) {
        self.lock().policy = policy;
    }
}

/// What planted faults need.
impl State {
    /// Copies these tensors to the host and back, as ExecuTorch's copies would.
    pub(crate) fn copy_to_the_host_and_back(&mut self, tensors: impl Iterator<Item = Argument>) {
        self.drain();
        for tensor in tensors {
            for direction in [Direction::DeviceToHost, Direction::HostToDevice] {
                self.counters.copies(direction).count(tensor.nbytes());
            }
        }
    }

    /// As many tensors of these sizes, in memory that nobody asked for.
    pub(crate) fn somewhere_else(
        &mut self,
        tensors: impl Iterator<Item = Argument>,
    ) -> Vec<Argument> {
        let elsewhere = |tensor: Argument| {
            let address = self
                .fence
                .allocate(tensor.nbytes().max(1))
                .unwrap_or(tensor.address);
            Argument::new(address, tensor.len)
        };
        tensors.map(elsewhere).collect()
    }
}

impl State {
    /// The bytes behind a device address of the caller's.
    fn bytes(&self, address: usize, nbytes: usize) -> Result<NonNull<u8>, Error> {
        self.fence
            .bytes(address, nbytes)
            .ok_or_else(|| Error::Pointer {
                address,
                nbytes,
                place: self.fence.locate(address).words(),
            })
    }

    /// Writes host bytes to device memory, after the queued work that uses it.
    fn write(&mut self, address: usize, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_used(address, bytes.len()) {
            self.drain();
        }
        let destination = self.bytes(address, bytes.len())?;
        // SAFETY: all in one live block, which the exclusive borrow keeps alive, and `bytes` is no device memory.
        unsafe { destination.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Ok(())
    }
}

impl Place {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Live { .. } => "inside a live device block, but not a whole one",
            Self::Freed => "device memory that was freed",
            Self::Unborn => "a device address that was never allocated",
            Self::Host => "no device memory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    fn device() -> Fenced {
        Fenced::new("a test".to_owned()).unwrap()
    }

    fn copy(
        device: &Fenced,
        direction: Direction,
        to: usize,
        from: usize,
        nbytes: usize,
    ) -> Result<(), Code> {
        let (to, from) = (
            std::ptr::with_exposed_provenance_mut(to),
            std::ptr::with_exposed_provenance(from),
        );
        // SAFETY: every test's host side is one of its arrays, and long enough.
        unsafe { device.copy(direction, to, from, nbytes, 0) }.map_err(|error| error.kind())
    }

    fn host(bytes: &mut [u8]) -> usize {
        bytes.as_mut_ptr().expose_provenance()
    }

    fn read(device: &Fenced, address: usize, nbytes: usize) -> Vec<u8> {
        let mut bytes = vec![0; nbytes];
        device.download(address, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn allocation_has_the_cuda_allocators_checks() {
        let device = device();
        let allocate = |nbytes, index, alignment| {
            let answer = DeviceAllocator::allocate(&device, nbytes, index, alignment);
            answer
                .map(<*mut c_void>::addr)
                .map_err(|error| error.kind())
        };
        assert_eq!(allocate(8, -2, 16), Err(Code::InvalidArgument));
        assert_eq!(allocate(8, 0, 0), Err(Code::InvalidArgument));
        assert_eq!(allocate(8, 0, 48), Err(Code::InvalidArgument));
        assert_eq!(allocate(8, 0, 512), Err(Code::NotSupported));
        assert_eq!(
            allocate(usize::MAX, 0, 16),
            Err(Code::MemoryAllocationFailed)
        );
        assert_eq!(allocate(0, 0, 16), Ok(0), "no bytes are null");
        for alignment in [1, 16, 256] {
            assert_eq!(allocate(8, -1, alignment).unwrap() % 256, 0);
        }
        assert_eq!(device.counters().allocations, 3);
    }

    #[test]
    fn a_pointer_that_starts_no_live_block_is_not_freed() {
        let device = device();
        let block = Memory::allocate(&device, 64).unwrap();
        device.free(0);
        device.free(block + 16);
        device.free(64);
        assert_eq!(device.counters().frees, 0);
        device.free(block);
        device.free(block);
        assert_eq!(device.counters().frees, 1);
    }

    #[test]
    fn copies_work_and_are_counted_in_their_direction() {
        let device = device();
        let block = Memory::allocate(&device, 4).unwrap();
        let (mut there, mut back) = ([1, 2, 3, 4], [0; 4]);
        copy(&device, Direction::HostToDevice, block, host(&mut there), 4).unwrap();
        copy(
            &device,
            Direction::DeviceToHost,
            host(&mut back),
            block + 1,
            3,
        )
        .unwrap();
        assert_eq!(back, [2, 3, 4, 0]);
        copy(&device, Direction::HostToDevice, block, host(&mut there), 0).unwrap();
        let counters = device.counters();
        assert_eq!((counters.h2d.calls, counters.h2d.bytes), (1, 4));
        assert_eq!((counters.d2h.calls, counters.d2h.bytes), (1, 3));
    }

    #[test]
    fn a_copy_without_a_side_or_past_its_block_is_refused_under_both_policies() {
        let device = device();
        let (block, freed) = (
            Memory::allocate(&device, 4).unwrap(),
            Memory::allocate(&device, 4).unwrap(),
        );
        device.free(freed);
        let mut array = [0; 8];
        let array = host(&mut array);
        for policy in [Policy::Refuse, Policy::Accept] {
            device.set_policy(policy);
            let cases = [
                (Direction::HostToDevice, 0, array),
                (Direction::HostToDevice, block, 0),
                (Direction::DeviceToHost, 0, block),
                (Direction::DeviceToHost, array, 0),
                (Direction::HostToDevice, block + 1, array),
                (Direction::HostToDevice, freed, array),
                (Direction::DeviceToHost, array, freed),
            ];
            for (direction, to, from) in cases {
                assert_eq!(
                    copy(&device, direction, to, from, 4),
                    Err(Code::InvalidArgument),
                    "{to:#x} {from:#x}"
                );
            }
            // SAFETY: refused before anything is copied.
            let index = unsafe {
                device.copy(
                    Direction::HostToDevice,
                    std::ptr::dangling_mut(),
                    array as _,
                    4,
                    -2,
                )
            };
            assert_eq!(index.unwrap_err().kind(), Code::InvalidArgument);
        }
        assert_eq!(
            (device.counters().h2d.calls, device.counters().d2h.calls),
            (0, 0)
        );
    }

    #[test]
    fn a_wrong_side_is_refused_or_copied_as_the_policy_says() {
        let device = device();
        let (one, two) = (
            Memory::allocate(&device, 4).unwrap(),
            Memory::allocate(&device, 4).unwrap(),
        );
        let (mut there, mut back) = ([1, 2, 3, 4], [0; 4]);
        device.upload(one, &there).unwrap();
        let (there, back) = (host(&mut there), host(&mut back));
        let wrong = [
            (Direction::HostToDevice, two, one),
            (Direction::HostToDevice, back, there),
            (Direction::HostToDevice, back, two),
            (Direction::DeviceToHost, two, one),
            (Direction::DeviceToHost, back, there),
            (Direction::DeviceToHost, one, back),
        ];
        for (direction, to, from) in wrong {
            assert_eq!(
                copy(&device, direction, to, from, 4),
                Err(Code::InvalidArgument)
            );
        }
        assert_eq!(
            read(&device, two, 4),
            POISON.to_le_bytes(),
            "nothing was copied"
        );
        device.set_policy(Policy::Accept);
        for (direction, to, from) in wrong {
            assert_eq!(copy(&device, direction, to, from, 4), Ok(()));
        }
        assert_eq!(
            (read(&device, one, 4), read(&device, two, 4)),
            (vec![1, 2, 3, 4], vec![1, 2, 3, 4])
        );
    }

    /// `out = x + x` on four elements, queued on `stream`.
    fn enqueue(device: &Fenced, stream: Stream, x: usize, out: usize) {
        let recipe = r#"{"version": 1, "method": "forward", "inputs": [{"name": "x", "dtype": "float32"}],
            "ops": [{"op": "add", "in": ["x", "x"], "out": "y"}], "outputs": ["y"]}"#;
        let program = Recipe::parse(recipe.as_bytes()).unwrap().resolve().unwrap();
        let plan = Arc::new(program.plan(vec![vec![4]], &[]).unwrap());
        device.lock().enqueue(
            stream,
            &plan,
            [x, out]
                .map(|address| Argument::new(address, 4))
                .into_iter(),
        );
    }

    fn block(device: &Fenced, value: f32) -> usize {
        let address = Memory::allocate(device, 16).unwrap();
        device
            .upload(address, &[value; 4].map(f32::to_le_bytes).concat())
            .unwrap();
        address
    }

    fn first(device: &Fenced, address: usize) -> f32 {
        f32::from_le_bytes(read(device, address, 4).try_into().unwrap())
    }

    #[test]
    fn work_waits_until_somebody_does() {
        let device = device();
        let (stream, x, out) = (device.stream(), block(&device, 1.0), block(&device, 0.0));
        let poisoned = || first(&device, out).to_bits() == POISON;
        enqueue(&device, stream, x, out);
        assert!(poisoned());
        device.synchronize().unwrap();
        assert_eq!(first(&device, out), 2.0);

        enqueue(&device, stream, x, out);
        let mut array = [0; 4];
        copy(&device, Direction::DeviceToHost, host(&mut array), x, 4).unwrap();
        assert!(
            !poisoned(),
            "the runtime's copy to the host waits, whatever it copies"
        );
        enqueue(&device, stream, x, out);
        copy(
            &device,
            Direction::HostToDevice,
            block(&device, 0.0),
            host(&mut array),
            4,
        )
        .unwrap();
        assert!(!poisoned(), "and so does its copy to the device");
        enqueue(&device, stream, x, out);
        device.upload(x, &[0; 4]).unwrap();
        assert!(!poisoned(), "and an upload to what work uses");
        enqueue(&device, stream, x, out);
        device.load_weight(&[0; 4]).unwrap();
        let unrelated = block(&device, 0.0);
        device.free(unrelated);
        assert!(
            poisoned(),
            "uploads to and frees of what no work uses do not"
        );
        device.free(x);
        assert!(!poisoned(), "freeing what work uses does");
    }

    #[test]
    fn the_queue_is_bounded() {
        let device = device();
        let (stream, x, out) = (device.stream(), block(&device, 1.0), block(&device, 0.0));
        for _ in 0..DEPTH + 1 {
            enqueue(&device, stream, x, out);
        }
        let counters = device.counters();
        assert_eq!(
            (counters.enqueued, counters.finished),
            (DEPTH as u64 + 1, DEPTH as u64)
        );
    }

    #[test]
    fn after_a_panic_no_work_meets_the_arguments_of_other_work() {
        let device = device();
        let (stream, x, out) = (device.stream(), block(&device, 1.0), block(&device, 0.0));
        let nothing = 64;
        enqueue(&device, stream, nothing, out);
        enqueue(&device, stream, x, out);
        let ran = std::panic::catch_unwind(|| device.synchronize());
        assert!(ran.is_err(), "work on no device memory");

        let y = block(&device, 3.0);
        enqueue(&device, stream, y, out);
        device.synchronize().unwrap();
        assert_eq!(first(&device, out), 6.0);
    }

    #[test]
    fn only_unordered_streams_race() {
        let device = device();
        let (one, two) = (device.stream(), device.stream());
        let (a, b, c) = (
            block(&device, 1.0),
            block(&device, 0.0),
            block(&device, 0.0),
        );

        // The reader after the writer, and the writer after the reader.
        for (first_work, second_work, result) in [((a, b), (b, c), c), ((b, c), (a, b), c)] {
            device
                .upload(b, &[5.0_f32; 4].map(f32::to_le_bytes).concat())
                .unwrap();
            let before = device.counters().races;
            enqueue(&device, one, first_work.0, first_work.1);
            enqueue(&device, two, second_work.0, second_work.1);
            device.synchronize().unwrap();
            assert!(first(&device, result).is_nan());
            assert_eq!(device.counters().races, before + 1);
        }

        // Two readers; one stream; a synchronise; a copy on the legacy stream between what would race.
        let before = device.counters().races;
        enqueue(&device, one, a, b);
        enqueue(&device, two, a, c);
        device.synchronize().unwrap();
        enqueue(&device, one, a, b);
        enqueue(&device, one, b, c);
        device.synchronize().unwrap();
        enqueue(&device, two, b, c);
        device.synchronize().unwrap();
        let other = block(&device, 0.0);
        enqueue(&device, one, a, b);
        device.duplicate(other, b, 16).unwrap();
        enqueue(&device, two, b, c);
        enqueue(
            &device,
            device.stream(),
            b,
            Memory::allocate(&device, 16).unwrap(),
        );
        device.synchronize().unwrap();
        assert_eq!(
            (first(&device, b), first(&device, c), first(&device, other)),
            (2.0, 4.0, 2.0)
        );
        assert_eq!(device.counters().races, before);
    }
}
