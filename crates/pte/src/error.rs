//! Why a file has no answer.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a file could not be read as a program. Displayed as one line that says what is wrong and, where there is
/// something to do about it, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of the others, for a file with a name.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// The operating system refused the read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The bytes are something else.
    #[error("is no ExecuTorch program: {0}")]
    NotAProgram(Found),
    /// The bytes are no data file.
    #[error("is no data file (.ptd): {0}")]
    NotData(Found),
    /// The program is of another generation of the format than `ET12`, the only one that ExecuTorch 1.x writes and loads.
    #[error(
        "is an ExecuTorch program of the format `{identifier}`, and this reads `ET12`: export it again with ExecuTorch 1.x"
    )]
    Format {
        /// The file identifier found.
        identifier: String,
    },
    /// The extended header contradicts itself.
    #[error("has a damaged extended header: {0}")]
    Header(String),
    /// The file ends before its own header or its own tables say that it does.
    #[error(
        "is cut short: {part} ends at byte {end}, and the file has {file_bytes}: copy or download it again"
    )]
    CutShort {
        /// The part of the file that is not all there.
        part: String,
        /// Where that part ends, in bytes from the start of the file.
        end: u64,
        /// The file's size in bytes.
        file_bytes: u64,
    },
    /// The file's size was not the same at two reads.
    #[error(
        "changed while it was read: {wanted} bytes at byte {offset} were there at first, {got} of them later"
    )]
    Changed {
        /// Where the read began, in bytes from the start of the file.
        offset: u64,
        /// The bytes asked for.
        wanted: u64,
        /// The bytes that came.
        got: u64,
    },
    /// The program part, or the table of a data file, is larger than the [`Limits`](crate::Limits) allow.
    #[error(
        "has a program part of {bytes} bytes, and the limit is {limit}: raise `Limits::program_bytes` if the file is to be trusted"
    )]
    TooLarge {
        /// Bytes of the program part.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The FlatBuffers data does not verify.
    #[error("is damaged: its program does not verify ({0})")]
    Damaged(String),
    /// The program verifies as data and contradicts itself.
    #[error("is damaged: {place} {problem}")]
    Inconsistent {
        /// The table or value, by method and number.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// What a file is that is not what it was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// No bytes at all.
    Empty,
    /// Something that is neither a file nor a stream: a directory, for example.
    NoFile,
    /// A zip archive, which is what `torch.export.save` and `torch.save` write.
    Zip,
    /// ExecuTorch's program (`.pte`).
    Program,
    /// ExecuTorch's data file (`.ptd`).
    TensorData,
    /// ExecuTorch's bundled program (`.bpte`): a program with test inputs around it.
    Bundled,
    /// An event trace of ExecuTorch (`.etdp`).
    Trace,
    /// None of the above.
    Unknown,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::NoFile => "it is not a regular file",
            Self::Zip => "it is a zip archive, as torch.export.save and torch.save write; a .pte comes out of to_executorch()",
            Self::Program => "it is a program (.pte)",
            Self::TensorData => "it is a data file (.ptd); name the .pte that it belongs to",
            Self::Bundled => "it is a bundled program (.bpte); name the .pte that it was made from",
            Self::Trace => "it is an event trace (.etdp)",
            Self::Unknown => "it is nothing that ExecuTorch writes",
        })
    }
}
