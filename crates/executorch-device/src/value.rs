//! What goes into a method and comes out of it.

use executorch::evalue::{EValue, Tag};
use executorch_sys as sys;

use cxx::UniquePtr;

use crate::bridge::ffi;
use crate::error::{Code, Error};
use crate::tensor::{TensorMut, TensorRef};

/// An `EValue` that the runtime holds: an output, or an argument of a delegate.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// No value.
    None,
    /// A tensor. One of a scalar type or on a device that this crate does not know is [`Other`](Self::Other).
    Tensor(TensorRef<'a>),
    /// An integer.
    Int(i64),
    /// A floating point number.
    Double(f64),
    /// A truth value.
    Bool(bool),
    /// Another kind, by its name in `runtime/core/tag.h`, such as `ListTensor`.
    Other(&'static str),
}

/// A tensor whose tag has a number that this crate has no name for.
pub(crate) const UNKNOWN_TENSOR: &str = "Tensor of an unknown scalar type or device";

impl<'a> Value<'a> {
    pub(crate) fn of(value: &'a ffi::EValue) -> Self {
        let raw = sys::ET_EValueRef {
            ptr: std::ptr::from_ref(value).cast(),
        };
        // SAFETY: a live value; each accessor is called for its own tag only.
        unsafe {
            match sys::executorch_EValue_tag(raw) {
                sys::ET_Tag::ET_Tag_None => Self::None,
                sys::ET_Tag::ET_Tag_Tensor => TensorRef::lent(ffi::tensor_of(value))
                    .map_or(Self::Other(UNKNOWN_TENSOR), Self::Tensor),
                sys::ET_Tag::ET_Tag_Double => Self::Double(sys::executorch_EValue_as_f64(raw)),
                sys::ET_Tag::ET_Tag_Int => Self::Int(sys::executorch_EValue_as_i64(raw)),
                sys::ET_Tag::ET_Tag_Bool => Self::Bool(sys::executorch_EValue_as_bool(raw)),
                sys::ET_Tag::ET_Tag_String => Self::Other("String"),
                sys::ET_Tag::ET_Tag_ListBool => Self::Other("ListBool"),
                sys::ET_Tag::ET_Tag_ListDouble => Self::Other("ListDouble"),
                sys::ET_Tag::ET_Tag_ListInt => Self::Other("ListInt"),
                sys::ET_Tag::ET_Tag_ListTensor => Self::Other("ListTensor"),
                sys::ET_Tag::ET_Tag_ListScalar => Self::Other("ListScalar"),
                sys::ET_Tag::ET_Tag_ListOptionalTensor => Self::Other("ListOptionalTensor"),
            }
        }
    }
}

/// One input of a method, borrowed for `'a`. Made with `.into()` from a [`TensorRef`], a number, an `EValue` of the
/// `executorch` crate, or, for an input that the program mutates, a [`TensorMut`].
#[derive(Debug)]
pub struct Input<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    None,
    Tensor(TensorRef<'a>),
    Mutable(TensorMut<'a>),
    Int(i64),
    Double(f64),
    Bool(bool),
    /// Found out when it is used: a conversion cannot fail.
    Unsupported(Tag),
}

impl<'a> Input<'a> {
    /// For an input that the exporter traced as `None`.
    pub const NONE: Self = Self(Kind::None);

    /// The tensor, and whether its memory is borrowed exclusively.
    pub(crate) fn tensor(&self) -> Option<(TensorRef<'_>, bool)> {
        match &self.0 {
            Kind::Tensor(tensor) => Some((tensor.clone(), false)),
            Kind::Mutable(tensor) => Some((tensor.as_ref(), true)),
            _ => None,
        }
    }

    pub(crate) fn to_cxx(&self) -> Result<UniquePtr<ffi::EValue>, Error> {
        Ok(match &self.0 {
            Kind::None => ffi::value_of_none(),
            Kind::Tensor(tensor) => ffi::value_of_tensor(tensor.as_cxx()),
            Kind::Mutable(tensor) => ffi::value_of_tensor(tensor.as_cxx()),
            Kind::Int(value) => ffi::value_of_int(*value),
            Kind::Double(value) => ffi::value_of_double(*value),
            Kind::Bool(value) => ffi::value_of_bool(*value),
            Kind::Unsupported(tag) => {
                let message = format!("a method takes tensors, numbers and None, not {tag:?}");
                return Err(Error::new(Code::NotSupported, message));
            }
        })
    }
}

impl<'a> From<TensorRef<'a>> for Input<'a> {
    fn from(tensor: TensorRef<'a>) -> Self {
        Self(Kind::Tensor(tensor))
    }
}

impl<'a> From<&TensorRef<'a>> for Input<'a> {
    fn from(tensor: &TensorRef<'a>) -> Self {
        Self(Kind::Tensor(tensor.clone()))
    }
}

impl<'a> From<TensorMut<'a>> for Input<'a> {
    fn from(tensor: TensorMut<'a>) -> Self {
        Self(Kind::Mutable(tensor))
    }
}

impl From<i64> for Input<'_> {
    fn from(value: i64) -> Self {
        Self(Kind::Int(value))
    }
}

impl From<f64> for Input<'_> {
    fn from(value: f64) -> Self {
        Self(Kind::Double(value))
    }
}

impl From<bool> for Input<'_> {
    fn from(value: bool) -> Self {
        Self(Kind::Bool(value))
    }
}

impl<'a> From<&'a EValue<'_>> for Input<'a> {
    fn from(value: &'a EValue<'_>) -> Self {
        Self(match value.tag() {
            Tag::None => Kind::None,
            Tag::Tensor => Kind::Tensor(TensorRef::of_public(&value.as_tensor())),
            Tag::Int => Kind::Int(value.as_i64()),
            Tag::Double => Kind::Double(value.as_f64()),
            Tag::Bool => Kind::Bool(value.as_bool()),
            other => Kind::Unsupported(other),
        })
    }
}
