//! What a listing's `export.py` offers, read off the file without running it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// A listing's recipe.
pub(crate) struct Recipe {
    /// `listings/<name>/export.py`.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The programs that it defines, in its order.
    pub programs: Vec<String>,
}

impl Recipe {
    /// Reads the recipe of one listing.
    pub(crate) fn read(root: &Path, listing: &str) -> Result<Self, Error> {
        let path = path(root, listing);
        let missing = |_| Error::NoListing {
            path: path.clone(),
            known: all(root).unwrap_or_default(),
        };
        let bytes = fs::read(&path).map_err(missing)?;
        let programs = programs(&String::from_utf8_lossy(&bytes))
            .ok_or_else(|| Error::NoPrograms(path.clone()))?;
        Ok(Self {
            path,
            bytes,
            programs,
        })
    }
}

/// The listings that have a recipe, in order.
pub(crate) fn all(root: &Path) -> Result<Vec<String>, Error> {
    let listings = root.join("listings");
    let mut names = Vec::new();
    for entry in fs::read_dir(&listings).map_err(Error::io(&listings))? {
        let name = entry
            .map_err(Error::io(&listings))?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if path(root, &name).is_file() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn path(root: &Path, listing: &str) -> PathBuf {
    root.join("listings").join(listing).join("export.py")
}

/// The keys of the dict `programs`, one a line. Python looks the program up in the dict itself, so that a file that only
/// looks like this is still an error.
fn programs(text: &str) -> Option<Vec<String>> {
    let mut lines = text
        .lines()
        .skip_while(|line| *line != "programs = {")
        .skip(1);
    let mut names = Vec::new();
    loop {
        match lines.next()?.trim() {
            "}" => return (!names.is_empty()).then_some(names),
            "" => {}
            line if line.starts_with('#') => {}
            line => names.push(line.strip_prefix('"')?.split_once("\":")?.0.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::programs;

    #[test]
    fn reads_the_names_that_python_would() {
        let text = "programs = {\n    # both\n    \"one\": one,\n\n    \"two\": lambda: make(2),\n}\nother = {\n    \"x\": 1,\n}\n";
        assert_eq!(
            programs(text),
            Some(vec!["one".to_owned(), "two".to_owned()])
        );
    }

    #[test]
    fn another_form_is_none_rather_than_a_guess() {
        for text in [
            "",
            "programs = {\"one\": one}\n",
            "programs = {\n    **more,\n}\n",
            "programs = {\n}\n",
            "programs = {\n    \"one\": one,\n",
        ] {
            assert_eq!(programs(text), None, "{text:?}");
        }
    }
}
