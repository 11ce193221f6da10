//! What `pte check` foretells is what ExecuTorch's runtime does: every program is run as every caller would run it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use pte::lint::{self, Answer, Caller, Conditions, Data, Finding, Level, Origin, Rule};
use pte::{DataFile, Method, Program, Value};

use crate::edited;
use crate::programs::{Exported, all, compile, one, wheel};

/// Programs that the runner cannot call, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("scalars", "it hands over tensors alone"),
    ("old_scalars", "it hands over tensors alone"),
    ("example_sdpa", "it hands over float32 alone"),
    ("second_device", "its device is the first one"),
    ("sandwich_second_device", "its device is the first one"),
];

/// What became of a run.
struct Run {
    /// The last call and what it answered.
    call: String,
    code: u32,
    /// The signal that ended the process.
    signal: Option<i32>,
    /// The runtime's log.
    log: String,
    output: Output,
}

impl Run {
    fn succeeded(&self) -> bool {
        self.signal.is_none() && self.call == "execute" && self.code == 0
    }
}

static RUNNER: LazyLock<PathBuf> = LazyLock::new(|| compile("runner"));

/// Runs a method: as this caller, with each input and output where `places` says.
fn run(path: &Path, method: &str, caller: &str, places: &[&str], data: Option<&Path>) -> Run {
    let libraries = fs::canonicalize(wheel().join("lib")).unwrap();
    let output = Command::new(&*RUNNER)
        .arg(libraries)
        .arg(caller)
        .arg(path)
        .arg(method)
        .args(places)
        .args(data)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let mut calls = said.lines().filter_map(|line| line.split_once(" 0x"));
    let (call, code) = calls.next_back().map_or(("load", "0"), |last| last);
    let signal = output.status.signal();
    assert!(signal.is_some() || output.status.success(), "{output:?}");
    Run {
        // A call that never came back said nothing.
        call: if signal.is_some() {
            "execute".into()
        } else {
            call.into()
        },
        code: u32::from_str_radix(code, 16).unwrap(),
        signal,
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
        output,
    }
}

/// Where the program wants its inputs, and then its outputs.
fn places(method: &Method) -> Vec<&'static str> {
    let place = |value: &Value| {
        value.tensor().map_or("-", |tensor| {
            if tensor.device.is_cpu() {
                "host"
            } else {
                "device"
            }
        })
    };
    method
        .inputs
        .iter()
        .chain(&method.outputs)
        .map(place)
        .collect()
}

/// The data files that the exporter wrote for a program.
fn data_file(exported: &Exported) -> Option<PathBuf> {
    let folder = fs::read_dir(exported.path.with_extension("")).ok()?;
    folder.map(|entry| entry.unwrap().path()).next()
}

/// The errors among what the linter finds, for one method.
fn errors(program: &Program, method: &Method, caller: Caller, data: Data) -> Vec<Finding> {
    let conditions = Conditions {
        caller: Some(caller),
        data,
        ..Conditions::default()
    };
    let concerns = |finding: &Finding| {
        finding.level == Level::Error
            && finding
                .method
                .as_ref()
                .is_none_or(|name| *name == method.name)
    };
    lint::check(program, &conditions)
        .into_iter()
        .filter(concerns)
        .collect()
}

/// Whether a run answered as an error of the linter says.
fn foretold(answer: &Answer, run: &Run, device_given: bool) -> bool {
    // The one number that depends on what is handed over; the finding says so in a note.
    let text = if device_given {
        answer.text.replace("src device 0", "src device 1")
    } else {
        answer.text.clone()
    };
    match answer.origin {
        Origin::Runtime if answer.code.is_none() => {
            run.signal == Some(11) && answer.text.starts_with("the process ends by SIGSEGV")
        }
        Origin::Runtime => {
            run.call == answer.at && Some(run.code) == answer.code && run.log.contains(&text)
        }
        // The delegate here is a stand-in: that it refuses is what was read in the source, its words are not.
        Origin::CudaSource => run.call == answer.at && Some(run.code) == answer.code,
        Origin::Unverified => !run.succeeded(),
    }
}

