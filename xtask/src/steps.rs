//! `test`: the table of everything that is checked, and what runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{Group, ask, run, run_prefixed, shown};
use crate::terminal::{bold, dim, elapsed, green, red};
use crate::workspace::Workspace;
use crate::{book, setup};

/// One thing that `test` checks.
struct Step {
    name: &'static str,
    /// One line.
    summary: &'static str,
    /// The step that runs this one too: named, this one runs alone; not named, it is not run twice.
    part_of: Option<&'static str>,
    /// The step that leaves a processor idle meanwhile: where both are asked for, this one runs beside it.
    beside: Option<&'static str>,
    /// Whether it needs what `setup` installs.
    needs_setup: bool,
    run: Run,
}

/// A step, how long it took, and all that went wrong.
type Checked = (&'static Step, Duration, Vec<Failure>);

/// How a step is run.
enum Run {
    /// One `cargo` command.
    Cargo(&'static [&'static str]),
    /// Something else: all that went wrong.
    Function(fn(&Workspace, &Group) -> Vec<Failure>),
}

/// The order is that of waiting: what fails fast comes first.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        summary: "the Rust code is formatted",
        part_of: None,
        beside: None,
        needs_setup: false,
        run: Run::Cargo(&["fmt", "--all", "--check", "--message-format", "short"]),
    },
    Step {
        name: "python",
        summary: "the Python code: ruff, mypy, pytest",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Function(python),
    },
    Step {
        name: "prose",
        summary: "no known misspelling in anything that people read",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Function(prose),
    },
    Step {
        name: "clippy",
        summary: "no lint anywhere in the Rust code",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--test",
            "drift",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "wasm",
        summary: "no lint in what is compiled for pages alone",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&[
            "clippy",
            "--package",
            "pte-web",
            "--target",
            "wasm32-unknown-unknown",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "doc",
        summary: "the crates' documentation builds, with no broken link",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
            "--quiet",
        ]),
    },
    Step {
        name: "book",
        summary: "the proof: the book verifies, builds, and its pages are whole",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Function(|workspace, _| book::build(workspace, None).err().into_iter().collect()),
    },
    Step {
        name: "rust",
        summary: "every Rust test; the steps below are its parts",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--workspace", "--no-fail-fast"]),
    },
    Step {
        name: "listings",
        summary: "each listing runs, claims what it shows and prints what the page says",
        part_of: Some("rust"),
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--package", "tests", "--test", "listings"]),
    },
    Step {
        name: "matrix",
        summary: "every cell of the behaviour matrix and every case that bites, measured again",
        part_of: Some("rust"),
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--package", "matrix"]),
    },
    Step {
        name: "ui",
        summary: "what must not compile does not, with the message that the page shows",
        part_of: Some("rust"),
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--package", "ui"]),
    },
    Step {
        name: "device",
        summary: "every fault that can be planted in the device makes its tests fail",
        part_of: None,
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&[
            "test",
            "--workspace",
            "--features",
            "device/planted",
            "--test",
            "device",
            "every_planted_fault_is_noticed",
        ]),
    },
    Step {
        name: "snippets",
        summary: "the Rust blocks on the pages compile and run (skeptic)",
        part_of: Some("rust"),
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--package", "snippets", "--no-fail-fast"]),
    },
    Step {
        name: "drift",
        summary: "every planted fault is caught, and by the right failure",
        part_of: None,
        beside: Some("rust"),
        needs_setup: true,
        // Of the whole workspace, so that nothing is built with other features.
        run: Run::Cargo(&["test", "--workspace", "--test", "drift"]),
    },
    Step {
        name: "site",
        summary: "the site in a real browser: accessible, light, no request to others",
        part_of: Some("rust"),
        beside: None,
        needs_setup: true,
        run: Run::Cargo(&["test", "--package", "tests", "--test", "site"]),
    },
];

/// What `cargo xtask test --help` adds.
pub fn help() {
    println!(
        "\nWithout arguments: all of these, in this order. With arguments: the named ones alone.\n"
    );
    for step in STEPS {
        let part = step
            .part_of
            .map_or_else(String::new, |whole| dim(&format!(" (part of {whole})")));
        println!("    {:<9} {}{part}", step.name, step.summary);
        if let Run::Cargo(arguments) = step.run {
            println!(
                "    {:<9} {}",
                "",
                dim(&format!("cargo {}", arguments.join(" ")))
            );
        }
    }
    println!(
        "\nA failing step does not stop the others. All failures are listed at the end, each with the command that repeats it."
    );
}

