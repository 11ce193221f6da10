//! When an export is made anew, and when not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use export::{Error, ExecutorchBackendConfig, Exporter, Model, PropagateDeviceConfig, Request};

use crate::scratch::{Scratch, contents, workspace};

const PROGRAMS: [&str; 3] = [
    "pairing-rule/unpaired",
    "pairing-rule/paired",
    "pairing-rule/upstream_example",
];

/// The folder of each program's files.
fn folders(exporter: &Exporter) -> Vec<PathBuf> {
    let requests = PROGRAMS.map(Into::into);
    let results = exporter.all(&requests).unwrap();
    results
        .into_iter()
        .map(|result| result.unwrap().pte.parent().unwrap().to_owned())
        .collect()
}

fn bytes(folders: &[PathBuf]) -> Vec<Vec<(String, Vec<u8>)>> {
    folders.iter().map(|folder| contents(folder)).collect()
}

/// An environment laid over the workspace's: the same files by links, but for one that is a copy. Returns that one.
fn overlay(venv: &Path, changed: &str) -> PathBuf {
    let installed = workspace().join(".venv");
    fs::create_dir_all(venv.join("bin")).unwrap();
    symlink(
        fs::canonicalize(installed.join("bin/python")).unwrap(),
        venv.join("bin/python"),
    )
    .unwrap();
    fs::copy(installed.join("pyvenv.cfg"), venv.join("pyvenv.cfg")).unwrap();
    let site = fs::canonicalize(installed.join("executorch"))
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let mut below = venv.join(
        site.strip_prefix(fs::canonicalize(&installed).unwrap())
            .unwrap(),
    );
    let mut from = site;
    for part in Path::new(changed).components() {
        fs::create_dir_all(&below).unwrap();
        for entry in fs::read_dir(&from).unwrap().map(Result::unwrap) {
            if entry.file_name() != part.as_os_str() && entry.file_name() != "__pycache__" {
                symlink(entry.path(), below.join(entry.file_name())).unwrap();
            }
        }
        from.push(part);
        below.push(part);
    }
    fs::copy(&from, &below).unwrap();
    below
}

