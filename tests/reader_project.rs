//! What the install page shows is a whole project: made from the page in an empty folder, it builds and runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The page's files, and where a reader puts them.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", "Cargo.toml"),
    ("cargo-config.toml", ".cargo/config.toml"),
    ("build.rs", "build.rs"),
    ("main.rs", "src/main.rs"),
];

/// What cargo sets from this workspace's own configuration: a reader has none of it.
const OURS: [&str; 7] = [
    "C_INCLUDE_PATH",
    "EXECUTORCH_RS_LINK",
    "EXECUTORCH_WHEEL",
    "LD_LIBRARY_PATH",
    "LIBCLANG_PATH",
    "LIBRARY_PATH",
    "CARGO_MANIFEST_DIR",
];

#[test]
fn the_project_on_the_install_page_builds_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let shown = root.join("listings/know-what-you-have/project");
    let page = fs::read_to_string(root.join("src/start/install.md")).expect("the install page");
    for file in FILES.map(|(file, _)| file).iter().chain(&["setup.sh"]) {
        let include = format!("{{{{#include ../../listings/know-what-you-have/project/{file}}}}}");
        assert!(
            page.contains(&include),
            "the install page does not show {file} whole"
        );
    }

    let project = tempfile::tempdir().expect("an empty folder");
    for (file, place) in FILES {
        let place = project.path().join(place);
        fs::create_dir_all(place.parent().expect("below the project")).expect("a folder");
        fs::copy(shown.join(file), place).expect("a copy");
    }
    set_up(root, &shown.join("setup.sh"), project.path());

    let exported = export::pte("pairing-rule/paired").expect("the program exports");
    let output = reader("cargo", project.path())
        .args(["run", "--quiet", "--offline", "--"])
        .arg(&exported.pte)
        .env("CARGO_TARGET_DIR", root.join("target/reader-project"))
        .output()
        .expect("cargo runs");
    let expected = fs::read_to_string(root.join("listings/know-what-you-have/output.txt"))
        .expect("the page's output");
    let (_command, expected) = expected
        .split_once('\n')
        .expect("the command, then the output");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        expected,
        "{}",
        failed(&output)
    );
}

/// Runs the page's `setup.sh`, with the installation of this workspace in the place of what its first two lines download.
fn set_up(root: &Path, script: &Path, project: &Path) {
    let script = fs::read_to_string(script).expect("setup.sh");
    let (download, links) = script.split_at(
        script
            .match_indices('\n')
            .nth(1)
            .expect("two lines and more")
            .0
            + 1,
    );
    let locked = fs::read_to_string(root.join("xtask/python/requirements.txt")).expect("the lock");
    let mut lines = download.lines();
    assert_eq!(lines.next(), Some("python3 -m venv .venv"));
    let packages = lines
        .next()
        .and_then(|line| line.strip_prefix(".venv/bin/pip install "))
        .expect("pip install");
    for package in packages.split(' ') {
        let is_locked = |line: &str| line.split([' ', ';', '\\']).next() == Some(package);
        assert!(
            locked.lines().any(is_locked),
            "the install page names {package}, which is not what is tested here"
        );
    }

    let wheel =
        fs::canonicalize(root.join(".venv/executorch")).expect("`cargo xtask setup` has run");
    let site: PathBuf = wheel.parent().expect("site-packages").into();
    let python = site.parent().and_then(Path::file_name).expect("python3.N");
    let lib = project.join(".venv/lib").join(python);
    fs::create_dir_all(&lib).expect("a folder");
    symlink(site, lib.join("site-packages")).expect("a link");
    let output = reader("sh", project)
        .args(["-e", "-c", links])
        .output()
        .expect("sh runs");
    assert!(output.status.success(), "{}", failed(&output));
}

/// A command as a reader would run it.
fn reader(program: &str, project: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(project);
    for variable in OURS {
        command.env_remove(variable);
    }
    command
}

fn failed(output: &Output) -> String {
    format!(
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    )
}
