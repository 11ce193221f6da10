//! The committed matrix is what is measured, and a cell that is not is named.

use std::process::{Command, Output};

use matrix::{Answer, Key, Matrix, committed};

/// The command `matrix`.
fn run(arguments: &[&str], plant: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matrix"));
    command.args(arguments);
    let folder = tempfile::tempdir().unwrap();
    if let Some(plant) = plant {
        let file = folder.path().join("plant.py");
        std::fs::write(&file, plant).unwrap();
        command.env("GUIDE_EXPORT_PLANT", file);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_cell_is_as_committed() {
    let output = run(&["check"], None);
    assert!(
        output.status.success(),
        "{}{}\nrepeat with: cargo run -p matrix -- check; meant so? cargo run -p matrix -- measure",
        text(&output.stdout),
        text(&output.stderr)
    );
    let measured = Matrix::read(committed()).unwrap().measured();
    assert_eq!(
        text(&output.stdout),
        format!("{measured} cells measured again, 0 differences\n")
    );
}

/// An exporter that plans inputs although it is told not to.
const PLANS_INPUTS: &str = "
from executorch.exir.passes import MemoryPlanningPass

original = MemoryPlanningPass.__init__

def planted(self, *positional, **named):
    named['alloc_graph_input'] = True
    original(self, *positional, **named)

MemoryPlanningPass.__init__ = planted
";

#[test]
fn a_changed_behaviour_is_named_by_cell_with_both_answers() {
    let words = ["check", "static", "h1d1_i0o1_n1", "rust", "no-set-output"];
    let output = run(&words, Some(PLANS_INPUTS));
    let said = text(&output.stdout);
    assert!(!output.status.success(), "{said}");
    let line = |name: &str| {
        said.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name} is not named: {said}{}", text(&output.stderr)))
    };
    let program = line("static h1d1_i0o1_n1: ");
    assert!(program.contains("unplanned cuda") && program.contains("; measured "));
    let cell = line("static h1d1_i0o1_n1 rust device-tensor no-set-output: committed ");
    let (before, after) = cell.split_once("; measured ").unwrap();
    assert!(before.contains(r#""outcome":"right""#), "{before}");
    assert!(after.contains(r#""code":"0x10""#), "{after}");
    assert!(
        said.contains("4 cells measured again, 5 differences"),
        "{said}"
    );
}

#[test]
fn every_cell_is_there_and_no_other() {
    let matrix = Matrix::read(committed()).unwrap();
    assert_eq!(matrix.cells.len(), Key::all().count());
    assert_eq!(matrix.programs.len(), 4 * 32);
    assert!(Key::all().all(|key| matrix.cell(&key).is_some() && matrix.export(&key).is_some()));
    let used: std::collections::BTreeSet<_> = matrix.cells.values().collect();
    assert_eq!(
        used,
        matrix.answers.keys().collect(),
        "no answer is left over"
    );
}

#[test]
fn a_cell_that_is_changed_removed_or_invented_is_a_difference() {
    let measured = Matrix::read(committed()).unwrap();
    assert_eq!(measured.differences(&measured, |_| true), []);

    let key: Key = "static h1d1_i0o0_n1 cpp device-tensor set-output-device"
        .parse()
        .unwrap();
    let name = key.to_string();
    let mut changed = measured.clone();
    let other = changed.cells["static h1d1_i1o1_n1 cpp device-tensor no-set-output"].clone();
    changed.cells.insert(name.clone(), other);
    let mut removed = measured.clone();
    removed.cells.remove(&name);
    let mut invented = measured.clone();
    let invention = "static h1d1_i0o0_n1 java device-tensor no-set-output".to_owned();
    invented
        .cells
        .insert(invention.clone(), measured.cells[&name].clone());
    for (committed, named) in [(changed, &name), (removed, &name), (invented, &invention)] {
        let found = committed.differences(&measured, |_| true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].name, *named);
    }
    let mut release = measured.clone();
    release.executorch = "1.5.0+cpu".to_owned();
    assert_eq!(
        release.differences(&measured, |_| false)[0].to_string(),
        format!(
            "executorch: committed 1.5.0+cpu; measured {}",
            measured.executorch
        )
    );
}

#[test]
fn the_file_reads_back_and_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.json");
    let matrix = Matrix::read(committed()).unwrap();
    matrix.write(&path).unwrap();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(committed()).unwrap()
    );
    let newer = matrix
        .to_json()
        .replacen("\"version\": 1", "\"version\": 2", 1);
    std::fs::write(&path, newer).unwrap();
    let error = Matrix::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("its version is 2, this program reads 1"),
        "{error}"
    );
    let name = matrix.cells.values().next().unwrap();
    let orphan = matrix
        .to_json()
        .replacen(&format!("\"{name}\": {{"), "\"0\": {", 1);
    std::fs::write(&path, orphan).unwrap();
    let error = Matrix::read(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("no answer `{name}`")), "{error}");
}

#[test]
fn nothing_of_this_machine_is_in_the_file() {
    let text = Matrix::read(committed()).unwrap().to_json();
    for mark in [
        "/home",
        "/root",
        "/tmp",
        "/usr",
        "site-packages",
        "0x7f",
        "0x55",
    ] {
        assert!(!text.contains(mark), "{mark}");
    }
}

#[test]
fn show_says_what_the_file_says() {
    let cell = [
        "static",
        "h1d1_i0o1_n1",
        "cpp",
        "device-tensor",
        "no-set-output",
    ];
    let output = run(&[&["show"], &cell[..]].concat(), None);
    let said = text(&output.stdout);
    assert!(
        said.contains(r#""256 cuda""#) && said.contains(r#""outcome": "right""#),
        "{said}"
    );
    let output = run(&["show", "static", "h9"], None);
    assert!(!output.status.success());
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn no_result_is_wrong_and_a_refused_export_has_no_runs() {
    let matrix = Matrix::read(committed()).unwrap();
    for key in Key::all() {
        let answer = matrix.cell(&key).unwrap();
        let says = serde_json::to_string(answer).unwrap();
        assert!(!says.contains(r#""outcome":"wrong""#), "{key}");
        let refused = matches!(matrix.export(&key), Some(matrix::Export::Refused { .. }));
        assert_eq!(refused, *answer == Answer::NotExported, "{key}");
    }
}
