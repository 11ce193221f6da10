//! What is wrong with inputs.

use std::collections::BTreeSet;

use super::check::{Found, answer, code, finding, is, list, measured};
use super::{Level, Origin, Rule, Runtime, Subject};
use crate::Step;

impl Found<'_> {
    pub(super) fn planned_device_input(&mut self) {
        let inputs = self
            .inputs()
            .filter(|(_, tensor)| !tensor.device.is_cpu() && tensor.planned.is_some())
            // Nothing is copied into what has no bytes.
            .filter(|(_, tensor)| tensor.nbytes > 0);
        let (subjects, inputs): (Vec<_>, Vec<_>) = inputs.unzip();
        let Some(first) = inputs.first() else { return };
        let count = subjects.len();
        let message = format!(
            "{} {} on {} and planned: the runtime copies into a buffer of its own",
            list(&subjects),
            is(count),
            first.device
        );
        let text = format!(
            "Planned-buffer copy needs host memory on both sides: dst device {}, src device 0. Export with \
             MemoryPlanningPass(alloc_graph_input=False) to share the caller's memory.",
            first.device.device_type.code()
        );
        let mut found = finding(Rule::PlannedDeviceInput, Level::Error, subjects, message);
        found.help = Some(
            "export with memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)".into(),
        );
        found.notes.push(
            "handed device memory, it says `src device 1` and refuses it all the same".into(),
        );
        if self.conditions.runtime
            < (Runtime {
                major: 1,
                minor: 5,
                patch: 0,
            })
        {
            found.notes.push(
                "before 1.5 a crash without a message is reported (pytorch/executorch#21580)"
                    .into(),
            );
        }
        measured(
            self.conditions.runtime,
            &mut found,
            answer(
                "set_input",
                Some(code::NOT_SUPPORTED),
                text,
                Origin::Runtime,
            ),
        );
        self.add(found);
    }

    pub(super) fn unguarded_host_input(&mut self) {
        if !self.method.tensors().any(|tensor| !tensor.device.is_cpu()) {
            return;
        }
        let mut read: BTreeSet<u32> = BTreeSet::new();
        for step in &self.method.chain {
            if let Step::Operator(call) = step {
                read.extend(&call.args);
            }
        }
        let unguarded = self.inputs().filter(|(_, tensor)| {
            tensor.device.is_cpu() && tensor.planned.is_none() && read.contains(&tensor.value)
        });
        let subjects: Vec<Subject> = unguarded.map(|(subject, _)| subject).collect();
        if subjects.is_empty() {
            return;
        }
        let message = format!(
            "{} {} read by an operator on the host, and nothing checks what the caller hands over",
            list(&subjects),
            is(subjects.len())
        );
        let mut found = finding(Rule::UnguardedHostInput, Level::Warning, subjects, message);
        found.help =
            Some("hand over host memory: device memory ends the process, without a message".into());
        self.add(found);
    }
}
