//! Device addresses that nothing on the host can touch, and the bytes behind them.
//!
//! One reservation, two halves of equal size:
//!
//! ```text
//! start                     start + reach              start + 2 * reach
//! | fence: always PROT_NONE | shadow: the bytes, here only |
//! ```
//!
//! A *device address* lies in the fence. Its bytes lie [`Fence::reach`] further on, in the shadow, which only the copy
//! functions and the delegate translate to. The fence never changes its protection, so any load or store of the host
//! through a device address dies by SIGSEGV at any time: before an allocation, during its life and after it is freed.
//!
//! Addresses only ever grow and none is handed out twice, so a stale pointer stays a stale pointer. The pages of a freed
//! block go back to the system (and its shadow becomes `PROT_NONE` as well), so memory is constant however often a program
//! allocates; what runs out is the address range, after [`Fence::reach`] bytes, which is [`Error::Exhausted`].
//!
//! The reservation is `PROT_NONE`, which no overcommit mode accounts for (measured with `vm.overcommit_memory` 0; the
//! kernel's accounting is for private *writable* mappings). What can refuse it is an address-space limit (`ulimit -v`) or
//! a checker with a small address space (Valgrind): then the range is halved until it fits.

use std::{collections::BTreeMap, io, ops::Range, ptr::NonNull};

use crate::fault::{Fault, planted};

/// The pattern that device memory holds until something is written there, and that a read finds in an output whose
/// work is still queued: a signalling NaN as `f32`, `a5 a5 a5 7f` as bytes.
///
/// It prints as `NaN`. Every arithmetic instruction on it gives a NaN with the same payload, so a result that was
/// computed from poison is one too.
pub const POISON: u32 = 0x7fa5_a5a5;

/// Wanted size of the fence: 4 TiB of addresses, twice that reserved with the shadow (x86-64 gives a process 128 TiB).
const REACH: usize = 1 << 42;
/// Below this the range is too small to be of use, and the reservation is an error.
const LEAST_REACH: usize = 1 << 28;
/// What `cudaMalloc` guarantees, and the most that ExecuTorch's CUDA allocator accepts.
pub(crate) const ALIGNMENT: usize = 256;

/// Why an allocation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Every address was handed out once.
    #[error(
        "the fenced device has handed out all its {reach} bytes of addresses once and never reuses one: start a new process"
    )]
    Exhausted {
        /// Bytes of addresses there were.
        reach: usize,
    },
    /// The system gave no memory for the bytes.
    #[error("the system has no memory for {nbytes} bytes of device memory: {source}")]
    System {
        /// Bytes asked for.
        nbytes: usize,
        /// What `mprotect` answered.
        source: io::Error,
    },
}

/// What a pointer is to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a live block that starts at `start` and has `nbytes` bytes.
    Live {
        /// Device address of the block.
        start: usize,
        /// Its size in bytes.
        nbytes: usize,
    },
    /// In a block that was freed, or between two blocks: a device address that is not valid any more, or never was.
    Freed,
    /// In the range, but not handed out yet.
    Unborn,
    /// Not a device address.
    Host,
}

/// The address range and its live blocks. Not synchronised; freeing everything on drop.
#[derive(Debug)]
pub(crate) struct Fence {
    start: NonNull<u8>,
    reach: usize,
    page: usize,
    /// Next address to hand out, as an offset; a multiple of `page`.
    next: usize,
    /// Device address to size of every live block.
    live: BTreeMap<usize, usize>,
    live_bytes: usize,
}

// SAFETY: a `Fence` owns its mapping, and nothing in it is tied to the thread that made it.
unsafe impl Send for Fence {}

impl Fence {
    /// Reserves the range: [`REACH`] bytes, or as much of it as the system gives.
    ///
    /// # Errors
    ///
    /// What `mmap` answered when even the smallest useful range was refused.
    pub(crate) fn reserve() -> io::Result<Self> {
        let mut reach = REACH;
        loop {
            match Self::with_reach(reach) {
                Err(_) if reach > LEAST_REACH => reach /= 2,
                done => return done,
            }
        }
    }

    /// Reserves exactly `reach` bytes of addresses, a multiple of the page size.
    pub(crate) fn with_reach(reach: usize) -> io::Result<Self> {
        // SAFETY: no pointer goes in; the call only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(|_| io::Error::last_os_error())?;
        debug_assert_eq!(reach % page, 0);
        // SAFETY: a fresh anonymous mapping wherever the kernel likes (no MAP_FIXED): no existing mapping changes.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                2 * reach,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast())
            .ok_or_else(|| io::Error::other("mmap gave the null page"))?;
        Ok(Self {
            start,
            reach,
            page,
            next: 0,
            live: BTreeMap::new(),
            live_bytes: 0,
        })
    }

