//! What this build was made of: versions and commit, read when it runs, never typed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::failure::{Failure, Failures, Kind};
use crate::workspace::Workspace;

/// The state of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// The full hash.
    pub hash: String,
    /// The day of the commit, `2026-01-31`.
    pub date: String,
    /// Whether the working tree differs from it.
    pub dirty: bool,
}

/// Versions and commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// ExecuTorch's version without its build suffix: `1.5.1`.
    pub executorch: String,
    /// The commit of the sources; none outside a git repository.
    pub commit: Option<Commit>,
    #[serde(skip)]
    root: PathBuf,
}

impl Provenance {
    /// Reads the version from the installed wheel and the commit from git.
    ///
    /// # Errors
    ///
    /// When the wheel is not installed.
    pub fn read(workspace: &Workspace) -> Result<Self, Failures> {
        let root = workspace.root().to_owned();
        let file = ".venv/executorch/version.py";
        let executorch = python_version(&root.join(file)).ok_or_else(|| {
            Failure::new(
                Kind::NotSetUp,
                file,
                file,
                1,
                "the installed ExecuTorch with its `__version__`",
                "no such line",
            )
            .repeated_by("cargo xtask setup")
        })?;
        Ok(Self {
            executorch,
            commit: commit(&root),
            root,
        })
    }

    /// The version of `executorch`, `torch`, `python`, `rust`, or `crate:NAME` of the lock file.
    #[must_use]
    pub fn version(&self, of: &str) -> Option<String> {
        let line_value = |file: &str, key: &str| {
            fs::read_to_string(self.root.join(file))
                .ok()?
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once('=')?;
                    (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
                })
        };
        match of {
            "executorch" => Some(self.executorch.clone()),
            "torch" => python_version(&site_packages(&self.root)?.join("torch/version.py")),
            "python" => line_value(".venv/pyvenv.cfg", "version_info"),
            "rust" => line_value("Cargo.toml", "rust-version"),
            _ => locked_version(
                &fs::read_to_string(self.root.join("Cargo.lock")).ok()?,
                of.strip_prefix("crate:")?,
            ),
        }
    }

    /// The sources as a page names them: `commit 0123456789ab of 2026-01-31`.
    #[must_use]
    pub fn sources(&self) -> String {
        match &self.commit {
            None => "unversioned sources".to_owned(),
            Some(commit) => format!(
                "commit {} of {}{}",
                commit.hash.get(..12).unwrap_or(&commit.hash),
                commit.date,
                if commit.dirty {
                    " with uncommitted changes"
                } else {
                    ""
                }
            ),
        }
    }
}

/// `__version__` of a `version.py`, without the local part (`+cpu`).
fn python_version(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()?.lines().find_map(|line| {
        let value = line
            .strip_prefix("__version__ = ")?
            .trim_matches(['\'', '"']);
        Some(value.split('+').next().unwrap_or(value).to_owned())
    })
}

fn site_packages(root: &Path) -> Option<PathBuf> {
    fs::read_dir(root.join(".venv/lib"))
        .ok()?
        .flatten()
        .find_map(|entry| {
            let packages = entry.path().join("site-packages");
            packages.is_dir().then_some(packages)
        })
}

/// The version of a crate in a lock file; none where there are two.
fn locked_version(lock: &str, name: &str) -> Option<String> {
    let head = format!("name = \"{name}\"\nversion = \"");
    let mut versions = lock
        .split("[[package]]\n")
        .filter_map(|package| package.strip_prefix(&head));
    let version = versions.next()?.split('"').next()?;
    versions.next().is_none().then(|| version.to_owned())
}

/// The commit of the repository whose root is exactly `root`: a copied tree inside another repository has none.
fn commit(root: &Path) -> Option<Commit> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then_some(text)
    };
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(top.trim_end()).canonicalize().ok()? != root {
        return None;
    }
    let head = git(&["log", "-1", "--format=%H %cs"])?;
    let (hash, date) = head.trim_end().split_once(' ')?;
    Some(Commit {
        hash: hash.to_owned(),
        date: date.to_owned(),
        dirty: !git(&["status", "--porcelain"])?.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_one_version() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"b\"\nversion = \"2.0.0\"\n";
        assert_eq!(locked_version(lock, "a").as_deref(), Some("1.2.3"));
        assert_eq!(locked_version(lock, "b"), None);
        assert_eq!(locked_version(lock, "c"), None);
    }

    #[test]
    fn the_commit_is_that_of_the_root_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(commit(&root), None);
        let git = |arguments: &[&str]| {
            let identity = [
                "-c",
                "user.name=n",
                "-c",
                "user.email=e",
                "-c",
                "commit.gpgsign=false",
            ];
            let status = Command::new("git")
                .arg("-C")
                .arg(&root)
                .args(identity)
                .args(arguments)
                .output();
            assert!(status.unwrap().status.success());
        };
        git(&["init", "-q"]);
        fs::write(root.join("file"), "1").unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", "first"]);
        let clean = commit(&root).unwrap();
        assert!(
            !clean.dirty && clean.hash.len() == 40 && clean.date.len() == 10,
            "{clean:?}"
        );
        fs::write(root.join("file"), "2").unwrap();
        assert!(commit(&root).unwrap().dirty);
        fs::create_dir(root.join("copy")).unwrap();
        assert_eq!(commit(&root.join("copy")), None);
    }
}
