//! What the delegate's blob says: a versioned list of operators, written by the exporting side in place of the library
//! that AOTInductor would have compiled, and read here when a method is loaded.
//!
//! ```json
//! {"version": 1,
//!  "method": "forward",
//!  "inputs":  [{"name": "x", "dtype": "float32"}],
//!  "weights": [{"name": "w", "key": "3f…_weights", "dtype": "float32", "sizes": [4, 8]}],
//!  "ops":     [{"op": "linear", "in": ["x", "w"], "out": "t0"}, {"op": "relu", "in": ["t0"], "out": "t1"}],
//!  "outputs": ["t1"]}
//! ```
//!
//! Every value is a contiguous tensor. Names are unique and are defined before they are used; the sizes of the inputs
//! come from the run, so dynamic shapes need nothing more. Weights are named data: the bytes under `key`, little endian,
//! row-major, usually from the `.ptd`. An unknown field is an error, so that a writer and a reader that disagree are
//! found at load and not by a wrong number.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::operators::{self, Operator};

/// The only version that this device reads and the exporting side writes.
pub const VERSION: u32 = 1;

/// The blob of one delegated partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// [`VERSION`].
    pub version: u32,
    /// The method that it was lowered from; for messages only.
    pub method: String,
    /// The delegate's inputs, in the order of its arguments.
    pub inputs: Vec<Input>,
    /// Constants, loaded into device memory once.
    #[serde(default)]
    pub weights: Vec<Weight>,
    /// What is computed, in an order in which every value exists before its use.
    pub ops: Vec<Op>,
    /// Names of the results, in the order of the delegate's arguments after the inputs.
    pub outputs: Vec<String>,
}

/// An input of the delegate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name in this recipe.
    pub name: String,
    /// Its element type.
    pub dtype: Dtype,
}

/// A constant of the delegate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Its name in this recipe.
    pub name: String,
    /// The named data that holds its bytes.
    pub key: String,
    /// Its element type.
    pub dtype: Dtype,
    /// Its sizes, outermost first; empty for a scalar.
    pub sizes: Vec<usize>,
}

/// One operator call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Op {
    /// Which operator: a name of [`operators`](OPERATORS).
    pub op: String,
    /// Names of its operands.
    #[serde(rename = "in")]
    pub inputs: Vec<String>,
    /// Name of its result.
    pub out: String,
    /// `permute` alone: for each dimension of the result, the operand's dimension that it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dims: Vec<usize>,
}

/// Element types. Every operator works on `float32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 binary32, four bytes.
    Float32,
}

/// Why a blob is not a recipe that this device can run. One line each; the delegate answers all of them with
/// `DelegateInvalidCompatibility`.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// Not JSON of this shape.
    #[error(
        "the delegate's blob is not a recipe: {0}; export it again with this repository's exporter"
    )]
    Json(#[from] serde_json::Error),
    /// A version that this device does not read.
    #[error(
        "the recipe has version {found}, this device reads version {VERSION}: export the program again"
    )]
    Version {
        /// The version that the blob names.
        found: u64,
    },
    /// An operator that is not in the table.
    #[error("the recipe of method {method} needs the operator {op}, this device has: {known}")]
    Operator {
        /// The method.
        method: String,
        /// The unknown name.
        op: String,
        /// All names that are known.
        known: String,
    },
    /// Anything else that is inconsistent.
    #[error("the recipe of method {method} is inconsistent: {why}")]
    Inconsistent {
        /// The method.
        method: String,
        /// What is wrong, naming the value.
        why: String,
    },
}

/// The names of all operators that a recipe can use, in the table's order.
pub const OPERATORS: [&str; operators::TABLE.len()] = {
    let mut names = [""; operators::TABLE.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = operators::TABLE[index].name;
        index += 1;
    }
    names
};

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The delegate's input with this number.
    Input(usize),
    /// The recipe's weight with this number.
    Weight(usize),
    /// The result of the operator call with this number.
    Result(usize),
}

/// A recipe whose names are resolved: all that a run needs but the sizes.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) method: String,
    pub(crate) inputs: usize,
    pub(crate) weights: Vec<Weight>,
    pub(crate) calls: Vec<Call>,
    /// For each output, the call whose result it is. A call is the source of one output at most.
    pub(crate) outputs: Vec<usize>,
}

/// One operator call with its operands resolved.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operator: &'static Operator,
    pub(crate) operands: Vec<Source>,
    pub(crate) dims: Vec<usize>,
}

