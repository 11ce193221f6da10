//! The copied tree in which faults are planted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::fault::{At, Plant};
use crate::{runtime, warm};

/// What a listing is built with so that the device's faults are in it.
const DEVICE_FAULTS: &str = "device/planted";

/// What the tree takes from the repository's `.venv` as it is.
const VENV: &[&str] = &["bin", "lib", "lib64", "include", "executorch", "libclang", "gcc-include", "pyvenv.cfg"];

/// A copy of the repository.
pub struct Tree {
    /// The repository itself.
    pub repository: PathBuf,
    /// `target/drift`: the tree and what is made beside it.
    pub folder: PathBuf,
    /// The copy.
    pub root: PathBuf,
    /// What was at each place where something is planted now.
    before: BTreeMap<PathBuf, Before>,
    run_record: Option<Vec<u8>>,
    /// What lives as long as this run: the socket where [`Python`](crate::python::Python) answers, and the runs of the
    /// unchanged copy, for faults that no run can see.
    pub temporary: TempDir,
    /// One at a time: two would plant their faults into each other's tree.
    _lock: File,
}

/// What was at a place.
enum Before {
    Nothing,
    File(Vec<u8>),
    Link(PathBuf),
}

/// A fault that is in the tree.
#[derive(Debug, Default)]
pub struct Planted {
    variables: Vec<(&'static str, OsString)>,
}

impl Planted {
    /// What must be set for every command while it is there.
    pub fn environment(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// The cargo features with which the listings must be built.
    pub fn features(&self) -> Option<&OsString> {
        self.variables.iter().find(|(name, _)| *name == "GUIDE_FEATURES").map(|(_, value)| value)
    }
}

impl Tree {
    /// Makes the copy, or brings one that is there up to date.
    ///
    /// A file keeps its time, so that cargo takes what was compiled from it for fresh; one that differs from an earlier
    /// copy gets a new time, because something else may have been compiled in between.
    pub fn new(repository: &Path) -> Result<Self, String> {
        let repository = repository.canonicalize().map_err(|error| format!("{}: {error}", repository.display()))?;
        let folder = repository.join("target/drift");
        let root = folder.join("tree");
        let lock = folder.join("lock");
        let lock = fs::create_dir_all(&folder)
            .and_then(|()| File::create(&lock))
            .map_err(|error| format!("{}: {error}", lock.display()))?;
        lock.try_lock().map_err(|_| format!("another run of this test is using {}", folder.display()))?;
        let temporary = TempDir::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let tree = Self { repository, folder, root, before: BTreeMap::new(), run_record: None, temporary, _lock: lock };
        fs::create_dir(tree.runs()).map_err(|error| format!("{}: {error}", tree.runs().display()))?;
        let files = tree.files()?;
        tree.copy(&files).map_err(|error| format!("cannot copy the repository to {}: {error}", tree.root.display()))?;
        tree.link_tools().map_err(|error| format!("{}/.venv: {error}", tree.root.display()))?;
        tree.seed()?;
        Ok(tree)
    }

