//! What each caller can do: from the behaviour matrix, from runs, and from the installed headers and bindings.

use std::error::Error;
use std::fs;
use std::path::Path;

use export::pte;
use listings::{package, with_device};
use matrix::{
    Answer, Caller, Inputs, Key, Matrix, Outcome, Output, Program, Settings,
    committed,
};
use proof::Origin::{Runtime, StandIn};
use proof::{claim, table};

/// In the order of the columns.
const CALLERS: [(Caller, &str); 5] = [
    (Caller::Cpp, "C++, `Module`"),
    (Caller::Rust, "Rust, `executorch-device`"),
    (Caller::RustPublic, "Rust, `executorch`"),
    (Caller::PythonRuntime, "Python, `executorch.runtime`"),
    (Caller::PythonLoad, "Python, `_load_for_executorch`"),
];

/// Where the installed package says how a data file is named: the file, the beginning and the end of the declaration, and
/// the parameter.
const MODULE: (&str, &str, &str, &str) = (
    "include/executorch/extension/module/module.h",
    "explicit Module(\n      const std::string& file_path,\n      std::vector",
    ")",
    "data_files",
);
const RUNTIME: (&str, &str, &str, &str) = (
    "runtime/__init__.py",
    "def load_program(",
    ") ->",
    "data_path",
);
const BINDINGS: (&str, &str, &str, &str) = (
    "extension/pybindings/pybindings.pyi",
    "def _load_for_executorch(",
    ") ->",
    "data_path",
);

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(_: device::Device) -> Result<(), Box<dyn Error>> {
    let matrix = Matrix::read(committed())?;
    let cells = |caller, row: Row| -> Result<Vec<(Key, &Answer)>, Box<dyn Error>> {
        let keys = row(caller)?.into_iter();
        keys.map(|key| {
            let answer =
                matrix.cell(&key).ok_or_else(|| format!("{key}: no cell"))?;
            Ok((key, answer))
        })
        .collect()
    };
    let mut rows = vec![versions()?];
    for (what, row) in ROWS {
        let mut shown = vec![what.to_owned()];
        for (caller, _) in CALLERS {
            shown.push(can(&cells(caller, row)?));
        }
        println!("{what}: {}", shown[1..].join("; "));
        rows.push(shown);
    }
    rows.push(refusals(&matrix)?);
    rows.push(data_files()?);
    let mut header = vec!["what"];
    header.extend(CALLERS.map(|(_, name)| name));
    table(StandIn, "callers.table", &header, rows);

    let runs = |caller, row| {
        cells(caller, row)
            .is_ok_and(|cells| cells.iter().any(|(_, answer)| is_right(answer)))
    };
    claim(
        Runtime,
        "callers.set-output",
        "Only C++ and `executorch-device` can hand over the memory for a result.",
        CALLERS.into_iter().all(|(caller, _)| {
            runs(caller, your_buffer)
                == [Caller::Cpp, Caller::Rust].contains(&caller)
        }),
    );
    claim(
        StandIn,
        "callers.device-input",
        "Every caller can pass tensors that are on the device.",
        CALLERS
            .into_iter()
            .all(|(caller, _)| runs(caller, device_input)),
    );
    Ok(())
}

/// Which cells answer a question for a caller: the first that is right, or else the first.
type Row = fn(Caller) -> Result<Vec<Key>, Box<dyn Error>>;

const ROWS: [(&str, Row); 4] = [
    ("pass a tensor that is on the device", device_input),
    ("leave the result on the device", runtime_buffer),
    (
        "receive it in your own buffer, by `set_output`",
        your_buffer,
    ),
    ("call another method than `forward`", other_method),
];

fn key(
    program: Program,
    settings: &str,
    caller: Caller,
    output: Output,
) -> Result<Key, Box<dyn Error>> {
    Ok(Key {
        program,
        settings: settings.parse::<Settings>()?,
        caller,
        inputs: Inputs::Device,
        output,
    })
}

fn device_input(caller: Caller) -> Result<Vec<Key>, Box<dyn Error>> {
    Ok(vec![key(
        Program::Static,
        "h1d0_i0o1_n1",
        caller,
        Output::Unset,
    )?])
}

fn runtime_buffer(caller: Caller) -> Result<Vec<Key>, Box<dyn Error>> {
    let mut keys =
        vec![key(Program::Static, "h1d1_i0o1_n1", caller, Output::Unset)?];
    if [Caller::PythonRuntime, Caller::PythonLoad].contains(&caller) {
        let uncloned =
            key(Program::Static, "h1d1_i0o1_n1", caller, Output::Uncloned)?;
        keys.push(uncloned);
    }
    Ok(keys)
}

