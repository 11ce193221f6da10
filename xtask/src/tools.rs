//! The two programs beside the Python packages: mdBook, and our preprocessor `guide-book`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process::{Group, ask, run_quietly, run_watched};
use crate::progress::Task;
use crate::workspace::{Workspace, failed, read, remove, write};

/// mdBook's version, written once: where the workspace pins the library that `guide-book` is built with.
fn mdbook_version(workspace: &Workspace) -> Result<String, Failure> {
    let manifest = read(&workspace.root.join("Cargo.toml"))?;
    pinned(&manifest, "mdbook-driver")
        .ok_or_else(|| Failure::environment("Cargo.toml: `mdbook-driver` must be pinned as `version = \"=x.y.z\"` in [workspace.dependencies]"))
}

/// The version in `name = { version = "=1.2.3", … }` or `name = "=1.2.3"`.
fn pinned(manifest: &str, name: &str) -> Option<String> {
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))?;
    let (_, rest) = line.split_once("\"=")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Whether the pinned mdBook is there and runs.
pub fn has_mdbook(workspace: &Workspace) -> Result<bool, Failure> {
    let wanted = format!("mdbook v{}", mdbook_version(workspace)?);
    Ok(ask(Command::new(workspace.tool("mdbook")).arg("--version"))
        .is_some_and(|version| version == wanted))
}

/// Builds the pinned mdBook. The build folder stays until it is done, so that an interrupted build is continued.
pub fn install_mdbook(workspace: &Workspace, group: &Group, task: &Task) -> Result<(), Failure> {
    let root = workspace.venv().join("tools");
    let build = root.join("target");
    let package = format!("mdbook@{}", mdbook_version(workspace)?);
    run_quietly(
        group
            .cargo()
            .args([
                "install",
                "--locked",
                "--force",
                "--debug",
                "--color=never",
                &package,
                "--root",
            ])
            .arg(&root)
            .arg("--target-dir")
            .arg(&build)
            // Nobody debugs it, and this is a third of the time.
            .env("CARGO_PROFILE_DEV_DEBUG", "false"),
        task,
    )?;
    remove(&build)
}

/// What `book.toml` names as the preprocessor.
///
/// mdBook passes over a preprocessor whose `supports` fails, and would run whatever was built last. So this is not the
/// program but a script that answers `supports` itself and has cargo bring the program up to date before each run: it
/// cannot be stale, and one that does not compile fails the build. `GUIDE_BOOK` is the program where `cargo xtask` has just
/// done that.
const GUIDE_BOOK: &str = r#"#!/bin/sh
# Written by `cargo xtask setup`; see xtask/src/tools.rs.
[ "$1" = supports ] && exit 0
[ -n "$GUIDE_BOOK" ] && exec "$GUIDE_BOOK" "$@"
here=$PWD
cd "$(dirname "$(readlink -f "$0")")/../../.." || exit 1
program=$(cargo build --quiet --package book --bin guide-book --message-format json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*guide-book\)".*/\1/p')
[ -n "$program" ] || { echo "guide-book: crates/book does not build; repeat with: cargo build --package book" >&2; exit 1; }
cd "$here" && exec "$program" "$@"
"#;

/// The variable that tells the script which program is up to date.
pub const GUIDE_BOOK_VARIABLE: &str = "GUIDE_BOOK";

/// Writes the script that `book.toml` names, builds the program behind it, and says where that is.
pub fn guide_book(workspace: &Workspace, group: &Group, task: &Task) -> Result<PathBuf, Failure> {
    let script = workspace.tool("guide-book");
    if fs::read_to_string(&script).ok().as_deref() != Some(GUIDE_BOOK) {
        let folder = workspace.venv().join("tools/bin");
        fs::create_dir_all(&folder).map_err(|error| failed("make the folder", &folder, &error))?;
        write(&script, GUIDE_BOOK)?;
    }
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, executable)
        .map_err(|error| failed("make executable", &script, &error))?;
    let mut program = None;
    let mut build = group.cargo();
    build
        .args([
            "build",
            "--color=never",
            "--package",
            "book",
            "--bin",
            "guide-book",
        ])
        .args(["--message-format", "json-render-diagnostics"]);
    run_watched(&mut build, task, |line| {
        program = built(line).or(program.take());
    })?;
    program.ok_or_else(|| {
        Failure::check(
            "cargo built no guide-book; repeat with: cargo build --package book --bin guide-book",
        )
    })
}

/// The program in one of cargo's messages about what it built.
fn built(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    let (path, _) = rest.split_once('"')?;
    path.ends_with("/guide-book").then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read() {
        let manifest =
            "a = \"=1.0\"\nmdbook-driver = { version = \"=0.5.4\", default-features = false }\n";
        assert_eq!(pinned(manifest, "mdbook-driver").as_deref(), Some("0.5.4"));
        assert_eq!(pinned(manifest, "a").as_deref(), Some("1.0"));
        assert_eq!(pinned("mdbook-driver = \"0.5\"", "mdbook-driver"), None);
        assert_eq!(pinned("mdbook-driver-x = \"=1\"", "mdbook-driver"), None);
    }

    #[test]
    fn the_program_is_read_from_cargos_messages() {
        let artifact = r#"{"reason":"compiler-artifact","filenames":["/t/debug/guide-book"],"executable":"/t/debug/guide-book","fresh":true}"#;
        assert_eq!(built(artifact), Some("/t/debug/guide-book".into()));
        assert_eq!(
            built(r#"{"reason":"compiler-artifact","executable":null}"#),
            None
        );
    }

    #[test]
    fn the_notices_are_of_the_pinned_version() {
        let manifest = include_str!("../../Cargo.toml");
        let notices = include_str!("../../THIRD-PARTY.md");
        let line = format!(
            "mdBook {} writes",
            pinned(manifest, "mdbook-driver").unwrap()
        );
        assert!(
            notices.contains(&line),
            "THIRD-PARTY.md does not say `{line}`: look at what it puts into the site now"
        );
    }
}
