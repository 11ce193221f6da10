//! The book: building it is the proof, serving it is building it at every change, blessing it is taking its word.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{Group, outcome, run};
use crate::terminal::{dim, elapsed, green};
use crate::tools::GUIDE_BOOK_VARIABLE;
use crate::workspace::{Workspace, exclusive, failed, remove};
use crate::{no_arguments, setup};

/// The port that mdBook's own `serve` takes.
const PORT: u16 = 3000;

/// The command `build`.
pub fn build_command(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    no_arguments("build", arguments)?;
    let guide_book = setup::ensure(workspace)?;
    let start = Instant::now();
    build(workspace, Some(&guide_book))?;
    let index = workspace.book.join("book/index.html");
    println!(
        "{} {} {}",
        green("proved:"),
        index.display(),
        dim(&format!("({})", elapsed(start.elapsed())))
    );
    Ok(())
}

/// Verifies everything and builds `book/`. The last good `book/` stays until the new one is whole and checked.
/// `guide_book` is the program, if it is known to be up to date.
pub fn build(workspace: &Workspace, guide_book: Option<&Path>) -> Result<(), Failure> {
    let places = Places::of(workspace);
    let lock = exclusive(&places.lock, "building the book")?;
    let group = Group::holding(&lock, &workspace.root)?;
    places.recover()?;
    remove(&places.fresh)?;
    let built = render(workspace, &group, &places.fresh, guide_book)
        .and_then(|()| check(workspace, &group, &places.fresh, guide_book));
    match built {
        Ok(()) => places.swap(),
        Err(failure) => {
            remove(&places.fresh)?;
            Err(failure)
        }
    }
}

/// Builds the book into `folder`: exports, runs the listings, compares, renders.
fn render(
    workspace: &Workspace,
    group: &Group,
    folder: &Path,
    guide_book: Option<&Path>,
) -> Result<(), Failure> {
    let mut mdbook = mdbook(workspace, group, "build", folder);
    if let Some(program) = guide_book {
        mdbook.env(GUIDE_BOOK_VARIABLE, program);
    }
    run(&mut mdbook).map_err(|failure| {
        failure.or_repeat(
            "the book is not proved; the failures are above",
            "cargo xtask build",
        )
    })
}

/// mdBook on the book, writing to `folder`.
pub fn mdbook(workspace: &Workspace, group: &Group, command: &str, folder: &Path) -> Command {
    let mut mdbook = group.command(workspace.tool("mdbook"));
    // The failures say where they are; where in mdBook they were passed on, a backtrace says.
    mdbook.env("RUST_LIB_BACKTRACE", "0");
    mdbook
        .arg(command)
        .arg(&workspace.book)
        .arg("-d")
        .arg(folder);
    mdbook
}

/// Checks the HTML: what mdBook lets pass.
fn check(
    workspace: &Workspace,
    group: &Group,
    folder: &Path,
    guide_book: Option<&Path>,
) -> Result<(), Failure> {
    let script = workspace.tool("guide-book");
    run(group
        .command(guide_book.unwrap_or(&script))
        .current_dir(&workspace.book)
        .arg("check")
        .arg(folder))
    .map_err(|failure| {
        failure.or_repeat(
            "the pages are not as they must be; the failures are above",
            "cargo xtask build",
        )
    })
}

/// Where a build happens.
struct Places {
    lock: PathBuf,
    fresh: PathBuf,
    last: PathBuf,
    book: PathBuf,
}

impl Places {
    fn of(workspace: &Workspace) -> Self {
        // Beside book/, so that a folder can be renamed to it.
        let work = workspace.book.join(".book");
        Self {
            lock: work.join("lock"),
            fresh: work.join("new"),
            last: work.join("last"),
            book: workspace.book.join("book"),
        }
    }

    /// A build that was killed between the two renames of [`Places::swap`] left no book: the last one comes back.
    fn recover(&self) -> Result<(), Failure> {
        if self.last.is_dir() && !self.book.exists() {
            return fs::rename(&self.last, &self.book)
                .map_err(|error| failed("bring back", &self.book, &error));
        }
        remove(&self.last)
    }

    /// Puts the fresh book in the place of the last one.
    fn swap(&self) -> Result<(), Failure> {
        if self.book.exists() {
            fs::rename(&self.book, &self.last)
                .map_err(|error| failed("set aside", &self.book, &error))?;
        }
        fs::rename(&self.fresh, &self.book).map_err(|error| failed("make", &self.book, &error))?;
        remove(&self.last)
    }
}

