//! `setup`: from a bare machine to one where everything builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::failure::Failure;
use crate::process::{Group, ask, run_quietly};
use crate::progress::Progress;
use crate::terminal::{dim, elapsed, green};
use crate::workspace::{Workspace, exclusive, failed, remove, write};
use crate::{no_arguments, python, tools};

/// The file in `.venv` that one setup at a time holds locked.
pub const LOCK_NAME: &str = "setup-lock";

/// The link in `.venv` to g++'s headers.
const GCC_INCLUDE: &str = "gcc-include";

/// What in `.venv` is not the packages': a new installation leaves it.
pub const KEPT: [&str; 3] = [LOCK_NAME, GCC_INCLUDE, "tools"];

/// What the site's reader of programs is compiled for.
const WASM: &str = "wasm32-unknown-unknown";

/// What the packages, their downloads and the build take, in GiB.
const SPACE: u64 = 12;

/// The command `setup`.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    no_arguments("setup", arguments)?;
    let start = Instant::now();
    ensure(workspace)?;
    println!(
        "{} {}",
        green("ready"),
        dim(&format!("({})", elapsed(start.elapsed())))
    );
    Ok(())
}

/// Brings everything that the build needs up to date, and says where the program `guide-book` is. Does nothing, fast, when it is.
pub fn ensure(workspace: &Workspace) -> Result<PathBuf, Failure> {
    if !cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        return Err(Failure::environment(
            "the runtime comes as a wheel for Linux on x86-64 with glibc; this is another system",
        ));
    }
    let lock = exclusive(&workspace.venv().join(LOCK_NAME), "setting up")?;
    let group = Group::holding(&lock, &workspace.root)?;
    let doubt = python::examine(workspace).err();
    let mdbook = tools::has_mdbook(workspace)?;
    let found = Prerequisites::look(workspace, doubt.is_some())?;

    let progress = Progress::start();
    if !found.wasm {
        let task = progress.task(WASM, "Rust's target; downloads");
        run_quietly(
            Command::new("rustup").args(["--quiet", "target", "add", WASM]),
            &task,
        )?;
        task.done();
    }
    std::thread::scope(|scope| {
        // The packages are downloads, mdBook is compilation: side by side they take as long as the longer.
        let packages = doubt
            .as_ref()
            .zip(found.python.as_deref())
            .map(|(doubt, python)| {
                scope.spawn(|| {
                    let task = progress.task(
                        "Python packages",
                        &format!("{}; downloads up to 3 GB", doubt.why),
                    );
                    python::install(workspace, &group, python, doubt, &task)?;
                    task.done();
                    Ok(())
                })
            });
        let mut rest = fetch(workspace, &group, &progress);
        if rest.is_ok() && !mdbook {
            let task = progress.task("mdBook", "compiles, about a minute");
            rest = tools::install_mdbook(workspace, &group, &task).map(|()| task.done());
        }
        match packages {
            Some(packages) => both(
                rest,
                packages
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            ),
            None => rest,
        }
    })?;
    link(workspace, found.gcc_include.as_deref())?;
    let task = progress.quick_task("guide-book", "builds");
    let guide_book = tools::guide_book(workspace, &group, &task)?;
    task.done();
    Ok(guide_book)
}

/// Brings the Python packages alone up to date.
pub fn packages(workspace: &Workspace) -> Result<(), Failure> {
    let lock = exclusive(&workspace.venv().join(LOCK_NAME), "setting up")?;
    let group = Group::holding(&lock, &workspace.root)?;
    let doubt = python::examine(workspace).err();
    let found = Prerequisites::look(workspace, doubt.is_some())?;
    if let Some((doubt, python)) = doubt.as_ref().zip(found.python.as_deref()) {
        let progress = Progress::start();
        let task = progress.task("Python packages", &doubt.why);
        python::install(workspace, &group, python, doubt, &task)?;
        task.done();
    }
    link(workspace, found.gcc_include.as_deref())
}

/// The crates' sources: afterwards cargo asks no registry. Asked for once for a `Cargo.lock`.
fn fetch(workspace: &Workspace, group: &Group, progress: &Progress) -> Result<(), Failure> {
    let lock = fs::read_to_string(workspace.root.join("Cargo.lock"))
        .map_err(|_| Failure::environment("Cargo.lock is missing: `git checkout Cargo.lock`"))?;
    let stamp = workspace.venv().join("tools/Cargo.lock");
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == lock) {
        return Ok(());
    }
    let task = progress.quick_task("crates", "downloads");
    run_quietly(
        group
            .cargo()
            .args(["fetch", "--locked", "--color=never"])
            .args(["--target", "x86_64-unknown-linux-gnu"]),
        &task,
    )?;
    let tools = workspace.venv().join("tools");
    fs::create_dir_all(&tools).map_err(|error| failed("make the folder", &tools, &error))?;
    write(&stamp, &lock)?;
    task.done();
    Ok(())
}

/// Both failures of two, or what there is of them.
fn both(first: Result<(), Failure>, second: Result<(), Failure>) -> Result<(), Failure> {
    match (first, second) {
        (Err(first), Err(second)) => Err(Failure::Environment(
            [first.lines(), second.lines()].concat(),
        )),
        (first, second) => first.and(second),
    }
}

