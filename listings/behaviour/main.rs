//! The behaviour matrix: its C++ and Rust cells measured again, compared with the committed file, and grouped for a reader.

use std::collections::BTreeMap;
use std::error::Error;
use std::mem::discriminant;

use matrix::{
    Answer, Caller, Execution, Export, Inputs, Key, Matrix, Outcome, Output, Owner,
    Program, Run, Settings, Side, Sweep, Written, committed,
};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact, table};

/// The programs that run as they should, and for each what a caller passes and does about the output.
const RECIPES: [(&str, &str, Inputs, Output); 5] = [
    ("host → host", "h0d0_i0o1_n1", Inputs::Host, Output::Unset),
    (
        "device → host",
        "h1d0_i0o1_n1",
        Inputs::Device,
        Output::Unset,
    ),
    ("host → device", "h0d1_i1o1_n1", Inputs::Host, Output::Unset),
    (
        "device → device, the runtime's buffer",
        "h1d1_i0o1_n1",
        Inputs::Device,
        Output::Unset,
    ),
    (
        "device → device, your buffer",
        "h1d1_i0o0_n1",
        Inputs::Device,
        Output::Device,
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    match &arguments[..] {
        // How the sweep starts this program for a case of the callers in Rust.
        [_, case, line] if case == "case" => Ok(matrix::run_case(line)?),
        _ => prove(),
    }
}

fn prove() -> Result<(), Box<dyn Error>> {
    let matrix = Matrix::read(committed())?;
    // The callers in Python need seconds to start: `cargo xtask test` measures theirs.
    let here = |key: &Key| {
        key.program == Program::Static
            && match key.caller {
                Caller::Cpp => true,
                Caller::Rust | Caller::RustPublic => is_a_recipe(key),
                Caller::PythonRuntime | Caller::PythonLoad => false,
            }
    };
    let sweep = Sweep {
        of_interest: &here,
        progress: &|_, _, _| {},
    };
    let differences = matrix.differences(&sweep.measure()?, here);
    for difference in differences.iter().take(5) {
        eprintln!("{difference}");
    }
    let again = Key::all().filter(here).count();
    println!(
        "cells measured again: {again}, different: {}",
        differences.len()
    );
    claim(
        StandIn,
        "behaviour.measured-again",
        "Every C++ cell of the program with static shapes, and the Rust cells of the recipes, were measured again in this build and are what the committed file says.",
        differences.is_empty(),
    );
    let is = |wanted: fn(&Answer) -> bool| {
        let cells = matrix.cells.values();
        cells.filter(|name| wanted(&matrix.answers[*name])).count()
    };
    let depends = is(|answer| matches!(answer, Answer::DependsOnTheDriver { .. }));
    fact(StandIn, "behaviour.cells", matrix.cells.len());
    fact(StandIn, "behaviour.measured", matrix.measured());
    fact(StandIn, "behaviour.depends", depends);
    fact(
        Library,
        "behaviour.not-applicable",
        is(|answer| matches!(answer, Answer::NotApplicable { .. })),
    );
    fact(
        Exporter,
        "behaviour.not-exported",
        is(|answer| matches!(answer, Answer::NotExported)),
    );
    claim(
        StandIn,
        "behaviour.never-wrong",
        "No measured cell is a wrong result: a program runs right, or it says no.",
        !matrix.answers.values().any(|answer| match answer {
            Answer::Measured { run } => is_wrong(run),
            Answer::DependsOnTheDriver { refuse, accept } => {
                is_wrong(refuse) || is_wrong(accept)
            }
            Answer::NotExported | Answer::NotApplicable { .. } => false,
        }),
    );
    claim(
        Runtime,
        "behaviour.second-alike",
        "A second execution never ends otherwise than the first.",
        matrix.answers.values().all(|answer| match answer {
            Answer::Measured { run } => ends_alike(run),
            _ => true,
        }),
    );

    recipes(&matrix)?;
    for (inputs, id) in [
        (Inputs::Host, "behaviour.host-tensor"),
        (Inputs::Device, "behaviour.device-tensor"),
        (Inputs::DeviceAsCpu, "behaviour.device-as-cpu"),
        (Inputs::HostAsCuda, "behaviour.host-as-cuda"),
    ] {
        by_inputs(&matrix, inputs, id);
    }
    plans(&matrix);
    Ok(())
}

fn is_a_recipe(key: &Key) -> bool {
    RECIPES.iter().any(|(_, settings, inputs, output)| {
        key.settings.to_string() == *settings
            && (key.inputs, key.output) == (*inputs, *output)
    })
}

fn is_wrong(run: &Run) -> bool {
    let executions = [Some(&run.first), run.second.as_ref()];
    executions
        .into_iter()
        .flatten()
        .any(|execution| execution.outcome == Outcome::Wrong)
}

/// Right or failed, and then with the same code. The log may differ: what was resized before is not logged again.
fn ends_alike(run: &Run) -> bool {
    let code = |execution: &Execution| match &execution.outcome {
        Outcome::Failed { code, .. } => code.clone(),
        _ => None,
    };
    run.second.as_ref().is_none_or(|second| {
        discriminant(&second.outcome) == discriminant(&run.first.outcome)
            && code(second) == code(&run.first)
    })
}

/// Who can run each recipe.
fn recipes(matrix: &Matrix) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for (title, settings, inputs, output) in RECIPES {
        let settings: Settings = settings.parse()?;
        let mut row = vec![title.to_owned(), format!("`{settings}`")];
        for &caller in Caller::ALL {
            let cell = |output| {
                matrix.cell(&Key {
                    program: Program::Static,
                    settings,
                    caller,
                    inputs,
                    output,
                })
            };
            // A result on the device stays there in Python only where the caller can say so.
            let uncloned =
                cell(Output::Uncloned).filter(|answer| runs_right(answer));
            row.push(match (cell(output), uncloned) {
                (Some(answer), Some(uncloned)) if !runs_right(answer) => {
                    format!("{}, with `clone_outputs=False`", in_short(uncloned))
                }
                (Some(answer), _) => in_short(answer),
                (None, _) => {
                    return Err(format!("{settings} {caller}: no cell").into());
                }
            });
        }
        rows.push(row);
    }
    table(
        StandIn,
        "behaviour.recipes",
        &[
            "from → to",
            "program",
            "C++",
            "Rust, `executorch-device`",
            "Rust, `executorch`",
            "Python, `Runtime`",
            "Python, `_load_for_executorch`",
        ],
        rows,
    );
    Ok(())
}

