//! The programs: exported once by `tests/programs.py`, with what the runtime says about each.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

/// One exported program.
pub struct Exported {
    /// Its name in `programs.py`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The exporter's own `Program`, as JSON.
    pub plan: Value,
    /// What the runtime's `MethodMeta` says, or its error's number.
    pub meta: Value,
}

impl Exported {
    /// The contract that `pte` reads in it.
    pub fn program(&self) -> pte::Program {
        pte::Program::open(&self.path).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Every program, in the order of their names.
pub fn all() -> &'static [Exported] {
    // Not a `OnceLock`: a failure is one for all tests, and each would otherwise export for itself once more.
    static ALL: LazyLock<Vec<Exported>> = LazyLock::new(|| {
        let folder = export();
        let mut names: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| {
                Some(
                    entry
                        .unwrap()
                        .file_name()
                        .to_str()?
                        .strip_suffix(".pte")?
                        .to_owned(),
                )
            })
            .collect();
        names.sort();
        let paths: Vec<PathBuf> = names
            .iter()
            .map(|name| folder.join(name).with_extension("pte"))
            .collect();
        let said = Command::new(folder.join("method_meta"))
            .args(&paths)
            .output()
            .unwrap();
        assert!(said.status.success(), "method_meta: {said:?}");
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(
            said.lines().count(),
            names.len(),
            "one line a program:\n{said}"
        );
        let read = |((name, path), meta): ((String, PathBuf), &str)| Exported {
            bytes: fs::read(&path).unwrap(),
            plan: serde_json::from_slice(
                &fs::read(folder.join(format!("{name}.plan.json"))).unwrap(),
            )
            .unwrap(),
            meta: serde_json::from_str(meta).unwrap(),
            name,
            path,
        };
        names
            .into_iter()
            .zip(paths)
            .zip(said.lines())
            .map(read)
            .collect()
    });
    &ALL
}

/// The program of this name.
pub fn one(name: &str) -> &'static Exported {
    all()
        .iter()
        .find(|program| program.name == name)
        .unwrap_or_else(|| panic!("programs.py exports no `{name}`"))
}

/// The folder of the installed ExecuTorch.
pub fn wheel() -> PathBuf {
    let wheel = std::env::var_os("EXECUTORCH_WHEEL")
        .map(PathBuf::from)
        .filter(|wheel| wheel.is_dir());
    wheel.expect("EXECUTORCH_WHEEL names no folder: run `cargo xtask setup`, then the tests from inside the repository")
}

/// Exports everything, unless that was done before by this recipe with this ExecuTorch, and answers where it lies.
fn export() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let wheel = wheel();
    let key = key(&sources, &wheel);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{key:016x}"));
    if folder.is_dir() {
        return folder;
    }
    let unfinished = folder.with_extension(std::process::id().to_string());
    let python = wheel.parent().unwrap().join("bin/python");
    run(Command::new(python)
        .args(["-W", "ignore"])
        .arg(sources.join("programs.py"))
        .arg(&unfinished));
    build(
        &sources.join("method_meta.cpp"),
        &unfinished.join("method_meta"),
    );
    assert_eq!(
        self::key(&sources, &wheel),
        key,
        "the installed ExecuTorch changed while it exported: run the tests again"
    );
    // Another process may have been faster, and then its files are as good.
    if fs::rename(&unfinished, &folder).is_err() {
        fs::remove_dir_all(&unfinished).unwrap();
    }
    folder
}

/// Builds one of the C++ programs beside this file against the installed ExecuTorch, and answers where it lies.
pub fn compile(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
        .with_extension("cpp");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Another process may run the one that is there.
    let unfinished = program.with_extension(std::process::id().to_string());
    build(&source, &unfinished);
    fs::rename(&unfinished, &program).unwrap();
    program
}

/// An empty folder, which goes with its owner.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn build(source: &Path, program: &Path) {
    let include = wheel().join("include");
    let lib = fs::canonicalize(wheel().join("lib")).unwrap();
    run(Command::new("g++")
        .args([
            "-std=c++17",
            "-Wno-deprecated-declarations",
            "-DC10_USING_CUSTOM_GENERATED_MACROS",
            "-I",
        ])
        .arg(&include)
        .arg("-I")
        .arg(include.join("executorch/runtime/core/portable_type/c10"))
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .arg("-L")
        .arg(lib)
        .args(["-lexecutorch", "-ldl"]));
}

/// The bytes of everything that goes into the programs. A version would not do: an installed file may have been changed.
fn key(sources: &Path, wheel: &Path) -> u64 {
    let mut key = DefaultHasher::new();
    for source in ["programs.py", "method_meta.cpp"] {
        fs::read(sources.join(source)).unwrap().hash(&mut key);
    }
    // The guide's own programs are among them.
    let root = sources.join("../../..");
    let mut recipes: Vec<PathBuf> = fs::read_dir(root.join("listings"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("export.py"))
        .filter(|recipe| recipe.is_file())
        .collect();
    recipes.sort();
    for recipe in recipes {
        let listing = recipe.parent().unwrap().file_name();
        (listing, fs::read(&recipe).unwrap()).hash(&mut key);
    }
    hash(&root.join("crates/export/python/guide_export"), &mut key);
    fs::read(root.join("crates/export/src/request.rs"))
        .unwrap()
        .hash(&mut key);
    for part in [
        "exir",
        "backends",
        "export",
        "extension/flat_tensor",
        "examples/models",
        "schema",
        "lib",
        "data/bin",
    ] {
        hash(&wheel.join(part), &mut key);
    }
    key.finish()
}

fn hash(path: &Path, key: &mut DefaultHasher) {
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut entries: Vec<_> = entries.map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Python writes its own cache files at any time.
        if path.ends_with("__pycache__") {
            continue;
        }
        if path.is_dir() {
            hash(&path, key);
        } else {
            (entry.file_name(), fs::read(&path).unwrap()).hash(key);
        }
    }
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{log}");
}
