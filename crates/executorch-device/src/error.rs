//! One error type for both directions: what the runtime answered to Rust, and what Rust answers to the runtime.

use std::fmt;

/// The runtime's error codes, as the `executorch` crate names them. `code as u32` is the number in the runtime's log.
pub use executorch::Error as Code;

/// Every code that the runtime (1.5.1, `runtime/core/error.h`) can answer.
const CODES: [Code; 20] = [
    Code::Internal,
    Code::InvalidState,
    Code::EndOfMethod,
    Code::AlreadyLoaded,
    Code::NotSupported,
    Code::NotImplemented,
    Code::InvalidArgument,
    Code::InvalidType,
    Code::OperatorMissing,
    Code::RegistrationExceedingMaxKernels,
    Code::RegistrationAlreadyRegistered,
    Code::NotFound,
    Code::MemoryAllocationFailed,
    Code::AccessFailed,
    Code::InvalidProgram,
    Code::InvalidExternalData,
    Code::OutOfResources,
    Code::DelegateInvalidCompatibility,
    Code::DelegateMemoryAllocationFailed,
    Code::DelegateInvalidHandle,
];

/// A failure: a code, and one line that says what failed.
///
/// From [`Module`](crate::Module) it also holds what the runtime logged at error level meanwhile, on this thread
/// ([`log`](Self::log)): the code alone rarely says why. Made by a [`Delegate`](crate::Delegate) or a
/// [`DeviceAllocator`](crate::DeviceAllocator), its message goes to that log and its code to the runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    code: Code,
    message: String,
    log: Vec<String>,
}

impl Error {
    /// An error of this crate or of a delegate or allocator; `message` is one line: what was expected, and the fix.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            log: Vec::new(),
        }
    }

    /// What the runtime answered to `call`, with what it logged.
    pub(crate) fn from_runtime(code: u32, call: String, log: Vec<String>) -> Self {
        let known = CODES.into_iter().find(|known| *known as u32 == code);
        Self {
            code: known.unwrap_or(Code::Internal),
            message: call,
            log,
        }
    }

    /// The runtime's number for it, such as `0x10` for [`Code::NotSupported`].
    pub fn code(&self) -> u32 {
        self.code as u32
    }

    /// The runtime's name for it.
    pub fn kind(&self) -> Code {
        self.code
    }

    /// What failed, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the runtime logged at error level during the call, on the calling thread, oldest first: the first is the
    /// cause. Empty for a refusal by this crate, and with a runtime built without logging.
    pub fn log(&self) -> &[String] {
        &self.log
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.message)?;
        if let Some(cause) = self.log.first() {
            write!(formatter, ": {cause}")?;
        }
        write!(formatter, " ({}, 0x{:x})", self.code, self.code())
    }
}

impl From<Code> for Error {
    /// For a delegate that has nothing to add to the code.
    fn from(code: Code) -> Self {
        Self::new(code, format!("failed with {code}"))
    }
}

/// Why an allocator or a delegate was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The slot is taken: by an earlier call, or by C++ code in this process. (The runtime itself would abort the
    /// process at a second allocator.)
    #[error("{0} is already registered in this process; it can be registered once")]
    AlreadyRegistered(String),
    /// A name or device type that cannot be registered.
    #[error("{0}")]
    Invalid(String),
    /// The runtime refused, for instance because its table of 16 delegates is full.
    #[error(transparent)]
    Runtime(#[from] Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_error_h_comes_back_as_itself() {
        let numbers = (0x01..=0x04)
            .chain(0x10..=0x16)
            .chain(0x20..=0x25)
            .chain(0x30..=0x32);
        for number in numbers.clone() {
            assert_eq!(
                Error::from_runtime(number, String::new(), Vec::new()).code(),
                number
            );
        }
        assert_eq!(numbers.count(), CODES.len());
    }

    #[test]
    fn an_unknown_number_is_internal() {
        assert_eq!(
            Error::from_runtime(0x7f, String::new(), Vec::new()).kind(),
            Code::Internal
        );
    }

    #[test]
    fn one_line_with_the_cause_and_the_code() {
        let error = Error::from_runtime(
            0x2,
            "set_output".into(),
            vec!["planned".into(), "later".into()],
        );
        assert_eq!(error.to_string(), "set_output: planned (InvalidState, 0x2)");
    }
}
