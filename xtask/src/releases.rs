//! `releases`: what another release of ExecuTorch does otherwise, measured as a new one is: two pins, and a difference to
//! read.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process::{Group, run as run_shown};
use crate::workspace::{Workspace, exclusive, failed, read, remove, write};
use crate::{lock, setup};

/// A release that has the settings, and is not the one of the guide.
struct Release {
    version: &'static str,
    /// Whether its wheel has the C++ runtime as a library (`libexecutorch.so`, since 1.5.0), so that programs can run.
    runs: bool,
}

const RELEASES: [Release; 3] = [
    Release {
        version: "1.5.0",
        runs: true,
    },
    Release {
        version: "1.4.1",
        runs: false,
    },
    Release {
        version: "1.4.0",
        runs: false,
    },
];

/// Where the release is written, with what stands before it: where Python packages come from, and the guard of the
/// library that is compiled against the wheel.
const PINS: [(&str, &str); 2] = [
    ("xtask/python/pyproject.toml", "\"executorch=="),
    (
        "crates/executorch-device/build/wheel.rs",
        "RUNTIME_VERSION: &str = \"",
    ),
];

/// The command `releases`.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let known = RELEASES.map(|release| release.version);
    for wanted in arguments {
        if !known.contains(&wanted.as_str()) {
            let help = "cargo xtask releases --help";
            return Err(Failure::unknown("release", wanted, &known, help));
        }
    }
    setup::ensure(workspace)?;
    let folder = workspace.root.join("target/releases");
    let held = exclusive(&folder.join("lock"), "measuring releases")?;
    let group = Group::holding(&held, &workspace.root)?;
    for release in &RELEASES {
        if arguments.is_empty() || arguments.iter().any(|wanted| wanted == release.version) {
            measure(workspace, &group, release)?;
        }
    }
    Ok(())
}

/// Measures with one release, in a copy of the repository that asks for it, and records what differs.
fn measure(workspace: &Workspace, group: &Group, release: &Release) -> Result<(), Failure> {
    let Release { version, runs } = release;
    println!("ExecuTorch {version}");
    let copy = copy(workspace, group, version)?;
    for (file, before) in PINS {
        let path = copy.root.join(file);
        let text = read(&path)?;
        let pinned = text
            .split_once(before)
            .and_then(|(start, rest)| Some((start, rest.split_once('"')?.1)));
        let (start, rest) = pinned.ok_or_else(|| {
            Failure::check(format!("{file}: the release must stand behind `{before}`"))
        })?;
        write(&path, &format!("{start}{before}{version}\"{rest}"))?;
    }
    lock::run(&copy, &[])?;
    setup::packages(&copy)?;

    let folder = workspace.root.join("target/releases");
    let (matrix, bite) = (
        folder.join(format!("{version}-matrix.json")),
        folder.join(format!("{version}-bite.json")),
    );
    // Where nothing can run, this workspace's own program asks that release's exporter.
    let made = if *runs { &copy } else { workspace };
    let verb = if *runs { "measure" } else { "export" };
    for (words, file) in [(&[verb][..], &matrix), (&["bite", verb], &bite)] {
        run_shown(
            program(made, group)
                .args(words)
                .arg("--out")
                .arg(file)
                .env("GUIDE_ROOT", &copy.root),
        )?;
    }
    run_shown(
        program(workspace, group)
            .args(["release", version])
            .args([matrix, bite]),
    )
}

/// A copy of what git has of the repository, without what an earlier one was changed to.
fn copy(workspace: &Workspace, group: &Group, version: &str) -> Result<Workspace, Failure> {
    let root = workspace.root.join("target/releases").join(version);
    fs::create_dir_all(&root).map_err(|error| failed("make the folder", &root, &error))?;
    let entries = fs::read_dir(&root).map_err(|error| failed("read", &root, &error))?;
    for entry in entries.filter_map(Result::ok) {
        // What was installed and compiled there is still good.
        if ![".venv", "target"]
            .iter()
            .any(|kept| entry.file_name() == *kept)
        {
            remove(&entry.path())?;
        }
    }
    let mut prefix = root.clone().into_os_string();
    prefix.push("/");
    let mut option = std::ffi::OsString::from("--prefix=");
    option.push(prefix);
    run_shown(
        group
            .command("git")
            .args(["checkout-index", "--all"])
            .arg(option),
    )?;
    Ok(Workspace {
        book: root.clone(),
        root,
    })
}

/// `cargo run --package matrix --` there.
fn program(workspace: &Workspace, group: &Group) -> Command {
    let mut cargo = group.cargo();
    cargo
        .current_dir(&workspace.root)
        .args(["run", "--quiet", "--package", "matrix", "--"]);
    // This process has them from the configuration of its own workspace, and they would win over the copy's.
    let venv = workspace.venv();
    let of_venv = |name: &str| -> PathBuf { venv.join(name) };
    cargo
        .env("LIBCLANG_PATH", of_venv("libclang"))
        .env("C_INCLUDE_PATH", of_venv("gcc-include"))
        .env("EXECUTORCH_WHEEL", of_venv("executorch"))
        .env("LIBRARY_PATH", of_venv("executorch/lib"));
    cargo
}
