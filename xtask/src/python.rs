//! The virtual environment: found whole by a stamp, or made anew.
//!
//! There is one way to it. The stamp is written last and removed first, so an environment with a valid stamp is complete,
//! and one without (interrupted, damaged, of another lock or Python) is emptied and made again from uv's cache.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process::{Group, ask, run_quietly};
use crate::progress::Task;
use crate::workspace::{Workspace, failed, read, remove, write};

/// Where the packages' versions and hashes are, from the workspace's root.
pub const LOCK: &str = "xtask/python/requirements.txt";
/// The same for uv itself.
pub const UV_LOCK: &str = "xtask/python/uv.txt";

/// The Python minor versions that `LOCK` is made for.
const MINORS: std::ops::RangeInclusive<u32> = 11..=13;
/// The wheels' `manylinux_2_28`.
const GLIBC: (u32, u32) = (2, 28);
const DEBIAN: &str = "apt-get install python3 python3-venv";

/// What `PROBE` prints, one a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Interpreter {
    program: PathBuf,
    version: String,
    implementation: String,
    free_threaded: bool,
    libc: String,
    has_venv: bool,
}

const PROBE: &str = "\
import platform, sys, sysconfig
try:
    import ensurepip, venv
except ImportError:
    found = 'no'
else:
    found = 'yes'
print(sys.executable, platform.python_version(), platform.python_implementation(), sep='\\n')
print('yes' if sysconfig.get_config_var('Py_GIL_DISABLED') else 'no', ' '.join(platform.libc_ver()), found, sep='\\n')
";

impl Interpreter {
    fn probe(program: &OsStr) -> Option<Self> {
        Self::parse(&ask(plain(
            Command::new(program).args(["-I", "-c", PROBE]),
        ))?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::to_owned);
        let mut next = || lines.next();
        Some(Self {
            program: next()?.into(),
            version: next()?,
            implementation: next()?,
            free_threaded: next()? == "yes",
            libc: next()?,
            has_venv: next()? == "yes",
        })
    }

    /// Why this one will not do, and what will.
    fn objection(&self) -> Option<String> {
        let Self {
            program,
            version,
            implementation,
            libc,
            ..
        } = self;
        let program = program.display();
        if implementation != "CPython" || self.free_threaded {
            let kind = if self.free_threaded {
                "free-threaded CPython"
            } else {
                implementation
            };
            Some(format!(
                "{program} is {kind}; ordinary CPython 3.11 to 3.13 is needed: `{DEBIAN}`"
            ))
        } else if !version
            .strip_prefix("3.")
            .and_then(|rest| number(rest, 0))
            .is_some_and(|minor| MINORS.contains(&minor))
        {
            Some(format!(
                "{program} is Python {version}; 3.11, 3.12 or 3.13 is needed: `{DEBIAN}` (Debian 12, 13; Ubuntu 24.04)"
            ))
        } else if !self.has_venv {
            Some(format!(
                "{program} (Python {version}) is without the modules venv and ensurepip: `apt-get install python3-venv`"
            ))
        } else if !libc.strip_prefix("glibc ").is_some_and(|have| {
            number(have, 0)
                .zip(number(have, 1))
                .is_some_and(|have| have >= GLIBC)
        }) {
            Some(format!(
                "the C library is `{libc}`; glibc {}.{} or newer is needed: Debian 12 or Ubuntu 24.04 have it",
                GLIBC.0, GLIBC.1
            ))
        } else {
            None
        }
    }
}

/// The `index`th of a version's numbers.
fn number(version: &str, index: usize) -> Option<u32> {
    version.split('.').nth(index)?.parse().ok()
}

/// Python as it is, whatever this shell has set for another one.
fn plain(command: &mut Command) -> &mut Command {
    for name in [
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "__PYVENV_LAUNCHER__",
    ] {
        command.env_remove(name);
    }
    command
}

