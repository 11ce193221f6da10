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

#[test]
fn skipping_copies_requires_unallocated_graph_io() {
    let (inputs, _) = planned(MemoryPlanningPass::default());
    assert_eq!(
        inputs,
        [true, true],
        "with default planning every graph input is planned"
    );

    let (inputs, outputs) = planned(MemoryPlanningPass {
        alloc_graph_input: false,
        alloc_graph_output: false,
    });
    assert!(
        !inputs.contains(&true),
        "no graph input should be planned when the caller provides it, got {inputs:?}"
    );
    assert!(
        !outputs.contains(&true),
        "no graph output should be planned when the caller provides it, got {outputs:?}"
    );
}
