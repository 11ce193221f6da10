//! Exports programs with ExecuTorch's own exporter, on a machine without a GPU.
//!
//! ```no_run
//! let exported = export::pte("pairing-rule/paired")?;
//! let expected = exported.eager.outputs[0].f32()?;
//! println!("{} gives {:?}", exported.pte.display(), &expected[..3]);
//! # Ok::<(), export::Error>(())
//! ```
//!
//! A program is asked for by the listing that defines it, or by a model and a configuration ([`Request`]). It comes from
//! the cache if everything that went into it is, byte for byte, what it was: the recipe, the installed ExecuTorch file by
//! file, every other package, the interpreter, our own Python. Otherwise one Python process exports whatever is missing.
//!
//! The exporting process replaces one thing in ExecuTorch, `CudaBackend`'s compile step, which needs a GPU. Run by
//! itself, a listing's `export.py` replaces nothing.
//!
//! # Settings
//!
//! | variable | means | otherwise |
//! |---|---|---|
//! | `GUIDE_ROOT` | where `listings/` is looked for; and `.venv` and `crates/export/python`, if they are there | the workspace that this was built from |
//! | `GUIDE_CACHE` | where exports are kept | `target/exports` below the root |
//! | `GUIDE_EXPORT_PLANT` | a Python file that the exporting process runs first of all (planted drift) | none |
//! | `GUIDE_EXPORT_TIMEOUT` | seconds that one export, or starting Python, may take | 300 |
//! | `GUIDE_EXPORTS` | set by [`hand_down`] alone | the installation is hashed |

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

mod cache;
mod config;
mod error;
mod exported;
mod key;
mod python;
mod recipe;
mod request;

pub use config::{
    ExecutorchBackendConfig, Flag, MemoryPlanningPass, PerMethod, PropagateDeviceConfig,
};
pub use error::Error;
pub use exported::{Eager, Exported, Tensor};
pub use request::{Model, Request};

use cache::{Cache, Key};
use key::{Digest, Environment, digest, hex};
use python::{Asked, Job, What};
use recipe::Recipe;

/// Names the time limit in [`Error::TimedOut`].
pub(crate) const TIMEOUT: &str = "GUIDE_EXPORT_TIMEOUT";

const HANDED_DOWN: &str = "GUIDE_EXPORTS";

/// Exports one program: `"listing/program"`, or any [`Request`].
///
/// # Errors
/// The first thing that went wrong; see [`Error`].
pub fn pte(request: impl Into<Request>) -> Result<Exported, Error> {
    let mut results = process_wide()?.all(&[request.into()])?;
    results.remove(0)
}

/// Exports any number of programs, with one Python process for all that the cache does not have.
///
/// # Errors
/// The outer error means that nothing could be exported; an inner one is that program's own. Results are in the order of
/// the requests.
pub fn all(requests: &[Request]) -> Result<Vec<Result<Exported, Error>>, Error> {
    process_wide()?.all(requests)
}

/// The listings that have an `export.py`, in order.
///
/// # Errors
/// If there is no folder of listings.
pub fn listings() -> Result<Vec<String>, Error> {
    recipe::all(&process_wide()?.root)
}

/// The programs that a listing's `export.py` defines, as `listing/program` and in its order.
///
/// # Errors
/// If there is no such file, or its `programs` cannot be read.
pub fn programs(listing: &str) -> Result<Vec<String>, Error> {
    process_wide()?.programs(listing)
}

/// The version of the installed ExecuTorch, with its local part: `1.5.1+cpu`.
///
/// # Errors
/// If none is installed.
pub fn executorch() -> Result<String, Error> {
    process_wide()?.executorch()
}

/// Tells a process that is about to be started what this one knows of the installation, so that it need not hash it
/// again. Holds for the direct child alone, and while this process lives: anything else hashes for itself.
///
/// # Errors
/// If the installation cannot be hashed.
pub fn hand_down(command: &mut Command) -> Result<(), Error> {
    process_wide()?.hand_down(command)
}

fn process_wide() -> Result<&'static Exporter, Error> {
    static EXPORTER: OnceLock<Exporter> = OnceLock::new();
    if let Some(exporter) = EXPORTER.get() {
        return Ok(exporter);
    }
    let exporter = Exporter::from_environment()?;
    Ok(EXPORTER.get_or_init(|| exporter))
}

