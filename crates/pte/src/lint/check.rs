//! The rules at work, a function each, on one method after the other.

use std::collections::HashMap;

use super::whole::{methods_disagree, refused_layout};
use super::{Answer, Conditions, Finding, Level, Origin, Part, Rule, Runtime, Subject};
use crate::{Device, Method, Program, Step, TensorInfo, Value};

/// ExecuTorch's error codes, by its own names.
pub(super) mod code {
    pub(in crate::lint) const INTERNAL: u32 = 0x01;
    pub(in crate::lint) const INVALID_STATE: u32 = 0x02;
    pub(in crate::lint) const NOT_SUPPORTED: u32 = 0x10;
    pub(in crate::lint) const INVALID_ARGUMENT: u32 = 0x12;
    pub(in crate::lint) const NOT_FOUND: u32 = 0x20;
    pub(in crate::lint) const MEMORY_ALLOCATION_FAILED: u32 = 0x21;
    pub(in crate::lint) const INVALID_PROGRAM: u32 = 0x23;
}

/// Everything that the rules find, the worst first; among equals in the order of methods, then rules.
pub fn check(program: &Program, conditions: &Conditions) -> Vec<Finding> {
    let mut findings = Vec::new();
    refused_layout(program, conditions, &mut findings);
    for method in &program.methods {
        let mut found = Found::new(program, method, conditions, &mut findings);
        found.planned_device_input();
        found.device_tensor_in_host_arena();
        found.unreachable_device_tensor();
        found.unplanned_device_output();
        found.planned_device_output();
        found.mixed_contract();
        found.not_as_expected();
        found.boundary_copies();
        found.other_device();
        found.data_file_needed();
        found.hidden_from_metadata();
        found.unguarded_host_input();
        found.unplanned_host_output();
        found.repeated_copy();
        found.outside_arena();
        found.backend_needed();
        found.bounded_output();
        found.no_shared_arenas();
        found.host_operator_on_device();
        found.host_tensor_for_delegate();
        found.empty_copy();
    }
    methods_disagree(program, &mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

/// One method, and what was found so far.
pub(super) struct Found<'a> {
    pub(super) program: &'a Program,
    pub(super) method: &'a Method,
    pub(super) conditions: &'a Conditions,
    pub(super) tensors: HashMap<u32, &'a TensorInfo>,
    /// What a value goes by, if it is an input or an output.
    pub(super) io: HashMap<u32, Subject>,
    pub(super) findings: &'a mut Vec<Finding>,
}

/// A finding without anything that only some have.
pub(super) fn finding(
    rule: Rule,
    level: Level,
    subjects: Vec<Subject>,
    message: String,
) -> Finding {
    Finding {
        rule,
        level,
        method: None,
        subjects,
        message,
        answer: None,
        help: None,
        notes: Vec::new(),
        page: rule.page(),
    }
}

/// What 1.5.1 was measured to say, if that is the version asked about; else a note that it was not measured.
pub(super) fn measured(runtime: Runtime, finding: &mut Finding, answer: Answer) {
    if runtime == Runtime::MEASURED {
        finding.answer = Some(answer);
    } else {
        finding.notes.push(format!(
            "what ExecuTorch {runtime} says was not measured; this is from {}",
            Runtime::MEASURED
        ));
    }
}

pub(super) fn answer(
    at: &str,
    code: Option<u32>,
    text: impl Into<String>,
    origin: Origin,
) -> Answer {
    Answer {
        runtime: Runtime::MEASURED,
        at: at.into(),
        code,
        text: text.into(),
        origin,
    }
}

/// `is` or `are`, by how many.
pub(super) fn is(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// `input 0, input 1 and input 2`; of very many the first few.
pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    const MOST: usize = 6;
    let mut words: Vec<String> = items.iter().take(MOST).map(T::to_string).collect();
    if items.len() > MOST {
        words.push(format!("{} more", items.len() - MOST));
    }
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        last
    } else {
        format!("{} and {last}", words.join(", "))
    }
}

/// Where a device is, after `on`.
pub(super) fn on(device: Device) -> String {
    if device == Device::CPU {
        "the host".into()
    } else {
        device.to_string()
    }
}

pub(super) fn plural(count: impl Into<u64>, word: &str) -> String {
    let count = count.into();
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The tensors of a list of inputs or outputs, each with its position.
pub(super) fn tensors(
    part: Part,
    values: &[Value],
) -> impl Iterator<Item = (Subject, &TensorInfo)> {
    values.iter().enumerate().filter_map(move |(index, value)| {
        let tensor = value.tensor()?;
        Some((
            Subject {
                part,
                index: index as u32,
                name: tensor.name.clone(),
            },
            tensor,
        ))
    })
}

impl<'a> Found<'a> {
    fn new(
        program: &'a Program,
        method: &'a Method,
        conditions: &'a Conditions,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        let mut io = HashMap::new();
        for (subject, tensor) in
            tensors(Part::Input, &method.inputs).chain(tensors(Part::Output, &method.outputs))
        {
            io.entry(tensor.value).or_insert(subject);
        }
        let tensors = method
            .tensors()
            .map(|tensor| (tensor.value, tensor))
            .collect();
        Self {
            program,
            method,
            conditions,
            tensors,
            io,
            findings,
        }
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = (Subject, &'a TensorInfo)> + use<'a> {
        tensors(Part::Input, &self.method.inputs)
    }

    pub(super) fn outputs(&self) -> impl Iterator<Item = (Subject, &'a TensorInfo)> + use<'a> {
        tensors(Part::Output, &self.method.outputs)
    }

    pub(super) fn tensor(&self, value: u32) -> Option<&'a TensorInfo> {
        self.tensors.get(&value).copied()
    }

    /// The name that a value goes by.
    pub(super) fn value(&self, value: u32) -> Subject {
        let unnamed = || Subject {
            part: Part::Value,
            index: value,
            name: self.tensor(value).and_then(|it| it.name.clone()),
        };
        self.io.get(&value).cloned().unwrap_or_else(unnamed)
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(Finding {
            method: Some(self.method.name.clone()),
            ..finding
        });
    }

    /// The place among a delegate's arguments at which it finds this value, as its error messages count.
    pub(super) fn argument(&self, value: u32) -> Option<usize> {
        let calls = self.method.chain.iter().filter_map(|step| {
            if let Step::Delegate(call) = step {
                Some(call)
            } else {
                None
            }
        });
        calls
            .filter_map(|call| call.args.iter().position(|&arg| arg == value))
            .next()
    }

    /// What the CUDA delegate says to a tensor that does not say that it is on the device.
    pub(super) fn not_tagged(&self, value: u32) -> Answer {
        self.delegate_refuses(
            value,
            "expected device_type=CUDA (1), got 0. Device info may not be properly propagated from CudaPartitioner.",
        )
    }

    /// What it says to a pointer that is not device memory.
    pub(super) fn not_backed(&self, value: u32) -> Answer {
        self.delegate_refuses(
            value,
            "has device_type=CUDA but its data pointer P is not backed by CUDA device memory \
             (cudaPointerGetAttributes err=0, cudaMemoryType=0)",
        )
    }

    fn delegate_refuses(&self, value: u32, why: &str) -> Answer {
        let index = self
            .argument(value)
            .map_or("N".into(), |index| index.to_string());
        let text = format!("Tensor {index} {why}");
        answer(
            "execute",
            Some(code::INVALID_ARGUMENT),
            text,
            Origin::CudaSource,
        )
    }
}
