//! A small book of its own, in a folder of its own, with real listings: what the tests plant faults into.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use book::{Kind, Workspace};

/// The rule, the id, the file and the line of a failure.
pub type Found = (Kind, String, String, usize);

/// A copy of `tests/sample`, beside the workspace's own crates and its `.venv`.
pub struct Sample {
    pub root: PathBuf,
}

impl Sample {
    /// The book in a folder named `name`, which no other test may use.
    pub fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let repository = repository();
        copy(&repository.join("crates/book/tests/sample"), &root);
        for link in ["crates", ".venv"] {
            std::os::unix::fs::symlink(repository.join(link), root.join(link)).unwrap();
        }
        fs::copy(repository.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
        let manifest = fs::read_to_string(repository.join("Cargo.toml")).unwrap();
        let (head, rest) = manifest.split_once("members = [").unwrap();
        let (_, rest) = rest.split_once(']').unwrap();
        let members = "members = [\"crates/proof\", \"listings\"]";
        fs::write(root.join("Cargo.toml"), format!("{head}{members}{rest}")).unwrap();
        fs::create_dir_all(root.join(".cargo")).unwrap();
        // Dependencies are compiled once for all samples; the programs of each stay apart.
        let shared = "[build]\nbuild-dir = \"../sample-build\"\n";
        fs::write(root.join(".cargo/config.toml"), shared).unwrap();
        let sample = Self { root };
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
        let mut command = Command::new(mdbook());
        command.arg("build").arg(&self.root);
        self.failures_of(&mut command)
    }

    /// Another command of `guide-book`, in this book.
    pub fn guide_book(&self, arguments: &[&str]) -> (Output, Vec<Found>) {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.root);
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

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
