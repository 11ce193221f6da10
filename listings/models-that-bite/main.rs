//! The models and the calls that bite: every situation of the committed measurement, grouped for a reader, and those that
//! bite without an error measured again.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use matrix::bite::{self, Bite, Holds, Produced, Step};
use matrix::{Answer, Call, Caller, Export, Outcome, Side};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact, table};

/// The tables, and the first parts of the names of the situations in each.
const GROUPS: [(&str, &[&str]); 8] = [
    ("models-that-bite.tensors", &["wrong", "sizes"]),
    ("models-that-bite.parts", &["mixed", "delegates"]),
    ("models-that-bite.outputs", &["outputs", "set-output"]),
    ("models-that-bite.weights", &["weights"]),
    ("models-that-bite.memory", &["held", "feedback"]),
    ("models-that-bite.settings", &["configuration", "arenas"]),
    ("models-that-bite.threads", &["threads"]),
    ("models-that-bite.missing", &["missing"]),
];

/// Where what was logged is explained: a part of the text, and the page.
const EXPLAINED: [(&str, &str, &str); 13] = [
    (
        "Input 0 has unexpected scalar type",
        "another type",
        "../when-it-fails/errors.md#another-type",
    ),
    (
        "Attempted to resize a static tensor",
        "another shape",
        "../when-it-fails/errors.md#another-shape",
    ),
    (
        "Attempted to resize a bounded tensor",
        "dynamic shapes",
        "../recipes/dynamic-shapes.md#when-it-fails",
    ),
    (
        "Attempted to change the tensor rank",
        "another rank",
        "../when-it-fails/errors.md#another-rank",
    ),
    (
        "Invalid number of inputs",
        "the count",
        "../when-it-fails/errors.md#too-few-inputs",
    ),
    (
        "Planned-buffer copy needs host memory",
        "the pair",
        "../when-it-fails/errors.md#a-planned-input-and-device-memory",
    ),
    (
        "Output 0 is memory planned",
        "the output is planned",
        "../when-it-fails/errors.md#the-output-is-planned",
    ),
    (
        "No device allocator",
        "no allocator",
        "../when-it-fails/errors.md#no-allocator-for-the-device",
    ),
    (
        "Backend CudaBackend is not registered",
        "no delegate",
        "../when-it-fails/errors.md#no-delegate",
    ),
    (
        "kernel '",
        "no kernel",
        "../when-it-fails/errors.md#no-kernel",
    ),
    (
        "is not backed by CUDA device memory",
        "the pointer's side",
        "../when-it-fails/errors.md#a-pointer-that-is-not-on-the-device",
    ),
    (
        "has no memory",
        "who supplies the output",
        "../why/outputs-and-kept-copies.md",
    ),
    (
        "Device memory buffers are not yet compatible",
        "rule L20",
        "pte.md#l20-no-shared-arenas",
    ),
];

/// What ends in a wrong result, or in the end of the process.
const WITHOUT_AN_ERROR: [&str; 5] = [
    "delegates/in-a-row",
    "held/overwritten",
    "mixed/all-device",
    "mixed/xnnpack-all-device",
    "wrong/layout",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    match &arguments[..] {
        // How the measurement starts this program for a case.
        [_, case, line] if case == "bite-case" => Ok(bite::run_case(line)?),
        _ => prove(),
    }
}

fn prove() -> Result<(), Box<dyn Error>> {
    let bite = Bite::read(bite::committed())?;
    let of_interest = |name: &str| WITHOUT_AN_ERROR.contains(&situation_of(name));
    let measured = Bite::measure(of_interest)?;
    let again = measured.cases.len();
    let differences = bite.differences(&measured, of_interest);
    for difference in &differences {
        eprintln!("{difference}");
    }
    println!(
        "cases measured again: {again}, different: {}",
        differences.len()
    );
    claim(
        StandIn,
        "bite.measured-again",
        "The cases that end in a wrong result or in the end of the process were measured again in this build, and are what the committed file says.",
        again > 0 && differences.is_empty(),
    );

    let part = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
    let grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, parts)| *parts)
        .copied()
        .collect();
    if let Some(name) =
        bite::in_order().find(|name| !grouped.contains(&&*part(name)))
    {
        return Err(format!("{name}: in no table").into());
    }
    let mut shown = 0;
    for (id, parts) in GROUPS {
        let rows = rows(&bite, parts)?;
        shown += rows.len();
        let header = [
            "what is done",
            "program",
            "the crate `executorch`",
            "the crate `executorch-device`",
            "says who",
            "explained",
        ];
        table(StandIn, id, &header, rows);
    }
    println!("rows: {shown}");

    let measured = bite.cases.values().filter(|answer| {
        matches!(
            answer,
            Answer::Measured { .. } | Answer::DependsOnTheDriver { .. }
        )
    });
    fact(
        StandIn,
        "models-that-bite.situations",
        bite.situations.len(),
    );
    fact(StandIn, "models-that-bite.cases", bite.cases.len());
    fact(StandIn, "models-that-bite.run", measured.count());
    claims(&bite);
    Ok(())
}

