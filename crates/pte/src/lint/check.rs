//! The rules at work: one function a rule, in the order of their ids.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    Answer, Caller, Conditions, Data, Finding, Level, Origin, Part, Rule, Runtime, Subject,
};
use crate::{
    CopyCall, Device, DeviceType, Direction, Dynamism, Method, Program, Step, TensorInfo, Value,
};

/// ExecuTorch's error codes, by its own names.
mod code {
    pub(super) const INVALID_STATE: u32 = 0x02;
    pub(super) const NOT_SUPPORTED: u32 = 0x10;
    pub(super) const INVALID_ARGUMENT: u32 = 0x12;
    pub(super) const NOT_FOUND: u32 = 0x20;
    pub(super) const MEMORY_ALLOCATION_FAILED: u32 = 0x21;
    pub(super) const INVALID_PROGRAM: u32 = 0x23;
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
    }
    methods_disagree(program, &mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

/// One method, and what was found so far.
struct Found<'a> {
    program: &'a Program,
    method: &'a Method,
    conditions: &'a Conditions,
    tensors: HashMap<u32, &'a TensorInfo>,
    /// What a value goes by, if it is an input or an output.
    io: HashMap<u32, Subject>,
    findings: &'a mut Vec<Finding>,
}

/// A finding without anything that only some have.
fn finding(rule: Rule, level: Level, subjects: Vec<Subject>, message: String) -> Finding {
    Finding {
        rule,
        level,
        method: None,
        subjects,
        message,
        answer: None,
        help: None,
        notes: Vec::new(),
    }
}

/// What 1.5.1 was measured to say, if that is the version asked about; else a note that it was not measured.
fn measured(runtime: Runtime, finding: &mut Finding, answer: Answer) {
    if runtime == Runtime::MEASURED {
        finding.answer = Some(answer);
    } else {
        finding.notes.push(format!(
            "what ExecuTorch {runtime} says was not measured; this is from {}",
            Runtime::MEASURED
        ));
    }
}

fn answer(at: &str, code: Option<u32>, text: impl Into<String>, origin: Origin) -> Answer {
    Answer {
        runtime: Runtime::MEASURED,
        at: at.into(),
        code,
        text: text.into(),
        origin,
    }
}