/// The first suitable Python on `PATH`, or why there is none, in one line.
pub fn interpreter() -> Result<PathBuf, String> {
    if let Some(chosen) = std::env::var_os("GUIDE_PYTHON") {
        let found = Interpreter::probe(&chosen).ok_or_else(|| {
            format!(
                "GUIDE_PYTHON={} cannot be run: name a Python 3.11, 3.12 or 3.13",
                chosen.display()
            )
        })?;
        return found.objection().map_or(Ok(found.program), Err);
    }
    let mut objection = None;
    for name in ["python3", "python3.13", "python3.12", "python3.11"] {
        match Interpreter::probe(OsStr::new(name)).map(|found| (found.objection(), found.program)) {
            Some((None, program)) => return Ok(program),
            Some((Some(why), _)) => objection = objection.or(Some(why)),
            None => {}
        }
    }
    Err(objection.unwrap_or_else(|| format!("Python 3.11, 3.12 or 3.13 is missing: `{DEBIAN}`")))
}

/// What is wrong with the environment.
pub struct Doubt {
    /// In words.
    pub why: String,
    /// Packages with files missing or cut short. uv's cache may hold the same files: it links them.
    damaged: Vec<String>,
}

/// Looks whether the environment is the one that the lock asks for. Reads the packages' lists of files and every file's size: 0.2 s.
pub fn examine(workspace: &Workspace) -> Result<(), Doubt> {
    let doubt = |why: &str| Doubt {
        why: why.to_owned(),
        damaged: Vec::new(),
    };
    let stamp = fs::read_to_string(stamp_path(workspace))
        .map_err(|_| doubt("not installed, or not to the end"))?;
    let installed = Installed::read(workspace).map_err(|why| doubt(&why))?;
    let damaged = installed.damaged();
    if let Some((package, file)) = damaged.first() {
        let why = format!("{package}: {} is missing or damaged", file.display());
        let mut damaged: Vec<_> = damaged.into_iter().map(|(package, _)| package).collect();
        damaged.dedup();
        return Err(Doubt { why, damaged });
    }
    let wanted = Stamp::of(workspace, &installed).map_err(|why| doubt(&why))?;
    match stamp
        .lines()
        .zip(wanted.0.lines())
        .find(|(have, want)| have != want)
    {
        None if stamp == wanted.0 => Ok(()),
        Some((have, _)) => Err(doubt(&format!(
            "{} changed",
            have.split(':').next().unwrap_or("something")
        ))),
        None => Err(doubt("made by another version of setup")),
    }
}

/// Empties the environment and makes it again.
pub fn install(
    workspace: &Workspace,
    group: &Group,
    python: &Path,
    doubt: &Doubt,
    task: &Task,
) -> Result<(), Failure> {
    remove(&stamp_path(workspace))?;
    let uv = Uv::get(workspace, group, python, task)?;
    for package in &doubt.damaged {
        run_quietly(uv.command(group).args(["cache", "clean", package]), task)?;
    }
    task.says("removes what was there");
    let venv = workspace.venv();
    let entries = fs::read_dir(&venv).map_err(|error| failed("read", &venv, &error))?;
    for entry in entries.filter_map(Result::ok) {
        if crate::setup::KEPT
            .iter()
            .all(|kept| entry.file_name() != *kept)
        {
            remove(&entry.path())?;
        }
    }
    run_quietly(
        plain(
            group
                .command(python)
                .args(["-I", "-m", "venv", "--without-pip"])
                .arg(&venv),
        ),
        task,
    )?;
    run_quietly(
        uv.command(group)
            .args([
                "pip",
                "sync",
                "--require-hashes",
                "--only-binary",
                ":all:",
                "--python",
            ])
            .arg(workspace.python_program("python"))
            .arg(LOCK),
        task,
    )?;
    let broken = |why: String| {
        Failure::environment(format!(
            "{why}, right after the installation: `cargo xtask setup` again"
        ))
    };
    let installed = Installed::read(workspace).map_err(broken)?;
    if let Some((package, file)) = installed.damaged().into_iter().next() {
        // The cache is damaged, then: without it the next run starts from the registry.
        run_quietly(uv.command(group).args(["cache", "clean", &package]), task)?;
        return Err(broken(format!(
            "{package}: {} is missing or damaged",
            file.display()
        )));
    }
    write(
        &stamp_path(workspace),
        &Stamp::of(workspace, &installed).map_err(broken)?.0,
    )
}

