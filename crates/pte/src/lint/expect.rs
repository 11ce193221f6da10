//! What a program was meant to be.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::TensorInfo;

/// A word for what every input, or every output, of a method must be: `device-in`, `planned-out`,
/// `unplanned-device-out`, `host-in`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Expectation {
    /// Whether it must be planned; `None`: either way.
    pub planned: Option<bool>,
    /// Whether it must be on a device (or on the host); `None`: either way.
    pub device: Option<bool>,
    /// Whether it is about the outputs, or about the inputs.
    pub output: bool,
}

impl Expectation {
    /// Whether a tensor is what was expected.
    pub fn holds(self, tensor: &TensorInfo) -> bool {
        self.planned
            .is_none_or(|planned| planned == tensor.planned.is_some())
            && self
                .device
                .is_none_or(|device| device != tensor.device.is_cpu())
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word =
            |known: Option<bool>, yes, no| known.map_or("", |known| if known { yes } else { no });
        let planned = word(self.planned, "planned-", "unplanned-");
        let device = word(self.device, "device-", "host-");
        write!(
            f,
            "{planned}{device}{}",
            if self.output { "out" } else { "in" }
        )
    }
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split('-').peekable();
        let mut take = |yes: &str, no: &str| {
            let word = words.next_if(|word| *word == yes || *word == no)?;
            Some(word == yes)
        };
        let (planned, device, output) = (
            take("planned", "unplanned"),
            take("device", "host"),
            take("out", "in"),
        );
        match (planned.or(device), output, words.next()) {
            (Some(_), Some(output), None) => Ok(Self {
                planned,
                device,
                output,
            }),
            _ => Err(format!(
                "`{text}` is no expectation: expected [planned-|unplanned-][device-|host-] and in or out, such as \
                 device-in or planned-device-out"
            )),
        }
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.to_string()
    }
}

impl TryFrom<String> for Expectation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::Expectation;

    #[test]
    fn every_word_reads_as_it_is_written_and_no_other_does() {
        for text in [
            "device-in",
            "host-out",
            "planned-in",
            "unplanned-out",
            "planned-device-out",
            "unplanned-host-in",
        ] {
            assert_eq!(text.parse::<Expectation>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "in",
            "out",
            "device",
            "device-planned-in",
            "device-in-out",
            "cuda-in",
            "planned--in",
        ] {
            assert!(text.parse::<Expectation>().is_err(), "{text}");
        }
    }
}
