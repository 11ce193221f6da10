//! What is wrong with where things are.

use std::collections::BTreeSet;

use super::check::{Found, answer, code, finding, is, list, measured, on, plural};
use super::{Caller, Level, Origin, Part, Rule, Subject};
use crate::{Device, DeviceType, Direction, Step, TensorInfo};

impl Found<'_> {
    pub(super) fn device_tensor_in_host_arena(&mut self) {
        let misplaced = |tensor: &&TensorInfo| {
            let arena = tensor
                .planned
                .and_then(|planned| self.method.arenas.get(planned.arena as usize));
            // Nobody looks where nothing is.
            tensor.nbytes > 0 && arena.is_some_and(|arena| arena.device != tensor.device)
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

    /// Whether the memory of a tensor is on a device. What is planned on the host is there, whatever the tensor says.
    fn is_on_device(&self, tensor: &TensorInfo) -> bool {
        let arena = tensor
            .planned
            .and_then(|planned| self.method.arenas.get(planned.arena as usize));
        !tensor.device.is_cpu() && arena.is_none_or(|arena| !arena.device.is_cpu())
    }

    pub(super) fn host_operator_on_device(&mut self) {
        let mut values = BTreeSet::new();
        for step in &self.method.chain {
            // ExecuTorch's own operators of this prefix look at sizes and pass pointers on.
            if let Step::Operator(call) = step
                && !call.name.starts_with("executorch_prim::")
            {
                values.extend(call.args.iter().copied().filter(|&value| {
                    self.tensor(value)
                        .is_some_and(|tensor| self.is_on_device(tensor))
                }));
            }
        }
        let Some(device) = values.first().and_then(|&value| self.tensor(value)) else {
            return;
        };
        let subjects: Vec<Subject> = values.iter().map(|&value| self.value(value)).collect();
        let message = format!(
            "{} {} on {}, and an operator on the host works on {}",
            list(&subjects),
            is(subjects.len()),
            device.device,
            if subjects.len() == 1 { "it" } else { "them" }
        );
        let mut found = finding(Rule::HostOperatorOnDevice, Level::Error, subjects, message);
        found.help = Some(
            "export with enable_non_cpu_memory_planning=True, or leave no operator out of the delegate"
                .into(),
        );
        let text = "the host is given a device pointer; where it cannot reach that memory, the process ends";
        measured(
            self.conditions.runtime,
            &mut found,
            answer("execute", None, text, Origin::Unverified),
        );
        self.add(found);
    }

    pub(super) fn host_tensor_for_delegate(&mut self) {
        let mut values = BTreeSet::new();
        for step in &self.method.chain {
            let Step::Delegate(call) = step else { continue };
            let delegate = &self.method.delegates[call.delegate as usize];
            if delegate
                .target_device()
                .is_some_and(|device| !device.starts_with("cpu"))
            {
                // The runtime loads constants into host memory, whatever their tensors say.
                values.extend(call.args.iter().copied().filter(|&value| {
                    self.tensor(value).is_some_and(|tensor| {
                        tensor.device.is_cpu() || tensor.data.is_some() && tensor.planned.is_none()
                    })
                }));
            }
        }
        let Some(&first) = values.first() else { return };
        let subjects: Vec<Subject> = values.iter().map(|&value| self.value(value)).collect();
        let message = format!(
            "{} {} on the host, and a delegate that works on a device is given {}",
            list(&subjects),
            is(subjects.len()),
            if subjects.len() == 1 { "it" } else { "them" }
        );
        let mut found = finding(Rule::HostTensorForDelegate, Level::Error, subjects, message);
        found.help = Some(
            "export with skip_h2d_for_method_inputs=False, or with a partitioner that gives the delegate its weights"
                .into(),
        );
        let refusal = if self
            .tensor(first)
            .is_some_and(|tensor| tensor.device.is_cpu())
        {
            self.not_tagged(first)
        } else {
            self.not_backed(first)
        };
        measured(self.conditions.runtime, &mut found, refusal);
        self.add(found);
    }

    pub(super) fn empty_copy(&mut self) {
        let is_null = |value: u32| {
            let Some(tensor) = self.tensor(value) else {
                return false;
            };
            let arena = tensor
                .planned
                .and_then(|planned| self.method.arenas.get(planned.arena as usize));
            tensor.nbytes == 0 && arena.is_none_or(|arena| arena.nbytes == 0)
        };
        let copy = self.method.copies().find(|copy| match copy.direction {
            Direction::HostToDevice => is_null(copy.to),
            Direction::DeviceToHost => is_null(copy.from),
        });
        let Some(copy) = copy else { return };
        let (value, text) = match copy.direction {
            Direction::HostToDevice => (copy.from, "_h2d_copy: copy_host_to_device failed"),
            Direction::DeviceToHost => (copy.to, "_d2h_copy: copy_device_to_host failed"),
        };
        let subject = self.value(value);
        let message = format!(
            "{subject} has no elements, and is copied between the host and {}",
            copy.device
        );
        let mut found = finding(Rule::EmptyCopy, Level::Error, vec![subject], message);
        found.help = Some("leave the empty tensor out of the model's inputs and outputs".into());
        measured(
            self.conditions.runtime,
            &mut found,
            answer("execute", Some(code::INTERNAL), text, Origin::CudaSource),
        );
        self.add(found);
    }

    pub(super) fn other_device(&mut self) {
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

    pub(super) fn hidden_from_metadata(&mut self) {
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
        let mut found = finding(Rule::HiddenFromMetadata, Level::Note, there, message);
        found.help = Some("read the devices with pte, not in the arena table".into());
        self.add(found);
    }

    pub(super) fn outside_arena(&mut self) {
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

    pub(super) fn no_shared_arenas(&mut self) {
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
        found.help = Some("load it with share_memory_arenas=false, which is the default".into());
        measured(
            self.conditions.runtime,
            &mut found,
            answer("load", Some(code::NOT_SUPPORTED), text, Origin::Runtime),
        );
        self.add(found);
    }
}