/// The folder of the installed packages.
pub fn site_packages(workspace: &Workspace) -> Option<PathBuf> {
    let lib = workspace.venv().join("lib");
    let python = fs::read_dir(lib)
        .ok()?
        .filter_map(Result::ok)
        .find(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"python3.")
        });
    Some(python?.path().join("site-packages"))
}

fn stamp_path(workspace: &Workspace) -> PathBuf {
    workspace.venv().join("setup-stamp")
}

/// What an environment was made from; two are the same if these lines are.
struct Stamp(String);

impl Stamp {
    fn of(workspace: &Workspace, installed: &Installed) -> Result<Self, String> {
        let python = workspace.python_program("python");
        let version = ask(plain(Command::new(&python).args([
            "-I",
            "-S",
            "-c",
            "import sys; print(sys.version)",
        ])))
        .ok_or("its Python does not run any more")?
        .replace('\n', " ");
        let lock =
            fs::read(workspace.root.join(LOCK)).map_err(|error| format!("{LOCK}: {error}"))?;
        // The scripts in bin/ name the folder, so an environment does not survive a move.
        Ok(Self(format!(
            "setup: 1\nthe folder: {}\nPython: {version}\nthe lock file: {:016x}\nthe set of installed packages: {:016x}\n",
            workspace.venv().display(),
            fingerprint(&lock),
            installed.fingerprint
        )))
    }
}

/// FNV-1a: what tells two texts apart need not withstand an attacker.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What the packages say of themselves: each one's `RECORD` lists its files with their sizes.
struct Installed {
    folder: PathBuf,
    /// Package name and `RECORD`, sorted.
    records: Vec<(String, String)>,
    fingerprint: u64,
}

impl Installed {
    fn read(workspace: &Workspace) -> Result<Self, String> {
        let folder = site_packages(workspace).ok_or("its folder of packages is gone")?;
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut records = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let Some(package) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.strip_suffix(".dist-info"))
                .map(str::to_owned)
            else {
                continue;
            };
            let record = fs::read_to_string(entry.path().join("RECORD"))
                .map_err(|error| format!("{package}'s RECORD: {error}"))?;
            records.push((package, record));
        }
        records.sort();
        let all: String = records
            .iter()
            .flat_map(|(package, record)| [package.as_str(), "\n", record.as_str()])
            .collect();
        Ok(Self {
            folder,
            records,
            fingerprint: fingerprint(all.as_bytes()),
        })
    }

    /// Every file that is missing or not of its size, with its package's name.
    fn damaged(&self) -> Vec<(String, PathBuf)> {
        let mut damaged = Vec::new();
        for (package, record) in &self.records {
            let name = package.split('-').next().unwrap_or(package);
            for (file, size) in record.lines().filter_map(recorded) {
                let whole = fs::metadata(self.folder.join(&file))
                    .is_ok_and(|meta| size.is_none_or(|size| meta.len() == size));
                if !whole {
                    damaged.push((name.to_owned(), file));
                }
            }
        }
        damaged
    }
}

/// A line of a `RECORD`: the file's path and its size. `path,hash,size`, the path in quotes if it has a comma.
fn recorded(line: &str) -> Option<(PathBuf, Option<u64>)> {
    let (rest, size) = line.rsplit_once(',')?;
    let (path, _hash) = rest.rsplit_once(',')?;
    let path = path
        .strip_prefix('"')
        .and_then(|path| path.strip_suffix('"'))
        .map_or_else(|| path.to_owned(), |path| path.replace("\"\"", "\""));
    Some((path.into(), size.parse().ok()))
}