fn claims(bite: &Bite) {
    let having = |wanted: &dyn Fn(&Step) -> bool| -> BTreeSet<&str> {
        let cases = bite.cases.iter();
        cases
            .filter(|(_, answer)| steps(answer).any(wanted))
            .map(|(name, _)| situation_of(name))
            .collect()
    };
    let silent = having(&|step| step.outcome == Outcome::Wrong);
    let fatal = having(&|step| matches!(step.outcome, Outcome::Died { .. }));
    claim(
        StandIn,
        "bite.silent",
        "Of the situations below, three end in a wrong result without an error: a layout that nobody checks, memory that was overwritten after `set_input`, and, with our stand-in, a delegate that follows another without a copy between them.",
        silent == ["delegates/in-a-row", "held/overwritten", "wrong/layout"].into(),
    );
    claim(
        StandIn,
        "bite.fatal",
        "Of the mistakes below, one ends the process: device memory goes to an operator or a delegate that runs on the host.",
        fatal == ["mixed/all-device", "mixed/xnnpack-all-device"].into()
            && silent.union(&fatal).copied().eq(WITHOUT_AN_ERROR),
    );
    let of = |situation: &str| {
        let cases = bite.cases.iter();
        let of_it = cases.filter(move |(name, _)| situation_of(name) == situation);
        of_it.map(|(_, answer)| answer).collect::<Vec<_>>()
    };
    claim(
        Runtime,
        "bite.refusal-harmless",
        "A refused execution leaves the module usable: the next one with the right tensors runs.",
        ["wrong/after-a-refusal", "sizes/above-the-bound"]
            .into_iter()
            .flat_map(of)
            .all(|answer| {
                let outcomes: Vec<_> =
                    steps(answer).map(|step| &step.outcome).collect();
                matches!(outcomes[..], [Outcome::Failed { .. }, Outcome::Right])
            }),
    );
    claim(
        Exporter,
        "bite.input-returned",
        "With both skips the exporter refuses a method that returns an input, and an input that both the delegate and the host use.",
        [
            "outputs/an-input h1d1_i0o1_n1",
            "mixed/input-used-twice h1d1_i0o1_n1",
        ]
        .into_iter()
        .all(|program| {
            let export = bite.programs.get(&format!("{program} forward"));
            matches!(export, Some(Export::Refused { .. }))
        }),
    );
    claim(
        Library,
        "bite.device-refuses",
        "`executorch-device` refuses what would end the process.",
        bite.cases.iter().all(|(name, answer)| {
            !name.ends_with(&format!(" {}", Caller::Rust))
                || !steps(answer)
                    .any(|step| matches!(step.outcome, Outcome::Died { .. }))
        }),
    );
}

fn situation_of(case: &str) -> &str {
    case.split_once(' ')
        .map_or(case, |(situation, _)| situation)
}

/// All that was seen of a case, under both policies.
fn steps(answer: &Answer<Vec<Step>>) -> impl Iterator<Item = &Step> {
    let runs: [&[Step]; 2] = match answer {
        Answer::Measured { run } => [run, &[]],
        Answer::DependsOnTheDriver { refuse, accept } => [refuse, accept],
        Answer::NotExported | Answer::NotApplicable { .. } => [&[], &[]],
    };
    runs.into_iter().flatten()
}