impl Recipe {
    /// Reads a blob.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Version`] for another version, whatever else the blob holds; [`RecipeError::Json`] for bytes that
    /// are not a recipe.
    pub fn parse(blob: &[u8]) -> Result<Self, RecipeError> {
        // The version first, and alone: a later version may have any other field.
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }
        let Versioned { version: found } = serde_json::from_slice(blob)?;
        if found != u64::from(VERSION) {
            return Err(RecipeError::Version { found });
        }
        Ok(serde_json::from_slice(blob)?)
    }

    /// Checks that the recipe can be run as far as that does not depend on sizes.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Operator`] for an operator that this device does not have, [`RecipeError::Inconsistent`] for a
    /// name that is unknown or defined twice, or a wrong number of operands.
    pub fn check(&self) -> Result<(), RecipeError> {
        self.resolve().map(drop)
    }

    pub(crate) fn resolve(&self) -> Result<Program, RecipeError> {
        let inconsistent = |why| RecipeError::Inconsistent {
            method: self.method.clone(),
            why,
        };
        let mut names: HashMap<&str, Source> = HashMap::new();
        let named = |names: &mut HashMap<_, _>, name, source| match names.insert(name, source) {
            Some(_) => Err(inconsistent(format!("the name {name} is defined twice"))),
            None => Ok(()),
        };
        for (index, input) in self.inputs.iter().enumerate() {
            named(&mut names, input.name.as_str(), Source::Input(index))?;
        }
        for (index, weight) in self.weights.iter().enumerate() {
            named(&mut names, weight.name.as_str(), Source::Weight(index))?;
            if weight
                .sizes
                .iter()
                .try_fold(4_usize, |bytes, &size| bytes.checked_mul(size))
                .is_none()
            {
                return Err(inconsistent(format!(
                    "the weight {} has too many elements",
                    weight.name
                )));
            }
        }
        let lookup = |names: &HashMap<_, Source>, name: &str| {
            names
                .get(name)
                .copied()
                .ok_or_else(|| inconsistent(format!("the value {name} is used before it exists")))
        };
        let mut calls = Vec::with_capacity(self.ops.len() + self.outputs.len());
        for op in &self.ops {
            let operator = operators::find(&op.op).ok_or_else(|| RecipeError::Operator {
                method: self.method.clone(),
                op: op.op.clone(),
                known: OPERATORS.join(", "),
            })?;
            if !operator.arity.contains(&op.inputs.len()) {
                let (least, most) = operator.arity.clone().into_inner();
                let wanted = if least == most {
                    least.to_string()
                } else {
                    format!("{least} to {most}")
                };
                return Err(inconsistent(format!(
                    "{} takes {wanted} operands, got {} for {}",
                    op.op,
                    op.inputs.len(),
                    op.out
                )));
            }
            let operands = op
                .inputs
                .iter()
                .map(|name| lookup(&names, name))
                .collect::<Result<_, _>>()?;
            named(&mut names, op.out.as_str(), Source::Result(calls.len()))?;
            calls.push(Call {
                operator,
                operands,
                dims: op.dims.clone(),
            });
        }
        // An output that is an input, a weight or another output gets a copy of its own, as the caller's memory
        // (or the runtime's) is where each output has to be.
        let mut outputs: Vec<usize> = Vec::with_capacity(self.outputs.len());
        for name in &self.outputs {
            match lookup(&names, name)? {
                Source::Result(call) if !outputs.contains(&call) => outputs.push(call),
                source => {
                    outputs.push(calls.len());
                    calls.push(Call {
                        operator: &operators::CLONE,
                        operands: vec![source],
                        dims: Vec::new(),
                    });
                }
            }
        }
        Ok(Program {
            method: self.method.clone(),
            inputs: self.inputs.len(),
            weights: self.weights.clone(),
            calls,
            outputs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MLP: &str = r#"{"version": 1, "method": "forward",
        "inputs": [{"name": "x", "dtype": "float32"}],
        "weights": [{"name": "w", "key": "k", "dtype": "float32", "sizes": [4, 8]}],
        "ops": [{"op": "linear", "in": ["x", "w"], "out": "t0"}, {"op": "relu", "in": ["t0"], "out": "t1"}],
        "outputs": ["t1"]}"#;

    fn message(blob: &str) -> String {
        let refused = Recipe::parse(blob.as_bytes()).and_then(|recipe| recipe.check());
        refused.expect_err("the blob must be refused").to_string()
    }

    #[test]
    fn a_recipe_survives_writing_and_reading() {
        let recipe = Recipe::parse(MLP.as_bytes()).unwrap();
        let written = serde_json::to_vec(&recipe).unwrap();
        assert_eq!(Recipe::parse(&written).unwrap(), recipe);
        recipe.check().unwrap();
    }

    #[test]
    fn another_version_is_named_before_anything_else_in_the_blob() {
        let text = message(r#"{"version": 2, "graph": {}}"#);
        assert_eq!(
            text,
            "the recipe has version 2, this device reads version 1: export the program again"
        );
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let cases = [
            (
                MLP.replace("relu", "gelu"),
                "needs the operator gelu, this device has: add, mul,",
            ),
            (
                MLP.replace(r#"["t0"]"#, r#"["t9"]"#),
                "the value t9 is used before it exists",
            ),
            (
                MLP.replace(r#""out": "t1""#, r#""out": "x""#),
                "the name x is defined twice",
            ),
            (
                MLP.replace(r#"["x", "w"]"#, r#"["x"]"#),
                "linear takes 2 to 3 operands, got 1 for t0",
            ),
            (
                MLP.replace(r#"["t1"]"#, r#"["t2"]"#),
                "the value t2 is used before it exists",
            ),
            (
                MLP.replace("[4, 8]", "[4, 9223372036854775807]"),
                "the weight w has too many elements",
            ),
            (
                MLP.replace(r#""out": "t0""#, r#""out": "t0", "alpha": 2"#),
                "unknown field `alpha`",
            ),
            (
                MLP.replace(r#""x", "dtype": "float32""#, r#""x", "dtype": "int64""#),
                "unknown variant `int64`",
            ),
            ("\u{7f}ELF".to_owned(), "not a recipe"),
        ];
        for (blob, expected) in cases {
            let text = message(&blob);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn an_output_that_is_no_result_of_its_own_becomes_a_copy() {
        let blob = MLP.replace(r#"["t1"]"#, r#"["t1", "x", "t1", "w"]"#);
        let program = Recipe::parse(blob.as_bytes()).unwrap().resolve().unwrap();
        assert_eq!(program.outputs, [1, 2, 3, 4]);
        assert_eq!(program.calls[2].operands, [Source::Input(0)]);
        assert_eq!(program.calls[3].operands, [Source::Result(1)]);
        assert_eq!(program.calls[4].operands, [Source::Weight(0)]);
    }
}
