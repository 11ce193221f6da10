//! What a method costs, and what must be there to load it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::check::{Found, answer, code, finding, list, measured, plural};
use super::{Caller, Data, Level, Origin, Part, Rule, Subject};
use crate::{CopiedBytes, CopyCall, Direction, Step, TensorData};

impl Found<'_> {
    pub(super) fn boundary_copies(&mut self) {
        let copied = self.method.copied();
        let (to, from) = (copied.host_to_device, copied.device_to_host);
        if to.copies + from.copies == 0 {
            return;
        }
        let way = |way: CopiedBytes, name| {
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
        let settings = [
            (to.copies > 0).then_some(
                "skip_h2d_for_method_inputs=True with alloc_graph_input=False if the caller's inputs are on the device",
            ),
            (from.copies > 0).then_some(
                "skip_d2h_for_method_outputs=True if its result is wanted there",
            ),
        ];
        let settings: Vec<&str> = settings.into_iter().flatten().collect();
        found.help = Some(format!("export with {}", list(&settings)));
        found.notes.push(format!(
            "the kernels library must be loaded: it has {}",
            list(&operators.collect::<Vec<_>>())
        ));
        self.add(found);
    }

    pub(super) fn data_file_needed(&mut self) {
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
                format!("`{first}`{more} is in no file: the method needs its data file (.ptd)"),
            ),
            Data::Files(_) => (
                Level::Error,
                format!("`{first}`{more} is in none of the data files"),
            ),
        };
        let of_tensor = self.method.tensors().any(
            |tensor| matches!(&tensor.data, Some(TensorData::External { key, .. }) if key == first),
        );
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

    pub(super) fn repeated_copy(&mut self) {
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
            let mut found = finding(Rule::RepeatedCopy, Level::Note, vec![subject], message);
            found.help =
                Some("leave no operator out of the delegate, and use one partitioner".into());
            self.add(found);
        }
    }

    pub(super) fn backend_needed(&mut self) {
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
        found.help = Some("link the backend's library whole, or use a wheel that has it".into());
        if self.conditions.caller == Some(Caller::Python) && ids.contains(&"CudaBackend") {
            found
                .notes
                .push("the public wheel (1.5.1+cpu) has no CudaBackend".into());
        }
        self.add(found);
    }
}