/// The command `test`.
pub fn test(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let steps = chosen(arguments)?;
    if steps
        .iter()
        .any(|step| ["rust", "site"].contains(&step.name))
    {
        browser()?;
    }
    if steps.iter().any(|step| step.needs_setup) {
        setup::ensure(workspace)?;
    }
    let group = Group::start(&workspace.root)?;
    let named = |name| steps.iter().any(|step| step.name == name);
    let mut results = Vec::new();
    for step in steps.iter().filter(|step| !step.beside.is_some_and(named)) {
        let beside = steps.iter().find(|other| other.beside == Some(step.name));
        step.announce(results.len(), steps.len());
        if let Some(beside) = beside {
            beside.announce(results.len() + 1, steps.len());
            // Else the two would build at once, and wait for each other's locks. What does not compile, `check` says.
            let _ = run(group
                .cargo()
                .args(["test", "--workspace", "--no-run", "--quiet"]));
        }
        let (result, other) = thread::scope(|scope| {
            let other = beside.map(|beside| {
                let group = &group;
                scope.spawn(move || beside.timed(|step| step.check_beside(group)))
            });
            let result = step.timed(|step| step.check(workspace, &group));
            let other = other.map(|other| other.join().expect("a step does not panic"));
            (result, other)
        });
        results.push(result);
        results.extend(other);
    }
    report(&results)
}

/// Said now, and not after the minutes that come before the site's test.
fn browser() -> Result<(), Failure> {
    match ask(Command::new("chromium").arg("--version")) {
        Some(_) => Ok(()),
        None => Err(Failure::environment(
            "there is no `chromium`, in which the site is tested: `apt-get install chromium`",
        )),
    }
}

/// The steps that the arguments name.
fn chosen(arguments: &[String]) -> Result<Vec<&'static Step>, Failure> {
    if arguments.is_empty() {
        return Ok(STEPS.iter().filter(|step| step.part_of.is_none()).collect());
    }
    let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
    if let Some(unknown) = arguments
        .iter()
        .find(|argument| !names.contains(&argument.as_str()))
    {
        return Err(Failure::unknown(
            "step",
            unknown,
            &names,
            "cargo xtask test --help",
        ));
    }
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    Ok(STEPS
        .iter()
        .filter(|step| named(step.name) && !step.part_of.is_some_and(named))
        .collect())
}

impl Step {
    fn announce(&self, before: usize, of: usize) {
        let number = bold(&format!("[{}/{of}] {}", before + 1, self.name));
        eprintln!("\n{number} {}", dim(self.summary));
    }

    fn timed(&'static self, check: impl FnOnce(&Self) -> Vec<Failure>) -> Checked {
        let start = Instant::now();
        let failures = check(self);
        let time = start.elapsed();
        let word = if failures.is_empty() {
            green("ok")
        } else {
            red("FAILED")
        };
        let took = dim(&format!("({})", elapsed(time)));
        eprintln!("{word} {} {took}", self.name);
        (self, time, failures)
    }

    /// The same as [`check`](Self::check) while another step prints too: each line starts with the step's name.
    fn check_beside(&self, group: &Group) -> Vec<Failure> {
        let Run::Cargo(arguments) = self.run else {
            unreachable!("a step that runs beside another is a cargo command");
        };
        let prefix = dim(&format!("{} |", self.name));
        run_prefixed(group.cargo().args(arguments), &prefix)
            .err()
            .into_iter()
            .collect()
    }

    fn check(&self, workspace: &Workspace, group: &Group) -> Vec<Failure> {
        match self.run {
            Run::Cargo(arguments) => {
                let mut cargo = group.cargo();
                cargo.args(arguments);
                if self.name == "doc" {
                    cargo.env("RUSTDOCFLAGS", "-D warnings");
                }
                run(&mut cargo).err().into_iter().collect()
            }
            Run::Function(function) => function(workspace, group),
        }
    }
}

/// The last lines: times, every failure with its command, and the count alone on the last one.
fn report(results: &[Checked]) -> Result<(), Failure> {
    eprintln!();
    for (step, time, failures) in results {
        let word = if failures.is_empty() {
            green("ok    ")
        } else {
            red("FAILED")
        };
        eprintln!("{word} {:<9} {}", step.name, dim(&elapsed(*time)));
    }
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, _, failures)| !failures.is_empty())
        .collect();
    let mut lines = Vec::new();
    for (step, _, failures) in &failed {
        for line in failures.iter().flat_map(Failure::lines) {
            let name = step.name;
            // Some say already what repeats them, and more narrowly.
            lines.push(if line.contains("repeat with: ") {
                format!("{name}: {line}")
            } else {
                format!("{name}: {line}; repeat with: cargo xtask test {name}")
            });
        }
    }
    let failure = Failure::Check(lines);
    if !failed.is_empty() {
        eprintln!();
        failure.print();
    }
    println!(
        "{} passed, {} failed",
        results.len() - failed.len(),
        failed.len()
    );
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Check(Vec::new()))
    }
}

