//! `pte show`.

use crate::lint::{self, Caller, Conditions, Level};
use crate::{Copied, Files, Method, Program};
use serde::Serialize;

use super::args::Show;
use super::describe::{bytes, clean, place, plural, row, table, way};
use super::input::Input;
use super::{FINE, JSON_VERSION, Outcome, json};

/// What `pte show --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
struct Shown {
    /// The version of this document: 1.
    version: u32,
    /// The files, in the order in which they were named.
    files: Vec<File>,
}

/// One file.
#[derive(Serialize, schemars::JsonSchema)]
struct File {
    /// The name that it was asked for by; `-` is standard input.
    file: String,
    /// The program, with the methods that were asked for; `null` if it could not be read.
    program: Option<Program>,
    /// What follows from the program, method by method in the same order.
    methods: Vec<Summary>,
    /// Why it could not be read; `null` if it was.
    error: Option<String>,
}

/// What follows from a method.
#[derive(Serialize, schemars::JsonSchema)]
struct Summary {
    /// The method.
    method: String,
    /// Bytes that the runtime reserves at load, on all devices together.
    planned_bytes: u64,
    /// What one execution copies between host and device.
    copied: Copied,
    /// Whether the inputs, or the outputs, are on more than one device.
    mixed: bool,
    /// The names of the data that must come from a data file (`.ptd`).
    external_keys: Vec<String>,
    /// The callers for whom no rule finds an error.
    callers: Vec<Caller>,
}

/// The JSON Schema of what `--json` prints.
pub(crate) fn schema() -> String {
    json(&schemars::schema_for!(Shown))
}

pub(crate) fn run(show: &Show, system: &dyn Files) -> Outcome {
    let mut outcome = Outcome::new(FINE, String::new());
    let mut files = Vec::new();
    for path in &show.files {
        let Input { name, program } = Input::read(system, path);
        let program = program
            .map_err(|error| error.to_string())
            .and_then(|program| only(program, &name, show.method.as_deref()));
        match program {
            Ok(program) => files.push((name, Ok(program))),
            Err(error) => {
                outcome.fail(&error);
                files.push((name, Err(error)));
            }
        }
    }
    if show.json {
        let files = files.into_iter().map(file).collect();
        outcome.stdout = json(&Shown {
            version: JSON_VERSION,
            files,
        });
    } else {
        let pages = files
            .iter()
            .filter_map(|(name, program)| Some(page(name, program.as_ref().ok()?)));
        outcome.stdout = pages.collect::<Vec<_>>().join("\n");
    }
    outcome
}

/// The program with no other method than the one asked for.
pub(crate) fn only(
    mut program: Program,
    name: &str,
    method: Option<&str>,
) -> Result<Program, String> {
    if let Some(method) = method {
        let names: Vec<String> = program
            .methods
            .iter()
            .map(|method| format!("`{}`", clean(&method.name)))
            .collect();
        program.methods.retain(|it| it.name == method);
        if program.methods.is_empty() {
            return Err(format!(
                "{name}: has no method `{method}`, but {}",
                names.join(", ")
            ));
        }
    }
    Ok(program)
}

fn file((file, program): (String, Result<Program, String>)) -> File {
    match program {
        Ok(program) => {
            let methods = program
                .methods
                .iter()
                .map(|method| summary(&program, method))
                .collect();
            File {
                file,
                program: Some(program),
                methods,
                error: None,
            }
        }
        Err(error) => File {
            file,
            program: None,
            methods: Vec::new(),
            error: Some(error),
        },
    }
}

fn summary(program: &Program, method: &Method) -> Summary {
    Summary {
        method: method.name.clone(),
        planned_bytes: method.planned_bytes(),
        copied: method.copied(),
        mixed: method.is_mixed(),
        external_keys: program
            .external_keys(method)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        callers: Caller::ALL
            .into_iter()
            .filter(|caller| refusal(program, method, *caller).is_none())
            .collect(),
    }
}

/// Why a caller cannot call a method: the message of the first error, and its rule's id.
fn refusal(program: &Program, method: &Method, caller: Caller) -> Option<String> {
    let conditions = Conditions {
        caller: Some(caller),
        ..Conditions::default()
    };
    let findings = lint::check(program, &conditions);
    let error = findings.into_iter().find(|finding| {
        finding.level == Level::Error
            && finding
                .method
                .as_ref()
                .is_none_or(|name| *name == method.name)
    })?;
    Some(format!("{} ({})", clean(&error.message), error.rule))
}

fn page(name: &str, program: &Program) -> String {
    let layout = &program.layout;
    let mut page = format!(
        "{}: {}, {} of file, {} of program\n",
        clean(name),
        plural(program.methods.len(), "method", "methods"),
        bytes(layout.file_bytes),
        bytes(layout.program_bytes)
    );
    for method in &program.methods {
        page.push_str(&section(program, method));
    }
    let data: Vec<[String; 2]> = program
        .named_data
        .iter()
        .map(|data| [clean(&data.key), bytes(data.nbytes)])
        .collect();
    if !data.is_empty() {
        page.push_str(&format!("\nnamed data in the file\n{}", table(&data, 2)));
    }
    page
}

