//! The settings of the export: type and default as the installed ExecuTorch has them, and what the other value changes.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use matrix::bite::{self, Bite, Step};
use matrix::{
    Answer, Export, Key, Matrix, Outcome, Plan, Program, Settings, committed,
};
use proof::Origin::{Exporter, StandIn};
use proof::{claim, fact, table};
use serde::Deserialize;

/// The five settings of the behaviour matrix: the letter in a program's name, and the setting.
const FLAGS: [(char, &str); 5] = [
    ('h', "PropagateDeviceConfig.skip_h2d_for_method_inputs"),
    ('d', "PropagateDeviceConfig.skip_d2h_for_method_outputs"),
    ('i', "MemoryPlanningPass.alloc_graph_input"),
    ('o', "MemoryPlanningPass.alloc_graph_output"),
    (
        'n',
        "ExecutorchBackendConfig.enable_non_cpu_memory_planning",
    ),
];

/// Others that this guide speaks of.
const OTHERS: [&str; 6] = [
    "ExecutorchBackendConfig.propagate_device_config",
    "ExecutorchBackendConfig.memory_planning_pass",
    "MemoryPlanningPass.alloc_mutable_buffers",
    "MemoryPlanningPass.share_mutable_buffers",
    "ExecutorchBackendConfig.external_constants",
    "ExecutorchBackendConfig.external_mutable_weights",
];

/// With every setting at its default.
const DEFAULT: &str = "h0d0_i1o1_n1";

/// What `read.py` prints.
#[derive(Deserialize)]
struct Installed {
    /// By class and setting: the type and the default.
    settings: BTreeMap<String, (String, String)>,
    /// By key: the value without one.
    compile_specs: BTreeMap<String, String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    match &arguments[..] {
        // How the measurement starts this program for a case.
        [_, case, line] if case == "bite-case" => Ok(bite::run_case(line)?),
        _ => prove(),
    }
}

fn prove() -> Result<(), Box<dyn Error>> {
    let installed = read()?;
    let matrix = Matrix::read(committed())?;
    let of = |setting: &str| {
        let found = installed.settings.get(setting);
        found.ok_or_else(|| format!("{setting}: ExecuTorch has no such setting"))
    };

    let mut rows = Vec::new();
    let mut defaults = String::new();
    for (letter, setting) in FLAGS {
        let (annotation, default) = of(setting)?;
        let is = default == "True";
        let other = if is { "False" } else { "True" };
        println!("{}: {default}", short(setting));
        defaults.push(letter);
        defaults.push(if is { '1' } else { '0' });
        let before = plan(&matrix, DEFAULT)?;
        let flipped = named(letter, !is);
        rows.push(vec![
            format!("`{}`", short(setting)),
            format!("`{annotation}`"),
            format!("`{default}`"),
            match plan(&matrix, &flipped)? {
                Ok(plan) => format!("`{other}`: {}", changes(&before?, &plan)),
                Err(refusal) => format!("`{other}`: {refusal}"),
            },
            goes_wrong(&matrix, letter, !is)?,
        ]);
    }
    let header = [
        "setting",
        "type",
        "default",
        "the other value, the rest at default",
        "the other value has no caller together with",
    ];
    table(StandIn, "configuration.flags", &header, rows);
    claim(
        Exporter,
        "configuration.defaults",
        "The program called `h0d0_i1o1_n1` in this guide has the installed ExecuTorch's defaults.",
        DEFAULT.replace('_', "") == defaults,
    );

    let mut rows = Vec::new();
    for setting in OTHERS {
        let (annotation, default) = of(setting)?;
        let class = setting.split_once('.').map_or("", |(class, _)| class);
        let cells = [short(setting), class, annotation, default];
        rows.push(cells.map(|cell| format!("`{cell}`")).to_vec());
    }
    let header = ["setting", "of", "type", "default"];
    table(Exporter, "configuration.others", &header, rows);

    let rows = installed.compile_specs.iter();
    let rows =
        rows.map(|(key, default)| vec![format!("`{key}`"), format!("`{default}`")]);
    let header = ["key", "without it"];
    table(Exporter, "configuration.specs", &header, rows.collect());
    let device = installed.compile_specs.get("target_device");
    claim(
        Exporter,
        "configuration.device",
        "`CudaPartitioner` adds the spec `target_device` with `cuda:0` if you give none.",
        device.is_some_and(|device| device == "b'cuda:0'"),
    );

    dicts()
}

