//! Where the book, its listings and its tools are.

use std::env;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{BUILD, Failure, Failures, Kind};

/// The environment variable that names another workspace root, such as a copied tree.
pub const ROOT_VARIABLE: &str = "GUIDE_ROOT";

/// The environment variable that names another folder with the runtime's shared libraries.
pub const RUNTIME_LIB_VARIABLE: &str = "GUIDE_RUNTIME_LIB";

/// The repository that a run is about.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace at `$GUIDE_ROOT`, else the nearest folder around the current one that has a `book.toml`.
    ///
    /// # Errors
    ///
    /// When there is no such folder.
    pub fn find() -> Result<Self, Failures> {
        let problem = |seen: String| {
            let failure = Failure::new(
                Kind::NotSetUp,
                "book.toml",
                "book.toml",
                1,
                format!("the repository: run this inside it, or set ${ROOT_VARIABLE}"),
                seen,
            );
            Failures::from(failure.repeated_by(BUILD))
        };
        let here = env::current_dir().map_err(|error| problem(error.to_string()))?;
        if let Some(root) = env::var_os(ROOT_VARIABLE) {
            let root = here.join(root);
            if root.join("book.toml").is_file() {
                return Self::at(&root).map_err(|error| problem(error.to_string()));
            }
            return Err(problem(format!(
                "${ROOT_VARIABLE}={} has no book.toml",
                root.display()
            )));
        }
        let root = here
            .ancestors()
            .find(|folder| folder.join("book.toml").is_file())
            .ok_or_else(|| problem(format!("no book.toml in or above {}", here.display())))?;
        Self::at(root).map_err(|error| problem(error.to_string()))
    }

    /// The workspace whose root is the folder `root`.
    ///
    /// # Errors
    ///
    /// When there is no such folder.
    pub fn at(root: &Path) -> std::io::Result<Self> {
        Ok(Self {
            root: root.canonicalize()?,
        })
    }

    /// The root, absolute and without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder `listings/`.
    #[must_use]
    pub fn listings(&self) -> PathBuf {
        self.root.join("listings")
    }

    /// The record of the last run that proved the book: what the built pages must agree with.
    #[must_use]
    pub fn run_record(&self) -> PathBuf {
        self.root.join("target/guide/run.json")
    }

    /// The folder with the runtime's shared libraries: the wheel's, or `$GUIDE_RUNTIME_LIB`.
    ///
    /// # Errors
    ///
    /// When the folder does not exist.
    pub fn runtime_lib(&self) -> Result<PathBuf, Failures> {
        let (name, folder) = match env::var_os(RUNTIME_LIB_VARIABLE) {
            Some(folder) => (format!("${RUNTIME_LIB_VARIABLE}"), self.root.join(folder)),
            None => (
                ".venv/executorch/lib".to_owned(),
                self.root.join(".venv/executorch/lib"),
            ),
        };
        if folder.is_dir() {
            return Ok(folder);
        }
        Err(Failure::new(
            Kind::NotSetUp,
            &name,
            name.trim_start_matches('$'),
            1,
            "the folder with the runtime's shared libraries, which `cargo xtask setup` makes",
            format!("no folder {}", self.relative(&folder)),
        )
        .repeated_by("cargo xtask setup")
        .into())
    }

    /// `path` as the reports show it: relative to the root where it lies inside.
    #[must_use]
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Writes a file under another name first, so that nobody reads half of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    // A temporary file is its owner's alone; what is served is for everybody to read.
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    let permissions = permissions.unwrap_or_else(|_| fs::Permissions::from_mode(0o644));
    file.as_file().set_permissions(permissions)?;
    file.persist(path)?;
    Ok(())
}

/// All files with an extension below `folder`, relative to it, sorted.
pub(crate) fn files_below(folder: &Path, extension: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.extend(
                    path.strip_prefix(folder)
                        .ok()
                        .and_then(Path::to_str)
                        .map(str::to_owned),
                );
            }
        }
    }
    files.sort();
    files
}
