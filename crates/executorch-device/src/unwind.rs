//! Rust called from C++ must not unwind into it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Code, Error};
use crate::log::{LogLevel, log};

/// Runs `call`, named `what` in the log; an error or a panic is logged and becomes the code for C++.
pub(crate) fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, Error>) -> Result<T, u32> {
    // AssertUnwindSafe: after a panic the delegate or allocator may be left half-changed, but not memory-unsafe; its
    // author is told so in the documentation of the traits.
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(panic) => Error::new(
            Code::Internal,
            format!("{what} panicked: {}", text(&*panic)),
        ),
    };
    log(LogLevel::Error, error.message());
    Err(error.code())
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
