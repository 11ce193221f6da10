//! ExecuTorch's export configuration, name for name.
//!
//! The three types hold the settings that this guide is about; every other setting keeps ExecuTorch's default. Defaults
//! here are ExecuTorch's own (a test compares them with the installed exporter's).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `executorch.exir.ExecutorchBackendConfig`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutorchBackendConfig {
    /// Which copies at the delegate's boundary are left out.
    pub propagate_device_config: PerMethod<PropagateDeviceConfig>,
    /// Which graph inputs and outputs get memory of the runtime's own.
    pub memory_planning_pass: PerMethod<MemoryPlanningPass>,
    /// Whether device tensors are planned in arenas on their device, with copies to and from them.
    pub enable_non_cpu_memory_planning: bool,
}

impl Default for ExecutorchBackendConfig {
    fn default() -> Self {
        Self {
            propagate_device_config: PerMethod::default(),
            memory_planning_pass: PerMethod::default(),
            enable_non_cpu_memory_planning: true,
        }
    }
}

/// `executorch.exir.passes.propagate_device_config.PropagateDeviceConfig`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PropagateDeviceConfig {
    /// Leave out the copy of a method's input to the device: the caller's tensor is there already.
    pub skip_h2d_for_method_inputs: Flag,
    /// Leave out the copy of a method's output to the host: the result stays on the device.
    pub skip_d2h_for_method_outputs: Flag,
}

/// `executorch.exir.passes.MemoryPlanningPass`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryPlanningPass {
    /// Plan memory for graph inputs; else the runtime points at the caller's.
    pub alloc_graph_input: bool,
    /// Plan memory for graph outputs; else the caller supplies it.
    pub alloc_graph_output: bool,
    /// Plan a buffer that methods write to, and that has the same name in each, once for all of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub share_mutable_buffers: bool,
}

impl Default for MemoryPlanningPass {
    fn default() -> Self {
        Self {
            alloc_graph_input: true,
            alloc_graph_output: true,
            share_mutable_buffers: false,
        }
    }
}

/// One setting for all methods, or a dict of them by method name (a method that is not named gets the default).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerMethod<T> {
    /// For every method of the program.
    All(T),
    /// For the methods named.
    ByMethod(BTreeMap<String, T>),
}

impl<T: Default> Default for PerMethod<T> {
    fn default() -> Self {
        Self::All(T::default())
    }
}

impl<T> From<T> for PerMethod<T> {
    fn from(value: T) -> Self {
        Self::All(value)
    }
}

/// A skip flag: `bool`, or the dict by method name that ExecuTorch's documentation allows *inside* the flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Flag {
    /// For every method of the program.
    All(bool),
    /// A Python dict, handed over as it is.
    ByMethod(BTreeMap<String, bool>),
}

impl Default for Flag {
    fn default() -> Self {
        Self::All(false)
    }
}

impl From<bool> for Flag {
    fn from(value: bool) -> Self {
        Self::All(value)
    }
}