#[test]
fn every_program_runs_or_fails_as_foretold_for_every_caller() {
    let (mut fine, mut failed, mut wrong) = (0, 0, Vec::new());
    for exported in all()
        .iter()
        .filter(|exported| NOT_RUN.iter().all(|(name, _)| *name != exported.name))
    {
        let program = exported.program();
        let data = data_file(exported);
        for method in &program.methods {
            for (caller, runs_as) in [
                (Caller::Cpp, "cpp"),
                (Caller::RustDevice, "cpp"),
                (Caller::Rust, "rust"),
                (Caller::Python, "python"),
            ] {
                let known = Data::Files(
                    data.iter()
                        .map(|path| DataFile::open(path).unwrap())
                        .collect(),
                );
                let errors = errors(&program, method, caller, known);
                let places = places(method);
                let run = run(
                    &exported.path,
                    &method.name,
                    runs_as,
                    &places,
                    data.as_deref(),
                );
                let what = format!("{}, {} as {}", exported.name, method.name, caller.name());
                let answered = format!(
                    "{what}: {} answers 0x{:x}, signal {:?}, log {:?}",
                    run.call, run.code, run.signal, run.log
                );
                if errors.is_empty() {
                    if !run.succeeded() {
                        wrong.push(format!("{answered}; nothing was foretold"));
                    }
                    fine += 1;
                } else {
                    let answers: Vec<&Answer> = errors
                        .iter()
                        .filter_map(|finding| finding.answer.as_ref())
                        .collect();
                    let told = answers
                        .iter()
                        .any(|answer| foretold(answer, &run, places[0] == "device"));
                    if !told {
                        wrong.push(format!("{answered}; foretold was {answers:?}"));
                    }
                    failed += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        fine > 100 && failed > 40,
        "{fine} runs went well and {failed} failed: neither should be rare"
    );
}

/// The only answer of `rule` for a program.
fn answer(program: &Program, rule: Rule, caller: Caller, data: Data) -> Answer {
    let conditions = Conditions {
        caller: Some(caller),
        data,
        ..Conditions::default()
    };
    let mut answers = lint::check(program, &conditions)
        .into_iter()
        .filter(|finding| finding.rule == rule)
        .filter_map(|finding| finding.answer);
    answers
        .next()
        .unwrap_or_else(|| panic!("{rule} finds nothing"))
}

#[test]
fn a_planned_device_input_refuses_host_memory_in_the_words_foretold() {
    for name in ["h1d1_i1o1_n1", "h1d0_i1o0_n1", "h0d0_i1o1_n0"] {
        let answer = answer(
            &one(name).program(),
            Rule::PlannedDeviceInput,
            Caller::Cpp,
            Data::Unsaid,
        );
        let run = run(
            &one(name).path,
            "forward",
            "cpp",
            &["host", "host", "host"],
            None,
        );
        assert!(
            foretold(&answer, &run, false),
            "{name}: {answer:?}\n{}",
            run.log
        );
    }
}

#[test]
fn a_missing_data_file_is_refused_as_foretold() {
    let program = one("external_constants").program();
    let foretold_answer = answer(
        &program,
        Rule::DataFileNeeded,
        Caller::Cpp,
        Data::Files(Vec::new()),
    );
    let without = run(
        &one("external_constants").path,
        "forward",
        "cpp",
        &["host", "host"],
        None,
    );
    assert!(
        foretold(&foretold_answer, &without, false),
        "{foretold_answer:?}\n{}",
        without.log
    );

    // A delegate that misses its data is the backend's to refuse; here a stand-in's.
    let program = one("mlp").program();
    assert!(
        !errors(
            &program,
            &program.methods[0],
            Caller::Cpp,
            Data::Files(Vec::new())
        )
        .is_empty()
    );
    let without = run(&one("mlp").path, "forward", "cpp", &["host", "host"], None);
    assert_eq!((without.call.as_str(), without.code), ("load", 0x20));
}

#[test]
fn a_place_outside_its_arena_is_refused_as_foretold() {
    let file = edited::write("portable", |program| {
        program["constant_segment"] = serde_json::json!({"segment_index": 0, "offsets": [0]});
        program["segments"] = serde_json::json!([{"offset": 0, "size": 0}]);
        edited::value(program, 0)["allocation_info"]["memory_offset_low"] =
            serde_json::json!(100_000);
    });
    let program = Program::open(file.path().join("edited.pte")).unwrap();
    let answer = answer(&program, Rule::OutsideArena, Caller::Cpp, Data::Unsaid);
    let run = run(
        &file.path().join("edited.pte"),
        "forward",
        "cpp",
        &["host", "host", "host"],
        None,
    );
    assert!(foretold(&answer, &run, false), "{answer:?}\n{}", run.log);
}

/// Constants that are in the program although there are none: `flatc` writes the exporter's own plan so.
#[test]
fn the_old_layout_is_refused_as_foretold_without_constants_too() {
    let file = edited::write("portable", |_| {});
    let path = file.path().join("edited.pte");
    let answer = answer(
        &Program::open(&path).unwrap(),
        Rule::RefusedLayout,
        Caller::Cpp,
        Data::Unsaid,
    );
    let run = run(&path, "forward", "cpp", &["host", "host", "host"], None);
    assert!(foretold(&answer, &run, false), "{answer:?}\n{}", run.log);
}

#[test]
fn a_device_without_a_name_is_refused_as_foretold() {
    let file = edited::unnamed_arena_device();
    let program = Program::open(file.path()).unwrap();
    let answer = answer(&program, Rule::OtherDevice, Caller::Cpp, Data::Unsaid);
    let run = run(
        file.path(),
        "forward",
        "cpp",
        &["device", "device", "device"],
        None,
    );
    assert!(
        foretold(&answer, &run, false),
        "{answer:?}, and {} answers 0x{:x}\n{}",
        run.call,
        run.code,
        run.log
    );
}

#[test]
fn shared_arenas_are_refused_as_foretold() {
    let answer = answer(
        &one("h0d0_i1o1_n1").program(),
        Rule::NoSharedArenas,
        Caller::Cpp,
        Data::Unsaid,
    );
    let shared = run(
        &one("h0d0_i1o1_n1").path,
        "forward",
        "shared",
        &["host", "host", "host"],
        None,
    );
    assert!(
        foretold(&answer, &shared, false),
        "{answer:?}, and {} answers 0x{:x}\n{}",
        shared.call,
        shared.code,
        shared.log
    );
    assert!(
        run(
            &one("portable").path,
            "forward",
            "shared",
            &["host", "host", "host"],
            None
        )
        .succeeded()
    );
}

/// The warning of L14: the same mistake is refused where the input is planned, and ends the process where it is not.
#[test]
fn device_memory_for_an_unguarded_host_input_ends_the_process() {
    let found = lint::check(&one("host_first").program(), &Conditions::default());
    assert!(
        found
            .iter()
            .any(|finding| finding.rule == Rule::UnguardedHostInput)
    );
    let run = run(
        &one("host_first").path,
        "forward",
        "cpp",
        &["device", "host", "host"],
        None,
    );
    assert_eq!(run.signal, Some(11), "{:?}", run.output);
}

/// The note of L4: a caller with `set_output` gets its result where it said.
#[test]
fn a_right_answer_is_the_sum() {
    for (name, inputs) in [
        ("h0d0_i1o1_n1", "host"),
        ("h1d1_i0o1_n1", "device"),
        ("h1d1_i0o0_n1", "device"),
        ("portable", "host"),
    ] {
        let run = run(
            &one(name).path,
            "forward",
            "cpp",
            &[inputs, inputs, inputs],
            None,
        );
        assert!(
            run.succeeded() && String::from_utf8_lossy(&run.output.stdout).contains("output 2\n"),
            "{name}: {:?}",
            run.output
        );
    }
}

#[test]
fn set_output_on_what_is_planned_is_refused_as_l3_notes() {
    let run = run(
        &one("h1d0_i0o0_n1").path,
        "forward",
        "force",
        &["device", "device", "host"],
        None,
    );
    assert_eq!((run.call.as_str(), run.code), ("set_output", 0x2));
}
