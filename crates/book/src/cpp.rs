//! Builds the listings in C++: one CMake project, `listings/CMakeLists.txt`, against the ExecuTorch wheel's package.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;

use crate::failure::{Failure, Failures, Kind};
use crate::listing::{Language, Listing};
use crate::pattern::regex;
use crate::runner::Binaries;
use crate::workspace::Workspace;

/// Where the project is built, from the root.
const FOLDER: &str = "target/callers";

/// Builds what has changed of the listings in C++ among `listings`; `device` is the library of the device that stands in
/// for a GPU. With nothing changed this costs what it costs ninja to see that.
///
/// # Errors
///
/// What CMake or the compiler said, whole.
pub(crate) fn build<'a>(
    workspace: &Workspace,
    listings: impl Iterator<Item = &'a Listing>,
    device: &Path,
) -> Result<Binaries, Failures> {
    let listings: Vec<_> = listings
        .filter(|listing| listing.language == Language::Cpp)
        .collect();
    if listings.is_empty() {
        return Ok(Binaries::new());
    }
    let root = workspace.root();
    let folder = root.join(FOLDER);
    // Two builds at once would write the same files.
    let lock = fs::create_dir_all(&folder)
        .and_then(|()| File::create(folder.join("lock")))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| failure(FOLDER, 1, error.to_string()))?;
    if !folder.join("build.ninja").is_file() {
        let set = |name: &str, value: &Path| format!("-D{name}={}", value.display());
        let mut cmake = Command::new(root.join(".venv/bin/cmake"));
        cmake
            .args(["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-Wno-dev"])
            .arg("-S")
            .arg(root.join("listings"))
            .arg("-B")
            .arg(&folder)
            .arg(set("CMAKE_MAKE_PROGRAM", &root.join(".venv/bin/ninja")))
            .arg(set("CMAKE_PREFIX_PATH", &root.join(".venv/executorch")))
            .arg(set("GUIDE_DEVICE", device));
        done(root, &mut cmake)?;
    }
    let ninja = |arguments: &[&str]| {
        let mut ninja = Command::new(root.join(".venv/bin/ninja"));
        done(root, ninja.arg("-C").arg(&folder).args(arguments))
    };
    ninja(&[])?;
    // A program that an earlier project made may still lie there.
    let targets = ninja(&["-t", "targets", "all"])?;
    drop(lock);
    let built = |folder: &str| {
        let line = format!("{folder}: CXX_EXECUTABLE_LINKER");
        targets.lines().any(|target| target.starts_with(&line))
    };
    Ok(listings
        .into_iter()
        .filter(|listing| built(&listing.folder))
        .map(|listing| (listing.name.clone(), folder.join(&listing.folder)))
        .collect())
}

/// Runs a tool to its good end: its standard output.
fn done(root: &Path, command: &mut Command) -> Result<String, Failures> {
    // The compiler's, with the root taken off; and CMake's, relative to the project.
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?m)listings/([^:\s]+):(\d+):\d+: (?:fatal )?error:|CMake Error at ([^:\s]+):(\d+)")
    });
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        failure(
            "listings/CMakeLists.txt",
            1,
            format!("{command:?}: {error}"),
        )
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy);
    let said = said.concat().replace(&format!("{}/", root.display()), "");
    let place = PLACE.captures(&said).and_then(|place| {
        let file = place.get(1).or(place.get(3))?.as_str();
        let line = place.get(2).or(place.get(4))?.as_str();
        Some((format!("listings/{file}"), line.parse().ok()?))
    });
    let (file, line) = place.unwrap_or_else(|| ("listings/CMakeLists.txt".to_owned(), 1));
    Err(failure(&file, line, said.trim_end().to_owned()))
}

fn failure(file: &str, line: usize, seen: String) -> Failures {
    let expected = "listings that compile";
    Failure::new(
        Kind::ListingsDoNotCompile,
        "listings",
        file,
        line,
        expected,
        seen,
    )
    .into()
}
