//! `export`: the same as the library, by hand.

use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use export::{Error, Exported, Request, Tensor};

const HELP: &str = "\
Exports the programs that the listings define, with ExecuTorch's own exporter, and says where they are.

    export list                        the programs that there are
    export all [--listing NAME]...     export every program, or those of the listings named
    export show LISTING/PROGRAM...     a program's files, and what eager PyTorch computes with it

What is exported once comes from the cache until a byte of what made it changes: the recipe
(listings/NAME/export.py), the installed ExecuTorch, another package, the interpreter, our own Python.

Example:
    cargo run -p export -- show pairing-rule/paired

Environment:
    GUIDE_ROOT             the folder that has listings/ (default: this workspace)
    GUIDE_CACHE            where exports are kept (default: target/exports below it)
    GUIDE_EXPORT_PLANT     a Python file to run in the exporting process before the first recipe
    GUIDE_EXPORT_TIMEOUT   seconds that one export may take (default: 300)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["list"] => list(),
        ["all", named @ ..] => match listings_of(named) {
            Some(listings) => all(&listings),
            None => return misused("all takes only --listing NAME"),
        },
        ["show", programs @ ..] if !programs.is_empty() => show(programs),
        ["show"] => return misused("show needs a LISTING/PROGRAM"),
        [] | ["-h" | "--help" | "help"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [other, ..] => return misused(&format!("`{other}` is no command of export")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("export: {error}");
            ExitCode::FAILURE
        }
    }
}

fn misused(what: &str) -> ExitCode {
    eprintln!("export: {what}; `export --help` shows what there is");
    ExitCode::from(2)
}

/// `--listing NAME` pairs; none means every listing.
fn listings_of(arguments: &[&str]) -> Option<Vec<String>> {
    let (pairs, rest) = arguments.as_chunks::<2>();
    let named = pairs
        .iter()
        .map(|[flag, name]| (*flag == "--listing").then(|| (*name).to_owned()));
    if rest.is_empty() {
        named.collect()
    } else {
        None
    }
}

fn list() -> Result<bool, Error> {
    for listing in export::listings()? {
        for program in export::programs(&listing)? {
            println!("{program}");
        }
    }
    Ok(true)
}

fn all(named: &[String]) -> Result<bool, Error> {
    let every;
    let listings = if named.is_empty() {
        every = export::listings()?;
        &every
    } else {
        named
    };
    let mut programs = Vec::new();
    for listing in listings {
        programs.extend(export::programs(listing)?);
    }
    let started = Instant::now();
    let good = report(&programs, |name, exported| {
        println!("{name}  {}", exported.pte.display());
        Ok(())
    })?;
    eprintln!(
        "export: {good} of {} programs, {:.2} s",
        programs.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(good == programs.len())
}

fn show(programs: &[&str]) -> Result<bool, Error> {
    let programs: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
    let good = report(&programs, |name, exported| {
        println!("{name}");
        for path in [&exported.pte].into_iter().chain(&exported.ptd) {
            let bytes = fs::metadata(path).map_or(0, |file| file.len());
            println!("  {}  {bytes} bytes", path.display());
        }
        for (method, eager) in exported.methods() {
            let named = |side, tensors: &[Tensor]| {
                for (number, tensor) in tensors.iter().enumerate() {
                    println!("  eager {method} {side} {number}: {}", describe(tensor));
                }
            };
            named("input", &eager.inputs);
            named("output", &eager.outputs);
        }
        Ok(())
    })?;
    Ok(good == programs.len())
}

/// Exports, reports each failure with Python's traceback, and counts the rest.
fn report(
    programs: &[String],
    mut each: impl FnMut(&str, &Exported) -> Result<(), Error>,
) -> Result<usize, Error> {
    let requests: Vec<Request> = programs.iter().cloned().map(Request::from).collect();
    let mut good = 0;
    for (name, result) in programs.iter().zip(export::all(&requests)?) {
        match result {
            Ok(exported) => {
                each(name, &exported)?;
                good += 1;
            }
            Err(error) => {
                if let Error::Python { traceback, .. } = &error {
                    eprint!("{traceback}");
                }
                eprintln!("export: {error}");
            }
        }
    }
    Ok(good)
}

/// Type, sizes and the first elements.
fn describe(tensor: &Tensor) -> String {
    let first = tensor.f32().map_or_else(
        |_| format!("{} bytes", tensor.bytes.len()),
        |elements| {
            let shown: Vec<String> = elements.iter().take(4).map(f32::to_string).collect();
            format!(
                "{}{}",
                shown.join(" "),
                if elements.len() > 4 { " …" } else { "" }
            )
        },
    );
    format!("{} {:?}: {first}", tensor.dtype, tensor.sizes)
}
