//! `guide-book`: the preprocessor that mdBook starts, and the two commands around it.

use std::env;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use book::{Failures, Workspace};

const USAGE: &str = "\
guide-book: builds the guide only when every statement on it was proved by a run

    guide-book                    mdBook's preprocessor: the book on standard input, the proved book on standard output
    guide-book supports RENDERER  yes, to every renderer
    guide-book check FOLDER       checks the built book
    guide-book bless              rewrites the expected outputs and facts to what the runs show, and prints the difference
    guide-book python FOLDER      imports ExecuTorch in Python once for all runs with GUIDE_PYTHON_HOST=FOLDER, which must be as
                                  this one in everything; prints a line when it can be used, ends with standard input

GUIDE_ROOT names another workspace, GUIDE_FAILURES a file for the failures as JSON lines.";

fn main() -> ExitCode {
    book::forbid_core_files();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        // mdBook leaves out a preprocessor that does not say yes.
        ["supports", ..] => return ExitCode::SUCCESS,
        [] => preprocess(),
        ["check", folder] => check(Path::new(folder)),
        ["bless"] => bless(),
        ["python", folder] => Workspace::find()
            .and_then(|workspace| book::share_python(&workspace, Path::new(folder))),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let failures = done.err().unwrap_or_default();
    let mut code = if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    if let Some(path) = env::var_os("GUIDE_FAILURES")
        && let Err(error) = failures.write_json(Path::new(&path))
    {
        eprintln!(
            "GUIDE_FAILURES={}: cannot be written: {error}",
            path.display()
        );
        code = ExitCode::FAILURE;
    }
    if !failures.is_empty() {
        eprintln!("\n{failures}");
    }
    code
}

fn preprocess() -> Result<(), Failures> {
    let workspace = Workspace::find()?;
    let record = book::preprocess(&workspace, io::stdin().lock(), io::stdout().lock())?;
    eprintln!(
        "guide: {} claims and {} facts proved on {} pages in {} ms with ExecuTorch {} (exports {} ms, build {} ms, runs {} ms)",
        record.claims.len(),
        record.facts,
        record.pages.len(),
        record.took.all,
        record.executorch,
        record.took.exports,
        record.took.build,
        record.took.runs,
    );
    Ok(())
}

fn check(folder: &Path) -> Result<(), Failures> {
    let record = book::check(&Workspace::find()?, folder)?;
    eprintln!(
        "guide: {} built pages carry run {}",
        record.pages.len(),
        record.run
    );
    Ok(())
}

fn bless() -> Result<(), Failures> {
    let patch = book::bless(&Workspace::find()?)?;
    print!("{patch}");
    if patch.is_empty() {
        eprintln!("guide: every expectation is what the runs show");
    }
    Ok(())
}