#[test]
fn an_export_is_made_once_and_again_when_a_byte_of_what_made_it_changes() {
    let scratch = Scratch::new();
    scratch.copy_listing("pairing-rule");
    let plant = scratch.counting();
    let exporter = || scratch.exporter().plant(&plant);

    // Two builds at once.
    let build = || {
        let mut command = scratch.command(&["all", "--listing", "pairing-rule"]);
        command
            .env("GUIDE_EXPORT_PLANT", &plant)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (one, other) = (build(), build());
    let (one, other) = (
        one.wait_with_output().unwrap(),
        other.wait_with_output().unwrap(),
    );
    assert!(one.status.success() && other.status.success());
    assert_eq!(one.stdout, other.stdout);
    assert_eq!(
        scratch.starts(),
        1,
        "the second build uses what the first one made"
    );

    // A third finds all of it.
    let made = folders(&exporter());
    let first = bytes(&made);
    assert_eq!(scratch.starts(), 1);

    // A file of an entry is damaged; another entry has lost one; a third has a manifest that is cut short.
    let mut damaged = fs::read(made[0].join("unpaired.pte")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(made[0].join("unpaired.pte"), damaged).unwrap();
    fs::remove_file(made[1].join("paired.eager.safetensors")).unwrap();
    fs::write(made[2].join("entry.json"), "{\"files\": {").unwrap();
    assert_eq!(folders(&exporter()), made);
    assert_eq!(scratch.starts(), 2, "one process mends all three");
    // Which also says that two processes export the same bytes.
    assert_eq!(bytes(&made), first);

    // The installation, elsewhere: the same bytes, so the same exports.
    let venv = scratch.path("venv");
    let pass = overlay(&venv, "executorch/exir/passes/memory_planning_pass.py");
    assert_eq!(folders(&exporter().venv(&venv)), made);
    assert_eq!(scratch.starts(), 2);

    // One installed file changes, and no version number does.
    let text = fs::read_to_string(&pass).unwrap();
    let ignored = text.replace(
        "self.alloc_graph_input = alloc_graph_input",
        "self.alloc_graph_input = True",
    );
    assert_ne!(ignored, text);
    fs::write(&pass, ignored).unwrap();
    let drifted = exporter().venv(&venv);
    let again = folders(&drifted);
    assert_eq!(scratch.starts(), 3);
    assert!(
        again.iter().all(|folder| !made.contains(folder)),
        "{again:?}"
    );
    let (unpaired, paired) = (
        fs::read(again[0].join("unpaired.pte")),
        fs::read(again[1].join("paired.pte")),
    );
    assert_eq!(
        paired.unwrap(),
        unpaired.unwrap(),
        "the exporter that ran is the one that was changed"
    );

    // What the parent has hashed, its direct child need not: not even the files have to be there.
    let mut child = scratch.command(&["show", "pairing-rule/paired"]);
    child
        .env("GUIDE_EXPORT_PLANT", &plant)
        .env("GUIDE_ROOT", scratch.path("moved"));
    fs::create_dir(scratch.path("moved")).unwrap();
    fs::rename(scratch.path("listings"), scratch.path("moved/listings")).unwrap();
    fs::rename(&venv, scratch.path("moved/.venv")).unwrap();
    child.env("GUIDE_CACHE", scratch.path("target/exports"));
    let parent = Exporter::new(scratch.path("moved"));
    parent.hand_down(&mut child).unwrap();
    fs::remove_dir_all(scratch.path("moved/.venv/lib")).unwrap();
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains(again[1].to_str().unwrap())
    );

    // A grandchild cannot tell whether it still holds, and looks for itself.
    let mut grandchild = std::process::Command::new("sh");
    grandchild.args([
        "-c",
        "\"$0\" show pairing-rule/paired; exit $?",
        env!("CARGO_BIN_EXE_export"),
    ]);
    for (name, value) in child.get_envs() {
        grandchild.env(name, value.unwrap());
    }
    let output = grandchild.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && error.contains("run `cargo xtask setup`"),
        "{error}"
    );
    assert_eq!(scratch.starts(), 3);
}

#[test]
fn the_exporters_refusal_is_kept_and_a_failure_of_python_is_not() {
    let scratch = Scratch::new();
    let plant = scratch.counting();
    let refuses = |kind: &str| {
        let body = format!(
            "def program():\n    raise {kind}('no')\n\n\nprograms = {{\n    \"program\": program,\n}}\n"
        );
        scratch.listing(
            "refused",
            &format!("model = example_inputs = None\n\n\n{body}"),
        );
        let exporter = scratch.exporter().plant(&plant);
        match exporter.all(&["refused/program".into()]).unwrap().remove(0) {
            Err(Error::Python {
                program,
                kind,
                message,
                ..
            }) => (program, kind, message),
            other => panic!("{other:?}"),
        }
    };
    let refusal = refuses("ValueError");
    assert_eq!(
        refusal,
        ("refused/program".into(), "ValueError".into(), "no".into())
    );
    assert_eq!(refuses("ValueError"), refusal);
    assert_eq!(scratch.starts(), 1, "the refusal was asked for twice");
    for failure in ["MemoryError", "MemoryError", "RuntimeError", "RuntimeError"] {
        refuses(failure);
    }
    assert_eq!(
        scratch.starts(),
        5,
        "a failure was taken for the exporter's judgement"
    );

    // What ExecuTorch's own passes raise is a judgement, whatever its kind.
    let both = PropagateDeviceConfig {
        skip_h2d_for_method_inputs: true.into(),
        skip_d2h_for_method_outputs: true.into(),
    };
    let request = Request::Config {
        model: Model::InputUsedTwice,
        config: ExecutorchBackendConfig {
            propagate_device_config: both.into(),
            ..ExecutorchBackendConfig::default()
        },
    };
    for _ in 0..2 {
        let refused = scratch
            .exporter()
            .plant(&plant)
            .all(std::slice::from_ref(&request));
        assert!(
            matches!(&refused.unwrap()[0], Err(Error::Python { kind, .. }) if kind == "RuntimeError")
        );
    }
    assert_eq!(scratch.starts(), 6, "the refusal was asked for twice");
}
