//! Child processes that cannot outlive this one.
//!
//! All children join one process group, whose leader is a shell that waits for the end of a pipe. When this process
//! ends, however it ends, the kernel closes the pipe, and the shell ends the group. So Ctrl-C, `kill` and `kill -9`
//! leave nothing running.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::failure::Failure;
use crate::progress::Task;

/// Children get a second to end by themselves, unless this process ended well: then none should be left.
const WATCH: &str = "trap '' TERM INT HUP; read -r word; kill -TERM 0; [ \"$word\" = done ] || sleep 1; kill -KILL 0";

/// How many lines of a quiet command's output an error shows.
const TAIL: usize = 12;

/// A process group, and what ends it.
pub struct Group {
    watch: Child,
    /// Where its commands run unless they say: `cargo xtask` may be called in any folder of the workspace.
    folder: PathBuf,
}

impl Group {
    /// An empty group, for commands that run in `folder`.
    pub fn start(folder: &Path) -> Result<Self, Failure> {
        Self::with(folder, Stdio::null())
    }

    /// The same, and it keeps `lock` locked until its last process is gone, even when this process is killed.
    pub fn holding(lock: &File, folder: &Path) -> Result<Self, Failure> {
        let lock = lock
            .try_clone()
            .map_err(|error| Failure::environment(format!("cannot share a lock: {error}")))?;
        Self::with(folder, lock.into())
    }

    fn with(folder: &Path, held: Stdio) -> Result<Self, Failure> {
        let watch = Command::new("sh")
            .args(["-c", WATCH])
            .stdin(Stdio::piped())
            .stdout(held)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::environment(format!("cannot start `sh`: {error}")))?;
        let folder = folder.to_path_buf();
        Ok(Self { watch, folder })
    }

    /// A command whose process will belong to the group.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(&self.folder);
        command.process_group(
            self.watch
                .id()
                .try_into()
                .expect("a process id is positive"),
        );
        command
    }

    /// `cargo`, the one that runs this program.
    pub fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.watch.stdin.take() {
            // If it cannot be told, the end of the pipe tells it.
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.watch.wait();
    }
}

/// The command as a person would type it in the folder where it runs.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = if program.ends_with("cargo") {
        "cargo".into()
    } else {
        program.to_string_lossy()
    };
    let here = command
        .get_current_dir()
        .map(|folder| format!("{}/", folder.display()));
    let words = std::iter::once(name).chain(command.get_args().map(OsStr::to_string_lossy));
    let quoted = words.map(|word| {
        let word = here
            .as_deref()
            .and_then(|here| word.strip_prefix(here))
            .unwrap_or(&word);
        let plain = |letter: char| letter.is_alphanumeric() || "-_./=:@%+,".contains(letter);
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    Failure::environment(if error.kind() == std::io::ErrorKind::NotFound {
        format!(
            "`{program}` is not there: `cargo xtask setup` installs the tools, and the README has the list of the rest"
        )
    } else {
        format!("cannot start `{program}`: {error}")
    })
}

/// How a process ended, in words; `None` if it ended well.
pub fn outcome(status: ExitStatus) -> Option<String> {
    if status.success() {
        return None;
    }
    Some(match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended without a status".to_owned(),
    })
}

/// Runs a command with its output going where this program's goes.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    match outcome(status) {
        None => Ok(()),
        Some(how) => Err(Failure::check(format!("{how} from `{}`", shown(command)))),
    }
}

/// The same, with `prefix` before each line of its output.
pub fn run_prefixed(command: &mut Command, prefix: &str) -> Result<(), Failure> {
    let status = each_line(command, |line| eprintln!("{prefix} {line}"))?;
    match outcome(status) {
        None => Ok(()),
        Some(how) => Err(Failure::check(format!("{how} from `{}`", shown(command)))),
    }
}

/// Runs a command and hands over each line of its output.
fn each_line(command: &mut Command, mut each: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
    let broken = |error: std::io::Error| {
        Failure::environment(format!("cannot read a child's output: {error}"))
    };
    let (reader, writer) = std::io::pipe().map_err(broken)?;
    command
        .stdout(writer.try_clone().map_err(broken)?)
        .stderr(writer);
    let child = command.spawn();
    // The command holds the pipe's writing end; without this the reading below would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.map_err(|error| cannot_start(command, &error))?;
    for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
        each(String::from_utf8_lossy(&line).trim_end());
    }
    child.wait().map_err(broken)
}

