//! The repository's commands, as `cargo xtask <command>`.
//!
//! Everything a person or CI runs here is one line of [`COMMANDS`], and everything `cargo xtask test` checks is one
//! line of `steps::STEPS`. Only the standard library is used, and no other crate of the workspace: `setup` has to work
//! before anything else can be built.

mod bench;
mod book;
mod failure;
mod lock;
mod process;
mod progress;
mod python;
mod releases;
mod setup;
mod steps;
mod terminal;
mod tools;
mod workspace;

use std::process::ExitCode;

use failure::Failure;
use terminal::bold;
use workspace::Workspace;

/// A command: one line of the table, which is also what `--help` prints.
struct Command {
    name: &'static str,
    /// The arguments it takes, as `--help` writes them.
    arguments: &'static str,
    /// One line.
    summary: &'static str,
    /// What `cargo xtask <name> --help` adds.
    details: &'static str,
    run: fn(&Workspace, &[String]) -> Result<(), Failure>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "serve",
        arguments: "[--no-open]",
        summary: "set up what is missing, verify, build and serve the book, and again at every change",
        details: "Prints the address: port 3000 of this machine, or the next free one. A browser opens where there is one \
            (--no-open: not). Where only pages changed, the runs of this session are what they are held against; `build` and `test` \
            run everything. A change that breaks a claim prints the failures and leaves the last good pages up. Ctrl-C ends it.",
        run: book::serve,
    },
    Command {
        name: "test",
        arguments: "[STEP…]",
        summary: "check everything, or the named steps alone",
        details: "",
        run: steps::test,
    },
    Command {
        name: "setup",
        arguments: "",
        summary: "install what the build needs into .venv, from the lock files",
        details: "Python packages (hash-locked), mdBook, guide-book, and the crates' sources. Takes about two minutes the first time \
            and under two seconds when all is there. It may be interrupted at any moment and run again, and it repairs what \
            is damaged. Afterwards plain `cargo test` and `mdbook build` work, and nothing needs the network. Every other \
            command runs it by itself. GUIDE_PYTHON names the Python to make the environment with, if the first suitable one on PATH is not it.",
        run: setup::run,
    },
    Command {
        name: "build",
        arguments: "",
        summary: "the proof: verify every statement and build the book into book/",
        details: "Exports what is not in the cache, runs every listing, compares, renders, and checks the pages. All failures are \
            printed, and a failed build leaves the last good book/ as it was.",
        run: book::build_command,
    },
    Command {
        name: "bless",
        arguments: "",
        summary: "rewrite the expected outputs and facts to what the listings show now",
        details: "For a change that is meant: prints the difference; look at it before you commit. Refuses while an assertion fails, since \
            what is wrong must not become what is expected.",
        run: book::bless,
    },
    Command {
        name: "bench",
        arguments: "[RUNS|sweep]",
        summary: "time the build (cold, warm, one change), `pte` beside other readers, or the matrix",
        details: "The ways of building take turns, RUNS times (default 5), and the table has each one's median. So do the readers \
            of programs, as optimised builds; compiling those takes some minutes the first time. Fails if a program of 10 GB costs \
            `pte` more than 10 ms or 10 MB. `sweep` times something else, once: measuring the matrix from nothing, and how \
            long its exports take in one Python process and in a process for each.",
        run: bench::run,
    },
    Command {
        name: "lock",
        arguments: "[--upgrade]",
        summary: "make xtask/python/*.txt again from xtask/python/pyproject.toml",
        details: "For maintainers. Versions that still satisfy the file stay, unless --upgrade is given.",
        run: lock::run,
    },
    Command {
        name: "releases",
        arguments: "[VERSION…]",
        summary: "measure what other releases of ExecuTorch do otherwise, for the page that says so",
        details: "For maintainers. Copies what git has of the repository to target/releases/VERSION, changes the pins there, installs that release \
            (about 3 GB, mostly shared with .venv), exports and, where its wheel has the runtime, runs the whole matrix and bite.json, and \
            writes what differs to crates/matrix/releases.json. Five to ten minutes for all, less once they are installed. The same steps bring the guide to a new release: \
            change the pins, `cargo xtask lock`, `cargo run -p matrix -- measure`, and read the difference.",
        run: releases::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.code()
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let wants_help = |text: &String| matches!(text.as_str(), "--help" | "-h" | "help");
    let Some(name) = arguments.iter().find(|text| !wants_help(text)) else {
        help();
        return if arguments.is_empty() {
            Err(Failure::environment("no command given; the list is above"))
        } else {
            Ok(())
        };
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        let known: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        return Err(Failure::unknown(
            "command",
            name,
            &known,
            "cargo xtask --help",
        ));
    };
    if arguments.iter().any(wants_help) {
        help_for(command);
        return Ok(());
    }
    (command.run)(&Workspace::find()?, &arguments[1..])
}

fn help() {
    println!("The repository's commands. A fresh machine needs two:\n");
    println!("    cargo xtask serve    the book in your browser");
    println!("    cargo xtask test     everything checked\n");
    println!("{}", bold("Commands"));
    for command in COMMANDS {
        println!("    {:<8} {}", command.name, command.summary);
    }
    println!("\n{}", bold("More"));
    println!("    cargo xtask COMMAND --help     what one command does, and its arguments");
    println!("    cargo xtask test fmt clippy    any steps of `test`, by name");
    println!(
        "\nExit status: 0 done, 1 a check failed, 2 a wrong argument or something missing on this machine."
    );
}

fn help_for(command: &Command) {
    println!(
        "{} {}\n",
        bold(&format!("cargo xtask {}", command.name)),
        command.arguments
    );
    println!("{}.", sentence(command.summary));
    if !command.details.is_empty() {
        println!("\n{}", terminal::wrap(command.details, 100));
    }
    if command.name == "test" {
        steps::help();
    }
}

/// `text` with a capital letter first.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The usage error for a command that takes no arguments.
fn no_arguments(command: &str, arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(extra) => Err(Failure::environment(format!(
            "`cargo xtask {command}` takes no argument `{extra}`; `cargo xtask {command} --help` says what it does"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_summaries_are_one_line() {
        for (index, command) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[..index]
                    .iter()
                    .all(|other| other.name != command.name),
                "{} twice",
                command.name
            );
            assert!(
                !command.summary.contains('\n') && command.summary.len() < 100,
                "{}",
                command.name
            );
        }
    }
}