/// What a dict in each place does, measured in this run.
fn dicts() -> Result<(), Box<dyn Error>> {
    let committed = Bite::read(bite::committed())?;
    let of_interest = |name: &str| {
        ["configuration/", "arenas/"]
            .iter()
            .any(|part| name.starts_with(part))
    };
    let measured = Bite::measure(of_interest)?;
    let differences = committed.differences(&measured, of_interest);
    let Bite {
        cases, programs, ..
    } = measured;
    for difference in &differences {
        eprintln!("{difference}");
    }
    println!("cases with a dict or shared arenas: {}", cases.len());
    let skips = |situation: &str| -> Option<bool> {
        match programs.get(&format!("{situation} h1d1_i0o1_n1 forward"))? {
            Export::Plan(plan) => Some(plan.chain == ["delegate"]),
            Export::Refused { .. } => None,
        }
    };
    claim(
        Exporter,
        "configuration.dict",
        "`propagate_device_config` may be a dict of configs by method name. A method that it does not name, or whose name is misspelt, has the default, and nothing is said.",
        skips("configuration/dict") == Some(true)
            && skips("configuration/misspelt-method") == Some(false),
    );
    claim(
        Exporter,
        "configuration.dict-in-flag",
        "A dict *inside* a skip flag is read as its truth: `{\"forward\": False}` skips, `{}` does not, and so does a dict of other methods.",
        skips("configuration/dict-in-flag-false") == Some(true)
            && skips("configuration/dict-in-flag-other") == Some(true)
            && skips("configuration/dict-in-flag-empty") == Some(false),
    );
    let shared = programs.get("arenas/shared-mutable-buffers h0d0_i1o1_n1 forward");
    let Some(Export::Refused { kind, message }) = shared else {
        return Err("`share_mutable_buffers` is no longer refused".into());
    };
    fact(
        Exporter,
        "configuration.shared",
        format!("{kind}: {message}"),
    );
    let loads = |situation: &str| {
        let of_it = cases.iter().filter(|(name, _)| name.starts_with(situation));
        of_it
            .map(|(_, answer)| ends_well(answer))
            .collect::<Vec<_>>()
    };
    claim(
        StandIn,
        "configuration.share-arenas",
        "A program that plans device memory does not load into a module with `share_memory_arenas`; one without any arena does.",
        differences.is_empty()
            && loads("arenas/shared ").iter().all(|loads| !loads)
            && loads("arenas/shared-callers ").iter().all(|loads| *loads),
    );
    Ok(())
}

fn ends_well(answer: &Answer<Vec<Step>>) -> bool {
    match answer {
        Answer::Measured { run } => {
            run.iter().all(|step| step.outcome == Outcome::Right)
        }
        _ => false,
    }
}

/// Runs `read.py` on the Python that exports.
fn read() -> Result<Installed, Box<dyn Error>> {
    let listings = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(listings.join("../.venv/bin/python"))
        .arg("-I")
        .arg(listings.join("configuration/read.py"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The setting's own name.
fn short(setting: &str) -> &str {
    setting.split_once('.').map_or(setting, |(_, name)| name)
}

/// The name of the default program with one setting changed.
fn named(letter: char, value: bool) -> String {
    let digit = if value { '1' } else { '0' };
    let mut after = false;
    DEFAULT
        .chars()
        .map(|c| {
            let changed = std::mem::replace(&mut after, c == letter);
            if changed { digit } else { c }
        })
        .collect()
}

/// What the export of the static program gave.
fn plan(
    matrix: &Matrix,
    settings: &str,
) -> Result<Result<Plan, String>, Box<dyn Error>> {
    match matrix.programs.get(&format!("static {settings}")) {
        Some(Export::Plan(plan)) => Ok(Ok(plan.clone())),
        Some(Export::Refused { kind, .. }) => Ok(Err(format!("`{kind}`"))),
        None => Err(format!("{settings}: not in the matrix").into()),
    }
}

/// What a plan has otherwise than the default's.
fn changes(before: &Plan, after: &Plan) -> String {
    let list = |items: &[String], between: &str| match items {
        [] => "none".to_owned(),
        _ => items.join(between),
    };
    let mut said = Vec::new();
    if before.arenas != after.arenas {
        said.push(format!("arenas {}", list(&after.arenas, ", ")));
    }
    if before.inputs != after.inputs {
        said.push(format!("inputs {}", after.inputs[0]));
    }
    if before.outputs != after.outputs {
        said.push(format!("output {}", after.outputs[0]));
    }
    if before.chain != after.chain {
        said.push(list(&after.chain, " → "));
    }
    if after.unreachable > before.unreachable {
        said.push("the delegate's output has no memory".to_owned());
    }
    match &said[..] {
        [] => "no difference".to_owned(),
        _ => said.join("; "),
    }
}

/// The values of one other setting with which no caller of the matrix gets a right result, whatever the rest.
fn goes_wrong(
    matrix: &Matrix,
    letter: char,
    value: bool,
) -> Result<String, Box<dyn Error>> {
    let mut runs: BTreeMap<(char, bool), bool> = BTreeMap::new();
    for key in Key::all().filter(|key| key.program == Program::Static) {
        if get(key.settings, letter) != value {
            continue;
        }
        let answer = matrix.cell(&key).ok_or("a cell is missing")?;
        let right = matches!(answer, Answer::Measured { run } if run.first.outcome == Outcome::Right);
        for (other, _) in FLAGS {
            // Another pair is looked at with device memory planning at its default.
            if letter == 'n' || other == 'n' || key.settings.device_planning {
                *runs.entry((other, get(key.settings, other))).or_default() |=
                    right;
            }
        }
    }
    let mut wrong = Vec::new();
    for (other, setting) in FLAGS {
        for value in [false, true] {
            if other != letter && runs.get(&(other, value)) == Some(&false) {
                let value = if value { "True" } else { "False" };
                wrong.push(format!("`{}={value}`", short(setting)));
            }
        }
    }
    Ok(match &wrong[..] {
        [] => "–".to_owned(),
        _ => wrong.join(", "),
    })
}

fn get(settings: Settings, letter: char) -> bool {
    match letter {
        'h' => settings.skip_h2d,
        'd' => settings.skip_d2h,
        'i' => settings.alloc_input,
        'o' => settings.alloc_output,
        _ => settings.device_planning,
    }
}
