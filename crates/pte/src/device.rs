//! Where memory lives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of device, by the number that the schema's `DeviceType` gives it.
///
/// Serialised as `"cpu"`, `"cuda"`, or `"device-N"` for a number that ExecuTorch 1.5.1 does not define.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub enum DeviceType {
    /// Host memory. The schema's default: a tensor that says nothing is here.
    #[default]
    Cpu,
    /// NVIDIA GPU memory.
    Cuda,
    /// A number that this version of the schema has no name for.
    Unknown(i8),
}

impl DeviceType {
    /// The kind with this number in the schema.
    pub fn from_code(code: i8) -> Self {
        match code {
            0 => Self::Cpu,
            1 => Self::Cuda,
            other => Self::Unknown(other),
        }
    }

    /// The number of this kind in the schema, as the runtime's log lines print it.
    pub fn code(self) -> i8 {
        match self {
            Self::Cpu => 0,
            Self::Cuda => 1,
            Self::Unknown(code) => code,
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda => f.write_str("cuda"),
            Self::Unknown(code) => write!(f, "device-{code}"),
        }
    }
}

impl From<DeviceType> for String {
    fn from(device: DeviceType) -> Self {
        device.to_string()
    }
}

impl TryFrom<String> for DeviceType {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for DeviceType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            _ => text
                .strip_prefix("device-")
                .and_then(|code| code.parse().ok())
                .map(Self::from_code)
                .ok_or_else(|| {
                    format!("`{text}` is no device type: expected cpu, cuda or device-N")
                }),
        }
    }
}

/// A device: its kind and which one of that kind.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// The kind of device.
    #[serde(rename = "type")]
    pub device_type: DeviceType,
    /// Which device of that kind; 0 is the first. Always 0 for host memory that the exporter tagged itself.
    pub index: i8,
}

impl Device {
    /// Host memory.
    pub const CPU: Self = Self {
        device_type: DeviceType::Cpu,
        index: 0,
    };

    /// Whether this is host memory, of any index.
    pub fn is_cpu(self) -> bool {
        self.device_type == DeviceType::Cpu
    }
}

/// `cpu`, or the kind with the index: `cuda:0`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::CPU {
            f.write_str("cpu")
        } else {
            write!(f, "{}:{}", self.device_type, self.index)
        }
    }
}
