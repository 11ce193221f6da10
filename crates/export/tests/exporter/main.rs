//! The crate `export` against the real exporter. A test here starts Python only where it must: that costs seconds.

mod cache;
mod failures;
mod processes;
mod programs;
mod python;
mod scratch;
