#![doc = include_str!("../README.md")]
#![allow(unsafe_code)]

mod c;
mod counters;
mod delegate;
mod device;
mod error;
mod fault;
mod fence;
mod fenced;
mod install;
mod log;
mod operators;
mod plan;
mod probe;
pub mod recipe;
mod report;

pub use counters::{Copies, Counters};
pub use device::{Buffer, Device, Element, Policy, Seen};
pub use error::Error;
pub use fault::PLANTED_FAULTS;
pub use fence::POISON;
pub use install::{Part, install, install_without};
pub use log::{LogLine, Origin};
pub use report::{ErrorLine, Report};