fn runs_right(answer: &Answer) -> bool {
    matches!(answer, Answer::Measured { run } if run.first.outcome == Outcome::Right)
}

/// What C++ callers get for one kind of inputs: the programs by what comes of them.
fn by_inputs(matrix: &Matrix, inputs: Inputs, id: &str) {
    let mut groups: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
    for settings in Settings::all() {
        let cells: Vec<_> = [Output::Unset, Output::Device, Output::Host]
            .into_iter()
            .filter_map(|output| {
                let key = Key {
                    program: Program::Static,
                    settings,
                    caller: Caller::Cpp,
                    inputs,
                    output,
                };
                Some((output, matrix.cell(&key)?))
            })
            .collect();
        // What runs, whichever way; else what happens to a caller who sets no output.
        let right = cells.iter().find(|(_, answer)| runs_right(answer));
        let Some((output, answer)) = right.or(cells.first()) else {
            continue;
        };
        let rank = match answer {
            _ if right.is_some() => 0,
            Answer::DependsOnTheDriver { .. } => 1,
            Answer::NotExported => 3,
            _ => 2,
        };
        let mut shown = words(answer);
        if *output == Output::Device {
            shown += ", with `set_output`";
        }
        let group = groups.entry((rank, shown)).or_default();
        group.push(format!("`{settings}`"));
    }
    let rows: Vec<_> = groups
        .into_iter()
        .map(|((_, what), programs)| vec![what, programs.join(" ")])
        .collect();
    table(StandIn, id, &["what comes of it", "programs"], rows);
}

/// What each program plans.
fn plans(matrix: &Matrix) {
    let list = |items: &[String]| match items {
        [] => "none".to_owned(),
        _ => items.join(", "),
    };
    let mut rows = Vec::new();
    for settings in Settings::all() {
        let program = matrix.programs.get(&format!("static {settings}"));
        let Some(Export::Plan(plan)) = program else {
            continue;
        };
        let mut output = plan.outputs[0].clone();
        if plan.unreachable > 0 {
            output += " (the delegate's own has no memory)";
        }
        rows.push(vec![
            format!("`{settings}`"),
            list(&plan.arenas),
            plan.inputs[0].clone(),
            output,
            plan.chain.join(" → "),
        ]);
    }
    table(
        Exporter,
        "behaviour.plans",
        &[
            "program",
            "arenas, in bytes",
            "each input",
            "the output",
            "an execution",
        ],
        rows,
    );
}

/// An answer where the row says already where the result is.
fn in_short(answer: &Answer) -> String {
    match answer {
        Answer::Measured { run } if run.first.outcome == Outcome::Right => {
            let Execution { h2d, d2h, .. } = &run.first;
            format!("right, {}/{}", h2d.calls, d2h.calls)
        }
        _ => words(answer),
    }
}

/// An answer as a cell.
fn words(answer: &Answer) -> String {
    match answer {
        Answer::NotExported => "no program: the exporter refuses".to_owned(),
        Answer::NotApplicable { reason } => format!("n/a: {reason}"),
        Answer::DependsOnTheDriver { .. } => "depends on the driver".to_owned(),
        Answer::Measured { run } => ended(&run.first),
    }
}

fn ended(execution: &Execution) -> String {
    match &execution.outcome {
        Outcome::Right => {
            let place = match execution.output {
                Some(place)
                    if place.on == Side::Device && place.of == Owner::Caller =>
                {
                    ", in your buffer"
                }
                Some(place) if place.on == Side::Device => ", on the device",
                _ => ", on the host",
            };
            format!(
                "right, copies {}/{}{place}",
                execution.h2d.calls, execution.d2h.calls
            )
        }
        Outcome::Wrong => "wrong".to_owned(),
        Outcome::NeedsAGpu { .. } => "needs a GPU".to_owned(),
        Outcome::Died { signal, .. } => format!("killed by {signal}"),
        Outcome::Failed {
            code,
            exception,
            log,
            ..
        } => {
            let text = match (code, exception) {
                (Some(code), _) => format!("`{code}`"),
                (None, Some(exception)) => proof::code(exception),
                (None, None) => "an error".to_owned(),
            };
            match log.iter().find(|line| line.origin == Runtime) {
                // Its first check is of pointers, and a null one passes it.
                _ if execution.origin == StandIn && text == "`0x12`" => {
                    format!(
                        "the delegate is given a pointer to the wrong side; our stand-in answers {text}"
                    )
                }
                _ if execution.writes == Some(Written::Null) => {
                    format!(
                        "the delegate is given a null pointer for its output; our stand-in answers {text}"
                    )
                }
                Some(line) => format!("{text}: {}", proof::code(&line.text)),
                None => text,
            }
        }
    }
}