fn your_buffer(caller: Caller) -> Result<Vec<Key>, Box<dyn Error>> {
    Ok(vec![key(
        Program::Static,
        "h1d1_i0o0_n1",
        caller,
        Output::Device,
    )?])
}

fn other_method(caller: Caller) -> Result<Vec<Key>, Box<dyn Error>> {
    Ok(vec![key(
        Program::TwoEncode,
        "h1d0_i0o1_n1",
        caller,
        Output::Unset,
    )?])
}

fn is_right(answer: &Answer) -> bool {
    matches!(answer, Answer::Measured { run } if run.first.outcome == Outcome::Right)
}

fn can(answers: &[(Key, &Answer)]) -> String {
    let right = answers.iter().find(|(_, answer)| is_right(answer));
    match right.or(answers.first()) {
        Some((key, answer)) if is_right(answer) => match key.output {
            Output::Uncloned => "yes, with `clone_outputs=False`".to_owned(),
            _ => "yes".to_owned(),
        },
        Some((_, Answer::NotApplicable { reason })) => format!("no: {reason}"),
        Some((_, Answer::Measured { run })) => match &run.first.outcome {
            Outcome::NeedsAGpu { .. } => {
                "the result is cloned by PyTorch, which needs a driver".to_owned()
            }
            _ => "no".to_owned(),
        },
        _ => "no".to_owned(),
    }
}

/// What is installed.
fn versions() -> Result<Vec<String>, Box<dyn Error>> {
    let wheel = export::executorch()?;
    let wheel = wheel.split('+').next().unwrap_or(&wheel).to_owned();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    let lock = fs::read_to_string(lock)?;
    let crate_version = |name: &str| {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let (_, rest) = lock.split_once(&entry)?;
        rest.split('"').next().map(str::to_owned)
    };
    let of_crate = |name: &str| {
        crate_version(name).ok_or_else(|| format!("{name}: not in Cargo.lock"))
    };
    Ok(vec![
        "its version here".to_owned(),
        wheel.clone(),
        of_crate("executorch-device")?,
        of_crate("executorch")?,
        wheel.clone(),
        wheel,
    ])
}

/// What each caller gets when the runtime refuses a planned input that is on the device.
fn refusals(matrix: &Matrix) -> Result<Vec<String>, Box<dyn Error>> {
    let mut cells = vec!["a refused call gives you".to_owned()];
    for (caller, _) in CALLERS {
        let key = key(Program::Static, "h1d1_i1o1_n1", caller, Output::Unset)?;
        let Some(Answer::Measured { run }) = matrix.cell(&key) else {
            return Err(format!("{key}: not measured").into());
        };
        let Outcome::Failed {
            code, exception, ..
        } = &run.first.outcome
        else {
            return Err(format!("{key}: not refused").into());
        };
        cells.push(match (code, exception) {
            (Some(code), _) => format!("the code `{code}`"),
            (None, Some(text)) => format!("`{text}`"),
            (None, None) => "nothing".to_owned(),
        });
    }
    Ok(cells)
}

/// How each caller names a data file: of Rust a run, of the others the declaration in the installed package.
fn data_files() -> Result<Vec<String>, Box<dyn Error>> {
    let program = pte("first-device-program/default")?;
    let data = program.ptd.first().ok_or("no data file")?;
    executorch::module::ModuleBuilder::new(&program.pte)
        .data_files(&[data])
        .build()
        .load_method("forward", None, None)?;
    executorch_device::ModuleBuilder::new(&program.pte)
        .data_file(data)
        .load()?
        .load_method("forward")?;
    let package = package()?;
    let declared = |(file, begin, end, parameter): (&str, &str, &str, &str)| {
        let text = fs::read_to_string(package.join(file))?;
        let (_, rest) = text
            .split_once(begin)
            .ok_or_else(|| format!("{file}: no `{begin}`"))?;
        let declaration = rest.split_once(end).map_or(rest, |(before, _)| before);
        match declaration.contains(parameter) {
            true => Ok::<_, Box<dyn Error>>(format!("`{parameter}`")),
            false => Err(format!("{file}: no `{parameter}` in `{begin}`").into()),
        }
    };
    Ok(vec![
        "name a data file (`.ptd`)".to_owned(),
        format!("{} of the constructor", declared(MODULE)?),
        "`ModuleBuilder::data_file`".to_owned(),
        "`ModuleBuilder::data_files`".to_owned(),
        format!("{} of `load_program`", declared(RUNTIME)?),
        declared(BINDINGS)?,
    ])
}
