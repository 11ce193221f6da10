//! The rules, each with why it is one and a recipe of either kind.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One row a rule: variant, id, name, summary, why, what makes such a program, what does not.
macro_rules! rules {
    ($($variant:ident, $id:literal, $name:literal, $summary:literal, $why:literal, $bad:literal, $good:literal;)*) => {
        /// A rule of the linter, by what it finds. Serialised as its id (`"L1"`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum Rule {
            $(
                #[doc = concat!("`", $id, "`: ", $summary)]
                #[serde(rename = $id)]
                $variant,
            )*
        }

        /// Every rule, in the order of the ids.
        pub const RULES: &[Rule] = &[$(Rule::$variant),*];

        impl Rule {
            /// Its short name, which does not change: `L1`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// Its name in words: `planned-device-input`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it finds, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }

            /// Why that matters.
            pub fn why(self) -> &'static str {
                match self { $(Self::$variant => $why,)* }
            }

            /// Export settings, or a call, that the rule finds.
            pub fn bad(self) -> &'static str {
                match self { $(Self::$variant => $bad,)* }
            }

            /// The same without what it finds.
            pub fn good(self) -> &'static str {
                match self { $(Self::$variant => $good,)* }
            }

            /// What the guide says about it: a page and a heading on it, from the guide's root.
            pub fn page(self) -> String {
                format!("reference/pte.html#{}-{}", self.id().to_ascii_lowercase(), self.name())
            }
        }
    };
}

