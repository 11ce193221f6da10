//! What a delegate was compiled with.

use serde::{Deserialize, Serialize};

/// One compile spec of a delegate: `target_device` = `cuda:0`, for example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompileSpec {
    /// The name of the spec, as the partitioner gave it.
    pub key: String,
    /// Its value.
    pub value: SpecValue,
}

/// The value of a compile spec. The file has bytes, and most of them are text; serialised as a string, or as
/// `{"hex": "04"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SpecValue {
    /// Printable UTF-8.
    Text(String),
    /// Anything else.
    Bytes {
        /// The bytes, two lower-case hexadecimal digits each.
        hex: String,
    },
}

impl SpecValue {
    /// The value of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text)
                if !text.is_empty()
                    && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') =>
            {
                Self::Text(text.to_owned())
            }
            _ => Self::Bytes {
                hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SpecValue;

    #[test]
    fn what_can_be_read_is_text_and_anything_else_is_bytes() {
        for text in ["cuda:0", "line\n\tline", "größe"] {
            assert_eq!(
                SpecValue::from_bytes(text.as_bytes()),
                SpecValue::Text(text.into())
            );
        }
        for (bytes, hex) in [
            (&b"\x04"[..], "04"),
            (b"", ""),
            (b"a\xff\0", "61ff00"),
            (b"\x1b[2J", "1b5b324a"),
        ] {
            assert_eq!(
                SpecValue::from_bytes(bytes),
                SpecValue::Bytes { hex: hex.into() }
            );
        }
    }
}
