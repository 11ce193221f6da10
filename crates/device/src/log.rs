//! What was said: ExecuTorch's log and the device's own lines, kept for whoever asks.
//!
//! The device's own lines go through ExecuTorch's log like all others, so that they keep their place in it and reach
//! whatever else listens.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fmt,
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};

use executorch_device::{Code, LogLevel};
use serde::{Deserialize, Serialize};

/// The most lines kept; older ones are dropped. A program that nobody asks for its log must not grow.
const MOST: usize = 4096;

static LINES: Mutex<VecDeque<LogLine>> = Mutex::new(VecDeque::new());

thread_local! {
    /// A message of the device's that ExecuTorch is about to log on this thread.
    static OWN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// One message of the log: without time, and without the place in the source, which change between builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Who said it.
    pub origin: Origin,
    /// How grave it is.
    pub level: LogLevel,
    /// The text, on one line.
    pub message: String,
}

/// Who produced a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// ExecuTorch's runtime: a reader meets this text.
    Runtime,
    /// This device, in place of a GPU: a reader meets another text, except where the words are the CUDA delegate's own.
    StandIn,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn lines() -> MutexGuard<'static, VecDeque<LogLine>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps one message of ExecuTorch's log, and writes it to standard error if `$GUIDE_LOG` is set.
pub(crate) fn record(level: LogLevel, message: &str) {
    if std::env::var_os("GUIDE_LOG").is_some() {
        // A closed standard error must not end a program that works.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
    let own = OWN
        .try_with(|own| own.borrow_mut().take_if(|own| own == message).is_some())
        .unwrap_or(false);
    let origin = if own {
        Origin::StandIn
    } else {
        Origin::Runtime
    };
    let mut lines = lines();
    if lines.len() == MOST {
        lines.pop_front();
    }
    lines.push_back(LogLine {
        origin,
        level,
        message: message.to_owned(),
    });
}

/// The device's refusal, for ExecuTorch, which logs `message` and gets `code`.
pub(crate) fn refusal(code: Code, message: String) -> executorch_device::Error {
    announce(&message);
    executorch_device::Error::new(code, message)
}

/// An error of the device's own that no answer carries.
pub(crate) fn error(message: &str) {
    announce(message);
    executorch_device::log(LogLevel::Error, message);
}

/// Says that the next message of this text on this thread is the device's own.
pub(crate) fn announce(message: &str) {
    // A thread that is ending has no such place any more; its line then counts as the runtime's.
    let _ = OWN.try_with(|own| own.replace(Some(message.to_owned())));
}

/// All messages since the last call, oldest first.
pub(crate) fn take() -> Vec<LogLine> {
    lines().drain(..).collect()
}
