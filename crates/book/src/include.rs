//! mdBook's includes, checked before mdBook does them: it leaves out what it cannot find, and says nothing.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::failure::Kind;
use crate::pattern::regex;

static ANCHOR_START: LazyLock<Regex> = LazyLock::new(|| regex(r"ANCHOR:\s*(?P<name>[\w_-]+)"));
static ANCHOR_END: LazyLock<Regex> = LazyLock::new(|| regex(r"ANCHOR_END:\s*(?P<name>[\w_-]+)"));
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| regex(r"\{\{\s*#\w+"));

/// What an include shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Included {
    /// The file, relative to the root.
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

/// What an include breaks: the rule, what it asks for, what there is.
pub(crate) type Broken = (Kind, String, String);

/// Checks that `path` (relative to the folder `base`, inside `root`) and `selector` include something, as mdBook reads
/// them.
pub(crate) fn check(
    root: &Path,
    base: &Path,
    path: &str,
    selector: Option<&str>,
) -> Result<Included, Broken> {
    let file = normalise(&base.join(path));
    let missing = |seen: &str| {
        (
            Kind::IncludeMissing,
            "a file in this repository".to_owned(),
            seen.to_owned(),
        )
    };
    let relative = file
        .strip_prefix(root)
        .map_err(|_| missing("a path that leaves the repository"))?
        .to_owned();
    let text = fs::read_to_string(&file).map_err(|error| missing(&error.to_string()))?;
    let included = match selector {
        None => {
            if let Some(anchor) = ANCHOR_START.find(&text) {
                return Err((
                    Kind::AnchorsShown,
                    "one of its anchors, or a file without any".to_owned(),
                    format!("the whole file, with its comment `{}`", anchor.as_str()),
                ));
            }
            text
        }
        Some(selector) => {
            let first = selector.split(':').next().unwrap_or_default();
            if first.is_empty() || first.parse::<usize>().is_ok() {
                return Err((
                    Kind::LineRange,
                    "a named anchor: line numbers move when the file changes".to_owned(),
                    format!(":{selector}"),
                ));
            }
            anchored(&text, first)?
        }
    };
    if included.trim().is_empty() {
        return Err((
            Kind::AnchorEmpty,
            "lines to show".to_owned(),
            "only white space".to_owned(),
        ));
    }
    if let Some(directive) = DIRECTIVE.find(&included) {
        return Err((
            Kind::UnknownDirective,
            "a file that includes nothing itself".to_owned(),
            directive.as_str().to_owned(),
        ));
    }
    Ok(Included {
        file: relative,
        text: included,
    })
}

/// The lines of an anchor, as mdBook takes them.
fn anchored(text: &str, anchor: &str) -> Result<String, Broken> {
    let named = |pattern: &Regex, line: &str| {
        pattern
            .captures(line)
            .is_some_and(|captures| &captures["name"] == anchor)
    };
    let missing = |seen: String| {
        (
            Kind::AnchorMissing,
            format!("`ANCHOR: {anchor}` and `ANCHOR_END: {anchor}` in the file"),
            seen,
        )
    };
    let mut lines = text.lines();
    if !lines.any(|line| named(&ANCHOR_START, line)) {
        let known: Vec<_> = ANCHOR_START
            .captures_iter(text)
            .map(|captures| captures["name"].to_owned())
            .collect();
        return Err(missing(if known.is_empty() {
            "no anchor at all".to_owned()
        } else {
            format!("the anchors {}", known.join(", "))
        }));
    }
    let mut included = String::new();
    for line in lines {
        if named(&ANCHOR_END, line) {
            return Ok(included);
        }
        if !ANCHOR_START.is_match(line) && !ANCHOR_END.is_match(line) {
            included.push_str(line);
            included.push('\n');
        }
    }
    Err(missing("an anchor that does not end".to_owned()))
}

/// `path` without `.` and `..`.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str, include: &str) -> Result<PathBuf, Kind> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/recipes")).unwrap();
        fs::write(folder.path().join("file.rs"), text).unwrap();
        let (path, selector) = include
            .split_once(':')
            .map_or((include, None), |(path, rest)| (path, Some(rest)));
        check(
            folder.path(),
            &folder.path().join("src/recipes"),
            path,
            selector,
        )
        .map(|included| included.file)
        .map_err(|(kind, _, _)| kind)
    }

    #[test]
    fn an_include_shows_something() {
        let text = "// ANCHOR: a\n// ANCHOR: b\nlet x = 1;\n// ANCHOR_END: b\n// ANCHOR_END: a\n// ANCHOR: c\n\n// ANCHOR_END: c\n// ANCHOR: d\nopen\n";
        let here = "../../file.rs";
        assert_eq!(checked(text, &format!("{here}:a")), Ok("file.rs".into()));
        assert_eq!(checked(text, &format!("{here}:b")), Ok("file.rs".into()));
        assert_eq!(checked("plain\n", here), Ok("file.rs".into()));
        for (include, kind) in [
            ("../../none.rs".to_owned(), Kind::IncludeMissing),
            (
                "../../../../../../etc/hostname".to_owned(),
                Kind::IncludeMissing,
            ),
            (format!("{here}:e"), Kind::AnchorMissing),
            (format!("{here}:d"), Kind::AnchorMissing),
            (format!("{here}:c"), Kind::AnchorEmpty),
            (format!("{here}:1:3"), Kind::LineRange),
            (format!("{here}::3"), Kind::LineRange),
            (format!("{here}:2"), Kind::LineRange),
            (here.to_owned(), Kind::AnchorsShown),
        ] {
            assert_eq!(checked(text, &include), Err(kind), "{include}");
        }
        assert_eq!(checked("", here), Err(Kind::AnchorEmpty));
        assert_eq!(checked("{{#include x}}", here), Err(Kind::UnknownDirective));
    }
}
