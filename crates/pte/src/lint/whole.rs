//! What is wrong with a contract as a whole.

use std::collections::{BTreeMap, HashMap};

use super::check::{Found, answer, code, finding, is, list, measured, on, tensors};
use super::{Conditions, Expectation, Finding, Level, Origin, Part, Rule, Subject};
use crate::{Device, Program, TensorInfo};

impl Found<'_> {
    pub(super) fn mixed_contract(&mut self) {
        for (what, side) in [
            ("inputs", self.inputs().collect::<Vec<_>>()),
            ("outputs", self.outputs().collect()),
        ] {
            let mut places: BTreeMap<Device, Vec<Subject>> = BTreeMap::new();
            for (subject, tensor) in &side {
                places
                    .entry(tensor.device)
                    .or_default()
                    .push(subject.clone());
            }
            if places.len() < 2 {
                continue;
            }
            let subjects = side.into_iter().map(|(subject, _)| subject).collect();
            let places: Vec<String> = places
                .iter()
                .map(|(device, subjects)| format!("{} on {}", list(subjects), on(*device)))
                .collect();
            let message = format!("the {what} are on different devices: {}", list(&places));
            let mut found = finding(Rule::MixedContract, Level::Warning, subjects, message);
            found.help = Some(
                "hand each one over on its own device, or leave no operator out of the delegate"
                    .into(),
            );
            self.add(found);
        }
    }

    pub(super) fn not_as_expected(&mut self) {
        for &expected in &self.conditions.expect {
            let side: Vec<_> = if expected.output {
                self.outputs().collect()
            } else {
                self.inputs().collect()
            };
            let wrong: Vec<_> = side
                .into_iter()
                .filter(|(_, tensor)| !expected.holds(tensor))
                .collect();
            let Some((_, first)) = wrong.first() else {
                continue;
            };
            let really = format!(
                "{} on {}",
                if first.planned.is_some() {
                    "planned"
                } else {
                    "not planned"
                },
                on(first.device)
            );
            let copied = self.method.copies().any(|copy| copy.to == first.value);
            let subjects: Vec<Subject> = wrong.iter().map(|(subject, _)| subject.clone()).collect();
            let message = format!(
                "{} {} {really}, and {expected} was expected",
                list(&subjects),
                is(subjects.len())
            );
            let mut found = finding(Rule::NotAsExpected, Level::Error, subjects, message);
            found.help = Some(settings(expected, first));
            if expected.output && copied && expected.device == Some(true) {
                found.notes.push("an output that an operator on the host also uses keeps its copy although skip_d2h_for_method_outputs=True".into());
            } else if expected.output && copied && expected.planned == Some(false) {
                found.notes.push("an output that is copied to the host stays planned although alloc_graph_output=False".into());
            }
            found.notes.push("a method name that no method has, in a setting per method, silently gives the default".into());
            self.add(found);
        }
    }
}

/// The settings that ask for what was expected, where a tensor is something else.
fn settings(expected: Expectation, tensor: &TensorInfo) -> String {
    let (skip, alloc) = if expected.output {
        ("skip_d2h_for_method_outputs", "alloc_graph_output")
    } else {
        ("skip_h2d_for_method_inputs", "alloc_graph_input")
    };
    // A skipped input copy needs an unplanned input.
    let pair = (!expected.output && expected.device == Some(true)).then_some(false);
    let asked = [
        (skip, expected.device, !tensor.device.is_cpu()),
        (alloc, expected.planned.or(pair), tensor.planned.is_some()),
    ];
    let asked = asked.into_iter().filter_map(|(setting, expected, is)| {
        let python = if expected? { "True" } else { "False" };
        (expected? != is).then(|| format!("{setting}={python}"))
    });
    format!("export with {}", list(&asked.collect::<Vec<_>>()))
}

pub(super) fn refused_layout(
    program: &Program,
    conditions: &Conditions,
    findings: &mut Vec<Finding>,
) {
    if program.layout.constant_segment.is_some() {
        return;
    }
    let message =
        "the constants are inside the program, which the runtime of the 1.5.1 wheel refuses".into();
    let text = "PTE file relies on the constant_buffer path, which is disabled in this build (ET_ENABLE_DEPRECATED_CONSTANT_BUFFER=0). Please re-export the PTE file.";
    let mut found = finding(Rule::RefusedLayout, Level::Error, Vec::new(), message);
    found.help = Some("export again with ExecuTorch 1.x".into());
    measured(
        conditions.runtime,
        &mut found,
        answer("load", Some(code::INVALID_PROGRAM), text, Origin::Runtime),
    );
    findings.push(found);
}

/// Outputs of one method against inputs of the others, of equal shape and element type; the first that differs each.
pub(super) fn methods_disagree(program: &Program, findings: &mut Vec<Finding>) {
    let mut wanted: HashMap<_, Vec<_>> = HashMap::new();
    for method in &program.methods {
        for (input, tensor) in
            tensors(Part::Input, &method.inputs).filter(|(_, tensor)| !tensor.sizes.is_empty())
        {
            let alike = wanted.entry((tensor.dtype, &tensor.sizes)).or_default();
            // One of a kind shows it.
            if alike
                .iter()
                .filter(|(_, _, device)| *device == tensor.device)
                .count()
                < 2
            {
                alike.push((&method.name, input, tensor.device));
            }
        }
    }
    for method in &program.methods {
        for (output, given) in tensors(Part::Output, &method.outputs) {
            let alike = wanted
                .get(&(given.dtype, &given.sizes))
                .into_iter()
                .flatten();
            let other = alike
                .into_iter()
                .find(|(name, _, device)| **name != method.name && *device != given.device);
            let Some((name, input, device)) = other else {
                continue;
            };
            let message = format!(
                "{output} is on {}, and {input} of `{name}`, of the same shape, is wanted on {}",
                on(given.device),
                on(*device)
            );
            let found = finding(Rule::MethodsDisagree, Level::Note, vec![output], message);
            let help = "export both methods with the same propagate_device_config, if the one's result is the other's input";
            findings.push(Finding {
                method: Some(method.name.clone()),
                help: Some(help.into()),
                ..found
            });
        }
    }
}
