//! The names of the data that a delegate's blob will ask the runtime for.

use serde::Deserialize;

use crate::contract::{Blob, Delegate};
use crate::error::Error;
use crate::source::{ReadAt, read_exactly};

/// ExecuTorch's backends on AOTInductor: the compiled library and its weights are data with names, and the blob is those
/// names, a line each (`AotiBackend.preprocess`).
const AOTI: [&str; 2] = ["CudaBackend", "MetalBackend"];
/// The two kinds of name there are; anything else is another version's format.
const SUFFIXES: [&str; 2] = ["_so_blob", "_weights_blob"];
/// Names are 80 bytes each. What is larger is something else, and not worth the read.
const LARGEST: u64 = 1 << 16;

/// What the ExecuTorch CUDA Guide's stand-in for that backend leaves in the place of the names, as far as it matters.
#[derive(Deserialize)]
struct Recipe {
    version: u32,
    #[serde(default)]
    weights: Vec<Weight>,
}

#[derive(Deserialize)]
struct Weight {
    key: String,
}

/// All of a program's delegates together: many may share one blob, and each gets its own copy of the names.
const LARGEST_SUM: u64 = 1 << 20;

/// The delegates of a known format, each with its blob.
pub(crate) fn wanted<'a>(
    delegates: impl Iterator<Item = &'a mut Delegate>,
) -> impl Iterator<Item = (&'a mut Delegate, Blob)> {
    let mut left = LARGEST_SUM;
    delegates.filter_map(move |delegate| {
        let blob = delegate.processed;
        let wanted = AOTI.contains(&&*delegate.id) && blob.nbytes <= LARGEST.min(left);
        wanted.then(|| {
            left -= blob.nbytes;
            (delegate, blob)
        })
    })
}

/// Sets the names of every delegate of a known format whose blob is in the source.
pub(crate) fn fill<'a>(
    delegates: impl Iterator<Item = &'a mut Delegate>,
    source: &(impl ReadAt + ?Sized),
) -> Result<(), Error> {
    for (delegate, blob) in wanted(delegates) {
        // The end cannot overflow: segments and inline data were held against the file's size.
        if blob.offset + blob.nbytes <= source.len() {
            let bytes = read_exactly(source, blob.offset, blob.nbytes as usize)?;
            delegate.data_keys = std::str::from_utf8(&bytes).ok().and_then(names);
        }
    }
    Ok(())
}

fn names(text: &str) -> Option<Vec<String>> {
    let lines = || text.lines().filter(|line| !line.is_empty());
    if lines().next().is_some()
        && lines().all(|line| SUFFIXES.iter().any(|suffix| line.ends_with(suffix)))
    {
        return Some(lines().map(str::to_owned).collect());
    }
    let recipe: Recipe = serde_json::from_str(text).ok()?;
    (recipe.version == 1).then(|| {
        recipe
            .weights
            .into_iter()
            .map(|weight| weight.key)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn the_two_names_of_aotinductor_are_names_and_other_text_is_not() {
        assert_eq!(
            names("ab_so_blob\ncd_weights_blob"),
            Some(vec!["ab_so_blob".into(), "cd_weights_blob".into()])
        );
        assert_eq!(names("ab_so_blob\nsomething else"), None);
        assert_eq!(names(""), None);
    }

    #[test]
    fn a_recipe_names_its_weights() {
        let recipe =
            r#"{"version": 1, "ops": [], "weights": [{"name": "w", "key": "k", "sizes": [2]}]}"#;
        assert_eq!(names(recipe), Some(vec!["k".into()]));
        assert_eq!(names(r#"{"version": 1}"#), Some(vec![]));
        assert_eq!(names(r#"{"version": 2}"#), None);
    }
}