/// `is` or `are`, by how many.
fn is(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// `input 0, input 1 and input 2`; of very many the first few.
fn list<T: std::fmt::Display>(items: &[T]) -> String {
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
fn on(device: Device) -> String {
    if device == Device::CPU {
        "the host".into()
    } else {
        device.to_string()
    }
}

fn plural(count: impl Into<u64>, word: &str) -> String {
    let count = count.into();
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The tensors of a list of inputs or outputs, each with its position.
fn tensors(part: Part, values: &[Value]) -> impl Iterator<Item = (Subject, &TensorInfo)> {
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

    fn inputs(&self) -> impl Iterator<Item = (Subject, &'a TensorInfo)> + use<'a> {
        tensors(Part::Input, &self.method.inputs)
    }

    fn outputs(&self) -> impl Iterator<Item = (Subject, &'a TensorInfo)> + use<'a> {
        tensors(Part::Output, &self.method.outputs)
    }

    fn tensor(&self, value: u32) -> Option<&'a TensorInfo> {
        self.tensors.get(&value).copied()
    }

    /// The name that a value goes by.
    fn value(&self, value: u32) -> Subject {
        let unnamed = || Subject {
            part: Part::Value,
            index: value,
            name: self.tensor(value).and_then(|it| it.name.clone()),
        };
        self.io.get(&value).cloned().unwrap_or_else(unnamed)
    }

    fn add(&mut self, finding: Finding) {
        self.findings.push(Finding {
            method: Some(self.method.name.clone()),
            ..finding
        });
    }

    /// The place among a delegate's arguments at which it finds this value, as its error messages count.
    fn argument(&self, value: u32) -> Option<usize> {
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

    /// What the CUDA delegate says to a pointer that is not device memory.
    fn not_backed(&self, value: u32) -> Answer {
        let index = self
            .argument(value)
            .map_or("N".into(), |index| index.to_string());
        let text = format!(
            "Tensor {index} has device_type=CUDA but its data pointer P is not backed by CUDA device memory \
             (cudaPointerGetAttributes err=0, cudaMemoryType=0)"
        );
        answer(
            "execute",
            Some(code::INVALID_ARGUMENT),
            text,
            Origin::CudaSource,
        )
    }

    fn planned_device_input(&mut self) {
        let inputs = self
            .inputs()
            .filter(|(_, tensor)| !tensor.device.is_cpu() && tensor.planned.is_some());
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

    fn device_tensor_in_host_arena(&mut self) {
        let misplaced = |tensor: &&TensorInfo| {
            let arena = tensor
                .planned
                .and_then(|planned| self.method.arenas.get(planned.arena as usize));
            arena.is_some_and(|arena| arena.device != tensor.device)
        };
        let values: BTreeSet<u32> = self
            .method
            .tensors()
            .filter(misplaced)
            .map(|tensor| tensor.value)
            .collect();
        let Some(tensor) = values.first().and_then(|&value| self.tensor(value)) else {
            return;
        };
        let subjects: Vec<Subject> = values.iter().map(|&value| self.value(value)).collect();
        let arena = tensor.planned.map_or(Device::CPU, |planned| {
            self.method.arenas[planned.arena as usize].device
        });
        let message = format!(
            "{} {} marked as {} memory and planned on {}",
            list(&subjects),
            is(subjects.len()),
            tensor.device,
            on(arena)
        );
        let answer = self.not_backed(tensor.value);
        let mut found = finding(
            Rule::DeviceTensorInHostArena,
            Level::Error,
            subjects,
            message,
        );
        found.help =
            Some("export with enable_non_cpu_memory_planning=True, which is the default".into());
        measured(self.conditions.runtime, &mut found, answer);
        self.add(found);
    }

    fn unreachable_device_tensor(&mut self) {
        let values: BTreeSet<u32> = self.method.unreachable.iter().copied().collect();
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

    fn unplanned_device_output(&mut self) {
        let outputs = self.outputs().filter(|(_, tensor)| {
            !tensor.device.is_cpu() && tensor.planned.is_none() && tensor.data.is_none()
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

    fn planned_device_output(&mut self) {
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

    fn mixed_contract(&mut self) {
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

    fn not_as_expected(&mut self) {
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
            if expected.output && copied && expected.device == Some(true) {
                found.notes.push("an output that an operator on the host also uses keeps its copy although skip_d2h_for_method_outputs=True".into());
            } else if expected.output && copied && expected.planned == Some(false) {
                found.notes.push("an output that is copied to the host stays planned although alloc_graph_output=False".into());
            }
            found.notes.push("a method name that no method has, in a setting per method, silently gives the default".into());
            self.add(found);
        }
    }

    fn boundary_copies(&mut self) {
        let copied = self.method.copied();
        let (to, from) = (copied.host_to_device, copied.device_to_host);
        if to.copies + from.copies == 0 {
            return;
        }
        let way = |way: crate::CopiedBytes, name| {
            (way.copies > 0).then(|| {
                format!(
                    "{} to the {name} ({})",
                    plural(way.copies, "copy").replace("copys", "copies"),
                    plural(way.nbytes, "byte")
                )
            })
        };
        let ways: Vec<String> = [way(to, "device"), way(from, "host")]
            .into_iter()
            .flatten()
            .collect();
        let steps = self
            .method
            .chain
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(step, Step::Copy(_)));
        let subjects = steps
            .map(|(index, _)| Subject {
                part: Part::Step,
                index: index as u32,
                name: None,
            })
            .collect();
        let mut found = finding(
            Rule::BoundaryCopies,
            Level::Note,
            subjects,
            format!("each execution makes {}", list(&ways)),
        );
        let operators = self
            .method
            .operators
            .iter()
            .filter(|name| name.starts_with("et_copy::"));
        found.notes.push(format!(
            "the kernels library must be loaded: it has {}",
            list(&operators.collect::<Vec<_>>())
        ));
        self.add(found);
    }

    fn other_device(&mut self) {
        let devices: BTreeSet<Device> = self
            .method
            .tensors()
            .map(|tensor| tensor.device)
            .chain(self.method.arenas.iter().map(|arena| arena.device))
            .collect();
        for device in devices {
            let there = |(subject, tensor): (Subject, &TensorInfo)| {
                (tensor.device == device).then_some(subject)
            };
            let subjects: Vec<Subject> = self
                .inputs()
                .chain(self.outputs())
                .filter_map(there)
                .collect();
            if let DeviceType::Unknown(code) = device.device_type {
                let message = format!(
                    "memory of device type {code} is used, which ExecuTorch 1.5.1 has no name for"
                );
                let planned = self
                    .method
                    .arenas
                    .iter()
                    .any(|arena| arena.device == device);
                let mut found = finding(Rule::OtherDevice, Level::Error, subjects, message);
                found.help = Some("export with the ExecuTorch that runs the program".into());
                if planned {
                    let text = format!("No device allocator registered for device type {code}");
                    measured(
                        self.conditions.runtime,
                        &mut found,
                        answer("load", Some(code::NOT_FOUND), text, Origin::Runtime),
                    );
                }
                self.add(found);
            } else if device.index != 0 {
                let message = format!(
                    "{device} is used: the program runs where there is such a device, and on no other"
                );
                let mut found = finding(Rule::OtherDevice, Level::Warning, subjects, message);
                found.help = Some(
                    "export with the compile spec target_device=cuda:0, which is the default"
                        .into(),
                );
                self.add(found);
            }
        }
    }

    fn data_file_needed(&mut self) {
        let keys = self.program.external_keys(self.method);
        let missing: Vec<&str> = match &self.conditions.data {
            Data::Unsaid => keys,
            Data::Files(files) => keys
                .into_iter()
                .filter(|key| files.iter().all(|file| file.entry(key).is_none()))
                .collect(),
        };
        let Some(first) = missing.first() else { return };
        let more = match missing.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (level, message) = match &self.conditions.data {
            Data::Unsaid => (
                Level::Note,
                format!("a data file (.ptd) is needed for `{first}`{more}"),
            ),
            Data::Files(files) if files.is_empty() => (
                Level::Error,
                format!(
                    "`{first}`{more} is in no file: the method does not load without its data file (.ptd)"
                ),
            ),
            Data::Files(_) => (
                Level::Error,
                format!("`{first}`{more} is in none of the data files"),
            ),
        };
        let of_tensor = self.method.tensors().any(|tensor| matches!(&tensor.data, Some(crate::TensorData::External { key, .. }) if key == first));
        let mut found = finding(Rule::DataFileNeeded, level, Vec::new(), message);
        found.help = Some("name the .ptd that the exporter wrote beside the program".into());
        if level == Level::Error && of_tensor && self.conditions.data == Data::Files(Vec::new()) {
            measured(
                self.conditions.runtime,
                &mut found,
                answer(
                    "load",
                    Some(code::INVALID_STATE),
                    "external_data_map is null",
                    Origin::Runtime,
                ),
            );
        }
        self.add(found);
    }

    fn hidden_from_metadata(&mut self) {
        let there: Vec<_> = self
            .inputs()
            .chain(self.outputs())
            .filter(|(_, tensor)| !tensor.device.is_cpu())
            .map(|(subject, _)| subject)
            .collect();
        if there.is_empty()
            || self
                .method
                .arenas
                .iter()
                .any(|arena| !arena.device.is_cpu())
        {
            return;
        }
        let message = format!(
            "{} {} on a device, and no arena is: MethodMeta calls the method host-only",
            list(&there),
            is(there.len())
        );
        self.add(finding(
            Rule::HiddenFromMetadata,
            Level::Note,
            there,
            message,
        ));
    }

    fn unguarded_host_input(&mut self) {
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

    fn unplanned_host_output(&mut self) {
        let inputs: BTreeSet<u32> = self
            .method
            .input_tensors()
            .map(|tensor| tensor.value)
            .collect();
        let outputs = self.outputs().filter(|(_, tensor)| {
            tensor.device.is_cpu()
                && tensor.planned.is_none()
                && tensor.data.is_none()
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
            Some(Caller::Python) => found
                .notes
                .push("the Python bindings bring it by themselves".into()),
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

    fn repeated_copy(&mut self) {
        let mut uses: BTreeMap<u32, Vec<&CopyCall>> = BTreeMap::new();
        for copy in self
            .method
            .copies()
            .filter(|copy| copy.direction == Direction::HostToDevice)
        {
            uses.entry(copy.from).or_default().push(copy);
        }
        let back: HashMap<u32, &CopyCall> = self
            .method
            .copies()
            .filter(|copy| copy.direction == Direction::DeviceToHost)
            .map(|copy| (copy.to, copy))
            .collect();
        for (value, copies) in uses {
            let subject = self.value(value);
            let message = match back.get(&value) {
                Some(back) if back.device == copies[0].device => {
                    format!("{subject} comes from {} and goes back there", back.device)
                }
                _ if copies.len() > 1 => format!(
                    "{subject} is copied to the device {} times an execution",
                    copies.len()
                ),
                _ => continue,
            };
            self.add(finding(
                Rule::RepeatedCopy,
                Level::Note,
                vec![subject],
                message,
            ));
        }
    }

    fn outside_arena(&mut self) {
        let outside = |tensor: &&TensorInfo| {
            tensor.planned.is_some_and(|planned| {
                let end = planned.offset.checked_add(tensor.nbytes);
                end.is_none_or(|end| end > self.method.arenas[planned.arena as usize].nbytes)
            })
        };
        let values: BTreeSet<u32> = self
            .method
            .tensors()
            .filter(outside)
            .map(|tensor| tensor.value)
            .collect();
        let Some((tensor, planned)) = values
            .first()
            .and_then(|&value| self.tensor(value))
            .and_then(|tensor| Some((tensor, tensor.planned?)))
        else {
            return;
        };
        let subjects: Vec<Subject> = values.iter().map(|&value| self.value(value)).collect();
        let arena = self.method.arenas[planned.arena as usize];
        let message = format!(
            "{} {} planned beyond the end of arena {}, which has {}",
            list(&subjects),
            is(subjects.len()),
            planned.arena,
            plural(arena.nbytes, "byte")
        );
        let text = format!(
            "offset_bytes ({}) + size_bytes ({}) >= allocator size ({}) for memory_id {}",
            planned.offset, tensor.nbytes, arena.nbytes, planned.arena
        );
        let mut found = finding(Rule::OutsideArena, Level::Error, subjects, message);
        found.help = Some("export the program again: no exporter writes this".into());
        measured(
            self.conditions.runtime,
            &mut found,
            answer(
                "load",
                Some(code::MEMORY_ALLOCATION_FAILED),
                text,
                Origin::Runtime,
            ),
        );
        self.add(found);
    }

    fn backend_needed(&mut self) {
        let ids: BTreeSet<&str> = self
            .method
            .delegates
            .iter()
            .map(|delegate| &*delegate.id)
            .collect();
        if ids.is_empty() {
            return;
        }
        let ids: Vec<&str> = ids.into_iter().collect();
        let subjects = (0..self.method.delegates.len()).map(|index| Subject {
            part: Part::Delegate,
            index: index as u32,
            name: Some(self.method.delegates[index].id.to_string()),
        });
        let message = format!("{} must be registered in the caller's process", list(&ids));
        let mut found = finding(
            Rule::BackendNeeded,
            Level::Note,
            subjects.collect(),
            message,
        );
        if self.conditions.caller == Some(Caller::Python) && ids.contains(&"CudaBackend") {
            found
                .notes
                .push("the public wheel (1.5.1+cpu) has no CudaBackend".into());
        }
        self.add(found);
    }

    fn bounded_output(&mut self) {
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
        self.add(finding(Rule::BoundedOutput, Level::Note, subjects, message));
    }

    fn no_shared_arenas(&mut self) {
        let arenas = self
            .method
            .arenas
            .iter()
            .enumerate()
            .filter(|(_, arena)| !arena.device.is_cpu());
        let subjects: Vec<Subject> = arenas
            .map(|(index, _)| Subject {
                part: Part::Arena,
                index: index as u32,
                name: None,
            })
            .collect();
        if subjects.is_empty() || self.conditions.caller == Some(Caller::Python) {
            return;
        }
        let message =
            "the method has memory on a device, and cannot be loaded with share_memory_arenas=true"
                .into();
        let text = "Device memory buffers are not yet compatible with share_memory_arenas. Please disable share_memory_arenas when using models with device-planned memory.";
        let mut found = finding(Rule::NoSharedArenas, Level::Note, subjects, message);
        measured(
            self.conditions.runtime,
            &mut found,
            answer("load", Some(code::NOT_SUPPORTED), text, Origin::Runtime),
        );
        self.add(found);
    }
}

fn refused_layout(program: &Program, conditions: &Conditions, findings: &mut Vec<Finding>) {
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
fn methods_disagree(program: &Program, findings: &mut Vec<Finding>) {
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
            findings.push(Finding {
                method: Some(method.name.clone()),
                ..found
            });
        }
    }
}