/// Exports with settings of its own. The functions of this crate use one made by
/// [`from_environment`](Self::from_environment).
#[derive(Debug)]
pub struct Exporter {
    root: PathBuf,
    venv: PathBuf,
    python: PathBuf,
    cache: Cache,
    plant: Option<PathBuf>,
    timeout: Duration,
    /// What a parent process vouches for.
    inherited: Option<String>,
    environment: OnceLock<Digest>,
}

impl Exporter {
    /// Settings as the environment has them (see the [crate]).
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn from_environment() -> Result<Self, Error> {
        Self::from_environment_in(env::var_os("GUIDE_ROOT").map_or_else(built_from, PathBuf::from))
    }

    /// The same with the listings of `root`, whatever `GUIDE_ROOT` says.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn from_environment_in(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let mut exporter = Self::new(root);
        if let Some(folder) = env::var_os("GUIDE_CACHE") {
            exporter = exporter.cache(folder);
        }
        if let Some(plant) = env::var_os("GUIDE_EXPORT_PLANT") {
            exporter = exporter.plant(plant);
        }
        if let Some(value) = env::var_os(TIMEOUT) {
            let seconds = value
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|seconds| *seconds > 0);
            let seconds = seconds.ok_or_else(|| Error::Setting {
                variable: TIMEOUT,
                value: value.to_string_lossy().into_owned(),
                expected: "a whole number of seconds above 0",
            })?;
            exporter = exporter.timeout(Duration::from_secs(seconds));
        }
        exporter.inherited = env::var(HANDED_DOWN).ok();
        Ok(exporter)
    }

    /// The listings of `root`, with the environment and the Python side of `root` where it has them, else of the
    /// workspace that this was built from.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = absolute(root.into());
        let here_or_built_from = |path: &str| {
            let here = root.join(path);
            if here.exists() {
                here
            } else {
                built_from().join(path)
            }
        };
        Self {
            venv: here_or_built_from(".venv"),
            python: here_or_built_from("crates/export/python"),
            cache: Cache::new(root.join("target/exports")),
            plant: None,
            timeout: Duration::from_secs(300),
            inherited: None,
            environment: OnceLock::new(),
            root,
        }
    }

    /// Another virtual environment with ExecuTorch in it.
    #[must_use]
    pub fn venv(mut self, folder: impl Into<PathBuf>) -> Self {
        self.venv = absolute(folder.into());
        self
    }

    /// Another place for the cache.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Cache::new(absolute(folder.into()));
        self
    }

    /// A Python file for the exporting process to run first of all, which may change ExecuTorch's behaviour.
    #[must_use]
    pub fn plant(mut self, file: impl Into<PathBuf>) -> Self {
        self.plant = Some(absolute(file.into()));
        self
    }

    /// How long one export, or starting Python, may take before the exporting process is killed.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// See [`programs`].
    ///
    /// # Errors
    /// As there.
    pub fn programs(&self, listing: &str) -> Result<Vec<String>, Error> {
        let recipe = Recipe::read(&self.root, listing)?;
        Ok(recipe
            .programs
            .iter()
            .map(|program| format!("{listing}/{program}"))
            .collect())
    }

    /// See [`all`].
    ///
    /// # Errors
    /// As there.
    pub fn all(&self, requests: &[Request]) -> Result<Vec<Result<Exported, Error>>, Error> {
        let plant = self
            .plant
            .as_ref()
            .map(|path| fs::read(path).map_err(Error::io(path)))
            .transpose()?;
        let handed_down = self
            .inherited
            .as_deref()
            .and_then(|line| self.understand(line));
        let mut results = HashMap::new();
        let mut missing = Vec::new();
        for (number, request) in requests.iter().enumerate() {
            match self.resolve(request) {
                Err(error) => drop(results.insert(number, Err(error))),
                Ok(resolved) => {
                    let kept = handed_down.and_then(|known| {
                        let key = resolved.key(&known, plant.as_deref());
                        self.cache.get(&key, &request.to_string())
                    });
                    match kept {
                        Some(kept) => drop(results.insert(number, kept)),
                        None => missing.push((number, resolved)),
                    }
                }
            }
        }
        if !missing.is_empty() {
            // The installation itself is looked at before anything is made, whoever vouched for it.
            let environment = self.environment()?;
            let mut keyed = Vec::new();
            for (number, resolved) in missing {
                let key = resolved.key(&environment, plant.as_deref());
                match self.cache.get(&key, &requests[number].to_string()) {
                    Some(kept) => drop(results.insert(number, kept)),
                    None => keyed.push((number, resolved, key)),
                }
            }
            self.make(requests, &keyed, &mut results)?;
        }
        Ok((0..requests.len())
            .filter_map(|number| results.remove(&number))
            .collect())
    }

    /// Makes what the cache does not have.
    fn make(
        &self,
        requests: &[Request],
        missing: &[(usize, Resolved<'_>, Key)],
        results: &mut HashMap<usize, Result<Exported, Error>>,
    ) -> Result<(), Error> {
        if missing.is_empty() {
            return Ok(());
        }
        let lock = self.cache.lock()?;
        let mut folders = Vec::new();
        for (number, resolved, key) in missing {
            // Another process may have made it while this one waited for the lock.
            if let Some(kept) = self.cache.get(key, &requests[*number].to_string()) {
                results.insert(*number, kept);
                continue;
            }
            let folder = lock.staging().join(number.to_string());
            fs::create_dir(&folder).map_err(Error::io(&folder))?;
            folders.push((*number, resolved, key, folder));
        }
        let jobs = folders
            .iter()
            .map(|(_, resolved, _, folder)| resolved.job(folder))
            .collect();
        python::export(
            &self.venv.join("bin/python"),
            &self.python,
            lock.staging(),
            Asked {
                plant: self.plant.as_deref(),
                requests: jobs,
            },
            self.timeout,
            |done, outcome| {
                let (number, _, key, folder) = &folders[done];
                let program = requests[*number].to_string();
                results.insert(*number, lock.publish(key, &program, folder, outcome));
            },
        )
    }

    /// See [`hand_down`]. The child has to be given the same environment and Python side, or hashes its own.
    ///
    /// # Errors
    /// As there.
    pub fn hand_down(&self, command: &mut Command) -> Result<(), Error> {
        let environment = self.environment()?;
        let holds_for = self.holds_for(std::process::id());
        command.env(
            HANDED_DOWN,
            format!("{}:{}", key::hex(&environment), key::hex(&holds_for)),
        );
        Ok(())
    }

    fn resolve<'a>(&self, request: &'a Request) -> Result<Resolved<'a>, Error> {
        let name = match request {
            Request::Config { model, config } => {
                return Ok(Resolved::Config {
                    request,
                    model: model.name(),
                    config,
                });
            }
            Request::Recipe(name) => name,
        };
        let (listing, program) = name
            .split_once('/')
            .filter(|(listing, program)| is_a_name(listing) && is_a_name(program))
            .ok_or_else(|| Error::Name(name.clone()))?;
        let recipe = Recipe::read(&self.root, listing)?;
        if !recipe.programs.iter().any(|known| known == program) {
            let (path, known) = (recipe.path, recipe.programs);
            return Err(Error::NoProgram {
                path,
                program: program.to_owned(),
                known,
            });
        }
        Ok(Resolved::Recipe {
            name,
            program,
            recipe,
        })
    }

    /// What this installation is, as a hash of its files: of ExecuTorch's, of every other package's list of files, and of
    /// the Python side. Hexadecimal; looked at once for each `Exporter`.
    ///
    /// # Errors
    /// If the installation cannot be read.
    pub fn installation(&self) -> Result<String, Error> {
        Ok(hex(&self.environment()?))
    }

    /// See [`executorch`].
    ///
    /// # Errors
    /// As there.
    pub fn executorch(&self) -> Result<String, Error> {
        let (venv, python) = (&self.venv, &self.python);
        let path = Environment { venv, python }
            .site_packages()?
            .join("executorch/version.py");
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("__version__ = "));
        let version = version.ok_or(Error::NotSetUp(path))?;
        Ok(version.trim_matches(['"', '\'']).to_owned())
    }

    fn environment(&self) -> Result<Digest, Error> {
        if let Some(known) = self.environment.get() {
            return Ok(*known);
        }
        if !self.venv.join("bin/python").exists() {
            return Err(Error::NotSetUp(self.venv.join("bin/python")));
        }
        let hashed = Environment {
            venv: &self.venv,
            python: &self.python,
        }
        .digest()?;
        Ok(*self.environment.get_or_init(|| hashed))
    }

    /// Ties what is handed down to one parent process and one installation.
    fn holds_for(&self, parent: u32) -> Digest {
        let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        digest(&[
            &parent.to_le_bytes(),
            &path(&self.venv),
            &path(&self.python),
        ])
    }

    fn understand(&self, line: &str) -> Option<Digest> {
        let (environment, holds_for) = line.split_once(':')?;
        let right =
            key::from_hex(holds_for)? == self.holds_for(std::os::unix::process::parent_id());
        key::from_hex(environment).filter(|_| right)
    }
}