/// Lints, formatting, types and tests of the Python code.
fn python(workspace: &Workspace, group: &Group) -> Vec<Failure> {
    let ruff = |arguments: &[&str]| {
        let mut command = group.command(workspace.python_program("ruff"));
        command.args(arguments);
        command
    };
    let mut commands = vec![
        ruff(&["check", "--quiet", "."]),
        ruff(&["format", "--check", "--quiet", "."]),
    ];
    let files = files(&workspace.root);
    // A folder of Python that is to be typed says so in its own pyproject.toml.
    let typed = files.iter().filter(|file| {
        file.ends_with("pyproject.toml")
            && fs::read_to_string(file).is_ok_and(|text| text.contains("[tool.mypy]"))
    });
    for folder in typed.filter_map(|file| file.parent()) {
        let mut mypy = group.command(workspace.python_program("mypy"));
        mypy.arg(".").current_dir(folder);
        commands.push(mypy);
    }
    let is_test = |file: &&PathBuf| {
        file.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("test_") && name.ends_with(".py"))
    };
    // Each in a process of its own, beside its `export.py`; with the exporter as it is where the compile step has no GPU.
    for test in files.iter().filter(is_test) {
        let mut pytest = group.command(workspace.python_program("pytest"));
        pytest
            .args([
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "guide_export.installed",
                "--disable-warnings",
            ])
            .arg(test)
            .env("PYTHONPATH", workspace.root.join("crates/export/python"));
        commands.push(pytest);
    }
    commands
        .iter_mut()
        .filter_map(|command| {
            eprintln!("{}", dim(&shown(command)));
            run(command).err()
        })
        .collect()
}

/// codespell, over everything but what tools write and programs read.
fn prose(workspace: &Workspace, group: &Group) -> Vec<Failure> {
    const READ: &[&str] = &[
        "md", "rs", "py", "js", "css", "hbs", "cc", "h", "toml", "yml", "sh",
    ];
    let files = files(&workspace.root).into_iter().filter(|file| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| READ.contains(&extension))
    });
    let mut codespell = group.command(workspace.python_program("codespell"));
    codespell
        .arg("--ignore-words")
        .arg(workspace.root.join("xtask/words.txt"))
        .args(files)
        .current_dir(&workspace.root);
    let failure = run(&mut codespell)
        .err()
        .map(|_| Failure::check("misspelt, above; a word that is meant goes into xtask/words.txt"));
    failure.into_iter().collect()
}

/// The repository's own files, sorted: not what is built, installed or hidden.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
        {
            let name = entry.file_name();
            let hidden = name.as_encoded_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir()
                        && !hidden
                        && !["target", "book", "node_modules"]
                            .iter()
                            .any(|built| name == *built && folder == root) =>
                {
                    folders.push(entry.path());
                }
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        chosen(&arguments)
            .unwrap()
            .iter()
            .map(|step| step.name)
            .collect()
    }

    #[test]
    fn all_steps_run_and_none_twice() {
        let all = names(&[]);
        for step in STEPS {
            let times = all.iter().filter(|name| **name == step.name).count();
            assert_eq!(times, usize::from(step.part_of.is_none()), "{}", step.name);
        }
        assert_eq!(names(&["site", "rust", "fmt", "fmt"]), ["fmt", "rust"]);
        assert_eq!(names(&["site", "listings"]), ["listings", "site"]);
    }

    #[test]
    fn every_part_belongs_to_a_step_that_is_run() {
        for step in STEPS {
            if let Some(whole) = step.part_of {
                assert!(
                    STEPS
                        .iter()
                        .any(|other| other.name == whole && other.part_of.is_none()),
                    "{}",
                    step.name
                );
            }
        }
    }

    #[test]
    fn a_step_beside_another_is_a_cargo_command() {
        for step in STEPS.iter().filter(|step| step.beside.is_some()) {
            assert!(matches!(step.run, Run::Cargo(_)), "{}", step.name);
            assert!(
                STEPS.iter().any(|other| Some(other.name) == step.beside),
                "{}",
                step.name
            );
        }
    }

    #[test]
    fn an_unknown_step_names_the_likely_one() {
        let failure = chosen(&["clipy".to_owned()]).err().unwrap();
        assert!(
            failure.lines()[0].contains("did you mean `clippy`?"),
            "{:?}",
            failure.lines()
        );
    }

    #[test]
    fn the_walk_sees_our_files_and_not_what_is_built() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = files(root);
        assert!(
            files
                .iter()
                .any(|file| file.ends_with("xtask/python/pyproject.toml"))
        );
        assert!(
            files
                .iter()
                .all(|file| !file.starts_with(root.join("target"))
                    && !file.starts_with(root.join(".venv")))
        );
    }
}
