//! What a tensor's elements are.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One row an element type: variant, number in `schema/scalar_type.fbs`, name as PyTorch writes it, bytes an element.
macro_rules! dtypes {
    ($($variant:ident = $code:literal, $name:literal, $size:literal;)*) => {
        /// The type of a tensor's elements, named and serialised as PyTorch does (`"float32"`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum DType {
            $(
                #[doc = concat!("`", $name, "`, ", stringify!($size), " byte(s) an element.")]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl DType {
            /// Every element type that a `.pte` of ExecuTorch 1.5.1 can hold.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The element type with this number in the schema's `ScalarType`, if it has one.
            pub fn from_code(code: i8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The number in the schema's `ScalarType`.
            pub fn code(self) -> i8 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// PyTorch's name, such as `float32`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Bytes that the runtime reserves for one element.
            pub fn size(self) -> u64 {
                match self {
                    $(Self::$variant => $size,)*
                }
            }
        }
    };
}

dtypes! {
    Uint8 = 0, "uint8", 1;
    Int8 = 1, "int8", 1;
    Int16 = 2, "int16", 2;
    Int32 = 3, "int32", 4;
    Int64 = 4, "int64", 8;
    Float16 = 5, "float16", 2;
    Float32 = 6, "float32", 4;
    Float64 = 7, "float64", 8;
    Bool = 11, "bool", 1;
    Qint8 = 12, "qint8", 1;
    Quint8 = 13, "quint8", 1;
    Qint32 = 14, "qint32", 4;
    Bfloat16 = 15, "bfloat16", 2;
    Quint4x2 = 16, "quint4x2", 1;
    Quint2x4 = 17, "quint2x4", 1;
    Bits16 = 22, "bits16", 2;
    Float8E5m2 = 23, "float8_e5m2", 1;
    Float8E4m3fn = 24, "float8_e4m3fn", 1;
    Float8E5m2fnuz = 25, "float8_e5m2fnuz", 1;
    Float8E4m3fnuz = 26, "float8_e4m3fnuz", 1;
    Uint16 = 27, "uint16", 2;
    Uint32 = 28, "uint32", 4;
    Uint64 = 29, "uint64", 8;
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
