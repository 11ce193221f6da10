//! Python with ExecuTorch, imported once for all faults that change neither.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::tree::Tree;

/// The process. A build uses it where its installation, libraries and environment are as here; under a fault that changes
/// one of them it imports for itself.
pub struct Python(Child);

impl Python {
    pub fn start(tree: &Tree) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("guide-book python: {error}");
        let mut command = Command::new(tree.repository.join(".venv/tools/bin/guide-book"));
        tree.environment(&mut command);
        let mut child = command
            .arg("python")
            .arg(tree.temporary.path())
            .current_dir(&tree.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take();
        let python = Self(child);
        let mut ready = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut ready).map_err(failed)?;
        }
        if ready.is_empty() { Err("guide-book python: it ended; the reason is above".to_owned()) } else { Ok(python) }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