rules! {
    PlannedDeviceInput, "L1", "planned-device-input",
        "An input lives on a device, and the runtime plans memory for it.",
        "The caller's tensor is on the device already, so skipping the copy to the device was asked for. But the runtime \
         has a buffer of its own for the input and must fill it from the caller's memory: the skipped copy is back, and it \
         is a host memcpy, which cannot touch device memory. ExecuTorch 1.5.1 refuses it; for earlier versions a crash \
         without a message is reported.",
        "ExecutorchBackendConfig(\n    propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),\n)",
        "ExecutorchBackendConfig(\n    propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),\n    \
         memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),\n)";
    DeviceTensorInHostArena, "L2", "device-tensor-in-host-arena",
        "A tensor is marked as device memory and planned in an arena of another device.",
        "The program was exported without device memory planning: its tensors say CUDA, and the runtime gives them host \
         memory. A delegate that looks where its pointers are refuses them; one that does not reads host addresses on the \
         device.",
        "ExecutorchBackendConfig(enable_non_cpu_memory_planning=False)",
        "ExecutorchBackendConfig()  # enable_non_cpu_memory_planning is True by default";
    UnreachableDeviceTensor, "L3", "unreachable-device-tensor",
        "A delegate works on a device tensor that nobody can give memory to.",
        "The tensor has no place in an arena, no data, and is neither an input nor an output, so neither the runtime nor \
         the caller can supply it: the delegate gets a null pointer. The exporter makes such a program without a warning \
         when alloc_graph_output=False meets an output that is still copied to the host: it drops the memory of the \
         delegate's result, which the copy then reads.",
        "ExecutorchBackendConfig(\n    propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),\n    \
         memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False),\n)",
        "ExecutorchBackendConfig(\n    propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),\n    \
         memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),\n)";
    UnplannedDeviceOutput, "L4", "unplanned-device-output",
        "An output lives on a device, and nobody but the caller has memory for it.",
        "The caller must hand the runtime a device buffer with set_output before the first execution. C++ and Rust with \
         executorch-device can. The Python bindings supply host memory for every unplanned output, and the crate \
         executorch 0.13 has no set_output.",
        "MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)  # called from Python",
        "MemoryPlanningPass(alloc_graph_input=False)  # the result is in the runtime's own device buffer";
    PlannedDeviceOutput, "L5", "planned-device-output",
        "An output is the runtime's own device buffer.",
        "What execute returns is a pointer into the method's memory: the next execution of the method overwrites it, and \
         unloading the method frees it. And it is queued, not finished, when execute returns: nothing waits for the device \
         unless the result is copied to the host.",
        "first = module.forward(a)\nsecond = module.forward(b)\nread(first)  # the second result",
        "first = module.forward(a)\ncopy(first); synchronize()\nsecond = module.forward(b)";
    MixedContract, "L6", "mixed-contract",
        "Some inputs, or some outputs, of one method live on a device and others on the host.",
        "A caller who treats them alike is wrong about some. It happens when an operator that no delegate took, or that \
         another took, uses an input or makes an output.",
        "to_edge_transform_and_lower(model, partitioner=[OtherPartitioner(), CudaPartitioner(specs)])",
        "to_edge_transform_and_lower(model, partitioner=[CudaPartitioner(specs)])";
    NotAsExpected, "L7", "not-as-expected",
        "An input or output is not what --expect says it is.",
        "The settings are requests. An output that an operator on the host also uses keeps its copy although \
         skip_d2h_for_method_outputs=True; one that keeps its copy stays planned although alloc_graph_output=False; and a \
         misspelt method name in a per-method setting silently gives the default.",
        "pte check --expect planned-device-out model.pte  # the output is on the host",
        "pte check --expect planned-device-out model.pte";
    BoundaryCopies, "L8", "boundary-copies",
        "Each execution copies between host and device.",
        "The copies are operators like any other, so the runtime must have the kernels library that holds them, or the \
         method does not load. What they copy is the price of calling with host tensors.",
        "ExecutorchBackendConfig()",
        "ExecutorchBackendConfig(\n    propagate_device_config=PropagateDeviceConfig(\n        \
         skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True\n    ),\n    \
         memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),\n)";
    OtherDevice, "L9", "other-device",
        "A device is not the first one, or is of a kind that ExecuTorch 1.5.1 has no name for.",
        "The index is fixed in the file: a machine with one GPU cannot run a program for the second. A kind without a name \
         comes from a newer exporter, and no allocator is registered for it.",
        "CudaPartitioner([CompileSpec(\"target_device\", b\"cuda:1\")])",
        "CudaPartitioner([])";
    DataFileNeeded, "L10", "data-file-needed",
        "The program asks for data that is not in the file.",
        "Weights that the exporter put into a data file (.ptd) are found by name when the method loads. Without the file \
         the method may not load. The CUDA delegate, by its source, loads without an error, and without the weights.",
        "Module(\"model.pte\")",
        "Module(\"model.pte\", \"aoti_cuda_blob.ptd\")";
    MethodsDisagree, "L11", "methods-disagree",
        "Two methods of one program place tensors of the same shape on different devices.",
        "Where one method's result is another's input, as between a prefill and a decode step, the two must agree, or each \
         call needs a copy that nobody inserts.",
        "propagate_device_config={\"encode\": paired}  # decode keeps the default",
        "propagate_device_config={\"encode\": paired, \"decode\": paired}";
    HiddenFromMetadata, "L12", "hidden-from-metadata",
        "Inputs or outputs live on a device, and no arena does.",
        "MethodMeta::memory_planned_buffer_device is the only thing that ExecuTorch 1.5.1 says about devices, and it calls \
         this method host-only. A loader that decides by it, decides wrongly.",
        "MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)",
        "MemoryPlanningPass(alloc_graph_input=False)";
    RefusedLayout, "L13", "refused-layout",
        "The constants are inside the program, as old exporters put them.",
        "The runtime in ExecuTorch's 1.5.1 wheel is built without support for that layout and refuses the file, even where \
         there are no constants at all.",
        "to_executorch()  # of an ExecuTorch from 2024",
        "to_executorch()  # of ExecuTorch 1.x";
    UnguardedHostInput, "L14", "unguarded-host-input",
        "In a method with a device, an operator on the host reads an input for which nothing is planned.",
        "The runtime takes over the caller's pointer and checks nothing, so a device tensor that is handed over by mistake \
         is read on the host: the process ends. A planned input would have answered 0x10.",
        "MemoryPlanningPass(alloc_graph_input=False)  # with an operator that no delegate took",
        "MemoryPlanningPass()  # if no input is on the device";
    UnplannedHostOutput, "L15", "unplanned-host-output",
        "An output lives on the host, and nobody but the caller has memory for it.",
        "The caller must hand the runtime a buffer with set_output. The Python bindings do so by themselves. The crate \
         executorch 0.13 has no set_output: the operator writes to a null pointer.",
        "MemoryPlanningPass(alloc_graph_output=False)  # called from Rust",
        "MemoryPlanningPass()";
    RepeatedCopy, "L16", "repeated-copy",
        "The same value is copied to the device more than once an execution, or comes back only to go there again.",
        "Each use by a delegate has a copy of its own. A value that two delegates use is copied twice, and one that only \
         travels between two delegates goes through the host.",
        "to_edge_transform_and_lower(model, partitioner=[OneOperatorPartitioner()])",
        "to_edge_transform_and_lower(model, partitioner=[CudaPartitioner(specs)])  # one delegate for all";
    OutsideArena, "L17", "outside-arena",
        "A tensor is planned beyond the end of its arena.",
        "The runtime checks each place when it loads the method, and refuses this one. No exporter writes such a file: it \
         is damaged, or was changed by hand.",
        "a file that was edited or cut",
        "the file as it was exported";
    BackendNeeded, "L18", "backend-needed",
        "The method needs backends that must be registered in the caller's process.",
        "A delegate is run by the backend of its id, which registers itself when its library is linked whole. Python's \
         public wheel has XnnpackBackend, QnnBackend and OpenvinoBackend, and no CudaBackend.",
        "target_link_libraries(app executorch)",
        "target_link_libraries(app executorch executorch::backend_cuda)";
    BoundedOutput, "L19", "bounded-output",
        "An output that the caller supplies may be smaller in a run than in the file.",
        "The sizes in the file are upper bounds. The caller's buffer must have room for them whatever the run needs, and \
         the output's sizes say how much of it was written.",
        "set_output(buffer of this run's size)",
        "set_output(buffer of the upper bound)";
    NoSharedArenas, "L20", "no-shared-arenas",
        "Methods with device arenas cannot be loaded with shared arenas.",
        "Module's share_memory_arenas lets methods use one set of arenas. ExecuTorch 1.5.1 refuses it where one of them is \
         on a device.",
        "Module(path, ..., /*share_memory_arenas=*/true)",
        "Module(path)";
    HostOperatorOnDevice, "L21", "host-operator-on-device",
        "An operator on the host works on a tensor that lives on a device.",
        "An operator that no delegate took reads and writes its tensors where it runs, on the host. Without device memory \
         planning the exporter inserts no copy for it, so it gets the caller's device pointer itself. A GPU in a slot of \
         its own ends the process for that.",
        "ExecutorchBackendConfig(\n    enable_non_cpu_memory_planning=False,\n    \
         memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),\n)  # with an operator that no delegate took",
        "ExecutorchBackendConfig(\n    memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),\n)";
    HostTensorForDelegate, "L22", "host-tensor-for-delegate",
        "A delegate that works on a device is given a tensor that lives on the host.",
        "The CUDA delegate refuses a tensor that does not say CUDA. A weight that the partitioner leaves outside the \
         delegate is an input of the delegate's graph like any other: skip_h2d_for_method_inputs=True takes the copy to the \
         device away from it too, and its data stays in the file's constants on the host.",
        "PropagateDeviceConfig(skip_h2d_for_method_inputs=True)  # with a partitioner that does not tag weights",
        "PropagateDeviceConfig()  # or a partitioner that gives the delegate its weights, as CudaPartitioner does";
    EmptyCopy, "L23", "empty-copy",
        "A tensor without elements is copied between host and device.",
        "Where nothing is planned on the device but tensors of no bytes, the CUDA allocator has no memory to give: their \
         address is null. Its copy refuses a null address, also for no bytes, and so the execution fails.",
        "ExecutorchBackendConfig()  # with an input of the sizes [0, 8]",
        "ExecutorchBackendConfig()  # with the empty tensors left out of the model";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// By id or by name, in either case.
impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        RULES
            .iter()
            .copied()
            .find(|rule| {
                rule.id().eq_ignore_ascii_case(text) || rule.name().eq_ignore_ascii_case(text)
            })
            .ok_or_else(|| {
                format!("there is no rule `{text}`: `pte explain` without a rule lists them")
            })
    }
}