    /// Device addresses, live or not.
    pub(crate) fn range(&self) -> Range<usize> {
        let start = self.start.addr().get();
        start..start + self.reach
    }

    /// Bytes of addresses that were handed out, with the padding between blocks.
    pub(crate) fn addresses(&self) -> usize {
        self.next
    }

    /// Bytes in live blocks, as asked for.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// A new block of `nbytes > 0` bytes that hold [`POISON`]. Its address is a multiple of the page size, which is at
    /// least [`ALIGNMENT`], and a page that belongs to no block follows it.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] after all addresses were used once; [`Error::System`] when there is no memory.
    pub(crate) fn allocate(&mut self, nbytes: usize) -> Result<usize, Error> {
        debug_assert!(nbytes > 0);
        let exhausted = Error::Exhausted { reach: self.reach };
        let Some(padded) = nbytes.checked_next_multiple_of(self.page) else {
            return Err(exhausted);
        };
        let end = self
            .next
            .checked_add(padded)
            .and_then(|end| end.checked_add(self.page));
        let Some(end) = end.filter(|&end| end <= self.reach) else {
            return Err(exhausted);
        };

        let shadow = self.shadow_of(self.next);
        // SAFETY: `next + padded` lies within `reach`, so these are pages of the shadow half of our own mapping, which
        // no block uses (addresses are handed out once) and no reference points into.
        let answer = unsafe {
            libc::mprotect(
                shadow.as_ptr().cast(),
                padded,
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        if answer != 0 {
            return Err(Error::System {
                nbytes,
                source: io::Error::last_os_error(),
            });
        }
        // SAFETY: those pages are writable now, and a page is a multiple of four bytes and aligned to it.
        unsafe {
            std::slice::from_raw_parts_mut(shadow.as_ptr().cast::<u32>(), nbytes.div_ceil(4))
        }
        .fill(POISON);

        let address = self.range().start + self.next;
        if planted(Fault::Unfenced) {
            // SAFETY: pages of the fence half of our own mapping, into which no reference ever points.
            unsafe {
                libc::mprotect(
                    self.start.as_ptr().wrapping_add(self.next).cast(),
                    padded,
                    libc::PROT_READ | libc::PROT_WRITE,
                )
            };
        }
        self.next = end;
        self.live.insert(address, nbytes);
        self.live_bytes += nbytes;
        Ok(address)
    }

    /// Ends the block that starts exactly at `address` and gives its pages back; its size, or `None` if no live block
    /// starts there.
    pub(crate) fn free(&mut self, address: usize) -> Option<usize> {
        let nbytes = self.live.remove(&address)?;
        self.live_bytes -= nbytes;
        let shadow = self.shadow_of(address - self.range().start);
        // SAFETY: the pages of this block alone (blocks start on a page and share none), inside our own mapping; the
        // block is no longer live, and every translated pointer lives only as long as the exclusive or shared borrow of
        // the fence that made it. Mapping them anew drops their memory and makes them inaccessible in one call.
        let _fresh = unsafe {
            libc::mmap(
                shadow.as_ptr().cast(),
                nbytes.next_multiple_of(self.page),
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        // The kernel can refuse when the process has as many mappings as it may: the block is gone for its users all
        // the same, and only its memory stays until the process ends. So the answer does not matter.
        Some(nbytes)
    }

    /// What `address` is. Interior addresses belong to their block.
    pub(crate) fn locate(&self, address: usize) -> Place {
        let range = self.range();
        if !range.contains(&address) {
            return Place::Host;
        }
        if let Some((&start, &nbytes)) = self.live.range(..=address).next_back()
            && address - start < nbytes
        {
            return Place::Live { start, nbytes };
        }
        if address - range.start < self.next {
            Place::Freed
        } else {
            Place::Unborn
        }
    }

    /// The bytes behind `nbytes` bytes at `address`, if all of them lie in one live block.
    ///
    /// The pointer is valid for reads and writes until that block is freed.
    pub(crate) fn bytes(&self, address: usize, nbytes: usize) -> Option<NonNull<u8>> {
        let Place::Live {
            start,
            nbytes: size,
        } = self.locate(address)
        else {
            return None;
        };
        let offset = address - start;
        (nbytes <= size - offset).then(|| self.shadow_of(address - self.range().start))
    }

    /// The byte of the shadow at `offset < reach`.
    fn shadow_of(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.reach);
        // SAFETY: the mapping has `2 * reach` bytes, so `reach + offset` is inside it.
        unsafe { self.start.add(self.reach + offset) }
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: the whole of our own mapping, once; translated pointers do not outlive the fence.
        unsafe { libc::munmap(self.start.as_ptr().cast(), 2 * self.reach) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Fence {
        Fence::with_reach(1 << 20).unwrap()
    }

    #[test]
    fn addresses_are_aligned_apart_and_never_reused() {
        let mut fence = small();
        let first = fence.allocate(1).unwrap();
        let second = fence.allocate(256).unwrap();
        assert_eq!(first % ALIGNMENT, 0);
        assert_eq!(second % ALIGNMENT, 0);
        assert!(second - first > 4096, "a page between two blocks");
        assert_eq!(fence.free(second), Some(256));
        assert!(fence.allocate(256).unwrap() > second);
    }

    #[test]
    fn a_pointer_is_live_freed_unborn_or_of_the_host() {
        let mut fence = small();
        let block = fence.allocate(100).unwrap();
        let live = Place::Live {
            start: block,
            nbytes: 100,
        };
        assert_eq!(fence.locate(block), live);
        assert_eq!(
            fence.locate(block + 99),
            live,
            "interior pointers belong to their block"
        );
        assert_eq!(
            fence.locate(block + 100),
            Place::Freed,
            "one past the end does not"
        );
        assert_eq!(fence.locate(fence.range().end - 1), Place::Unborn);
        assert_eq!(
            fence.locate(fence.range().end),
            Place::Host,
            "the shadow is no device address"
        );
        assert_eq!(fence.locate(fence.range().start - 1), Place::Host);
        fence.free(block);
        assert_eq!(fence.locate(block), Place::Freed);
        assert_eq!(fence.free(block), None, "a second free finds nothing");
    }

    #[test]
    fn bytes_are_given_only_inside_one_live_block() {
        let mut fence = small();
        let block = fence.allocate(100).unwrap();
        assert!(fence.bytes(block, 100).is_some());
        assert!(fence.bytes(block + 40, 60).is_some());
        assert!(fence.bytes(block + 40, 61).is_none());
        assert!(fence.bytes(block, usize::MAX).is_none());
        fence.free(block);
        assert!(fence.bytes(block, 1).is_none());
    }

    /// Whether the kernel could read a byte there, asked without reading it here.
    fn readable(address: *const u8) -> bool {
        let mut byte = 0_u8;
        let to = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let from = libc::iovec {
            iov_base: address.cast_mut().cast(),
            iov_len: 1,
        };
        // SAFETY: one byte is written to `byte`; an address that cannot be read is an error, not a fault.
        unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) == 1
        }
    }

    #[test]
    fn only_the_shadow_of_a_live_block_can_be_touched() {
        let mut fence = small();
        let block = fence.allocate(8192).unwrap();
        let bytes = fence.bytes(block, 8192).unwrap().as_ptr();
        assert!(readable(bytes) && readable(bytes.wrapping_add(8191)));
        assert!(!readable(bytes.wrapping_add(8192)), "the page after it");
        assert!(!readable(std::ptr::without_provenance(block)), "the fence");
        fence.free(block);
        assert!(!readable(bytes) && !readable(bytes.wrapping_add(8191)));
    }

    #[test]
    fn fresh_memory_is_poison() {
        let mut fence = small();
        let block = fence.allocate(12).unwrap();
        let bytes = fence.bytes(block, 12).unwrap();
        // SAFETY: twelve bytes of a live block, aligned to a page.
        let words = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u32>(), 3) };
        assert_eq!(words, [POISON; 3]);
        assert!(f32::from_bits(POISON).is_nan());
    }

    #[test]
    fn the_range_ends_with_a_clear_error() {
        let mut fence = small();
        let error = fence.allocate(1 << 20).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("all its 1048576 bytes of addresses"),
            "{error}"
        );
        assert!(matches!(
            fence.allocate(usize::MAX),
            Err(Error::Exhausted { .. })
        ));
        let mut give = || fence.allocate(4096).map(|address| fence.free(address));
        let given = (0..1000).take_while(|_| give().is_ok()).count();
        assert_eq!(
            given, 128,
            "8 KiB a block of one page with the page after it"
        );
    }

    #[test]
    fn freed_pages_go_back() {
        let mut fence = small();
        let block = fence.allocate(16 * 4096).unwrap();
        let bytes = fence.bytes(block, 16 * 4096).unwrap();
        let resident = || {
            let mut pages = [0_u8; 16];
            // SAFETY: sixteen pages of the shadow, one byte of answer for each.
            let answer =
                unsafe { libc::mincore(bytes.as_ptr().cast(), 16 * 4096, pages.as_mut_ptr()) };
            assert_eq!(answer, 0);
            pages.iter().filter(|&&page| page & 1 == 1).count()
        };
        assert_eq!(resident(), 16);
        fence.free(block);
        assert_eq!(resident(), 0);
        assert_eq!(fence.live_bytes(), 0);
    }

    #[test]
    fn the_wanted_range_can_be_reserved_beside_another() {
        let (one, two) = (Fence::reserve().unwrap(), Fence::reserve().unwrap());
        assert_eq!((one.reach, two.reach), (REACH, REACH));
    }
}
