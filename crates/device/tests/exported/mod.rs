//! The programs that the tests run.

use export::{
    ExecutorchBackendConfig, Exported, MemoryPlanningPass, Model, PropagateDeviceConfig, Request,
};

/// `a + b`, exported as the label says: `h1d0_i0o1` skips the copies of inputs and not those of
/// outputs, leaves inputs unplanned and plans outputs.
pub fn add(label: &str) -> Exported {
    pte(Request::Config {
        model: Model::Add,
        config: config(label),
    })
}

/// The small MLP, which has weights; labelled in the same way.
pub fn mlp(label: &str) -> Exported {
    pte(Request::Config {
        model: Model::Mlp,
        config: config(label),
    })
}

/// A program of `tests/programs`.
pub fn own(program: &str) -> Exported {
    pte(format!("device/{program}").into())
}

fn pte(request: Request) -> Exported {
    export::pte(request).unwrap_or_else(|error| panic!("{error}"))
}

fn config(label: &str) -> ExecutorchBackendConfig {
    let set = |letter| label.contains(&format!("{letter}1"));
    ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: set('h').into(),
            skip_d2h_for_method_outputs: set('d').into(),
        }
        .into(),
        memory_planning_pass: MemoryPlanningPass {
            alloc_graph_input: set('i'),
            alloc_graph_output: set('o'),
        }
        .into(),
        ..ExecutorchBackendConfig::default()
    }
}
