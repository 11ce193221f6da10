//! What is combined: the axes of the matrix, and the name of a cell.

use std::fmt;
use std::str::FromStr;

use export::{
    ExecutorchBackendConfig, MemoryPlanningPass, Model, PerMethod, PropagateDeviceConfig, Request,
};

use crate::Error;

macro_rules! axis {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $label:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in [`Key`]s.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.label())
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($label => Ok(Self::$variant),)*
                    _ => Err(Error::Word { word: text.to_owned(), known: &[$($label),*] }),
                }
            }
        }
    };
}

axis! {
    /// A method of a program. All take two float32 tensors of 8 columns.
    Program {
        /// `a + b`, 8×8.
        Static = "static",
        /// `a + b` exported for 2 to 8 rows: executed with 8, then with 4.
        Dynamic = "dynamic",
        /// The method `encode` of a program with two, `a + b`, 8×8. It has the configuration, in the dict by method name.
        TwoEncode = "two-encode",
        /// The method `decode` of the same program, `a + b + b`, 8×8. The dict does not name it: it has the defaults, except
        /// `enable_non_cpu_memory_planning`, which is the program's.
        TwoDecode = "two-decode",
    }
}

axis! {
    /// Who calls.
    Caller {
        /// C++: `executorch::extension::Module`.
        Cpp = "cpp",
        /// Rust: `Module` of the crate `executorch-device`, which refuses by itself what would be undefined.
        Rust = "rust",
        /// Rust: `Module` of the public crate `executorch`.
        RustPublic = "rust-public",
        /// Python: `executorch.runtime.Runtime`.
        PythonRuntime = "python-runtime",
        /// Python: `executorch.extension.pybindings.portable_lib._load_for_executorch`.
        PythonLoad = "python-load",
    }
}

axis! {
    /// What the caller passes as both inputs: where the memory is, and what the tensor says of it.
    Inputs {
        /// Host memory, tagged CPU.
        Host = "host-tensor",
        /// Device memory, tagged CUDA.
        Device = "device-tensor",
        /// Device memory, tagged CPU.
        DeviceAsCpu = "device-as-cpu",
        /// Host memory, tagged CUDA.
        HostAsCuda = "host-as-cuda",
    }
}

axis! {
    /// What the caller does about the output, before the first execution.
    Output {
        /// Nothing. In Python results are then cloned, the default.
        Unset = "no-set-output",
        /// `set_output` with a device tensor.
        Device = "set-output-device",
        /// `set_output` with a host tensor.
        Host = "set-output-host",
        /// `clone_outputs=False`, in Python.
        Uncloned = "clone-outputs-false",
    }
}

axis! {
    /// What the device's copies do with a pointer on the wrong side, where the answer of CUDA is not known.
    Policy {
        /// They fail.
        Refuse = "refuse",
        /// They work.
        Accept = "accept",
    }
}

/// The five settings, written `h1d1_i0o0_n1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings {
    /// `skip_h2d_for_method_inputs`
    pub skip_h2d: bool,
    /// `skip_d2h_for_method_outputs`
    pub skip_d2h: bool,
    /// `alloc_graph_input`
    pub alloc_input: bool,
    /// `alloc_graph_output`
    pub alloc_output: bool,
    /// `enable_non_cpu_memory_planning`
    pub device_planning: bool,
}

/// The name of a cell: `static h1d1_i0o0_n1 cpp device-tensor set-output-device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The method.
    pub program: Program,
    /// How it was exported.
    pub settings: Settings,
    /// Who calls it.
    pub caller: Caller,
    /// With what.
    pub inputs: Inputs,
    /// With which memory for the result.
    pub output: Output,
}

impl Settings {
    /// All 32.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..32_u8).map(|bits| {
            let on = |bit: u8| bits & (16 >> bit) != 0;
            Self {
                skip_h2d: on(0),
                skip_d2h: on(1),
                alloc_input: on(2),
                alloc_output: on(3),
                device_planning: on(4),
            }
        })
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [h, d, i, o, n] = [
            self.skip_h2d,
            self.skip_d2h,
            self.alloc_input,
            self.alloc_output,
            self.device_planning,
        ]
        .map(u8::from);
        write!(f, "h{h}d{d}_i{i}o{o}_n{n}")
    }
}

impl FromStr for Settings {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::all()
            .find(|settings| settings.to_string() == text)
            .ok_or_else(|| Error::Word {
                word: text.to_owned(),
                known: &["h0d0_i0o0_n0", "…", "h1d1_i1o1_n1"],
            })
    }
}

