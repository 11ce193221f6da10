//! One test for each Rust block that a page types out.

include!(concat!(env!("OUT_DIR"), "/skeptic-tests.rs"));
