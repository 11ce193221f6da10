//! `lock`: the lock files, made again from what the maintainers ask for.

use crate::failure::Failure;
use crate::process::{Group, run_quietly};
use crate::progress::Progress;
use crate::python::{self, Uv};
use crate::workspace::{Workspace, exclusive, failed, read, remove};

/// One lock for each Python (the oldest is named: uv would take that of the interpreter at hand for it) and machine: wheels
/// only, with hashes, and no word about where they came from.
const FLAGS: &[&str] = &[
    "--python-version",
    "3.11",
    "--universal",
    "--only-binary",
    ":all:",
    "--generate-hashes",
    "--no-annotate",
    "--no-header",
    "--color",
    "never",
];

/// The command `lock`.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let upgrade = match arguments {
        [] => false,
        [flag] if flag == "--upgrade" => true,
        _ => {
            return Err(Failure::environment(
                "`cargo xtask lock` takes no argument but `--upgrade`",
            ));
        }
    };
    let lock = exclusive(
        &workspace.venv().join(crate::setup::LOCK_NAME),
        "setting up",
    )?;
    let group = Group::holding(&lock, &workspace.root)?;
    let interpreter = python::interpreter().map_err(Failure::environment)?;
    let progress = Progress::start();
    let task = progress.task("lock", "resolves");
    let uv = Uv::get(workspace, &group, &interpreter, &task)?;
    for (what, file) in [
        (["pyproject.toml"].as_slice(), python::LOCK),
        (&["--group", "uv"], python::UV_LOCK),
    ] {
        let path = workspace.root.join(file);
        let folder = path.parent().unwrap_or(&path);
        let fresh = path.with_added_extension("new");
        // uv keeps the versions that it finds in its output file.
        remove(&fresh)?;
        if !upgrade {
            std::fs::copy(&path, &fresh).map_err(|error| failed("copy", &path, &error))?;
        }
        run_quietly(
            uv.command(&group)
                .current_dir(folder)
                .args(["pip", "compile"])
                .args(what)
                .args(FLAGS)
                .arg("-o")
                .arg(&fresh),
            &task,
        )?;
        if let Some(line) = read(&fresh)?
            .lines()
            .find(|line| line.contains("://") || line.trim_start().starts_with("-i"))
        {
            return Err(Failure::check(format!(
                "{file} would name a host: `{line}`"
            )));
        }
        std::fs::rename(&fresh, &path).map_err(|error| failed("write", &path, &error))?;
    }
    task.done();
    println!(
        "{} and {} are made; `cargo xtask setup` installs from them",
        python::LOCK,
        python::UV_LOCK
    );
    Ok(())
}