impl Program {
    /// The method's name in its program.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Static | Self::Dynamic => "forward",
            Self::TwoEncode => "encode",
            Self::TwoDecode => "decode",
        }
    }

    /// Rows of both inputs in the first and the second execution.
    #[must_use]
    pub fn rows(self) -> [usize; 2] {
        if self == Self::Dynamic {
            [8, 4]
        } else {
            [8, 8]
        }
    }

    /// The export that has this method.
    #[must_use]
    pub fn request(self, settings: Settings) -> Request {
        let skips = PropagateDeviceConfig {
            skip_h2d_for_method_inputs: settings.skip_h2d.into(),
            skip_d2h_for_method_outputs: settings.skip_d2h.into(),
        };
        let planning = MemoryPlanningPass {
            alloc_graph_input: settings.alloc_input,
            alloc_graph_output: settings.alloc_output,
            ..MemoryPlanningPass::default()
        };
        let model = match self {
            Self::Static => Model::Add,
            Self::Dynamic => Model::AddDynamic,
            Self::TwoEncode | Self::TwoDecode => Model::TwoMethods,
        };
        let by_method = model == Model::TwoMethods;
        Request::Config {
            model,
            config: ExecutorchBackendConfig {
                propagate_device_config: for_encode(by_method, skips),
                memory_planning_pass: for_encode(by_method, planning),
                enable_non_cpu_memory_planning: settings.device_planning,
            },
        }
    }
}

fn for_encode<T>(by_method: bool, setting: T) -> PerMethod<T> {
    if by_method {
        PerMethod::ByMethod([("encode".to_owned(), setting)].into())
    } else {
        PerMethod::All(setting)
    }
}

impl Caller {
    /// What this caller's cells say about the output.
    #[must_use]
    pub fn outputs(self) -> &'static [Output] {
        match self {
            Self::Cpp | Self::Rust | Self::RustPublic => {
                &[Output::Unset, Output::Device, Output::Host]
            }
            Self::PythonRuntime | Self::PythonLoad => Output::ALL,
        }
    }
}

impl Key {
    /// Every cell.
    pub fn all() -> impl Iterator<Item = Self> {
        Program::ALL.iter().flat_map(|&program| {
            Settings::all().flat_map(move |settings| {
                Caller::ALL.iter().flat_map(move |&caller| {
                    Inputs::ALL.iter().flat_map(move |&inputs| {
                        caller.outputs().iter().map(move |&output| Self {
                            program,
                            settings,
                            caller,
                            inputs,
                            output,
                        })
                    })
                })
            })
        })
    }

    /// Why this cannot be written in the caller's language at all. (`python/caller.py` looks whether what it says of Python
    /// is still so.)
    #[must_use]
    pub fn not_applicable(&self) -> Option<&'static str> {
        match (self.caller, self.output) {
            (Caller::RustPublic, Output::Device | Output::Host) => {
                Some("the crate `executorch` 0.13 has no `set_output`")
            }
            (Caller::PythonRuntime | Caller::PythonLoad, Output::Device | Output::Host) => {
                Some("ExecuTorch's Python bindings have no `set_output`")
            }
            (Caller::PythonRuntime, Output::Uncloned) => {
                Some("`Method.execute` of `executorch.runtime` has no `clone_outputs`")
            }
            _ => None,
        }
    }

    /// The program and its settings: the name of an entry of [`Matrix::programs`](crate::Matrix::programs).
    #[must_use]
    pub fn program_name(&self) -> String {
        format!("{} {}", self.program, self.settings)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            program,
            settings,
            caller,
            inputs,
            output,
        } = self;
        write!(f, "{program} {settings} {caller} {inputs} {output}")
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [program, settings, caller, inputs, output] = words[..] else {
            return Err(Error::Key(text.to_owned()));
        };
        Ok(Self {
            program: program.parse()?,
            settings: settings.parse()?,
            caller: caller.parse()?,
            inputs: inputs.parse()?,
            output: output.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_cell_has_a_name_of_its_own_that_reads_back() {
        let names: BTreeSet<String> = Key::all().map(|key| key.to_string()).collect();
        assert_eq!(names.len(), Key::all().count());
        assert_eq!(names.len(), 4 * 32 * 4 * (3 * 3 + 2 * 4));
        for key in Key::all() {
            assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
        }
    }

    #[test]
    fn a_wrong_word_is_named_with_what_there_is() {
        let error = "static h1d1_i0o0_n1 java host-tensor no-set-output"
            .parse::<Key>()
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("`java`: expected cpp, rust,"), "{error}");
        assert!("static".parse::<Key>().is_err());
    }
}