/// What this machine itself must have, looked for only when something is to be made from it.
struct Prerequisites {
    python: Option<PathBuf>,
    gcc_include: Option<PathBuf>,
    /// Whether Rust has the target [`WASM`]; if not, there is rustup to add it.
    wasm: bool,
}

impl Prerequisites {
    /// Finds them, or says of each missing one, in one line, what it is and how to get it.
    fn look(workspace: &Workspace, python: bool) -> Result<Self, Failure> {
        let mut lines = Vec::new();
        let mut take =
            |result: Result<PathBuf, String>| result.map_err(|line| lines.push(line)).ok();
        let found = Self {
            python: python.then(|| take(python::interpreter())).flatten(),
            gcc_include: (!gcc_include_is_linked(workspace))
                .then(|| take(gcc_include()))
                .flatten(),
            wasm: has_wasm(),
        };
        if !found.wasm && ask(Command::new("rustup").arg("--version")).is_none() {
            lines.push(format!(
                "Rust's target {WASM} is missing: `rustup target add {WASM}`, or of Debian's Rust `apt-get install libstd-rust-dev-wasm32`"
            ));
        }
        if python && let Some(line) = too_little_space(workspace) {
            lines.push(line);
        }
        if lines.is_empty() {
            Ok(found)
        } else {
            Err(Failure::Environment(lines))
        }
    }
}

/// Whether Rust's library for WebAssembly is installed.
fn has_wasm() -> bool {
    ask(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]))
        .is_some_and(|folder| Path::new(&folder).is_dir())
}

/// g++'s own headers, for bindgen; asked of the compiler that has just shown that it compiles C++17.
fn gcc_include() -> Result<PathBuf, String> {
    const FIX: &str = "`apt-get install g++`";
    let Some(version) = ask(Command::new("g++").arg("-dumpfullversion")) else {
        return Err(format!(
            "the C++ compiler g++, version 9 or newer, is missing: {FIX}"
        ));
    };
    if version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .is_none_or(|major: u32| major < 9)
    {
        return Err(format!(
            "g++ is version {version}; 9 or newer is needed, for C++17: {FIX}"
        ));
    }
    let program = std::env::temp_dir().join(format!("guide-setup-{}.cpp", std::process::id()));
    let compiles = fs::write(&program, "#include <filesystem>\n#include <optional>\nint main() { return std::optional<int>(0).value(); }\n").is_ok()
        && Command::new("g++")
            .args(["-std=c++17", "-fsyntax-only"])
            .arg(&program)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    let _ = fs::remove_file(&program);
    if !compiles {
        return Err(format!(
            "g++ {version} does not compile a C++17 program with the standard headers: {FIX}"
        ));
    }
    let include = ask(Command::new("g++").arg("-print-file-name=include")).map(PathBuf::from);
    include
        .filter(|include| include.join("stddef.h").is_file())
        .ok_or_else(|| format!("g++ {version} has no header folder with stddef.h: {FIX}"))
}

fn gcc_include_is_linked(workspace: &Workspace) -> bool {
    workspace
        .venv()
        .join(GCC_INCLUDE)
        .join("stddef.h")
        .is_file()
}

/// Why the packages would not fit. A machine without `df` finds out by itself.
fn too_little_space(workspace: &Workspace) -> Option<String> {
    let kibibytes = ask(Command::new("df")
        .args(["--output=avail", "-k"])
        .arg(&workspace.root))?;
    let free: u64 = kibibytes.lines().last()?.trim().parse().ok()?;
    let free = free / (1024 * 1024);
    (free < SPACE).then(|| {
        format!(
            "{}: {free} GiB are free, {SPACE} are needed: make room",
            workspace.root.display()
        )
    })
}

/// The three links that `.cargo/config.toml` names.
fn link(workspace: &Workspace, gcc_include: Option<&Path>) -> Result<(), Failure> {
    let venv = workspace.venv();
    let packages = python::site_packages(workspace)
        .ok_or_else(|| Failure::environment(".venv has no packages: `cargo xtask setup`"))?;
    let packages = packages.strip_prefix(&venv).unwrap_or(&packages);
    point(&venv.join("executorch"), &packages.join("executorch"))?;
    point(&venv.join("libclang"), &packages.join("clang/native"))?;
    gcc_include.map_or(Ok(()), |target| point(&venv.join(GCC_INCLUDE), target))
}

/// Makes `link` lead to `target`, in one step.
fn point(link: &Path, target: &Path) -> Result<(), Failure> {
    if fs::read_link(link).is_ok_and(|present| present == target) {
        return Ok(());
    }
    let temporary = link.with_extension("new");
    remove(&temporary)?;
    if fs::symlink_metadata(link).is_ok_and(|meta| meta.is_dir()) {
        remove(link)?;
    }
    std::os::unix::fs::symlink(target, &temporary)
        .and_then(|()| fs::rename(&temporary, link))
        .map_err(|error| failed("make the link", link, &error))
}
