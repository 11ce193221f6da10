//! What is wrong with outputs, and what a caller of them must know.

use std::collections::BTreeSet;

use super::check::{Found, answer, finding, is, list, measured, plural};
use super::{Caller, Level, Origin, Part, Rule, Subject};
use crate::{Device, Direction, Dynamism};

impl Found<'_> {
    pub(super) fn unreachable_device_tensor(&mut self) {
        // What has no bytes needs no memory.
        let values = self
            .method
            .unreachable
            .iter()
            .copied()
            .filter(|&value| self.tensor(value).is_some_and(|tensor| tensor.nbytes > 0));
        let values: BTreeSet<u32> = values.collect();
        let subjects: Vec<Subject> = values.iter().map(|&value| self.value(value)).collect();
        let Some(&value) = values.first() else { return };
        let copied = self
            .method
            .copies()
            .find(|copy| copy.direction == Direction::DeviceToHost && values.contains(&copy.from));
        let message = format!(
            "{} {} on {}, used by a delegate, and without memory: not planned, and nothing that a caller can set",
            list(&subjects),
            is(subjects.len()),
            self.tensor(value)
                .map_or(Device::CPU, |tensor| tensor.device),
        );
        let output = copied.map(|copy| self.value(copy.to));
        let mut found = finding(
            Rule::UnreachableDeviceTensor,
            Level::Error,
            subjects,
            message,
        );
        found.help = Some(if output.is_some() {
            "export with alloc_graph_output=True: alloc_graph_output=False is only for outputs that skip their copy to the \
             host (skip_d2h_for_method_outputs=True)"
                .into()
        } else {
            "export again: nothing plans memory for this tensor".into()
        });
        let text = "the delegate is given a null pointer; what CUDA does with it was not verified";
        measured(
            self.conditions.runtime,
            &mut found,
            answer("execute", None, text, Origin::Unverified),
        );
        if let Some(output) = output {
            found.notes.push(format!("the copy to {output} reads it, and {output} itself is planned, so set_output is refused"));
        }
        self.add(found);
    }

    pub(super) fn unplanned_device_output(&mut self) {
        let outputs = self.outputs().filter(|(_, tensor)| {
            !tensor.device.is_cpu()
                && tensor.planned.is_none()
                && tensor.data.is_none()
                && tensor.nbytes > 0
        });
        let (subjects, outputs): (Vec<_>, Vec<_>) = outputs.unzip();
        let Some(&first) = outputs.first() else {
            return;
        };
        let (device, value) = (first.device, first.value);
        // An input that is handed through has the caller's memory already.
        let passed = self
            .io
            .get(&value)
            .is_some_and(|subject| subject.part == Part::Input);
        let message = format!(
            "{} {} on {device} and not planned: the caller must bring its memory",
            list(&subjects),
            is(subjects.len())
        );
        let level = match self.conditions.caller {
            _ if passed => Level::Note,
            Some(caller) if caller.can_set_outputs() => Level::Note,
            Some(_) => Level::Error,
            None => Level::Warning,
        };
        let not_backed = self.not_backed(value);
        let mut found = finding(Rule::UnplannedDeviceOutput, level, subjects, message);
        match self.conditions.caller {
            Some(caller) if caller.can_set_outputs() => {
                found.help =
                    Some("call set_output with a device tensor before the first execution".into());
            }
            caller => {
                let who = match caller {
                    Some(Caller::Python) => "the Python bindings hand over host memory for it",
                    Some(_) => "the crate executorch 0.13 has no set_output",
                    None => {
                        "only C++ and Rust with executorch-device can; Python and the crate executorch 0.13 cannot"
                    }
                };
                found.notes.push(who.into());
                found.help = Some("export with alloc_graph_output=True, and the result is in the runtime's own device buffer".into());
            }
        }
        if level == Level::Error {
            if self.conditions.caller == Some(Caller::Python) {
                measured(self.conditions.runtime, &mut found, not_backed);
            } else {
                let text =
                    "the delegate is given a null pointer; what CUDA does with it was not verified";
                measured(
                    self.conditions.runtime,
                    &mut found,
                    answer("execute", None, text, Origin::Unverified),
                );
            }
        }
        self.add(found);
    }

    pub(super) fn planned_device_output(&mut self) {
        let outputs = self
            .outputs()
            .filter(|(_, tensor)| !tensor.device.is_cpu() && tensor.planned.is_some());
        let (subjects, outputs): (Vec<_>, Vec<_>) = outputs.unzip();
        let Some(first) = outputs.first() else { return };
        let message = format!(
            "{} {} the runtime's own buffer on {}: the next execution overwrites it, and it is queued, not finished, when \
             execute returns",
            list(&subjects),
            is(subjects.len()),
            first.device
        );
        let mut found = finding(Rule::PlannedDeviceOutput, Level::Note, subjects, message);
        found.help = Some(
            "synchronise before anything reads it, and copy what is to outlive the next execution"
                .into(),
        );
        self.add(found);
    }

    pub(super) fn unplanned_host_output(&mut self) {
        let inputs: BTreeSet<u32> = self
            .method
            .input_tensors()
            .map(|tensor| tensor.value)
            .collect();
        let outputs = self.outputs().filter(|(_, tensor)| {
            tensor.device.is_cpu()
                && tensor.planned.is_none()
                && tensor.data.is_none()
                && tensor.nbytes > 0
                && !inputs.contains(&tensor.value)
        });
        let subjects: Vec<Subject> = outputs.map(|(subject, _)| subject).collect();
        if subjects.is_empty() {
            return;
        }
        let message = format!(
            "{} {} on the host and not planned: the caller must bring its memory",
            list(&subjects),
            is(subjects.len())
        );
        let level = if self.conditions.caller == Some(Caller::Rust) {
            Level::Error
        } else {
            Level::Note
        };
        let mut found = finding(Rule::UnplannedHostOutput, level, subjects, message);
        match self.conditions.caller {
            Some(Caller::Python) => {
                found.help = Some("nothing is to do: the Python bindings bring it".into());
            }
            Some(Caller::Rust) => {
                found.help =
                    Some("export with alloc_graph_output=True, which is the default".into());
                measured(
                    self.conditions.runtime,
                    &mut found,
                    answer(
                        "execute",
                        None,
                        "the process ends by SIGSEGV: the operator writes to a null pointer",
                        Origin::Runtime,
                    ),
                );
            }
            _ => found.help = Some("call set_output before the first execution".into()),
        }
        self.add(found);
    }

    pub(super) fn bounded_output(&mut self) {
        let bounded = self.outputs().filter(|(_, tensor)| {
            tensor.dynamism == Dynamism::Bound && tensor.planned.is_none() && tensor.data.is_none()
        });
        let (subjects, outputs): (Vec<_>, Vec<_>) = bounded.unzip();
        let Some(first) = outputs.first() else { return };
        let message = format!(
            "{} may be smaller in a run than {:?}: its buffer needs all {}",
            list(&subjects),
            first.sizes,
            plural(first.nbytes, "byte")
        );
        let mut found = finding(Rule::BoundedOutput, Level::Note, subjects, message);
        found.help = Some("hand over a buffer of that size, whatever the run needs".into());
        self.add(found);
    }
}