/// A request with all that it needs at hand.
enum Resolved<'a> {
    Recipe {
        name: &'a str,
        program: &'a str,
        recipe: Recipe,
    },
    Config {
        request: &'a Request,
        model: &'static str,
        config: &'a ExecutorchBackendConfig,
    },
}

impl Resolved<'_> {
    fn name(&self) -> String {
        match self {
            Self::Recipe { name, .. } => (*name).to_owned(),
            Self::Config { request, .. } => request.to_string(),
        }
    }

    fn key(&self, environment: &Digest, plant: Option<&[u8]>) -> Key {
        let (stem, label, recipe) = match self {
            Self::Recipe {
                name,
                program,
                recipe,
            } => (*program, name.replace('/', "."), recipe.bytes.as_slice()),
            Self::Config { model, .. } => (*model, (*model).to_owned(), &[][..]),
        };
        // An absent plant is not an empty one.
        let planted: &[u8] = if plant.is_some() { b"planted" } else { b"" };
        let name = self.name();
        let parts = [
            environment,
            name.as_bytes(),
            recipe,
            planted,
            plant.unwrap_or_default(),
        ];
        Key {
            stem: stem.to_owned(),
            label,
            digest: digest(&parts),
        }
    }

    fn job<'b>(&'b self, folder: &'b Path) -> Job<'b> {
        let what = match self {
            Self::Recipe {
                program, recipe, ..
            } => What::Recipe {
                recipe: &recipe.path,
                program,
            },
            Self::Config { model, config, .. } => What::Config { model, config },
        };
        Job {
            name: self.name(),
            folder,
            what,
        }
    }
}

