//! What changed between two exports of a program.

use std::collections::HashSet;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::{Method, Program, TensorInfo, Value};

/// One thing that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The method.
    pub method: String,
    /// What of it: `input 0`, `output 1`, `backends`, `arenas`, …
    pub subject: String,
    /// Which property: `device`, `planned`, `sizes`, …
    pub property: String,
    /// What it was; `None`: it was not there.
    pub old: Option<String>,
    /// What it is; `None`: it is there no more.
    pub new: Option<String>,
    /// Whether a caller of the old program must change. Otherwise only costs changed: memory, copies.
    pub contract: bool,
}

/// Every change from one program to the other, method by method. Empty: a caller of one can call the other, at the same
/// costs.
pub fn diff(old: &Program, new: &Program) -> Vec<Change> {
    let mut changes = Vec::new();
    for method in reachable(old) {
        let mut changed = Changes {
            method: &method.name,
            changes: &mut changes,
        };
        match new.method(&method.name) {
            Some(other) => changed.method(old, method, new, other),
            None => changed.add("method", "", Some("there"), None, true),
        }
    }
    for method in reachable(new).filter(|method| old.method(&method.name).is_none()) {
        let mut changed = Changes {
            method: &method.name,
            changes: &mut changes,
        };
        changed.add("method", "", None, Some("there"), true);
    }
    changes
}

/// The methods that can be loaded: of several with one name the first, as in the runtime.
fn reachable(program: &Program) -> impl Iterator<Item = &Method> {
    let mut seen = HashSet::new();
    program
        .methods
        .iter()
        .filter(move |method| seen.insert(method.name.as_str()))
}

struct Changes<'a> {
    method: &'a str,
    changes: &'a mut Vec<Change>,
}

impl Changes<'_> {
    fn add(
        &mut self,
        subject: &str,
        property: &str,
        old: Option<&str>,
        new: Option<&str>,
        contract: bool,
    ) {
        self.changes.push(Change {
            method: self.method.to_owned(),
            subject: subject.to_owned(),
            property: property.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
            contract,
        });
    }

    /// Adds a change if there is one.
    fn compare<T: PartialEq>(
        &mut self,
        subject: &str,
        property: &str,
        [old, new]: [T; 2],
        contract: bool,
        show: impl Fn(&T) -> String,
    ) {
        if old != new {
            self.add(
                subject,
                property,
                Some(&show(&old)),
                Some(&show(&new)),
                contract,
            );
        }
    }

    fn method(&mut self, old_program: &Program, old: &Method, new_program: &Program, new: &Method) {
        for (what, old, new) in [
            ("input", &old.inputs, &new.inputs),
            ("output", &old.outputs, &new.outputs),
        ] {
            for index in 0..old.len().max(new.len()) {
                let subject = format!("{what} {index}");
                match (old.get(index), new.get(index)) {
                    (Some(Value::Tensor(old)), Some(Value::Tensor(new))) => {
                        self.tensor(&subject, old, new);
                    }
                    (old, new) if old != new => {
                        self.add(
                            &subject,
                            "",
                            old.map(kind).as_deref(),
                            new.map(kind).as_deref(),
                            true,
                        );
                    }
                    _ => {}
                }
            }
        }
        let names = |method: &Method| {
            method
                .delegates
                .iter()
                .map(|delegate| delegate.id.to_string())
                .collect::<Vec<_>>()
        };
        self.set("backends", [names(old), names(new)]);
        let names = |method: &Method| {
            method
                .operators
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        self.set("operators", [names(old), names(new)]);
        // The names of data are often hashes of it, so that new weights are new names: only how much is asked for counts.
        let data = |program: &Program, method: &Method| !program.external_keys(method).is_empty();
        let data = [data(old_program, old), data(new_program, new)];
        self.compare("data file", "", data, true, |needed| {
            if *needed { "needed" } else { "not needed" }.into()
        });
        let arenas = |method: &Method| {
            method
                .arenas
                .iter()
                .filter(|arena| arena.nbytes > 0)
                .map(|arena| (arena.nbytes, arena.device))
                .collect::<Vec<_>>()
        };
        let show = |arenas: &Vec<(u64, crate::Device)>| {
            let arenas: Vec<String> = arenas
                .iter()
                .map(|(nbytes, device)| format!("{nbytes} bytes on {device}"))
                .collect();
            if arenas.is_empty() {
                "none".into()
            } else {
                arenas.join(", ")
            }
        };
        self.compare("memory", "planned", [arenas(old), arenas(new)], false, show);
        let (was, is) = (old.copied(), new.copied());
        let show = |way: &crate::CopiedBytes| format!("{} ({} bytes)", way.copies, way.nbytes);
        self.compare(
            "copies",
            "to the device",
            [was.host_to_device, is.host_to_device],
            false,
            show,
        );
        self.compare(
            "copies",
            "to the host",
            [was.device_to_host, is.device_to_host],
            false,
            show,
        );
    }

    fn tensor(&mut self, subject: &str, old: &TensorInfo, new: &TensorInfo) {
        let debug = |of: &dyn Debug| format!("{of:?}").to_lowercase();
        self.compare(subject, "name", [&old.name, &new.name], false, |name| {
            name.as_deref().unwrap_or("none").to_owned()
        });
        self.compare(
            subject,
            "element type",
            [old.dtype, new.dtype],
            true,
            ToString::to_string,
        );
        self.compare(subject, "sizes", [&old.sizes, &new.sizes], true, |sizes| {
            debug(sizes)
        });
        self.compare(
            subject,
            "dynamism",
            [old.dynamism, new.dynamism],
            true,
            |dynamism| debug(dynamism),
        );
        self.compare(
            subject,
            "dim order",
            [&old.dim_order, &new.dim_order],
            true,
            |order| debug(order),
        );
        self.compare(
            subject,
            "device",
            [old.device, new.device],
            true,
            ToString::to_string,
        );
        let planned = [old.planned.is_some(), new.planned.is_some()];
        self.compare(subject, "memory", planned, true, |planned| {
            if *planned { "planned" } else { "the caller's" }.into()
        });
    }

    /// Names that are asked for now, or no more.
    fn set(&mut self, subject: &str, [mut old, mut new]: [Vec<String>; 2]) {
        for names in [&mut old, &mut new] {
            names.sort_unstable();
            names.dedup();
        }
        for name in new.iter().filter(|name| old.binary_search(name).is_err()) {
            self.add(subject, "", None, Some(name), true);
        }
        for name in old.iter().filter(|name| new.binary_search(name).is_err()) {
            self.add(subject, "", Some(name), None, true);
        }
    }
}

/// What a value is, in a word or two.
fn kind(value: &Value) -> String {
    match value {
        Value::Tensor(_) => "tensor".into(),
        Value::Int { value } => format!("int {value}"),
        Value::Double { value } => value.map_or("double".into(), |value| format!("double {value}")),
        Value::Bool { value } => format!("bool {value}"),
        Value::String { value } => format!("string {value:?}"),
        Value::None => "None".into(),
        Value::List { of, len } => format!("list of {len} {of:?}").to_lowercase(),
        Value::Unknown { code } => format!("value of kind {code}"),
    }
}
