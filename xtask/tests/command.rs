//! The commands as a person meets them: what they print, how they exit, and what is left when they are killed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn xtask() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .stdin(Stdio::null())
        .env_remove("GUIDE_PYTHON")
        .env_remove("GUIDE_ROOT");
    command
}

fn run(arguments: &[&str]) -> Output {
    xtask().args(arguments).output().unwrap()
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn help_is_an_answer_and_no_command_is_not() {
    let asked = run(&["--help"]);
    let bare = run(&[]);
    assert_eq!(
        (asked.status.code(), bare.status.code()),
        (Some(0), Some(2))
    );
    assert_eq!(asked.stdout, bare.stdout);
    for word in [
        "serve",
        "test",
        "setup",
        "build",
        "bless",
        "bench",
        "lock",
        "Exit status",
    ] {
        assert!(
            String::from_utf8_lossy(&asked.stdout).contains(word),
            "{word}"
        );
    }
    assert!(
        !asked.stdout.contains(&b'\x1b'),
        "colours without a terminal"
    );
}

#[test]
fn the_help_of_test_has_every_step() {
    let output = run(&["test", "--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in ["fmt", "clippy", "python", "book", "drift", "part of rust"] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn a_wrong_argument_is_one_line_and_status_2() {
    for (arguments, says) in [
        (["tset", ""].as_slice(), "did you mean `test`"),
        (&["test", "clipy"], "did you mean `clippy`"),
        (&["setup", "now"], "takes no argument `now`"),
        (&["serve", "--port"], "takes no argument but `--no-open`"),
        (&["bench", "none"], "one word at most"),
    ] {
        let arguments: Vec<_> = arguments
            .iter()
            .copied()
            .filter(|word| !word.is_empty())
            .collect();
        let output = run(&arguments);
        let errors = lines(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            errors.len() == 1 && errors[0].contains(says),
            "{arguments:?}: {errors:?}"
        );
    }
}

/// A workspace with nothing in it but what `setup` reads, and a `PATH` with nothing on it but a shell.
struct Bare {
    root: PathBuf,
}

impl Bare {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("guide-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("xtask/python")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["python/requirements.txt", "python/uv.txt"] {
            fs::copy(here.join(file), root.join("xtask").join(file)).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock"] {
            fs::copy(here.parent().unwrap().join(file), root.join(file)).unwrap();
        }
        symlink("/bin/sh", root.join("bin/sh")).unwrap();
        let bare = Self { root };
        // A Rust that has every target.
        bare.program("rustc", "echo /");
        bare
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.root.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A Python that says it is `version`, and notes its process and waits when it is to make an environment.
    fn python(&self, version: &str) -> PathBuf {
        let path = self.root.join("bin/python");
        let script = format!(
            "case \"$*\" in\n*'-m venv'*) echo $$ >{0}/pid.new; /bin/mv {0}/pid.new {0}/pid; while :; do /bin/sleep 1; done ;;\n\
             *) printf '%s\\n' '{1}' {version} CPython no 'glibc 2.36' yes ;;\nesac",
            self.root.display(),
            path.display()
        );
        self.program("python", &script)
    }

    fn setup(&self, python: &Path) -> Command {
        let mut command = xtask();
        command
            .arg("setup")
            .env("CARGO_MANIFEST_DIR", self.root.join("xtask"))
            .env("PATH", self.root.join("bin"))
            .env("GUIDE_PYTHON", python)
            .env_remove("CARGO");
        command
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[test]
fn each_missing_prerequisite_is_one_line_with_the_fix() {
    let bare = Bare::new("prerequisites");
    bare.program("rustc", "echo /no/such/folder");
    let output = bare.setup(&bare.python("3.10.2")).output().unwrap();
    let errors = lines(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors:?}");
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(
        errors[0]
            .contains("is Python 3.10.2; 3.11, 3.12 or 3.13 is needed: `apt-get install python3"),
        "{errors:?}"
    );
    assert!(
        errors[1].contains("g++, version 9 or newer, is missing: `apt-get install g++`"),
        "{errors:?}"
    );
    assert!(
        errors[2].contains(
            "target wasm32-unknown-unknown is missing: `rustup target add wasm32-unknown-unknown`"
        ),
        "{errors:?}"
    );

    let output = bare.setup(Path::new("/no/such/python")).output().unwrap();
    assert!(lines(&output.stderr)[0].contains("GUIDE_PYTHON=/no/such/python cannot be run"));
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "waited in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_setup_leaves_no_process_and_no_lock() {
    let bare = Bare::new("killed");
    let python = bare.python("3.11.2");
    // With g++'s headers in place the compiler is not asked for.
    fs::create_dir_all(bare.root.join(".venv/gcc-include")).unwrap();
    fs::write(bare.root.join(".venv/gcc-include/stddef.h"), "").unwrap();
    let pid = bare.root.join("pid");
    let mut setup = bare
        .setup(&python)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the environment is being made", || pid.exists());
    let child: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();

    setup.kill().unwrap();
    setup.wait().unwrap();
    // A process that has ended may be listed until its new parent looks.
    let ended = || {
        fs::read_to_string(format!("/proc/{child}/stat")).map_or(true, |stat| {
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('Z'))
        })
    };
    wait_until("the child has ended", ended);

    // The next one is not kept waiting.
    fs::remove_file(&pid).unwrap();
    let mut again = bare
        .setup(&python)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("another setup is at work", || pid.exists());
    again.kill().unwrap();
    again.wait().unwrap();
}