    /// What git knows of, and what it would: everything but what `.gitignore` names.
    fn files(&self) -> Result<BTreeSet<PathBuf>, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.repository)
            .output()
            .map_err(|error| format!("cannot start git: {error}"))?;
        if !output.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
        }
        let text = String::from_utf8(output.stdout).map_err(|error| format!("git ls-files: {error}"))?;
        let files = text.split_terminator('\0').map(PathBuf::from);
        // A file that was deleted and not committed is none.
        Ok(files.filter(|file| self.repository.join(file).is_file()).collect())
    }

    fn copy(&self, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        for file in files {
            let (from, to) = (self.repository.join(file), self.root.join(file));
            let bytes = fs::read(&from)?;
            let present = fs::read(&to).ok();
            if present.as_ref() == Some(&bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(&self.root))?;
            let _ = fs::remove_file(&to);
            fs::write(&to, bytes)?;
            let metadata = fs::metadata(&from)?;
            fs::set_permissions(&to, metadata.permissions())?;
            if present.is_none() {
                File::open(&to)?.set_modified(metadata.modified()?)?;
            }
        }
        self.remove_others(&self.root, files)
    }

    /// Removes what an earlier copy had and the repository has not.
    fn remove_others(&self, folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let inside = path.strip_prefix(&self.root).unwrap_or(&path);
            if [".venv", "target", "book", ".book"].iter().any(|made| inside == Path::new(made)) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                self.remove_others(&path, files)?;
                // Fails where something is left in it.
                let _ = fs::remove_dir(&path);
            } else if !files.contains(inside) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// The repository's own installation under the tree's name, with tools that a fault may replace.
    fn link_tools(&self) -> io::Result<()> {
        let (from, to) = (self.repository.join(".venv"), self.root.join(".venv"));
        fs::create_dir_all(to.join("tools/bin"))?;
        for name in VENV.iter().copied().chain(["tools/bin/guide-book"]) {
            let link = to.join(name);
            let _ = fs::remove_file(&link);
            symlink(from.join(name), link)?;
        }
        Ok(())
    }

    /// Gives the tree what cargo has compiled for the repository: only what lies in the workspace is compiled again.
    fn seed(&self) -> Result<(), String> {
        let to = self.root.join("target/debug");
        if to.join("deps").is_dir() {
            return Ok(());
        }
        // Where this test lies: target/debug/deps.
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let deps = program.parent().ok_or("this program lies in a folder")?;
        let from = deps.parent().ok_or("this program lies in target/debug/deps")?;
        if !from.join(".fingerprint").is_dir() {
            return Ok(());
        }
        let error = |error: io::Error| format!("cannot copy what cargo compiled to {}: {error}", to.display());
        fs::create_dir_all(to.join("deps")).map_err(error)?;
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto", "-t"]).arg(&to).arg(from.join(".fingerprint")).arg(from.join("build"));
        let copied = copy.status().map_err(error)?.success();
        let mut libraries = Vec::new();
        for entry in fs::read_dir(deps).map_err(error)? {
            let path = entry.map_err(error)?.path();
            // Programs are linked again anyway, and they are most of the bytes.
            if path.extension().is_some_and(|extension| ["rlib", "rmeta", "so", "d"].iter().any(|is| extension == *is))
            {
                libraries.push(path);
            }
        }
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto", "-t"]).arg(to.join("deps")).args(libraries);
        if !copied || !copy.status().map_err(error)?.success() {
            return Err(format!("cannot copy what cargo compiled to {}", to.display()));
        }
        Ok(())
    }

    /// The cache of exports: the repository's own, so that a fault in the exporter meets a warm one.
    pub fn cache(&self) -> PathBuf {
        self.repository.join("target/exports")
    }

    /// The runs that a further build may take over.
    fn runs(&self) -> PathBuf {
        self.temporary.path().join("runs")
    }

    /// What every command in the tree is started with.
    pub fn environment(&self, command: &mut Command) {
        // What cargo sets for this program, and settings of ours that change what a build does, are not for others.
        const OF_CARGO: &[&str] = &[
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "LD_LIBRARY_PATH",
        ];
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            let ours = name.starts_with("GUIDE_") && !name.ends_with("_TIMEOUT");
            if ours || OF_CARGO.iter().any(|of_cargo| name.starts_with(of_cargo)) {
                command.env_remove(name.as_ref());
            }
        }
        let venv = self.repository.join(".venv");
        command
            .env("GUIDE_CACHE", self.cache())
            .env("GUIDE_PYTHON_HOST", self.temporary.path())
            .env("GUIDE_RUNS", self.runs())
            // A busy machine is no fault.
            .env("GUIDE_LISTING_TIMEOUT", "600")
            // As the repository's own `.cargo/config.toml` has them: what was compiled with them stays fresh.
            .env("LIBCLANG_PATH", venv.join("libclang"))
            .env("C_INCLUDE_PATH", venv.join("gcc-include"))
            .env("EXECUTORCH_WHEEL", venv.join("executorch"))
            .env("LIBRARY_PATH", venv.join("executorch/lib"));
    }

    /// Plants something. A fault that changes nothing is an error.
    pub fn plant(&mut self, plants: &[Plant]) -> Result<Planted, String> {
        let mut planted = Planted::default();
        for plant in plants {
            match *plant {
                Plant::Replace { file, from, to } => {
                    let text = self.read(file)?;
                    let count = text.matches(from).count();
                    if count != 1 {
                        return Err(format!("{file} has {count} times, not once, what the fault replaces: {from:?}"));
                    }
                    if from == to {
                        return Err(format!("{file}: the fault changes nothing: {from:?}"));
                    }
                    self.put(file, text.replacen(from, to, 1).as_bytes())?;
                }
                Plant::Remove { file } => {
                    let path = self.root.join(file);
                    self.remember(&path)?;
                    fs::remove_file(&path).map_err(|error| format!("{file}: {error}"))?;
                }
                Plant::Write { file, text } => {
                    if self.root.join(file).exists() {
                        return Err(format!("{file} is there already"));
                    }
                    self.put(file, text.as_bytes())?;
                }
                Plant::Script { file, text } => {
                    self.put(file, format!("#!/bin/sh\n{text}\n").as_bytes())?;
                    let executable = fs::Permissions::from_mode(0o755);
                    fs::set_permissions(self.root.join(file), executable)
                        .map_err(|error| format!("{file}: {error}"))?;
                }
                Plant::Exporter { module } => {
                    let path = warm::plant(&self.root, module);
                    if !path.is_file() {
                        return Err(format!("no {}", path.display()));
                    }
                    planted.variables.push(("GUIDE_EXPORT_PLANT", path.into()));
                }
                Plant::Runtime { from, to } => {
                    let folder = runtime::patched(&self.repository, self.temporary.path(), from, to)?;
                    planted.variables.push(("GUIDE_RUNTIME_LIB", folder.into()));
                }
                Plant::Device { fault } => {
                    planted.variables.push(("GUIDE_FEATURES", DEVICE_FAULTS.into()));
                    planted.variables.push(("GUIDE_DEVICE_PLANT", fault.into()));
                }
            }
        }
        Ok(planted)
    }

    /// Takes everything out again. What is written back has a new time, so that cargo compiles it again.
    pub fn restore(&mut self) -> Result<(), String> {
        for (path, before) in std::mem::take(&mut self.before) {
            let _ = fs::remove_file(&path);
            match before {
                Before::Nothing => {
                    // Its folder, if it was made for it.
                    let _ = path.parent().map(fs::remove_dir);
                    Ok(())
                }
                Before::File(bytes) => fs::write(&path, bytes),
                Before::Link(target) => symlink(target, &path),
            }
            .map_err(|error| format!("cannot restore {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The number of a line.
    pub fn line(&self, file: &str, at: &At) -> Result<usize, String> {
        let text = match at {
            At::Line(number) => return Ok(*number),
            At::Text(_) | At::Above(_) | At::Call(_) => self.read(file)?,
        };
        let one = |wanted: &str| {
            let mut lines = text.lines().enumerate().filter(|(_, line)| line.contains(wanted)).map(|(index, _)| index);
            match (lines.next(), lines.next()) {
                (Some(line), None) => Ok(line),
                (line, _) => {
                    Err(format!("{file}: {} line has {wanted:?}", if line.is_some() { "not one" } else { "no" }))
                }
            }
        };
        match at {
            At::Line(number) => Ok(*number),
            At::Text(wanted) => Ok(one(wanted)? + 1),
            At::Above(wanted) => one(wanted),
            At::Call(id) => {
                let named = one(&format!("\"{id}\""))?;
                let calls = text.lines().take(named + 1).enumerate();
                let call = calls.filter(|(_, line)| line.contains("claim(") || line.contains("fact(")).last();
                call.map(|(call, _)| call + 1).ok_or_else(|| format!("{file}: no call before {id:?}"))
            }
        }
    }

    /// The pages of the book, as paths in `src/`.
    pub fn pages(&self) -> Result<BTreeSet<String>, String> {
        let summary = self.read("src/SUMMARY.md")?;
        let links = summary.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
        Ok(links.filter(|path| path.ends_with(".md")).collect())
    }

    /// Keeps the record of the unchanged book's run.
    pub fn keep_run_record(&mut self) -> Result<(), String> {
        let path = self.run_record_path();
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.run_record = Some(bytes);
        Ok(())
    }

    /// Before each fault: as after a good build, which a fault must not be able to live on.
    pub fn bring_back_run_record(&self) -> Result<(), String> {
        let path = self.run_record_path();
        match &self.run_record {
            Some(bytes) => fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display())),
            None => Ok(()),
        }
    }

    fn run_record_path(&self) -> PathBuf {
        self.root.join("target/guide/run.json")
    }

    fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    /// Writes a file, and remembers what was there. A link is replaced, not followed.
    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), String> {
        let path = self.root.join(file);
        self.remember(&path)?;
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| format!("{file}: {error}"))
    }

    fn remember(&mut self, path: &Path) -> Result<(), String> {
        let before = match fs::symlink_metadata(path) {
            Err(_) => Before::Nothing,
            Ok(metadata) if metadata.is_symlink() => {
                Before::Link(fs::read_link(path).map_err(|error| format!("{}: {error}", path.display()))?)
            }
            Ok(_) => Before::File(fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?),
        };
        self.before.entry(path.to_owned()).or_insert(before);
        Ok(())
    }
}
