//! Which rule finds what.

use std::collections::BTreeSet;

use pte::lint::{
    self, Caller, Conditions, Data, Expectation, Finding, Level, RULES, Rule, Runtime,
};
use pte::{DataFile, Program};
use serde_json::json;

use crate::edited;
use crate::programs::{all, one};

/// What is found in a program: the ids by level, in the order of the findings, without the notes that say what is so for
/// every program with a delegate (L8, L18, L20).
fn found(program: &Program, conditions: &Conditions) -> String {
    let usual = [
        Rule::BoundaryCopies,
        Rule::BackendNeeded,
        Rule::NoSharedArenas,
    ];
    let findings = lint::check(program, conditions);
    let words: Vec<String> = findings
        .iter()
        .filter(|finding| !usual.contains(&finding.rule))
        .map(word)
        .collect();
    words.join(" ")
}

fn word(finding: &Finding) -> String {
    let mark = match finding.level {
        Level::Error => "!",
        Level::Warning => "?",
        Level::Note => "",
    };
    format!("{}{mark}", finding.rule)
}

fn by(caller: Option<Caller>) -> Conditions {
    Conditions {
        caller,
        ..Conditions::default()
    }
}

/// Program, what is found for nobody in particular, and for Python, C++ and Rust where that differs.
const TABLE: &[(&str, &str, [&str; 3])] = &[
    ("h0d0_i1o1_n1", "", ["", "", ""]),
    ("h0d0_i1o0_n1", "L3!", ["L3!", "L3!", "L3!"]),
    ("h0d0_i0o1_n1", "", ["", "", ""]),
    ("h0d0_i0o0_n1", "L3!", ["L3!", "L3!", "L3!"]),
    ("h0d1_i1o1_n1", "L5", ["L5", "L5", "L5"]),
    ("h0d1_i1o0_n1", "L4?", ["L4!", "L4", "L4!"]),
    ("h0d1_i0o1_n1", "L5", ["L5", "L5", "L5"]),
    ("h0d1_i0o0_n1", "L4?", ["L4!", "L4", "L4!"]),
    ("h1d0_i1o1_n1", "L1!", ["L1!", "L1!", "L1!"]),
    ("h1d0_i1o0_n1", "L1! L3!", ["L1! L3!", "L1! L3!", "L1! L3!"]),
    ("h1d0_i0o1_n1", "", ["", "", ""]),
    ("h1d0_i0o0_n1", "L3! L12", ["L3! L12", "L3! L12", "L3! L12"]),
    ("h1d1_i1o1_n1", "L1! L5", ["L1! L5", "L1! L5", "L1! L5"]),
    ("h1d1_i1o0_n1", "L1! L4?", ["L1! L4!", "L1! L4", "L1! L4!"]),
    ("h1d1_i0o1_n1", "L5", ["L5", "L5", "L5"]),
    ("h1d1_i0o0_n1", "L4? L12", ["L4! L12", "L4 L12", "L4! L12"]),
    (
        "h0d0_i1o1_n0",
        "L1! L2! L5 L12",
        ["L1! L2! L5 L12", "L1! L2! L5 L12", "L1! L2! L5 L12"],
    ),
    (
        "h0d0_i1o0_n0",
        "L1! L2! L4? L12",
        ["L1! L2! L4! L12", "L1! L2! L4 L12", "L1! L2! L4! L12"],
    ),
    (
        "h0d0_i0o1_n0",
        "L2! L5 L12",
        ["L2! L5 L12", "L2! L5 L12", "L2! L5 L12"],
    ),
    ("h0d0_i0o0_n0", "L4? L12", ["L4! L12", "L4 L12", "L4! L12"]),
    (
        "dynamic_unplanned",
        "L4? L12 L19",
        ["L4! L12 L19", "L4 L12 L19", "L4! L12 L19"],
    ),
    ("second_device", "L9? L5", ["L9? L5", "L9? L5", "L9? L5"]),
    (
        "mixed",
        "L6? L14? L5",
        ["L6? L14? L5", "L6? L14? L5", "L6? L14? L5"],
    ),
    ("host_first", "L14?", ["L14?", "L14?", "L14?"]),
    ("sandwich", "L16", ["L16", "L16", "L16"]),
    (
        "prefill_decode",
        "L5 L11 L11",
        ["L5 L11 L11", "L5 L11 L11", "L5 L11 L11"],
    ),
    ("two_methods", "L10 L5", ["L10 L5", "L10 L5", "L10 L5"]),
    ("mlp", "L10", ["L10", "L10", "L10"]),
    ("external_constants", "L10", ["L10", "L10", "L10"]),
    ("portable", "", ["", "", ""]),
    ("portable_unplanned", "L15", ["L15", "L15", "L15!"]),
    ("old_example_linear", "L13!", ["L13!", "L13!", "L13!"]),
    ("xnnpack", "", ["", "", ""]),
    ("example_lstm", "", ["", "", ""]),
];