/// uv, at its locked version, in an environment of its own; and what the user has told pip.
pub struct Uv {
    program: PathBuf,
    settings: Vec<(&'static str, String)>,
}

impl Uv {
    /// Installs uv if it is not there.
    pub fn get(
        workspace: &Workspace,
        group: &Group,
        python: &Path,
        task: &Task,
    ) -> Result<Self, Failure> {
        let folder = workspace.venv().join("tools/uv");
        let bootstrap = folder.join("bin/python");
        let program = folder.join("bin/uv");
        let lock = read(&workspace.root.join(UV_LOCK))?;
        let version = lock
            .split_whitespace()
            .find_map(|word| word.strip_prefix("uv=="))
            .ok_or_else(|| {
                Failure::environment(format!(
                    "{UV_LOCK} has no line `uv==…`: `git checkout {UV_LOCK}`"
                ))
            })?;
        let there = ask(Command::new(&program).arg("--version"))
            .is_some_and(|text| text.split(' ').nth(1) == Some(version));
        let settings = || {
            ask(plain(
                Command::new(&bootstrap).args(["-I", "-m", "pip", "config", "list"]),
            ))
        };
        let settings = match settings().filter(|_| there) {
            Some(settings) => settings,
            None => {
                remove(&folder)?;
                run_quietly(
                    plain(
                        group
                            .command(python)
                            .args(["-I", "-m", "venv"])
                            .arg(&folder),
                    ),
                    task,
                )?;
                run_quietly(
                    plain(group.command(&bootstrap).args([
                        "-I",
                        "-m",
                        "pip",
                        "install",
                        "--no-input",
                        "--require-hashes",
                    ]))
                    .args([
                        "--no-deps",
                        "--only-binary",
                        ":all:",
                        "--disable-pip-version-check",
                        "-r",
                        UV_LOCK,
                    ])
                    .env("PIP_USER", "0"),
                    task,
                )?;
                settings().ok_or_else(|| {
                    Failure::environment(
                        "`pip config list` fails: look at pip's configuration files",
                    )
                })?
            }
        };
        Ok(Self {
            program,
            settings: translated(&settings),
        })
    }

