#![doc = include_str!("../README.md")]

// Its C functions are what this library exports.
pub use device;