fn section(program: &Program, method: &Method) -> String {
    let mut text = format!("\n{}\n", clean(&method.name));
    let ends = |values: &[crate::Value], what: &str| match values.len() {
        0 => "caller".to_owned(),
        count => format!("caller ({})", plural(count, what, &format!("{what}s"))),
    };
    let mut parts = vec![ends(&method.inputs, "input")];
    parts.extend(way(method));
    parts.push(ends(&method.outputs, "output"));
    text.push_str(&format!("\n{}\n", wrap(&parts)));

    for (title, values, output) in [
        ("takes", &method.inputs, false),
        ("gives", &method.outputs, true),
    ] {
        let rows: Vec<[String; 5]> = values
            .iter()
            .enumerate()
            .map(|(index, value)| row(index, value, output))
            .collect();
        text.push_str(&format!(
            "  {title}\n{}",
            if rows.is_empty() {
                "    nothing\n".into()
            } else {
                table(&rows, 4)
            }
        ));
    }
    let callers = Caller::ALL.map(|caller| {
        let answer =
            refusal(program, method, caller).map_or("yes".into(), |reason| format!("no: {reason}"));
        [caller.title().to_owned(), answer]
    });
    text.push_str(&format!("  callers\n{}", table(&callers, 4)));

    let mut facts = vec![
        ["contract".to_owned(), contract(method)],
        ["memory".to_owned(), memory(method)],
        ["copies".to_owned(), copies(method)],
    ];
    let mut fact = |name: &str, words: Vec<String>| {
        if !words.is_empty() {
            facts.push([name.to_owned(), words.join(", ")]);
        }
    };
    fact("backends", method.delegates.iter().map(delegate).collect());
    fact(
        "operators",
        method.operators.iter().map(|name| clean(name)).collect(),
    );
    fact(
        "data file",
        program
            .external_keys(method)
            .into_iter()
            .map(clean)
            .collect(),
    );
    fact(
        "state",
        method
            .mutable_buffers
            .iter()
            .map(|it| {
                format!(
                    "{} {}",
                    clean(it.name.as_deref().unwrap_or("unnamed")),
                    bytes(it.nbytes)
                )
            })
            .collect(),
    );
    if !method.constants.is_empty() {
        let sum = method
            .constants
            .iter()
            .fold(0_u64, |sum, it| sum.saturating_add(it.nbytes));
        fact(
            "constants",
            vec![format!("{}, {}", method.constants.len(), bytes(sum))],
        );
    }
    fact(
        "unreachable",
        method
            .unreachable
            .iter()
            .map(|value| format!("value {value}"))
            .collect(),
    );
    text.push_str(&table(&facts, 2));
    text
}

/// The parts with arrows between them, in lines that fit.
fn wrap(parts: &[String]) -> String {
    const WIDTH: usize = 120;
    let mut lines = vec!["  ".to_owned()];
    for (index, part) in parts.iter().enumerate() {
        let arrow = if index == 0 { "" } else { " ─▶ " };
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line + arrow.chars().count() + part.chars().count() > WIDTH && line > 4 {
            lines.push("    ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(arrow);
            line.push_str(part);
        }
    }
    lines.join("\n") + "\n"
}

/// One line that says whether the contract is mixed.
fn contract(method: &Method) -> String {
    let side = |tensors: Vec<&crate::TensorInfo>, what: &str| {
        let mut places: Vec<String> = tensors.iter().map(|tensor| place(tensor.device)).collect();
        places.sort_unstable();
        places.dedup();
        match places.as_slice() {
            [] => format!("no tensor {what}"),
            [place] => format!("{place} {what}"),
            places => format!("{what} on {}", places.join(" and ")),
        }
    };
    let sides = format!(
        "{}, {}",
        side(method.input_tensors().collect(), "in"),
        side(method.output_tensors().collect(), "out")
    );
    if method.is_mixed() {
        format!("mixed: {sides}")
    } else {
        format!("{sides}; not mixed")
    }
}

fn memory(method: &Method) -> String {
    let arenas = method
        .arenas
        .iter()
        .enumerate()
        .filter(|(_, arena)| arena.nbytes > 0);
    let arenas: Vec<String> = arenas
        .map(|(index, arena)| {
            format!(
                "arena {index}: {} on {}",
                bytes(arena.nbytes),
                place(arena.device)
            )
        })
        .collect();
    match arenas.len() {
        0 => "none is planned".into(),
        1 => arenas.join(", "),
        _ => format!(
            "{}; {} in all",
            arenas.join(", "),
            bytes(method.planned_bytes())
        ),
    }
}

fn copies(method: &Method) -> String {
    let Copied {
        host_to_device: to,
        device_to_host: from,
    } = method.copied();
    match (to.copies, from.copies) {
        (0, 0) => "none between host and device at the method's boundary".into(),
        (to_count, from_count) => format!(
            "{to_count} to the device ({}), {from_count} to the host ({}), each execution",
            bytes(to.nbytes),
            bytes(from.nbytes)
        ),
    }
}

fn delegate(delegate: &crate::Delegate) -> String {
    let spec = |spec: &crate::CompileSpec| match &spec.value {
        crate::SpecValue::Text(text) if text.len() <= 80 => {
            format!("{}={}", clean(&spec.key), clean(text))
        }
        crate::SpecValue::Text(text) => {
            format!("{}={} of text", clean(&spec.key), bytes(text.len() as u64))
        }
        crate::SpecValue::Bytes { hex } if hex.len() <= 16 => {
            format!("{}=0x{hex}", clean(&spec.key))
        }
        crate::SpecValue::Bytes { hex } => {
            format!("{}={}", clean(&spec.key), bytes(hex.len() as u64 / 2))
        }
    };
    let specs: Vec<String> = delegate.specs.iter().map(spec).collect();
    let specs = if specs.is_empty() {
        String::new()
    } else {
        format!(" ({})", specs.join(", "))
    };
    format!("{}{specs}", clean(&delegate.id))
}