    /// uv with pip's settings.
    pub fn command(&self, group: &Group) -> Command {
        let mut command = group.command(&self.program);
        plain(&mut command);
        for (name, value) in &self.settings {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        command
    }
}

/// uv does not read pip's configuration, where a machine's mirror, certificates or local wheels may stand. These are what both have:
/// pip's key, uv's variable.
const SETTINGS: &[(&str, &str)] = &[
    ("index-url", "UV_DEFAULT_INDEX"),
    ("extra-index-url", "UV_INDEX"),
    ("find-links", "UV_FIND_LINKS"),
    ("no-index", "UV_NO_INDEX"),
    ("trusted-host", "UV_INSECURE_HOST"),
    ("cert", "SSL_CERT_FILE"),
    ("proxy", "ALL_PROXY"),
    ("timeout", "UV_HTTP_TIMEOUT"),
    ("default-timeout", "UV_HTTP_TIMEOUT"),
];

/// `pip config list` (lines such as `global.cert='/a/file'`) as uv's variables.
fn translated(list: &str) -> Vec<(&'static str, String)> {
    // As in pip: the environment wins over `[install]`, and that over `[global]`.
    let mut settings: Vec<(&'static str, String)> = Vec::new();
    for section in [":env:.", "install.", "global."] {
        for (key, value) in list
            .lines()
            .filter_map(|line| line.strip_prefix(section)?.split_once('='))
        {
            let Some((_, name)) = SETTINGS.iter().find(|(pip, _)| *pip == key) else {
                continue;
            };
            // The value is a Python string; several values are parted by blanks, newlines among them.
            let value = value.trim_matches(['\'', '"']).replace("\\n", " ");
            // pip passes over a folder that is not there; uv stops.
            let there = |word: &&str| {
                key != "find-links" || word.contains("://") || Path::new(word).exists()
            };
            let words: Vec<_> = value.split_whitespace().filter(there).collect();
            let value = match *name {
                "UV_FIND_LINKS" => words.join(","),
                "UV_INDEX" | "UV_INSECURE_HOST" => words.join(" "),
                _ => value,
            };
            if !value.is_empty() && settings.iter().all(|(other, _)| other != name) {
                settings.push((name, value));
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(version: &str) -> Interpreter {
        let text = format!("/usr/bin/python3\n{version}\nCPython\nno\nglibc 2.36\nyes\n");
        Interpreter::parse(&text).unwrap()
    }

    #[test]
    fn suitable_interpreters_have_no_objection() {
        for version in ["3.11.2", "3.12.0", "3.13.7rc1"] {
            assert_eq!(python(version).objection(), None, "{version}");
        }
    }

    #[test]
    fn each_unsuitable_interpreter_is_one_line_with_the_fix() {
        let objections = [
            python("3.10.13"),
            python("3.14.0"),
            python("2.7.18"),
            Interpreter {
                has_venv: false,
                ..python("3.12.3")
            },
            Interpreter {
                free_threaded: true,
                ..python("3.13.0")
            },
            Interpreter {
                implementation: "PyPy".to_owned(),
                ..python("3.11.9")
            },
            Interpreter {
                libc: "glibc 2.17".to_owned(),
                ..python("3.11.9")
            },
            Interpreter {
                libc: String::new(),
                ..python("3.11.9")
            },
        ]
        .map(|interpreter| interpreter.objection().unwrap());
        assert!(
            objections
                .iter()
                .all(|line| !line.contains('\n') && line.contains(": ")),
            "{objections:#?}"
        );
        assert!(objections[0].contains("is Python 3.10.13; 3.11, 3.12 or 3.13 is needed"));
        assert!(objections[3].contains("apt-get install python3-venv"));
        assert!(objections[4].contains("free-threaded"));
        assert!(objections[6].contains("glibc 2.28 or newer"));
    }

    #[test]
    fn record_lines() {
        assert_eq!(
            recorded("torch/a.py,sha256=abc,12"),
            Some(("torch/a.py".into(), Some(12)))
        );
        assert_eq!(
            recorded("x.dist-info/RECORD,,"),
            Some(("x.dist-info/RECORD".into(), None))
        );
        assert_eq!(
            recorded("\"a, b\"\".py\",sha256=abc,1"),
            Some(("a, b\".py".into(), Some(1)))
        );
        assert_eq!(recorded(""), None);
    }

    #[test]
    fn a_lost_or_cut_file_is_found_and_another_set_of_packages_is_another() {
        let root = std::env::temp_dir().join(format!("guide-packages-{}", std::process::id()));
        remove(&root).unwrap();
        let packages = root.join(".venv/lib/python3.11/site-packages");
        let put = |file: &str, text: &str| {
            let path = packages.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("some/lost.py", "12");
        put("some/cut.py", "123");
        put(
            "some-1.0.dist-info/RECORD",
            "some/lost.py,sha256=x,2\nsome/cut.py,sha256=y,3\nsome-1.0.dist-info/RECORD,,\n",
        );
        let workspace = Workspace {
            root: root.clone(),
            book: root.clone(),
        };
        let whole = Installed::read(&workspace).unwrap();
        assert_eq!(whole.damaged(), []);

        put("some/cut.py", "12");
        fs::remove_file(packages.join("some/lost.py")).unwrap();
        let found = |file: &str| ("some".to_owned(), PathBuf::from(file));
        assert_eq!(
            whole.damaged(),
            [found("some/lost.py"), found("some/cut.py")]
        );

        put("other-2.0.dist-info/RECORD", "");
        let more = Installed::read(&workspace).unwrap();
        assert_ne!(more.fingerprint, whole.fingerprint);
        fs::create_dir(packages.join("third-3.0.dist-info")).unwrap();
        assert!(
            Installed::read(&workspace)
                .err()
                .is_some_and(|why| why.starts_with("third-3.0's RECORD: "))
        );
        remove(&root).unwrap();
    }

    #[test]
    fn pip_settings_reach_uv() {
        let list = ":env:.cert='/etc/ca.pem'\nglobal.cert='/etc/weaker.pem'\nglobal.index-url='https://mirror.example/simple'\nglobal.find-links='/no/such/folder\\n/'\nglobal.quiet='1'\n";
        assert_eq!(
            translated(list),
            [
                ("SSL_CERT_FILE", "/etc/ca.pem".to_owned()),
                (
                    "UV_DEFAULT_INDEX",
                    "https://mirror.example/simple".to_owned()
                ),
                ("UV_FIND_LINKS", "/".to_owned()),
            ]
        );
    }
}
