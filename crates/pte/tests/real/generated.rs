//! The committed code is what the installed ExecuTorch's `flatc` makes of its schema now.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs::{scratch, wheel};

/// The one change to the schema: vectors of 8-byte numbers become vectors of structs that hold one. The bytes are the
/// same; but Rust's verifier wants an empty vector of numbers aligned too, `flatc` does not align it, and `flatc` wrote
/// every program until ExecuTorch's exporter learnt to write its own. A struct may lie anywhere.
const UNALIGNED: [(&str, &str, &str); 4] = [
    ("[long]", "[Long]", "long"),
    ("[double]", "[Real]", "double"),
    ("[int64]", "[Int64]", "int64"),
    ("[uint64]", "[Uint64]", "uint64"),
];

/// The program's schema with that change.
fn program() -> String {
    let mut schema = fs::read_to_string(wheel().join("schema/program.fbs")).unwrap();
    for (numbers, structs, number) in UNALIGNED {
        assert!(
            schema.contains(numbers),
            "the schema has no {numbers} any more"
        );
        schema = schema.replace(numbers, structs);
        let name = structs.trim_matches(['[', ']']);
        schema = schema.replacen(
            "\ntable ",
            &format!("\nstruct {name} {{\n  value: {number};\n}}\n\ntable "),
            1,
        );
    }
    schema
}

/// The data file's schema as it is: it has no such vectors.
fn flat_tensor() -> String {
    let schema =
        fs::read_to_string(wheel().join("extension/flat_tensor/serialize/flat_tensor.fbs"))
            .unwrap();
    assert!(
        UNALIGNED
            .iter()
            .all(|(numbers, ..)| !schema.contains(numbers))
    );
    schema
}

#[test]
fn the_generated_code_is_what_flatc_makes_of_the_installed_schemas() {
    for (name, schema) in [("program", program()), ("flat_tensor", flat_tensor())] {
        let folder = scratch();
        let folder = folder.path();
        let source = folder.join(format!("{name}.fbs"));
        fs::write(&source, schema).unwrap();
        fs::copy(
            wheel().join("schema/scalar_type.fbs"),
            folder.join("scalar_type.fbs"),
        )
        .unwrap();
        let flatc = Command::new(wheel().join("data/bin/flatc"))
            .args(["--rust", "--gen-all", "-o"])
            .args([folder, &source])
            .status();
        assert!(flatc.unwrap().success());
        let generated = fs::read(folder.join(format!("{name}_generated.rs"))).unwrap();
        let committed = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("src/generated/{name}_generated.rs"));
        if std::env::var_os("PTE_GENERATE").is_some() {
            fs::write(&committed, &generated).unwrap();
        }
        assert!(
            fs::read(&committed).is_ok_and(|committed| committed == generated),
            "{} is not what the installed ExecuTorch's flatc makes of its schema: `PTE_GENERATE=1 cargo test -p pte \
             generated` writes it; read what changed",
            committed.display()
        );
    }
}

#[test]
fn the_schemas_licence_is_the_installed_ones() {
    let packages = fs::canonicalize(wheel()).unwrap();
    let packages = packages.parent().unwrap();
    let licence = fs::read_dir(packages)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("executorch-")
                && path.join("licenses").is_dir()
        })
        .expect("the wheel's metadata beside it");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated/LICENSE");
    assert_eq!(
        fs::read_to_string(committed).unwrap(),
        fs::read_to_string(licence.join("licenses/LICENSE")).unwrap()
    );
}
