//! A small book of its own, in a folder of its own, with real listings: what the tests plant faults into.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use book::{Kind, Workspace};

/// The rule, the id, the file and the line of a failure.
pub type Found = (Kind, String, String, usize);

/// A copy of `tests/sample`, beside the workspace's own crates and its `.venv`. There is one, for one test at a time:
/// cargo tells two copies of a workspace apart by their target folders alone, and each would compile everything again.
pub struct Sample {
    pub root: PathBuf,
    _one_at_a_time: MutexGuard<'static, ()>,
}

static ONE: Mutex<()> = Mutex::new(());

impl Sample {
    /// The book as it is before anybody plants a fault.
    pub fn new() -> Self {
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sample");
        let repository = repository();
        let crates = root.join("crates");
        if crates.is_dir() && !crates.is_symlink() {
            fs::remove_dir_all(&crates).unwrap();
        }
        for made in ["book", "target/guide", "src", "pages", "theme"] {
            let _ = fs::remove_dir_all(root.join(made));
        }
        copy(&repository.join("crates/book/tests/sample"), &root);
        // The sample looks as the guide does, so that what mdBook adds is what the guide's notices are about.
        copy(&repository.join("theme"), &root.join("theme"));
        for file in [
            "THIRD-PARTY.md",
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "Cargo.lock",
        ] {
            fs::copy(repository.join(file), root.join(file)).unwrap();
        }
        for link in ["crates", ".venv"] {
            let _ = fs::remove_file(root.join(link));
            std::os::unix::fs::symlink(repository.join(link), root.join(link)).unwrap();
        }
        let manifest = fs::read_to_string(repository.join("Cargo.toml")).unwrap();
        let (head, rest) = manifest.split_once("members = [").unwrap();
        let (_, rest) = rest.split_once(']').unwrap();
        let members = "members = [\"crates/proof\", \"listings\"]";
        fs::write(root.join("Cargo.toml"), format!("{head}{members}{rest}")).unwrap();
        let sample = Self {
            root,
            _one_at_a_time: guard,
        };
        sample.replace(
            "book.toml",
            "command = \"guide-book\"",
            &format!("command = \"{}\"", program()),
        );
        sample
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::at(&self.root).unwrap()
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.root.join(file), text).unwrap();
    }

    /// Plants a fault. One that changes nothing is none.
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{file} has no {from:?}");
        self.write(file, &text.replacen(from, to, 1));
    }

    pub fn remove(&self, file: &str) {
        fs::remove_file(self.root.join(file)).unwrap();
    }

    /// Plain `mdbook build`: whether it succeeded, and the failures that were reported.
    pub fn build(&self) -> (Output, Vec<Found>) {
        self.build_with(&[])
    }

    /// The same with these variables.
    pub fn build_with(&self, variables: &[(&str, &Path)]) -> (Output, Vec<Found>) {
        let mut command = Command::new(mdbook());
        command
            .arg("build")
            .arg(&self.root)
            .envs(variables.iter().copied());
        self.failures_of(&mut command)
    }

    /// Another command of `guide-book`, in this book.
    pub fn guide_book(&self, arguments: &[&str]) -> (Output, Vec<Found>) {
        self.guide_book_in(&self.root, &[], arguments)
    }

    /// The same, started in another folder and with these variables.
    pub fn guide_book_in(
        &self,
        folder: &Path,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> (Output, Vec<Found>) {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(folder)
            .envs(variables.iter().copied());
        self.failures_of(&mut command)
    }

    fn failures_of(&self, command: &mut Command) -> (Output, Vec<Found>) {
        let file = self.root.join("failures.jsonl");
        let _ = fs::remove_file(&file);
        let output = command
            .env("GUIDE_FAILURES", &file)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("GUIDE_ROOT")
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; run `cargo xtask setup`"));
        (output, self.failures())
    }

    /// What the last command left in `$GUIDE_FAILURES`.
    pub fn failures(&self) -> Vec<Found> {
        let lines = fs::read_to_string(self.root.join("failures.jsonl")).unwrap_or_default();
        lines
            .lines()
            .map(|line| {
                let failure: serde_json::Value = serde_json::from_str(line).unwrap();
                let text = |key: &str| failure[key].as_str().unwrap().to_owned();
                let kind = Kind::ALL
                    .iter()
                    .find(|kind| kind.name() == text("kind"))
                    .unwrap();
                let line = usize::try_from(failure["line"].as_u64().unwrap()).unwrap();
                (*kind, text("id"), text("file"), line)
            })
            .collect()
    }
}

/// What must be found, in the order in which tests compare.
pub fn sorted(rows: &[(Kind, &str, &str, usize)]) -> Vec<Found> {
    let mut found: Vec<Found> = rows
        .iter()
        .map(|(kind, id, file, line)| (*kind, (*id).to_owned(), (*file).to_owned(), *line))
        .collect();
    found.sort();
    found
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_guide-book")
}

/// The mdBook that `cargo xtask setup` installs, or `$GUIDE_MDBOOK`.
fn mdbook() -> PathBuf {
    env::var_os("GUIDE_MDBOOK").map_or_else(
        || repository().join(".venv/tools/bin/mdbook"),
        PathBuf::from,
    )
}

/// Makes `to` what `from` is. Files that are the same already are left alone, so that cargo sees what changed.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let wanted: Vec<_> = fs::read_dir(from).unwrap().flatten().collect();
    for entry in &wanted {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            if entry.file_name() == "listings" {
                remove_others(&entry.path(), &target);
            }
            copy(&entry.path(), &target);
        } else if fs::read(entry.path()).unwrap() != fs::read(&target).unwrap_or_default()
            || !target.exists()
        {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Removes what is below `to` and not below `from`.
fn remove_others(from: &Path, to: &Path) {
    for entry in fs::read_dir(to).into_iter().flatten().flatten() {
        let original = from.join(entry.file_name());
        match (original.exists(), entry.path().is_dir()) {
            (true, true) => remove_others(&original, &entry.path()),
            (true, false) => {}
            (false, true) => fs::remove_dir_all(entry.path()).unwrap(),
            (false, false) => fs::remove_file(entry.path()).unwrap(),
        }
    }
}
