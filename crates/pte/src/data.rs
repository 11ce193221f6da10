//! Data files (`.ptd`): what a program's missing data is found in.

use serde::{Deserialize, Serialize};

use crate::DType;
use crate::error::{Error, Found};
use crate::generated::flat_tensor_generated::flat_tensor_flatbuffer as schema;
use crate::header::{DATA_IDENTIFIER, sniff};
use crate::shape::Shape;
use crate::source::{Limits, ReadAt, read_exactly};
use crate::verify::{inconsistent, printable, verified};

/// Where the header begins: behind the root offset and the identifier.
const HEADER_OFFSET: usize = 8;
const HEADER_MAGIC: &[u8] = b"FH01";
/// The header's own bytes: magic, length, and four numbers.
const HEADER_BYTES: usize = 40;
/// Bytes of a file's head that hold the header.
const HEAD_BYTES: usize = HEADER_OFFSET + HEADER_BYTES;

/// A data file: the names in it, and the size of what each stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataFile {
    /// The entries, in the file's order.
    pub entries: Vec<DataEntry>,
    /// The file's size in bytes.
    pub file_bytes: u64,
}

/// One piece of data in a data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataEntry {
    /// Its name.
    pub key: String,
    /// Its bytes.
    pub nbytes: u64,
    /// What it is, if it is a tensor: the runtime refuses it for a tensor of another description.
    pub tensor: Option<DataTensor>,
}

/// The description of a tensor in a data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataTensor {
    /// The type of its elements.
    pub dtype: DType,
    /// Its sizes.
    pub sizes: Vec<u32>,
    /// Its dimensions in memory order, outermost first.
    pub dim_order: Vec<u8>,
}

impl DataFile {
    /// The entry of this name.
    pub fn entry(&self, key: &str) -> Option<&DataEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Reads the table of the data file in these bytes.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`] and [`Error::Read`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::read(
            bytes,
            Limits {
                program_bytes: bytes.len() as u64,
            },
        )
    }

    /// Reads the table of the data file in this source: its head and its table, never the data.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`]; [`Limits::program_bytes`] bounds the table.
    pub fn read(source: &(impl ReadAt + ?Sized), limits: Limits) -> Result<Self, Error> {
        let file_bytes = source.len();
        let head = read_exactly(source, 0, file_bytes.min(HEAD_BYTES as u64) as usize)?;
        if head.get(4..8) != Some(DATA_IDENTIFIER) {
            return Err(Error::NotData(sniff(&head)));
        }
        let header = head
            .get(HEADER_OFFSET..HEAD_BYTES)
            .filter(|header| header.starts_with(HEADER_MAGIC));
        let header = header.ok_or(Error::NotData(Found::Unknown))?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        // The table's offset is that of its first byte behind the header, which lies inside the buffer.
        let end = number(8)
            .checked_add(number(16))
            .ok_or_else(|| Error::Header("its table ends beyond any file".into()))?;
        let base = number(24);
        if end > file_bytes {
            return Err(Error::CutShort {
                part: "the table".into(),
                end,
                file_bytes,
            });
        }
        let count = usize::try_from(end)
            .ok()
            .filter(|_| end <= limits.program_bytes);
        let count = count.ok_or(Error::TooLarge {
            bytes: end,
            limit: limits.program_bytes,
        })?;
        let bytes = read_exactly(source, 0, count)?;
        let root = verified(&bytes, schema::root_as_flat_tensor_with_opts)?;
        let mut sizes = Vec::new();
        for (index, segment) in root.segments().into_iter().flatten().enumerate() {
            let end = base
                .checked_add(segment.offset())
                .and_then(|start| start.checked_add(segment.size_()));
            match end {
                Some(end) if end <= file_bytes => sizes.push(segment.size_()),
                end => {
                    let end = end.unwrap_or(u64::MAX);
                    return Err(Error::CutShort {
                        part: format!("segment {index}"),
                        end,
                        file_bytes,
                    });
                }
            }
        }
        let entries = root
            .named_data()
            .into_iter()
            .flatten()
            .map(|entry| data_entry(&entry, &sizes));
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            file_bytes,
        })
    }
}

fn data_entry(entry: &schema::NamedData, sizes: &[u64]) -> Result<DataEntry, Error> {
    let key = entry
        .key()
        .ok_or_else(|| inconsistent("an entry of the table", "has no name"))?;
    let place = || format!("`{}`", printable(key));
    let segment = entry.segment_index();
    let nbytes = sizes.get(segment as usize);
    let nbytes = *nbytes.ok_or_else(|| {
        inconsistent(
            place(),
            format!("is in segment {segment}, and the file has {}", sizes.len()),
        )
    })?;
    let tensor = entry.tensor_layout().map(|layout| -> Result<_, Error> {
        let shape = Shape::read(layout.scalar_type().0, layout.sizes(), layout.dim_order());
        let Shape {
            dtype,
            sizes,
            dim_order,
            ..
        } = shape.map_err(|problem| inconsistent(place(), problem))?;
        Ok(DataTensor {
            dtype,
            sizes,
            dim_order,
        })
    });
    Ok(DataEntry {
        key: key.to_owned(),
        nbytes,
        tensor: tensor.transpose()?,
    })
}
