//! What is wrong before Python is started, each in one line.

use std::fs;

use export::{Error, Exported, Exporter};

use crate::scratch::{Scratch, recipe};

fn one(exporter: &Exporter, program: &str) -> Result<Exported, Error> {
    exporter.all(&[program.into()])?.remove(0)
}

#[test]
fn requests_that_name_nothing() {
    let scratch = Scratch::new();
    scratch.listing("one", &recipe("return x + x"));
    scratch.listing("two", "programs = make()\n");
    let root = scratch.path("").display().to_string();
    let said = |program: &str| {
        let error = one(&scratch.exporter(), program).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error.replace(&root, "")
    };
    for name in [
        "one",
        "",
        "/",
        "one/",
        "/program",
        "one/two/three",
        "../one/program",
        "one/..",
        "one/pro gram",
    ] {
        assert_eq!(
            said(name),
            format!(
                "`{name}`: expected a program as `listing/program`, such as `pairing-rule/paired`"
            )
        );
    }
    assert_eq!(
        said("three/program"),
        "listings/three/export.py: no such file; listings that export are `one`, `two`"
    );
    assert_eq!(
        said("one/other"),
        "listings/one/export.py: `programs` has no `other`, only `program`"
    );
    assert_eq!(
        said("two/program"),
        "listings/two/export.py: expected the line `programs = {`, then `\"name\": function,` a line, then `}`"
    );
}

#[test]
fn a_missing_environment_names_the_command_that_makes_it() {
    let scratch = Scratch::new();
    scratch.listing("one", &recipe("return x + x"));
    let venv = scratch.path("nowhere/.venv");
    let error = one(&scratch.exporter().venv(&venv), "one/program").unwrap_err();
    assert!(matches!(error, Error::NotSetUp(_)));
    assert_eq!(
        error.to_string(),
        format!(
            "{}/bin/python: not found; run `cargo xtask setup`",
            venv.display()
        )
    );

    // One in which ExecuTorch is missing.
    fs::create_dir_all(venv.join("bin")).unwrap();
    fs::create_dir_all(venv.join("lib/python3.11/site-packages")).unwrap();
    fs::write(venv.join("bin/python"), "").unwrap();
    let error = one(&scratch.exporter().venv(&venv), "one/program")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("site-packages/executorch: not found; run `cargo xtask setup`"),
        "{error}"
    );
}

#[test]
fn a_plant_that_is_not_there() {
    let scratch = Scratch::new();
    scratch.listing("one", &recipe("return x + x"));
    let error = one(
        &scratch.exporter().plant(scratch.path("plant.py")),
        "one/program",
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.ends_with("plant.py: No such file or directory (os error 2)"),
        "{error}"
    );
}

#[test]
fn the_command_says_what_it_takes() {
    let scratch = Scratch::new();
    scratch.listing("one", &recipe("return x + x"));
    let run = |arguments: &[&str]| {
        let output = scratch
            .command(arguments)
            .env("GUIDE_EXPORT_TIMEOUT", "soon")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, help, _) = run(&["--help"]);
    assert_eq!(code, 0);
    for word in [
        "export list",
        "export all",
        "export show",
        "GUIDE_EXPORT_TIMEOUT",
        "pairing-rule/paired",
    ] {
        assert!(help.contains(word), "{word}");
    }
    assert_eq!(
        run(&["nonsense"]).2,
        "export: `nonsense` is no command of export; `export --help` shows what there is\n"
    );
    assert_eq!(run(&["all", "one"]).0, 2);
    assert_eq!(run(&["show"]).0, 2);
    let (code, _, error) = run(&["list"]);
    assert_eq!(
        (code, error.as_str()),
        (
            1,
            "export: GUIDE_EXPORT_TIMEOUT=`soon`: expected a whole number of seconds above 0\n"
        )
    );
    let output = scratch.command(&["list"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "one/program\n");
}
