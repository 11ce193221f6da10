//! The one place that hides what may differ between two good runs.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::regex;

/// One thing that differs from run to run without meaning.
struct Entry {
    /// What it finds.
    pattern: &'static str,
    /// What stands in its place.
    replacement: &'static str,
    /// Examples, each whole: what must be hidden.
    #[cfg(test)]
    hides: &'static [&'static str],
    /// What looks alike and must stay.
    #[cfg(test)]
    keeps: &'static [&'static str],
}

/// Everything that is hidden, besides the workspace's own path.
///
/// An address is a hexadecimal number of more than eight digits, so that an error code (`0x10`) and a 32-bit value stay.
/// A duration is what Rust's `Duration` prints: a fraction with its unit and no space, so that sizes, counts and
/// limits stay.
const TABLE: &[Entry] = &[
    Entry {
        pattern: r"\b0x[0-9a-f]{9,16}\b",
        replacement: "<address>",
        #[cfg(test)]
        hides: &["0x7f12ab34cd56", "0x555555554000", "0x123456789"],
        #[cfg(test)]
        keeps: &[
            "error 0x10",
            "0x12",
            "0xdeadbeef",
            "0x",
            "a0x7f12ab34cd56x",
            "ffff12345678",
            "768 bytes",
        ],
    },
    Entry {
        pattern: r"\b[0-9]+\.[0-9]+(?:ns|µs|ms|s)\b",
        replacement: "<duration>",
        #[cfg(test)]
        hides: &["1.25ms", "30.001s", "7.5µs", "1.0ns"],
        #[cfg(test)]
        keeps: &[
            "within 5s",
            "5 ms",
            "1.5 ms",
            "1.5 MiB",
            "1.5.1",
            "0.5",
            "2 copies",
            "3.5sizes",
            "256 bytes",
        ],
    },
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    TABLE
        .iter()
        .map(|entry| (regex(entry.pattern), entry.replacement))
        .collect()
});

/// What a run printed or recorded, without addresses, durations and the path of the workspace at `root`.
pub(crate) fn normalise(text: &str, root: &Path) -> String {
    let mut text = text.to_owned();
    if let Some(root) = root.to_str().filter(|root| root.len() > 1) {
        text = text.replace(&format!("{root}/"), "<workspace>/");
    }
    for (pattern, replacement) in COMPILED.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}

/// `text` with every run of white space as one space, and none at its ends.
pub(crate) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        normalise(text, Path::new("/home/reader/guide"))
    }

    fn kept(texts: &[&str]) {
        for text in texts {
            assert_eq!(hidden(text), *text);
        }
    }

    #[test]
    fn each_entry_hides_its_examples_and_nothing_else() {
        for entry in TABLE {
            assert!(!entry.hides.is_empty() && !entry.keeps.is_empty());
            for example in entry.hides {
                let shown = format!("at {}, and more", entry.replacement);
                assert_eq!(hidden(&format!("at {example}, and more")), shown);
            }
            kept(entry.keeps);
        }
    }

    #[test]
    fn the_workspace_and_no_other_path() {
        assert_eq!(
            hidden("/home/reader/guide/target/x.pte"),
            "<workspace>/target/x.pte"
        );
        kept(&[
            "/home/reader/guidebook/x",
            "/home/reader/x",
            "target/x.pte",
            "/dev/null",
        ]);
    }
}