/// The command `serve`. mdBook's server verifies and builds at the start and at every change of `src`, `theme` and
/// the folders that `book.toml` adds, into a folder of its own: its pages reload themselves, which those in book/ must not.
pub fn serve(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let open = match arguments {
        [] => true,
        [flag] if flag == "--no-open" => false,
        _ => {
            return Err(Failure::environment(
                "`cargo xtask serve` takes no argument but `--no-open`",
            ));
        }
    };
    let guide_book = setup::ensure(workspace)?;
    let port = free_port()?;
    let folder = workspace.book.join(format!(".book/serve-{port}"));
    remove(&folder)?;
    let group = Group::start(&workspace.root)?;
    println!("verifying and building, then serving; Ctrl-C ends it");
    let python = Python::start(
        workspace,
        &group,
        &guide_book,
        &folder.with_extension("python"),
    )?;
    // Of this session alone: a sentence that changes is held against the runs of the programs that did not.
    let runs = folder.with_extension("runs");
    remove(&runs)?;
    std::fs::create_dir_all(&runs).map_err(|error| failed("make the folder", &runs, &error))?;
    let mut server = mdbook(workspace, &group, "serve", &folder);
    server
        .env("GUIDE_PYTHON_HOST", &python.sockets)
        .env("GUIDE_RUNS", &runs);
    server.args(["-n", "127.0.0.1", "-p", &port.to_string()]);
    let mut child = server
        .spawn()
        .map_err(|error| failed("start", &workspace.tool("mdbook"), &error))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut announced = false;
    loop {
        // mdBook listens only after the first build.
        if !announced && TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
            check(workspace, &group, &folder, Some(&guide_book))?;
            println!("{} http://{address}/", green("the guide is at"));
            let _ = std::io::stdout().flush();
            if open {
                open_browser(&format!("http://{address}/"));
            }
            announced = true;
        }
        let status = child
            .try_wait()
            .map_err(|error| Failure::environment(format!("cannot wait for mdBook: {error}")))?;
        if let Some(status) = status {
            let how = outcome(status).unwrap_or_else(|| "it ended by itself".to_owned());
            return Err(Failure::check(format!(
                "the book is not served ({how}); the reason is above; repeat with: cargo xtask serve"
            )));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Python with ExecuTorch, imported once for several builds. A build for which it is not right, or not there, imports for
/// itself.
pub struct Python {
    /// For `GUIDE_PYTHON_HOST`.
    pub sockets: PathBuf,
    /// It ends with its standard input.
    _process: Child,
}

impl Python {
    pub fn start(
        workspace: &Workspace,
        group: &Group,
        guide_book: &Path,
        sockets: &Path,
    ) -> Result<Self, Failure> {
        remove(sockets)?;
        fs::create_dir_all(sockets).map_err(|error| failed("make the folder", sockets, &error))?;
        let process = group
            .command(guide_book)
            .arg("python")
            .arg(sockets)
            .current_dir(&workspace.book)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| failed("start", guide_book, &error))?;
        Ok(Self {
            sockets: sockets.to_owned(),
            _process: process,
        })
    }
}

/// The usual port, or any other if that is taken.
fn free_port() -> Result<u16, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| {
            Failure::environment(format!(
                "no port of this machine can be listened on: {error}"
            ))
        })
}

/// Opens a browser where there is a desktop to open it on. It belongs to the desktop: it may outlive this process.
fn open_browser(address: &str) {
    if ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    {
        let quiet = || Stdio::null();
        // Without xdg-open the address that was printed has to do.
        let _ = Command::new("xdg-open")
            .arg(address)
            .stdin(quiet())
            .stdout(quiet())
            .stderr(quiet())
            .spawn();
    }
}

/// The command `bless`.
pub fn bless(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    no_arguments("bless", arguments)?;
    let guide_book = setup::ensure(workspace)?;
    let group = Group::start(&workspace.root)?;
    run(group
        .command(guide_book)
        .current_dir(&workspace.book)
        .arg("bless")
        .args(arguments))
    .map_err(|failure| {
        failure.or_repeat(
            "not everything could be blessed; the reasons are above",
            "cargo xtask bless",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(name: &str) -> Places {
        let book = std::env::temp_dir().join(format!("guide-xtask-{name}-{}", std::process::id()));
        remove(&book).unwrap();
        fs::create_dir_all(book.join(".book")).unwrap();
        Places::of(&Workspace {
            root: book.clone(),
            book,
        })
    }

    fn page(folder: &Path) -> String {
        fs::read_to_string(folder.join("index.html")).unwrap()
    }

    fn make(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("index.html"), text).unwrap();
    }

    #[test]
    fn the_new_book_takes_the_place_of_the_last() {
        let places = places("swap");
        make(&places.fresh, "first");
        places.swap().unwrap();
        make(&places.fresh, "second");
        places.swap().unwrap();
        assert_eq!(page(&places.book), "second");
        assert!(!places.last.exists() && !places.fresh.exists());
        remove(places.book.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_build_killed_between_the_renames_loses_nothing() {
        let places = places("recover");
        make(&places.last, "last good");
        places.recover().unwrap();
        assert_eq!(page(&places.book), "last good");
        // With a book in place, what was set aside is rubbish.
        make(&places.last, "older");
        places.recover().unwrap();
        assert_eq!(page(&places.book), "last good");
        assert!(!places.last.exists());
        remove(places.book.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_taken_port_is_passed_over() {
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT));
        let port = free_port().unwrap();
        assert_ne!(port, PORT);
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
