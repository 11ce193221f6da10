//! The committed code is what the installed ExecuTorch's `flatc` makes of its schema now.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs::wheel;

#[test]
fn the_generated_code_is_what_flatc_makes_of_the_installed_schema() {
    let wheel = wheel();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    fs::create_dir_all(&folder).unwrap();
    let made = Command::new(wheel.join("data/bin/flatc"))
        .args(["--rust", "--gen-all", "-o"])
        .arg(&folder)
        .arg(wheel.join("schema/program.fbs"))
        .status()
        .unwrap();
    assert!(made.success());
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated/program_generated.rs");
    let same = fs::read(&committed).unwrap() == fs::read(folder.join("program_generated.rs")).unwrap();
    assert!(
        same,
        "{} is not what the installed ExecuTorch's flatc makes: run `$EXECUTORCH_WHEEL/data/bin/flatc --rust --gen-all -o \
         crates/pte/src/generated $EXECUTORCH_WHEEL/schema/program.fbs`, and read what changed",
        committed.display()
    );
}

#[test]
fn the_schemas_licence_is_the_installed_ones() {
    let packages = fs::canonicalize(wheel()).unwrap();
    let packages = packages.parent().unwrap();
    let licence = fs::read_dir(packages)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("executorch-") && path.join("licenses").is_dir())
        .expect("the wheel's metadata beside it");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated/LICENSE");
    assert_eq!(fs::read_to_string(committed).unwrap(), fs::read_to_string(licence.join("licenses/LICENSE")).unwrap());
}
