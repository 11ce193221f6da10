//! What an export leaves, read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Error;

/// An exported program, in the cache.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The program.
    pub pte: PathBuf,
    /// Its external data, to be loaded beside it; empty for a model without weights.
    pub ptd: Vec<PathBuf>,
    /// What eager PyTorch computes with the program's `forward` (or its only method).
    pub eager: Eager,
    methods: BTreeMap<String, Eager>,
}

/// One call of a method in eager PyTorch: the inputs that it was exported with, and what came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eager {
    /// In the order of the method's parameters.
    pub inputs: Vec<Tensor>,
    /// In the order of the method's results.
    pub outputs: Vec<Tensor>,
}

/// A tensor's value: exact, contiguous, little endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The element type as safetensors names it: `F32`, `I64`, `BOOL` …
    pub dtype: String,
    /// Elements in each dimension, outermost first.
    pub sizes: Vec<usize>,
    /// The elements' bytes.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// The elements of a float32 tensor, outermost dimension first.
    ///
    /// # Errors
    /// [`Error::NotFloat32`].
    pub fn f32(&self) -> Result<Vec<f32>, Error> {
        if self.dtype != "F32" {
            return Err(Error::NotFloat32(self.dtype.clone()));
        }
        let (elements, _) = self.bytes.as_chunks::<4>();
        Ok(elements.iter().copied().map(f32::from_le_bytes).collect())
    }
}

impl Exported {
    /// The eager call of one method, by its name in the program.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&Eager> {
        self.methods.get(name)
    }

    /// The program's methods, by name.
    pub fn methods(&self) -> impl Iterator<Item = (&str, &Eager)> {
        self.methods
            .iter()
            .map(|(name, eager)| (name.as_str(), eager))
    }

    /// Reads an entry of the cache: `<stem>.pte`, any `.ptd`, `<stem>.eager.safetensors`.
    pub(crate) fn read(folder: &Path, stem: &str, files: &[&str]) -> Result<Self, Error> {
        let methods = read_eager(&folder.join(format!("{stem}.eager.safetensors")))?;
        let first = methods.get("forward").or_else(|| methods.values().next());
        Ok(Self {
            pte: folder.join(format!("{stem}.pte")),
            ptd: files
                .iter()
                .filter(|name| name.ends_with(".ptd"))
                .map(|name| folder.join(name))
                .collect(),
            eager: first.cloned().unwrap_or_default(),
            methods,
        })
    }
}

/// A tensor's entry in a safetensors header.
#[derive(Deserialize)]
struct Described {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

fn read_eager(path: &Path) -> Result<BTreeMap<String, Eager>, Error> {
    let bytes = fs::read(path).map_err(Error::io(path))?;
    parse_eager(&bytes).map_err(|what| Error::Eager {
        path: path.to_owned(),
        what,
    })
}

/// Reads tensors named `<method>.inputs.<n>` and `<method>.outputs.<n>` out of a safetensors file.
fn parse_eager(bytes: &[u8]) -> Result<BTreeMap<String, Eager>, String> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or("no header")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|error| error.to_string())?;
    let (header, data) = rest
        .split_at_checked(length)
        .ok_or("its header is cut short")?;
    let header: BTreeMap<String, Described> =
        serde_json::from_slice(header).map_err(|error| error.to_string())?;

    let mut numbered: BTreeMap<(String, String, usize), Tensor> = BTreeMap::new();
    for (
        name,
        Described {
            dtype,
            shape,
            data_offsets: (start, end),
        },
    ) in header
    {
        let (place, number) = name
            .rsplit_once('.')
            .ok_or_else(|| format!("`{name}` has no number"))?;
        let (method, side) = place
            .rsplit_once('.')
            .ok_or_else(|| format!("`{name}` has no method"))?;
        let number = number
            .parse()
            .map_err(|_| format!("`{name}` has no number"))?;
        let bytes = data
            .get(start..end)
            .ok_or_else(|| format!("`{name}` is cut short"))?
            .to_vec();
        numbered.insert(
            (method.to_owned(), side.to_owned(), number),
            Tensor {
                dtype,
                sizes: shape,
                bytes,
            },
        );
    }
    let mut methods: BTreeMap<String, Eager> = BTreeMap::new();
    for ((method, side, _), tensor) in numbered {
        let eager = methods.entry(method).or_default();
        match side.as_str() {
            "inputs" => eager.inputs.push(tensor),
            "outputs" => eager.outputs.push(tensor),
            _ => return Err(format!("`{side}` is neither inputs nor outputs")),
        }
    }
    Ok(methods)
}
