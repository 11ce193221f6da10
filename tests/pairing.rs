//! The pairing rule as a test of the exported program alone: no runtime, no GPU.

use export::{ExecutorchBackendConfig, MemoryPlanningPass, Model, PropagateDeviceConfig, Request};

/// Whether each graph input and each graph output of `add` is planned, when both copies are skipped.
fn planned(memory_planning_pass: MemoryPlanningPass) -> (Vec<bool>, Vec<bool>) {
    let config = ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: true.into(),
            skip_d2h_for_method_outputs: true.into(),
        }
        .into(),
        memory_planning_pass: memory_planning_pass.into(),
        ..ExecutorchBackendConfig::default()
    };
    let exported = export::pte(Request::Config {
        model: Model::Add,
        config,
    })
    .expect("the program exports");
    let program =
        pte::Program::open(&exported.pte).expect("the exporter writes a readable program");
    let method = program
        .method("forward")
        .expect("the program has `forward`");
    (
        method
            .input_tensors()
            .map(|tensor| tensor.planned.is_some())
            .collect(),
        method
            .output_tensors()
            .map(|tensor| tensor.planned.is_some())
            .collect(),
    )
}

/// The rule, for one program: what it breaks, in words.
fn check((inputs, outputs): (Vec<bool>, Vec<bool>)) -> Result<(), String> {
    for (what, planned) in [("input", inputs), ("output", outputs)] {
        if planned.contains(&true) {
            return Err(format!(
                "no graph {what} should be planned when the caller provides it, got {planned:?}"
            ));
        }
    }
    Ok(())
}

#[test]
fn skipping_copies_requires_unallocated_graph_io() {
    let pair = MemoryPlanningPass {
        alloc_graph_input: false,
        alloc_graph_output: false,
        ..MemoryPlanningPass::default()
    };
    assert_eq!(check(planned(pair)), Ok(()));

    let default = check(planned(MemoryPlanningPass::default()));
    assert_eq!(
        default.unwrap_err(),
        "no graph input should be planned when the caller provides it, got [true, true]"
    );
}
