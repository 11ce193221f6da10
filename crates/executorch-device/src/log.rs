//! The runtime's log, in Rust's hands.

use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use executorch_sys as sys;

/// How severe a line of the log is.
pub use executorch::platform::LogLevel;

type Sink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

static SINK: RwLock<Option<Sink>> = RwLock::new(None);

thread_local! {
    /// The error lines of the call in progress on this thread; `None` outside of one.
    static CAPTURED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Sends every line that the runtime logs in this process to `sink`, in place of standard error. A line is the message
/// alone, without time, source file and line. An earlier sink is replaced.
///
/// The sink runs on the thread that logs, inside the runtime: keep it short. A panic in it is swallowed. It must not make
/// the runtime log, or it calls itself.
pub fn set_log_sink(sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(sink));
}

/// Writes a line to the runtime's log, where `ET_LOG` writes: to the sink, or else to standard error.
pub fn log(level: LogLevel, message: &str) {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    let level = match level {
        LogLevel::Debug => sys::executorch_pal_log_level::EXECUTORCH_PAL_LOG_LEVEL_DEBUG,
        LogLevel::Info => sys::executorch_pal_log_level::EXECUTORCH_PAL_LOG_LEVEL_INFO,
        LogLevel::Error => sys::executorch_pal_log_level::EXECUTORCH_PAL_LOG_LEVEL_ERROR,
        LogLevel::Fatal => sys::executorch_pal_log_level::EXECUTORCH_PAL_LOG_LEVEL_FATAL,
        LogLevel::Unknown => sys::executorch_pal_log_level::EXECUTORCH_PAL_LOG_LEVEL_UNKNOWN,
    };
    // SAFETY: the three strings end in NUL and outlive the call, which copies or prints them; `length` is the message's.
    unsafe {
        sys::executorch_pal_emit_log_message(
            sys::executorch_pal_current_ticks(),
            level,
            c"executorch-device".as_ptr(),
            c"".as_ptr(),
            0,
            text.as_ptr(),
            text.as_bytes().len(),
        );
    }
}

/// Called by the runtime for each line. False when there is no sink: the runtime then prints the line itself.
pub(crate) fn log_line(level: u32, message: &[u8]) -> bool {
    let level = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Error,
        LogLevel::Fatal,
    ]
    .into_iter()
    .find(|known| *known as u32 == level)
    .unwrap_or(LogLevel::Unknown);
    let message = String::from_utf8_lossy(message);
    let message = message.trim_end();
    if matches!(level, LogLevel::Error | LogLevel::Fatal) {
        // The thread may be ending, its locals gone; a line is then only not captured.
        let _ = CAPTURED.try_with(|captured| {
            if let Some(lines) = captured.borrow_mut().as_mut() {
                lines.push(message.to_owned());
            }
        });
    }
    // Cloned, so that a sink that sets another sink does not wait for itself.
    let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(sink) = sink else { return false };
    // The caller is C++, which a panic must not reach.
    let _ = catch_unwind(AssertUnwindSafe(|| sink(level, message)));
    true
}

/// Runs `call` and gives what it returned with the error lines logged meanwhile on this thread.
pub(crate) fn capturing<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let outer = CAPTURED.replace(Some(Vec::new()));
    let result = call();
    (result, CAPTURED.replace(outer).unwrap_or_default())
}