/// Runs a short command and returns what it prints, trimmed; `None` if it cannot be run or fails.
pub fn ask(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a long command whose output matters only when it fails; meanwhile its last line is shown as progress.
pub fn run_quietly(command: &mut Command, task: &Task) -> Result<(), Failure> {
    run_watched(command, task, |_| ())
}

/// The same, and `each` sees the lines that are JSON, which nobody else reads.
pub fn run_watched(
    command: &mut Command,
    task: &Task,
    mut each: impl FnMut(&str),
) -> Result<(), Failure> {
    let mut tail = std::collections::VecDeque::new();
    let status = each_line(command, |line| {
        if line.starts_with('{') {
            each(line);
        } else if !line.is_empty() {
            task.says(line);
            tail.push_back(line.to_owned());
            if tail.len() > TAIL {
                tail.pop_front();
            }
        }
    })?;
    match outcome(status) {
        None => Ok(()),
        Some(how) => {
            let mut lines = vec![format!(
                "{}: {how} from `{}`, whose last words are:",
                task.name(),
                shown(command)
            )];
            lines.extend(tail);
            Err(Failure::environment(lines.join("\n    ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn alive(id: u32) -> bool {
        // A zombie is not alive; its state is the word after the name in brackets.
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
            !stat
                .rsplit(')')
                .next()
                .unwrap_or("")
                .trim_start()
                .starts_with('Z')
        })
    }

    fn ends(id: u32) -> bool {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if !alive(id) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    #[test]
    fn the_end_of_the_pipe_ends_even_what_ignores_a_polite_request() {
        let mut group = Group::start(Path::new("/")).unwrap();
        let mut child = group
            .command("sh")
            .args(["-c", "trap '' TERM; while :; do sleep 5; done"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(alive(child.id()));
        // What the kernel does when this process is killed.
        drop(group.watch.stdin.take());
        let ended = ends(child.id());
        let _ = child.kill();
        child.wait().unwrap();
        assert!(ended, "the child outlived the group");
    }

    #[test]
    fn a_stray_ends_with_the_group() {
        let group = Group::start(Path::new("/")).unwrap();
        let stray = ask(group
            .command("sh")
            .args(["-c", "sleep 20 >/dev/null 2>&1 & echo $!"]))
        .unwrap();
        let stray: u32 = stray.parse().unwrap();
        assert!(alive(stray));
        drop(group);
        assert!(ends(stray), "the stray outlived the group");
    }

    #[test]
    fn a_lock_is_held_until_the_group_is_gone() {
        let path = std::env::temp_dir().join(format!("guide-lock-{}", std::process::id()));
        let lock = File::create(&path).unwrap();
        lock.lock().unwrap();
        let mut group = Group::holding(&lock, Path::new("/")).unwrap();
        let mut child = group
            .command("sh")
            .args(["-c", "trap '' TERM; while :; do sleep 5; done"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        // This process is killed: its own hold on the lock goes, and the pipe ends.
        drop(lock);
        drop(group.watch.stdin.take());
        let other = File::open(&path).unwrap();
        assert!(
            other.try_lock().is_err(),
            "the lock went before the processes did"
        );
        other.lock().unwrap();
        assert!(ends(child.id()));
        child.wait().unwrap();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["test", "--", "two words", "it's"]);
        assert_eq!(shown(&command), r"cargo test -- 'two words' 'it'\''s'");
        let mut command = Command::new("/repository/.venv/bin/ruff");
        command.args(["check", "."]).current_dir("/repository");
        assert_eq!(shown(&command), ".venv/bin/ruff check .");
    }

    #[test]
    fn a_missing_program_is_one_line_with_the_fix() {
        let failure = run(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(failure.lines().len(), 1);
        assert!(
            failure.lines()[0].starts_with("`no-such-program` is not there: `cargo xtask setup`")
        );
    }
}