#[test]
fn each_program_has_the_findings_that_it_must_have_and_no_others() {
    for (name, nobody, callers) in TABLE {
        let program = one(name).program();
        assert_eq!(found(&program, &by(None)), *nobody, "{name}");
        for (caller, expected) in [Caller::Python, Caller::Cpp, Caller::Rust]
            .into_iter()
            .zip(callers)
        {
            assert_eq!(
                found(&program, &by(Some(caller))),
                *expected,
                "{name} as {}",
                caller.name()
            );
        }
        assert_eq!(
            found(&program, &by(Some(Caller::RustDevice))),
            callers[1],
            "{name}: as C++, with executorch-device"
        );
    }
}

#[test]
fn every_rule_finds_something_and_something_is_without_it() {
    let mut seen = BTreeSet::new();
    let expect = vec!["planned-device-out".parse().unwrap()];
    for exported in all() {
        let findings = lint::check(
            &exported.program(),
            &Conditions {
                expect: expect.clone(),
                ..Conditions::default()
            },
        );
        for finding in &findings {
            assert!(finding.help.is_some(), "{}: {finding:?}", exported.name);
        }
        seen.extend(findings.iter().map(|finding| finding.rule));
    }
    // No exporter writes what L17 finds; `answers` has one that was edited.
    let missing: Vec<&Rule> = RULES
        .iter()
        .filter(|rule| **rule != Rule::OutsideArena && !seen.contains(rule))
        .collect();
    assert!(missing.is_empty(), "no program has {missing:?}");
    let plain = lint::check(&one("portable").program(), &Conditions::default());
    assert!(plain.is_empty(), "{plain:?}");
}

/// The first finding of a rule.
fn first(program: &Program, conditions: &Conditions, rule: Rule) -> Finding {
    let findings = lint::check(program, conditions);
    findings
        .into_iter()
        .find(|finding| finding.rule == rule)
        .unwrap_or_else(|| panic!("no {rule}"))
}

#[test]
fn findings_name_the_tensors_and_the_setting() {
    let unpaired = first(
        &one("h1d1_i1o1_n1").program(),
        &by(None),
        Rule::PlannedDeviceInput,
    );
    assert_eq!(
        unpaired.message,
        "input 0 and input 1 are on cuda:0 and planned: the runtime copies into a buffer of its own"
    );
    assert_eq!(
        unpaired.help.unwrap(),
        "export with memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)"
    );
    assert_eq!(unpaired.method.as_deref(), Some("forward"));

    let kept = first(
        &one("h1d0_i0o0_n1").program(),
        &by(None),
        Rule::UnreachableDeviceTensor,
    );
    assert_eq!(kept.subjects[0].to_string(), "value 2");
    assert!(
        kept.help
            .unwrap()
            .starts_with("export with alloc_graph_output=True")
    );
    assert_eq!(
        kept.notes,
        ["the copy to output 0 reads it, and output 0 itself is planned, so set_output is refused"]
    );

    let mixed = first(&one("mixed").program(), &by(None), Rule::MixedContract);
    assert_eq!(
        mixed.message,
        "the inputs are on different devices: input 0 on the host and input 1 on cuda:0"
    );

    let named = first(
        &one("named").program(),
        &Conditions {
            expect: vec!["device-in".parse().unwrap()],
            ..by(None)
        },
        Rule::NotAsExpected,
    );
    assert_eq!(
        named.message,
        "input 0, input 1 `scale`, input 2 `extras.left` and input 3 `extras.right` are planned on the host, and device-in was expected"
    );
    assert_eq!(
        named.help.unwrap(),
        "export with skip_h2d_for_method_inputs=True and alloc_graph_input=False"
    );
    let twice = first(&one("sandwich").program(), &by(None), Rule::RepeatedCopy);
    assert_eq!(
        twice.message,
        "input 1 is copied to the device 2 times an execution"
    );
    let copies = first(&one("sandwich").program(), &by(None), Rule::BoundaryCopies);
    assert_eq!(
        copies.message,
        "each execution makes 4 copies to the device (1024 bytes) and 2 copies to the host (512 bytes)"
    );
}

#[test]
fn the_copies_are_operators_of_the_kernels_library() {
    let copies = first(&one("sandwich").program(), &by(None), Rule::BoundaryCopies);
    assert_eq!(
        copies.notes,
        [
            "the kernels library must be loaded: it has et_copy::_h2d_copy.out and et_copy::_d2h_copy.out"
        ]
    );
}

#[test]
fn a_bounce_between_two_delegates_is_found() {
    // What comes back from the device, and goes there again, with nothing in between.
    let file = edited::write("sandwich", |program| {
        edited::instruction(program, 5)["args"] = json!([5, 7, 7]);
    });
    let program = Program::open(file.path().join("edited.pte")).unwrap();
    let bounced = lint::check(&program, &by(None))
        .into_iter()
        .filter(|finding| finding.rule == Rule::RepeatedCopy);
    let bounced: Vec<String> = bounced.map(|finding| finding.message).collect();
    assert!(
        bounced.contains(&"value 5 comes from cuda:0 and goes back there".into()),
        "{bounced:?}"
    );
}