/// The rows of a table: of each situation the programs that answer alike.
fn rows(bite: &Bite, parts: &[&str]) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let of_these = |name: &&str| {
        parts.iter().any(|part| {
            name.strip_prefix(part)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut rows = Vec::new();
    for situation in bite::in_order().filter(of_these) {
        let what = bite
            .situations
            .get(situation)
            .ok_or_else(|| format!("{situation}: not in bite.json"))?;
        // By settings: the public crate's answer, and the other's.
        let mut programs: BTreeMap<&str, [Option<&Answer<Vec<Step>>>; 2]> =
            BTreeMap::new();
        for (name, answer) in &bite.cases {
            let [of, settings, caller] = name.split(' ').collect::<Vec<_>>()[..]
            else {
                return Err(format!("{name}: not a case").into());
            };
            if of == situation {
                let own = usize::from(caller == Caller::Rust.to_string());
                programs.entry(settings).or_default()[own] = Some(answer);
            }
        }
        let mut alike: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for (settings, answers) in programs {
            let export = bite.programs.iter().find_map(|(name, export)| {
                name.starts_with(&format!("{situation} {settings} "))
                    .then_some(export)
            });
            let cells = cells(answers, export);
            let program = format!("`{settings}`");
            match alike.iter_mut().find(|(other, _)| *other == cells) {
                Some((_, programs)) => programs.push(program),
                None => alike.push((cells, vec![program])),
            }
        }
        for (index, (cells, programs)) in alike.into_iter().enumerate() {
            let what = if index == 0 { what } else { "" };
            let mut row = vec![what.to_owned(), programs.join(" ")];
            row.extend(cells);
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return Err(format!("{parts:?}: no situation").into());
    }
    Ok(rows)
}

/// The answers of both crates, who decided them, and where they are explained.
fn cells(
    answers: [Option<&Answer<Vec<Step>>>; 2],
    export: Option<&Export>,
) -> Vec<String> {
    let mut cells: Vec<String> = answers
        .iter()
        .map(|answer| {
            answer.map_or("–".to_owned(), |answer| words(answer, export))
        })
        .collect();
    if cells[0] == cells[1] {
        "the same".clone_into(&mut cells[1]);
    }
    let seen = answers.iter().flatten().flat_map(|answer| steps(answer));
    let mut origins = BTreeSet::new();
    let mut explained = BTreeSet::new();
    for step in seen {
        origins.insert(step.origin.name());
        let Outcome::Failed { log, .. } = &step.outcome else {
            continue;
        };
        for (text, words, page) in EXPLAINED {
            let says = log.iter().any(|line| line.text.contains(text));
            if says {
                explained.insert(format!("[{words}]({page})"));
            }
        }
    }
    if let (true, Some(Export::Refused { .. })) = (origins.is_empty(), export) {
        origins.insert(Exporter.name());
    }
    let joined = |words: Vec<&str>| match &words[..] {
        [] => "–".to_owned(),
        _ => words.join(", "),
    };
    cells.push(joined(origins.into_iter().collect()));
    cells.push(joined(explained.iter().map(String::as_str).collect()));
    cells
}

fn words(answer: &Answer<Vec<Step>>, export: Option<&Export>) -> String {
    match answer {
        Answer::NotExported => match export {
            Some(Export::Refused { kind, message }) => {
                format!(
                    "no program: {}",
                    proof::code(&format!("{kind}: {message}"))
                )
            }
            _ => "no program".to_owned(),
        },
        Answer::NotApplicable { reason } => format!("not run: {reason}"),
        Answer::DependsOnTheDriver { refuse, .. } => {
            let before: Vec<_> = refuse
                .iter()
                .take_while(|step| step.outcome == Outcome::Right)
                .map(step_in_words)
                .collect();
            let depends = "depends on the driver".to_owned();
            sequence(before.into_iter().chain([depends]))
        }
        Answer::Measured { run } => sequence(run.iter().map(step_in_words)),
    }
}

/// One execution after the other; what repeats is said once.
fn sequence(steps: impl Iterator<Item = String>) -> String {
    let mut said: Vec<String> = steps.collect();
    said.dedup();
    said.join("; then ")
}

fn step_in_words(step: &Step) -> String {
    match &step.outcome {
        Outcome::Right => format!("right{}", places(&step.outputs)),
        Outcome::Wrong => {
            let later = step
                .outputs
                .iter()
                .any(|output| output.holds == Holds::LaterValues);
            let what = if later {
                "of the later values"
            } else {
                "without an error"
            };
            format!("**wrong**, {what}{}", places(&step.outputs))
        }
        Outcome::NeedsAGpu { .. } => "needs a GPU".to_owned(),
        Outcome::Died { signal, .. } => format!("**killed by {signal}**"),
        Outcome::Failed {
            call, code, log, ..
        } => {
            let code = code.as_deref().unwrap_or("an error");
            let when = match call {
                Call::Load => " when it loads",
                Call::SetOutput => " from `set_output`",
                Call::Inputs | Call::Execute => "",
            };
            // What a reader meets too: not the words of our stand-in.
            let line = log.iter().find(|line| line.origin != StandIn);
            let text = line.map_or(String::new(), |line| {
                format!(": {}", proof::code(&line.text))
            });
            match step.origin {
                StandIn => format!("our stand-in answers `{code}`{when}{text}"),
                _ => format!("`{code}`{when}{text}"),
            }
        }
    }
}

/// Where the outputs are, and what else is there.
fn places(outputs: &[Produced]) -> String {
    let place = |output: &Produced| {
        let side = match output.on {
            Some(Side::Device) => "device",
            Some(Side::Host) => "host",
            None => "no element",
        };
        match output.is.as_deref() {
            Some("set_output") => format!("{side}, in your buffer"),
            Some(other) => format!("{side}, in {other}"),
            None => side.to_owned(),
        }
    };
    let places: Vec<_> = outputs.iter().map(place).collect();
    match places.is_empty() {
        true => String::new(),
        false => format!(" ({})", places.join("; ")),
    }
}
