//! The regular expressions that are written in this crate.

use regex::Regex;

/// A pattern that a test has run.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns in this crate are regular expressions")
}
