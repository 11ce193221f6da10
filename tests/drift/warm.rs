//! Exports for the exporter's faults while the others are tried: it is the half of this test's time that needs one core.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use crate::doors::cargo;
use crate::fault::{Fault, Plant};
use crate::tree::Tree;

/// The listings that ask for programs by their settings, which only they know.
const ASK_BY_SETTINGS: [&str; 5] =
    ["behaviour", "choose-a-recipe", "configuration", "load-the-weights", "mixed-models"];

/// The exports that are under way. Only speed depends on it: what is not in the cache is exported by the fault's own build.
pub struct Warm {
    done: Receiver<&'static str>,
    thread: Option<JoinHandle<()>>,
}

impl Warm {
    /// Starts with the exporter's faults among these, in their order. The tree must have been built.
    pub fn start(tree: &Tree, faults: &[&'static Fault]) -> Result<Self, String> {
        let modules: Vec<_> = faults.iter().filter_map(|fault| module(fault)).collect();
        let mut programs = Vec::new();
        for name in ASK_BY_SETTINGS {
            // A copy: a fault in the tree may build the program again.
            let program = tree.folder.join(name);
            std::fs::copy(tree.root.join("target/debug").join(name), &program)
                .map_err(|error| format!("{}: {error}", program.display()))?;
            programs.push(program);
        }
        let jobs: Vec<_> = modules
            .into_iter()
            .map(|module| {
                let mut recipes = Command::new(cargo());
                recipes.args(["run", "--quiet", "--package", "export", "--", "all"]);
                let listings = programs.iter().map(Command::new);
                let commands = std::iter::once(recipes).chain(listings);
                (module, commands.map(|command| job(tree, module, command)).collect::<Vec<_>>())
            })
            .collect();
        let (sender, done) = mpsc::channel();
        let thread = thread::spawn(move || {
            for (module, commands) in jobs {
                for mut command in commands {
                    // A fault may make it fail, and the fault's own build then says how.
                    let _ = command.status();
                }
                if sender.send(module).is_err() {
                    return;
                }
            }
        });
        Ok(Self { done, thread: Some(thread) })
    }

    /// Waits until a fault's programs are there.
    pub fn wait_for(&self, fault: &Fault) {
        if let Some(module) = module(fault) {
            // Each is waited for in the order of its export; one that was passed is done.
            while self.done.recv().is_ok_and(|done| done != module) {}
        }
    }
}

impl Drop for Warm {
    /// Ends after the export that is under way.
    fn drop(&mut self) {
        self.done = mpsc::channel().1;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn module(fault: &Fault) -> Option<&'static str> {
    fault.plant.iter().find_map(|plant| match plant {
        Plant::Exporter { module } => Some(*module),
        _ => None,
    })
}

/// In the repository itself, whose recipes no fault touches.
fn job(tree: &Tree, module: &str, mut command: Command) -> Command {
    tree.environment(&mut command);
    command
        .current_dir(&tree.repository)
        .env("GUIDE_ROOT", &tree.repository)
        .env("GUIDE_EXPORT_PLANT", plant(&tree.repository, module))
        .env("LD_LIBRARY_PATH", tree.repository.join(".venv/executorch/lib"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The Python file of one of the exporter's faults.
pub fn plant(root: &Path, module: &str) -> PathBuf {
    root.join(format!("tests/drift/exporter/{module}.py"))
}
