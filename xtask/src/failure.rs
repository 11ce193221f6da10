//! How a command fails: a check said no, or this machine or the arguments are not as they must be.

use std::process::ExitCode;

use crate::terminal::red;

/// Why a command stopped, as lines for the person who ran it.
#[derive(Debug)]
pub enum Failure {
    /// Something was checked and is wrong: exit status 1.
    Check(Vec<String>),
    /// A wrong argument, or something this machine lacks: exit status 2.
    Environment(Vec<String>),
}

impl Failure {
    /// A check that failed.
    pub fn check(line: impl Into<String>) -> Self {
        Self::Check(vec![line.into()])
    }

    /// Something that is missing, or an argument that is wrong.
    pub fn environment(line: impl Into<String>) -> Self {
        Self::Environment(vec![line.into()])
    }

    /// `name` is none of `known`: says which it may have meant.
    pub fn unknown(kind: &str, name: &str, known: &[&str], help: &str) -> Self {
        let near = known.iter().min_by_key(|other| distance(name, other));
        let guess = near
            .filter(|other| distance(name, other) <= 2)
            .map(|other| format!(", did you mean `{other}`?"));
        let list = known.join(", ");
        Self::environment(match guess {
            Some(guess) => format!("no {kind} `{name}`{guess} (`{help}` lists them)"),
            None => format!("no {kind} `{name}`; there are {list} (`{help}` explains them)"),
        })
    }

    /// A check that failed, said in the words of what it means; anything else stays as it is.
    pub fn or_repeat(self, meaning: &str, command: &str) -> Self {
        match self {
            Self::Check(_) => Self::check(format!("{meaning}; repeat with: {command}")),
            environment @ Self::Environment(_) => environment,
        }
    }

    /// The lines, without a prefix.
    pub fn lines(&self) -> &[String] {
        match self {
            Self::Check(lines) | Self::Environment(lines) => lines,
        }
    }

    /// Writes the lines to standard error.
    pub fn print(&self) {
        for line in self.lines() {
            eprintln!("{} {line}", red("error:"));
        }
    }

    /// The exit status of a command that failed like this.
    pub fn code(&self) -> ExitCode {
        match self {
            Self::Check(_) => ExitCode::from(1),
            Self::Environment(_) => ExitCode::from(2),
        }
    }
}

/// How many letters must be changed, added or removed between two words.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, letter) in left.chars().enumerate() {
        let mut corner = line;
        row[0] = line + 1;
        for (column, other) in right.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_recognised() {
        let failure = Failure::unknown("command", "tset", &["test", "setup"], "cargo xtask --help");
        assert_eq!(
            failure.lines(),
            ["no command `tset`, did you mean `test`? (`cargo xtask --help` lists them)"]
        );
        let failure = Failure::unknown(
            "command",
            "deploy",
            &["test", "setup"],
            "cargo xtask --help",
        );
        assert_eq!(
            failure.lines(),
            ["no command `deploy`; there are test, setup (`cargo xtask --help` explains them)"]
        );
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