/// Names become file names.
fn is_a_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The exporting process runs in a folder of its own.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The workspace that this was built from.
fn built_from() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("/"))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_goes_in_is_part_of_the_key() {
        let recipe = |bytes: &[u8]| Recipe {
            path: PathBuf::new(),
            bytes: bytes.to_vec(),
            programs: Vec::new(),
        };
        let listed = |name, bytes| Resolved::Recipe {
            name,
            program: "program",
            recipe: recipe(bytes),
        };
        let configs = [true, false].map(|enable_non_cpu_memory_planning| Request::Config {
            model: Model::Add,
            config: ExecutorchBackendConfig {
                enable_non_cpu_memory_planning,
                ..ExecutorchBackendConfig::default()
            },
        });
        let exporter = Exporter::new("");
        let (one, other) = ([1; 32], [2; 32]);
        let mut digests = vec![
            listed("a/program", b"recipe").key(&one, None),
            listed("a/program", b"recipe").key(&other, None),
            listed("a/program", b"recipe").key(&one, Some(b"")),
            listed("a/program", b"recipe").key(&one, Some(b"plant")),
            listed("a/program", b"recipe\n").key(&one, None),
            listed("b/program", b"recipe").key(&one, None),
        ];
        for config in &configs {
            digests.push(exporter.resolve(config).unwrap().key(&one, None));
        }
        let mut digests: Vec<_> = digests.iter().map(|key| key.digest).collect();
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all);
        let again = listed("a/program", b"recipe").key(&one, None);
        assert!(digests.contains(&again.digest), "the same is the same");
    }
}
