//! The messages that no other listing meets, and every code by each caller's name for it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use device::Device;
use executorch::Error as RuntimeError;
use executorch::evalue::{EValue, IntoEValue};
use executorch::module::Module;
use executorch::tensor::TensorPtr;
use export::{Exported, pte};
use listings::{on_host, runtime_line, with_device};
use matrix::bite::{self, Bite};
use matrix::{Answer, Call, Caller, Key, Matrix, Outcome, committed};
use ndarray::Array2;
use proof::Origin::{Runtime, StandIn};
use proof::{claim, fact, table};

/// What the guide's pages name, in the order of their numbers.
const CODES: &[RuntimeError] = &[
    RuntimeError::Internal,
    RuntimeError::InvalidState,
    RuntimeError::NotSupported,
    RuntimeError::InvalidArgument,
    RuntimeError::OperatorMissing,
    RuntimeError::NotFound,
    RuntimeError::AccessFailed,
    RuntimeError::InvalidProgram,
    RuntimeError::InvalidExternalData,
];

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("default-copies/default")?;
    let host = program.eager.inputs[0].f32()?;
    let whole = on_host(&host, [8, 8]);

    let integers = Array2::<i32>::zeros((8, 8));
    let integers = TensorPtr::from_array_view(integers.view())?;
    refused(
        gpu,
        &program,
        "dtype",
        &[integers.into_evalue(), whole.into_evalue()],
    )?;
    let half = on_host(&host[..32], [4, 8]);
    refused(
        gpu,
        &program,
        "shape",
        &[half.into_evalue(), whole.into_evalue()],
    )?;
    let flat = on_host(&host, [64]);
    refused(
        gpu,
        &program,
        "rank",
        &[flat.into_evalue(), whole.into_evalue()],
    )?;
    refused(gpu, &program, "count", &[whole.into_evalue()])?;

    let folder = tempfile::tempdir()?;
    env::set_current_dir(&folder)?;
    let text = PathBuf::from("notes.pte");
    fs::write(&text, "These bytes are no program.".repeat(8))?;
    let cut = PathBuf::from("cut.pte");
    fs::write(&cut, &fs::read(&program.pte)?[..256])?;
    for (id, path, method) in [
        ("method", &program.pte, "decode"),
        ("no-program", &text, "forward"),
        ("cut", &cut, "forward"),
        ("no-file", &PathBuf::from("none.pte"), "forward"),
    ] {
        let error = Module::new(path).load_method(method, None, None);
        said(gpu, id, error.err())?;
    }

    let rows = CODES.iter().map(|code| {
        let number = *code as u32;
        let name = format!("{code:?}");
        vec![
            format!("`{number:#x}`"),
            number.to_string(),
            format!("`Error::{name}`"),
            format!("`executorch::Error::{name}`"),
        ]
    });
    table(
        Runtime,
        "errors.codes",
        &["code", "decimal", "C++", "Rust"],
        rows.collect(),
    );
    let (matrix, bite) =
        (Matrix::read(committed())?, Bite::read(bite::committed())?);
    by_caller(&matrix);
    met(&matrix, &bite);
    claim(
        Runtime,
        "errors.process-lives",
        "After the errors that this page's listing makes, the process lives, and a call with the right arguments runs.",
        Module::new(&program.pte)
            .forward(&[whole.into_evalue(), whole.into_evalue()])
            .is_ok(),
    );
    Ok(())
}

