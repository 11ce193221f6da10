//! A missing or wrong wheel is one line that says what to run.

#[path = "../build/wheel.rs"]
mod wheel;

use std::fs;
use std::path::Path;

fn refusal(named: Option<&Path>) -> String {
    let message = wheel::find(
        named.map(Path::as_os_str),
        Path::new(env!("CARGO_MANIFEST_DIR")),
    )
    .unwrap_err();
    assert!(
        message.contains("cargo xtask setup") && message.lines().count() == 1,
        "{message}"
    );
    message
}

fn version(folder: &Path, version: &str) {
    fs::write(
        folder.join("version.py"),
        format!("x = 1\n__version__ = \"{version}\"\n"),
    )
    .unwrap();
}

#[test]
fn no_wheel() {
    assert!(refusal(None).starts_with("EXECUTORCH_WHEEL is not set"));
    assert!(
        refusal(Some(Path::new("/nowhere")))
            .starts_with("no ExecuTorch wheel at /nowhere: version.py: No such file")
    );
}

#[test]
fn another_version() {
    let folder = tempfile::tempdir().unwrap();
    for other in ["1.5.0+cpu", "1.5.10", ""] {
        version(folder.path(), other);
        assert!(refusal(Some(folder.path())).contains(&format!("is version {other:?}, not 1.5.1")));
    }
}

#[test]
fn a_wheel_without_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    version(folder.path(), "1.5.1+cu130");
    assert!(
        refusal(Some(folder.path()))
            .contains("it has no include/executorch/extension/module/module.h")
    );
    fs::create_dir_all(folder.path().join("include/executorch/extension/module")).unwrap();
    fs::write(
        folder
            .path()
            .join("include/executorch/extension/module/module.h"),
        "",
    )
    .unwrap();
    assert!(refusal(Some(folder.path())).contains("it has no lib/libexecutorch.so"));
}

#[test]
fn a_relative_wheel_starts_at_the_workspace() {
    let root = tempfile::tempdir().unwrap();
    let manifest = root.path().join("crates/some");
    fs::create_dir_all(root.path().join("wheel")).unwrap();
    fs::create_dir_all(&manifest).unwrap();
    fs::write(root.path().join("Cargo.lock"), "").unwrap();
    version(&root.path().join("wheel"), "2.0");
    let message = wheel::find(Some("wheel".as_ref()), &manifest).unwrap_err();
    assert!(message.contains("is version \"2.0\""), "{message}");
}
