//! A root of its own for a test: its listings, its cache, and the workspace's environment and Python side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use export::Exporter;
use tempfile::TempDir;

pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn listing(&self, name: &str, recipe: &str) {
        let folder = self.path("listings").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("export.py"), recipe).unwrap();
    }

    /// A listing of the book, as it is.
    pub fn copy_listing(&self, name: &str) {
        self.listing(
            name,
            &fs::read_to_string(workspace().join("listings").join(name).join("export.py")).unwrap(),
        );
    }

    pub fn exporter(&self) -> Exporter {
        Exporter::new(self.folder.path())
    }

    /// A plant that notes each start of an exporting process, and does no more.
    pub fn counting(&self) -> PathBuf {
        self.plant(&format!(
            "with open({:?}, 'a') as file:\n    file.write('started\\n')\n",
            self.path("starts")
        ))
    }

    pub fn starts(&self) -> usize {
        fs::read_to_string(self.path("starts")).map_or(0, |text| text.lines().count())
    }

    pub fn plant(&self, text: &str) -> PathBuf {
        let path = self.path("plant.py");
        fs::write(&path, text).unwrap();
        path
    }

    /// The command `export`, on this root.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_export"));
        command
            .args(arguments)
            .env("GUIDE_ROOT", self.folder.path());
        command
    }
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// A recipe with one program, `program`, whose model is `forward` of `x`, a 2×2 tensor of ones.
pub fn recipe(forward: &str) -> String {
    format!(
        r#"
import os
import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import to_edge_transform_and_lower

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.ones(2, 2))
    def forward(self, x):
        {forward}

model = Model()
example_inputs = (torch.ones(2, 2),)

def program():
    partitioner = CudaPartitioner([CudaBackend.generate_method_name_compile_spec("forward")])
    exported = torch.export.export(model, example_inputs)
    return to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()

programs = {{
    "program": program,
}}
"#
    )
}

/// The files of a folder with their bytes, in order.
pub fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

/// Whether `condition` becomes true within a minute.
pub fn eventually(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether there is a process with this id, zombies included.
pub fn exists(process: &str) -> bool {
    Path::new("/proc").join(process.trim()).exists()
}