/// An execution that must fail.
fn refused(
    gpu: Device,
    program: &Exported,
    id: &str,
    inputs: &[EValue<'_>],
) -> Result<(), Box<dyn Error>> {
    let mut module = Module::new(&program.pte);
    module.load_method("forward", None, None)?;
    gpu.take_log();
    let error = module.forward(inputs).err();
    said(gpu, id, error)
}

/// Records an error's code and the first line of the runtime's log.
fn said(
    gpu: Device,
    id: &str,
    error: Option<RuntimeError>,
) -> Result<(), Box<dyn Error>> {
    let error = error.ok_or_else(|| format!("{id}: no error"))?;
    if !CODES.contains(&error) {
        return Err(format!("{id}: {error:?} is not in the table of codes").into());
    }
    let log = gpu.take_log();
    let line = runtime_line(&log)?;
    println!("{id}: {error:?} ({:#x}): {line}", error as u32);
    fact(
        Runtime,
        &format!("errors.{id}.code"),
        format!("{:#x}", error as u32),
    );
    fact(Runtime, &format!("errors.{id}.log"), line);
    Ok(())
}

/// Every error of both tables: the first line of its log, and how many cells and cases end with it.
fn met(matrix: &Matrix, bite: &Bite) {
    let mut rows: BTreeMap<(String, String, &str, String), usize> = BTreeMap::new();
    let mut add = |outcome: &Outcome| {
        let Outcome::Failed {
            call,
            code,
            exception,
            log,
        } = outcome
        else {
            return;
        };
        // Python's exception has the code at its end.
        let mut in_text =
            exception.iter().filter_map(|text| text.rsplit(' ').next());
        let code = code.as_deref().or_else(|| in_text.next_back());
        // What the stand-in says is no error that a reader meets.
        let line = log.first().filter(|line| line.origin != StandIn);
        if let (Some(code), Some(line)) = (code, line) {
            let call = match call {
                Call::Inputs => "making a tensor",
                Call::Load => "load",
                Call::SetOutput => "set_output",
                Call::Execute => "execute",
            };
            let row = (
                code.to_owned(),
                anywhere(&line.text),
                line.origin.name(),
                call.to_owned(),
            );
            *rows.entry(row).or_default() += 1;
        }
    };
    for answer in matrix.cells.values().map(|name| &matrix.answers[name]) {
        match answer {
            Answer::Measured { run } => add(&run.first.outcome),
            Answer::DependsOnTheDriver { refuse, accept } => {
                add(&refuse.first.outcome);
                add(&accept.first.outcome);
            }
            Answer::NotExported | Answer::NotApplicable { .. } => {}
        }
    }
    for answer in bite.cases.values() {
        match answer {
            Answer::Measured { run } => {
                run.iter().for_each(|step| add(&step.outcome));
            }
            Answer::DependsOnTheDriver { refuse, accept } => {
                refuse
                    .iter()
                    .chain(accept)
                    .for_each(|step| add(&step.outcome));
            }
            Answer::NotExported | Answer::NotApplicable { .. } => {}
        }
    }
    fact(Runtime, "errors.met.texts", rows.len());
    let rows = rows.into_iter().map(|((code, text, origin, call), times)| {
        let decimal = code
            .strip_prefix("0x")
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        vec![
            format!("`{code}`"),
            decimal.map_or_else(String::new, |decimal| decimal.to_string()),
            proof::code(&text),
            format!("`{call}`"),
            origin.to_owned(),
            times.to_string(),
        ]
    });
    table(
        Runtime,
        "errors.met",
        &["code", "decimal", "in the log", "call", "says who", "times"],
        rows.collect(),
    );
}

/// A text without the numbers and the method's name, which another program or call has otherwise.
fn anywhere(text: &str) -> String {
    let methods = ["forward", "encode", "decode"].map(|name| format!("`{name}`"));
    let text = methods
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, "NAME"));
    let mut all = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let in_name = before.is_alphanumeric() || before == '_';
        match letter {
            '0'..='9' if before == 'N' && all.ends_with('N') => {}
            '0'..='9' if !in_name => {
                all.push('N');
                before = 'N';
            }
            _ => {
                all.push(letter);
                before = letter;
            }
        }
    }
    all
}

/// What each caller sees of the runtime's refusals, of the whole matrix.
fn by_caller(matrix: &Matrix) {
    let mut seen: BTreeMap<String, BTreeMap<Caller, BTreeSet<String>>> =
        BTreeMap::new();
    for key in Key::all() {
        let Some(Answer::Measured { run }) = matrix.cell(&key) else {
            continue;
        };
        let Outcome::Failed {
            code,
            exception,
            log,
            ..
        } = &run.first.outcome
        else {
            continue;
        };
        let Some(line) = log.first().filter(|line| line.origin == Runtime) else {
            continue;
        };
        if run.first.origin == StandIn {
            continue;
        }
        let sees = match (code, exception) {
            (Some(code), _) => code.clone(),
            (None, Some(exception)) => {
                exception.replace(key.program.method(), "NAME")
            }
            (None, None) => continue,
        };
        let callers = seen.entry(line.text.clone()).or_default();
        callers.entry(key.caller).or_default().insert(sees);
    }
    let rows = seen.into_iter().map(|(text, callers)| {
        let cell = |caller: Caller| {
            callers.get(&caller).map_or("–".to_owned(), |seen| {
                seen.iter()
                    .map(|text| format!("`{text}`"))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        vec![
            proof::code(&text),
            cell(Caller::Cpp),
            cell(Caller::PythonRuntime),
            cell(Caller::PythonLoad),
        ]
    });
    table(
        Runtime,
        "errors.by-caller",
        &[
            "in the log",
            "C++ and Rust",
            "Python, `Runtime`",
            "Python, `_load_for_executorch`",
        ],
        rows.collect(),
    );
}