#[test]
fn what_was_meant_is_held_against_what_is() {
    let check = |name: &str, words: &str| {
        let expect = words
            .split(' ')
            .map(|word| word.parse::<Expectation>().unwrap())
            .collect();
        let findings = lint::check(&one(name).program(), &Conditions { expect, ..by(None) });
        findings
            .into_iter()
            .filter(|finding| finding.rule == Rule::NotAsExpected)
            .map(|finding| finding.message)
            .collect::<Vec<_>>()
    };
    assert!(
        check(
            "h1d1_i0o1_n1",
            "device-in unplanned-in planned-device-out unplanned-device-in"
        )
        .is_empty()
    );
    assert_eq!(
        check("h1d0_i0o0_n1", "unplanned-out"),
        ["output 0 is planned on the host, and unplanned-out was expected"]
    );
    assert_eq!(
        check("h0d0_i1o1_n1", "device-out host-in"),
        ["output 0 is planned on the host, and device-out was expected"]
    );
    assert_eq!(
        check("mixed", "device-in"),
        ["input 0 is not planned on the host, and device-in was expected"]
    );
}

#[test]
fn data_files_are_looked_into() {
    let program = one("mlp").program();
    let data = |files: Vec<DataFile>| Conditions {
        data: Data::Files(files),
        ..by(None)
    };
    let right = DataFile::open(
        one("mlp")
            .path
            .with_extension("")
            .join("aoti_cuda_blob.ptd"),
    )
    .unwrap();
    let wrong = DataFile::open(
        one("external_constants")
            .path
            .with_extension("")
            .join("_default_external_constant.ptd"),
    )
    .unwrap();
    assert_eq!(found(&program, &data(vec![right.clone()])), "");
    assert_eq!(found(&program, &data(vec![wrong.clone(), right])), "");
    assert_eq!(found(&program, &data(vec![wrong])), "L10!");
    assert_eq!(found(&program, &data(vec![])), "L10!");
}

#[test]
fn another_runtime_is_not_given_this_ones_answers() {
    let old = Conditions {
        runtime: "1.4".parse().unwrap(),
        ..by(None)
    };
    let finding = first(
        &one("h1d1_i1o1_n1").program(),
        &old,
        Rule::PlannedDeviceInput,
    );
    assert_eq!(finding.answer, None);
    let notes = finding.notes.join("\n");
    assert!(
        notes.contains("what ExecuTorch 1.4.0 says was not measured"),
        "{notes}"
    );
    assert!(
        notes.contains("before 1.5 a crash without a message is reported"),
        "{notes}"
    );
    let measured = first(
        &one("h1d1_i1o1_n1").program(),
        &by(None),
        Rule::PlannedDeviceInput,
    );
    assert_eq!(measured.answer.unwrap().runtime, Runtime::MEASURED);
    assert!(!measured.notes.join("\n").contains("before 1.5"));
}

#[test]
fn an_input_that_is_handed_through_needs_no_set_output() {
    // The caller's own device input as an output: it has the caller's memory.
    let file = edited::write("h1d1_i0o0_n1", |program| {
        edited::plan(program)["outputs"] = json!([0]);
    });
    let program = Program::open(file.path().join("edited.pte")).unwrap();
    let finding = first(
        &program,
        &by(Some(Caller::Python)),
        Rule::UnplannedDeviceOutput,
    );
    assert_eq!(finding.level, Level::Note);
}

#[test]
fn rules_are_found_by_id_and_by_name() {
    let mut names = BTreeSet::new();
    for (index, rule) in RULES.iter().enumerate() {
        assert_eq!(rule.id(), format!("L{}", index + 1));
        assert_eq!(rule.id().to_lowercase().parse::<Rule>().unwrap(), *rule);
        assert_eq!(rule.name().parse::<Rule>().unwrap(), *rule);
        assert!(names.insert(rule.name()), "{rule}");
        for text in [rule.summary(), rule.why(), rule.bad(), rule.good()] {
            assert!(!text.is_empty(), "{rule}");
        }
    }
    assert_eq!(
        "L99".parse::<Rule>().unwrap_err(),
        "there is no rule `L99`: `pte explain` without a rule lists them"
    );
}

#[test]
fn findings_keep_everything_as_json() {
    for exported in all() {
        let findings = lint::check(&exported.program(), &by(Some(Caller::Python)));
        let json = serde_json::to_string(&findings).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Finding>>(&json).unwrap(),
            findings,
            "{}",
            exported.name
        );
    }
}

/// Of two methods with one name nobody can load the second.
#[test]
fn a_program_does_not_differ_from_itself() {
    let twins = edited::write("prefill_decode", |program| {
        program["execution_plan"][1]["name"] = program["execution_plan"][0]["name"].clone();
    });
    let twins = Program::open(twins.path().join("edited.pte")).unwrap();
    assert_eq!(pte::diff::diff(&twins, &twins), []);
    for exported in all() {
        assert_eq!(
            pte::diff::diff(&exported.program(), &exported.program()),
            [],
            "{}",
            exported.name
        );
    }
}
