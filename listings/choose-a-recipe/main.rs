//! The recipe table: five programs, each run as its row says, and its settings read back.

use std::error::Error;
use std::fs;

use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::{ExecutorchBackendConfig, Flag, MemoryPlanningPass, Model, PropagateDeviceConfig, Request, pte};
use listings::{address, host_values, on_device, on_host, placement};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

/// A row: where the inputs are, where the result goes, and the settings that the page prints for it.
struct Row {
    name: &'static str,
    device_inputs: bool,
    result: Result_,
    skip_h2d: bool,
    skip_d2h: bool,
    alloc_graph_input: bool,
    alloc_graph_output: bool,
}
