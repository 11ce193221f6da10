//! Planted faults: ways in which this device can be made to misbehave, so that the tests of the book can show that the
//! build notices. With the feature `planted` off, which is the default, [`planted`] is `false` at compile time and none
//! of this is in the binary.

use crate::Error;

/// The environment variable that chooses a fault.
pub(crate) const VARIABLE: &str = "GUIDE_DEVICE_PLANT";

macro_rules! faults {
    ($($fault:ident = $name:literal, $what:literal;)*) => {
        /// A way to misbehave.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "planted"), allow(dead_code))]
        pub(crate) enum Fault { $(#[doc = $what] $fault,)* }

        /// The faults that a build with the feature `planted` has: the value of `GUIDE_DEVICE_PLANT`, and what the device
        /// then does wrong. Without the feature the list is empty.
        pub const PLANTED_FAULTS: &[(&str, &str)] = &[$(#[cfg(feature = "planted")] ($name, $what),)*];

        #[cfg(feature = "planted")]
        fn named(name: &str) -> Option<Fault> {
            match name { $($name => Some(Fault::$fault),)* _ => None }
        }
    };
}

faults! {
    WrongResult = "wrong-result", "the first element of each output is one too large";
    WrongPointer = "wrong-pointer", "outputs are written to memory of the delegate's own, not to the caller's";
    NeverRuns = "never-runs", "queued work is dropped at the synchronise instead of run";
    Eager = "eager", "work runs when `execute` is called, not at the synchronise";
    NoPoison = "no-poison", "a read before the synchronise finds the old bytes instead of poison";
    DrainsOnRead = "drains-on-read", "a read synchronises first";
    StaleCopy = "stale-copy", "the runtime's own copies do not wait for queued work";
    CopiesOnExecute = "copies-on-execute", "every execution copies each input to the host and back";
    Unchecked = "unchecked", "the delegate skips its check of where a pointer lies";
    WrongSide = "wrong-side", "copies accept a pointer on the wrong side whatever the policy";
    Unfenced = "unfenced", "the host can read and write device addresses";
    Leak = "leak", "freed blocks stay allocated";
    Miscounts = "miscounts", "copies in each direction are counted in the other";
    OtherWords = "other-words", "the delegate words its refusal differently";
}

#[cfg(feature = "planted")]
static CHOSEN: std::sync::OnceLock<Option<Fault>> = std::sync::OnceLock::new();

/// Reads the choice, once.
///
/// # Errors
///
/// A name that is no fault, or any name in a build without them: a planted fault that is silently not there would let a
/// test of the build pass for nothing.
#[cfg(feature = "planted")]
pub(crate) fn choose() -> Result<(), Error> {
    let chosen = match std::env::var(VARIABLE) {
        Err(std::env::VarError::NotPresent) => None,
        Ok(name) => Some(named(&name).ok_or_else(|| {
            Error::UnknownFault {
                known: PLANTED_FAULTS
                    .iter()
                    .map(|fault| fault.0)
                    .collect::<Vec<_>>()
                    .join(", "),
                name,
            }
        })?),
        Err(error) => {
            return Err(Error::UnknownFault {
                name: error.to_string(),
                known: String::new(),
            });
        }
    };
    CHOSEN.get_or_init(|| chosen);
    Ok(())
}

/// Whether the device is to misbehave in this way.
#[cfg(feature = "planted")]
pub(crate) fn planted(fault: Fault) -> bool {
    CHOSEN.get().copied().flatten() == Some(fault)
}

#[cfg(not(feature = "planted"))]
pub(crate) fn choose() -> Result<(), Error> {
    match std::env::var_os(VARIABLE) {
        None => Ok(()),
        Some(name) => Err(Error::NoFaults {
            name: name.to_string_lossy().into_owned(),
        }),
    }
}

#[cfg(not(feature = "planted"))]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}
