//! What happened since somebody last asked, as values that can leave the process.

use std::sync::{Mutex, PoisonError};

use executorch_device::LogLevel;
use serde::{Deserialize, Serialize};

use crate::{Copies, Counters, Device, LogLine, Origin};

/// What the device and the runtime did between two calls of [`Device::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Host-to-device copies by ExecuTorch: how many, and their bytes.
    pub h2d: Copies,
    /// Device-to-host copies by ExecuTorch.
    pub d2h: Copies,
    /// The data pointers that the delegate was given in its last call of that time, inputs first; empty if it was not
    /// called.
    pub seen: Vec<usize>,
    /// What was logged at error level or above, oldest first.
    pub errors: Vec<ErrorLine>,
}

/// One error in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorLine {
    /// Who said it.
    pub origin: Origin,
    /// The text, on one line.
    pub message: String,
}

/// The counters at the last report.
static LAST: Mutex<Option<Counters>> = Mutex::new(None);

impl Device {
    /// What happened since the last call, or since the start. Empties the log, as [`take_log`](Self::take_log) does.
    pub fn report(&self) -> Report {
        let done = {
            // The counters are read under the lock: of two threads none may leave behind what is older.
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.counters();
            now.since(&last.replace(now).unwrap_or_default())
        };
        let seen = if done.executions > 0 {
            self.last_call()
                .iter()
                .map(|seen| seen.data.addr())
                .collect()
        } else {
            Vec::new()
        };
        Report {
            h2d: done.h2d,
            d2h: done.d2h,
            seen,
            errors: self.take_log().into_iter().filter_map(error).collect(),
        }
    }
}

fn error(line: LogLine) -> Option<ErrorLine> {
    matches!(line.level, LogLevel::Error | LogLevel::Fatal).then_some(ErrorLine {
        origin: line.origin,
        message: line.message,
    })
}
