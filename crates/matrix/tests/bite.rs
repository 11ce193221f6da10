//! The committed table of what bites is what is measured, and a case that is not is named.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use matrix::bite::{Bite, Step, committed, has};
use matrix::{Answer, Outcome};

/// The command `matrix bite`.
fn run(arguments: &[&str], plant: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matrix"));
    command.arg("bite").args(arguments);
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
fn every_case_is_as_committed() {
    let output = run(&["check"], None);
    assert!(
        output.status.success(),
        "{}{}\nrepeat with: cargo run -p matrix -- bite check; meant so? cargo run -p matrix -- bite measure",
        text(&output.stdout),
        text(&output.stderr)
    );
    let cases = Bite::read(committed()).unwrap().cases.len();
    assert_eq!(
        text(&output.stdout),
        format!("{cases} cases measured again, 0 differences\n")
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
fn a_changed_behaviour_is_named_by_case_with_both_answers() {
    let output = run(
        &["check", "mixed/as-planned", "h1d1_i0o1_n1"],
        Some(PLANS_INPUTS),
    );
    let said = text(&output.stdout);
    assert!(!output.status.success(), "{said}");
    for name in [
        "mixed/as-planned h1d1_i0o1_n1 forward: committed ",
        "mixed/as-planned h1d1_i0o1_n1 rust: committed ",
        "mixed/as-planned h1d1_i0o1_n1 rust-public: committed ",
    ] {
        let line = said.lines().find(|line| line.starts_with(name));
        assert!(
            line.is_some_and(|line| line.contains("; measured ")),
            "{name}: {said}"
        );
    }
    assert!(
        said.contains("2 cases measured again, 3 differences"),
        "{said}"
    );
}

#[test]
fn a_case_that_is_changed_removed_or_invented_is_a_difference() {
    let measured = Bite::read(committed()).unwrap();
    assert_eq!(measured.differences(&measured, |_| true), []);
    let name = "wrong/layout h1d1_i0o1_n1 rust";
    let other = measured.cases["wrong/rank h1d1_i0o1_n1 rust"].clone();
    let mut changed = measured.clone();
    changed.cases.insert(name.to_owned(), other.clone());
    let mut removed = measured.clone();
    removed.cases.remove(name);
    let mut invented = measured.clone();
    let invention = "wrong/day h1d1_i0o1_n1 rust";
    invented.cases.insert(invention.to_owned(), other);
    for (committed, named) in [(changed, name), (removed, name), (invented, invention)] {
        let found = committed.differences(&measured, |_| true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].name, named);
        assert_eq!(
            committed.differences(&measured, |name| has(name, &["mixed"])),
            []
        );
    }
    let mut reworded = measured.clone();
    reworded
        .situations
        .insert("wrong/layout".to_owned(), "Something else.".to_owned());
    assert_eq!(
        reworded.differences(&measured, |_| true)[0].name,
        "wrong/layout"
    );
}

#[test]
fn the_file_reads_back_and_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bite.json");
    let bite = Bite::read(committed()).unwrap();
    bite.write(&path).unwrap();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(committed()).unwrap()
    );
    let newer = bite
        .to_json()
        .replacen("\"version\": 1", "\"version\": 2", 1);
    std::fs::write(&path, newer).unwrap();
    let error = Bite::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("its version is 2, this program reads 1"),
        "{error}"
    );
}

#[test]
fn nothing_of_this_machine_is_in_the_file() {
    let text = Bite::read(committed()).unwrap().to_json();
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
fn every_situation_has_cases_and_every_case_its_program() {
    let bite = Bite::read(committed()).unwrap();
    let situation = |name: &String| name.split(' ').next().unwrap_or_default().to_owned();
    let with_cases: BTreeSet<String> = bite.cases.keys().map(situation).collect();
    assert_eq!(with_cases, bite.situations.keys().cloned().collect());
    for (name, answer) in &bite.cases {
        let program = name.rsplit_once(' ').unwrap().0;
        let has_program = bite
            .programs
            .keys()
            .any(|key| key.starts_with(&format!("{program} ")));
        let none = matches!(answer, Answer::NotApplicable { .. });
        assert_ne!(has_program, none, "{name}");
    }
}

/// What gives wrong values and no error, or ends the process: a reader has to know it beforehand.
#[test]
fn what_goes_wrong_without_an_error_is_this_and_nothing_else() {
    let bite = Bite::read(committed()).unwrap();
    let ends = |found: fn(&Outcome) -> bool| -> BTreeSet<String> {
        let any = |answer: &Answer<Vec<Step>>| match answer {
            Answer::Measured { run } => vec![run.clone()],
            Answer::DependsOnTheDriver { refuse, accept } => vec![refuse.clone(), accept.clone()],
            Answer::NotExported | Answer::NotApplicable { .. } => vec![],
        };
        let steps = |answer| any(answer).concat();
        let cases = bite
            .cases
            .iter()
            .filter(|(_, answer)| steps(answer).iter().any(|step: &Step| found(&step.outcome)));
        cases.map(|(name, _)| name.clone()).collect()
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let wrong: BTreeSet<String> = named(&[
        "delegates/in-a-row h1d1_i0o1_n1 rust",
        "delegates/in-a-row h1d1_i0o1_n1 rust-public",
        "held/overwritten h0d0_i0o1_n1 rust",
        "held/overwritten h1d1_i0o1_n1 rust",
        "wrong/layout h0d0_i0o1_n1 rust",
        "wrong/layout h0d0_i0o1_n1 rust-public",
        "wrong/layout h0d0_i1o1_n1 rust",
        "wrong/layout h0d0_i1o1_n1 rust-public",
        "wrong/layout h1d1_i0o1_n1 rust",
        "wrong/layout h1d1_i0o1_n1 rust-public",
    ]);
    assert_eq!(ends(|outcome| matches!(outcome, Outcome::Wrong)), wrong);
    let died: BTreeSet<String> = named(&[
        "mixed/all-device h0d0_i0o1_n1 rust-public",
        "mixed/all-device h1d1_i0o1_n1 rust-public",
        "mixed/xnnpack-all-device h0d0_i0o1_n1 rust-public",
        "mixed/xnnpack-all-device h1d1_i0o1_n1 rust-public",
    ]);
    assert_eq!(
        ends(|outcome| matches!(outcome, Outcome::Died { .. })),
        died
    );
}

#[test]
fn show_says_what_the_file_says() {
    let output = run(&["show", "weights/no-ptd", "rust-public"], None);
    let said = text(&output.stdout);
    assert!(
        said.contains("give the program's data file (.ptd)"),
        "{said}"
    );
}
