//! What a device has done so far.

use serde::{Deserialize, Serialize};

/// What a device has done since the process started. Take one before and one after, and ask for the difference with
/// [`since`](Self::since).
///
/// Copies are counted by who asked for them: [`h2d`](Self::h2d) and [`d2h`](Self::d2h) are ExecuTorch's own, made through
/// its device allocator (the `et_copy` operators of a program); the caller's, made through [`Device`](crate::Device) and
/// [`Buffer`](crate::Buffer), and the upload of the weights, which the CUDA delegate does by itself, are counted apart.
/// A copy that was refused, and one of no bytes, is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Blocks allocated, by anybody. An allocation of no bytes gives null and is not counted.
    pub allocations: u64,
    /// Blocks freed, by anybody.
    pub frees: u64,
    /// Bytes in live blocks, as asked for, without padding.
    pub live_bytes: u64,
    /// Bytes of device addresses handed out so far, with padding. None is handed out again, so this is what wears out;
    /// the fenced device has 4 TiB of them, where the system lets it.
    pub addresses: u64,
    /// Host-to-device copies by ExecuTorch.
    pub h2d: Copies,
    /// Device-to-host copies by ExecuTorch.
    pub d2h: Copies,
    /// Host-to-device copies by the caller.
    pub caller_h2d: Copies,
    /// Device-to-host copies by the caller.
    pub caller_d2h: Copies,
    /// Host-to-device copies of weights by the delegate, when a method is loaded.
    pub weights: Copies,
    /// Calls of the delegate's `execute`, refused ones included.
    pub executions: u64,
    /// Executions that were put into the queue.
    pub enqueued: u64,
    /// Executions whose work was done.
    pub finished: u64,
    /// Reads by the caller that met poison where queued work was still to write.
    pub poisoned: u64,
    /// Executions that used memory which queued work of another method used at the same time, one of them writing.
    pub races: u64,
}

/// Copies in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// How many.
    pub calls: u64,
    /// Bytes in all of them.
    pub bytes: u64,
}

impl Copies {
    pub(crate) fn count(&mut self, nbytes: usize) {
        self.calls += 1;
        self.bytes += nbytes as u64;
    }

    fn since(self, before: Self) -> Self {
        Self {
            calls: self.calls - before.calls,
            bytes: self.bytes - before.bytes,
        }
    }
}

impl Counters {
    /// Blocks that are allocated now.
    pub fn live_blocks(&self) -> u64 {
        self.allocations - self.frees
    }

    /// What happened after `before` was taken. [`live_bytes`](Self::live_bytes) is no sum and stays as it is now.
    ///
    /// ```
    /// # fn run() -> Result<(), device::Error> {
    /// let device = device::install()?;
    /// let before = device.counters();
    /// let input = device.buffer(&[1.0_f32, 2.0])?;
    /// let copied = device.counters().since(&before);
    /// assert_eq!(copied.caller_h2d, device::Copies { calls: 1, bytes: 8 });
    /// assert_eq!(copied.h2d.calls, 0);
    /// # Ok(()) }
    /// # run().unwrap();
    /// ```
    ///
    /// # Panics
    ///
    /// If `before` is the later of the two (in a build with overflow checks).
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            allocations: self.allocations - before.allocations,
            frees: self.frees - before.frees,
            live_bytes: self.live_bytes,
            addresses: self.addresses - before.addresses,
            h2d: self.h2d.since(before.h2d),
            d2h: self.d2h.since(before.d2h),
            caller_h2d: self.caller_h2d.since(before.caller_h2d),
            caller_d2h: self.caller_d2h.since(before.caller_d2h),
            weights: self.weights.since(before.weights),
            executions: self.executions - before.executions,
            enqueued: self.enqueued - before.enqueued,
            finished: self.finished - before.finished,
            poisoned: self.poisoned - before.poisoned,
            races: self.races - before.races,
        }
    }
}
