//! What is wrong with where things are.

use std::collections::BTreeSet;

use super::check::{Found, answer, code, finding, is, list, measured, on, plural};
use super::{Caller, Level, Origin, Part, Rule, Subject};
use crate::{Device, DeviceType, TensorInfo};

impl Found<'_> {
    pub(super) fn device_tensor_in_host_arena(&mut self) {
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
