//! The Python side by itself.

use std::process::Command;

use export::ExecutorchBackendConfig;

use crate::scratch::workspace;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(workspace().join(".venv/bin").join(program))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/python"))
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn is_formatted_and_typed() {
    run("ruff", &["check", "--no-cache", "."]);
    run("ruff", &["format", "--no-cache", "--check", "."]);
    run(
        "mypy",
        &[
            "--cache-dir",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/mypy"),
            ".",
        ],
    );
}

#[test]
fn defaults_are_executorchs_own() {
    let script = "\
import json
from executorch.exir import ExecutorchBackendConfig
config = ExecutorchBackendConfig()
propagate, planning = config.propagate_device_config, config.memory_planning_pass
print(json.dumps({
    'propagate_device_config': {'all': {
        name: getattr(propagate, name) for name in ('skip_h2d_for_method_inputs', 'skip_d2h_for_method_outputs')}},
    'memory_planning_pass': {'all': {
        name: getattr(planning, name) for name in ('alloc_graph_input', 'alloc_graph_output')}},
    'enable_non_cpu_memory_planning': config.enable_non_cpu_memory_planning,
}))";
    let installed: serde_json::Value =
        serde_json::from_str(&run("python", &["-I", "-W", "ignore", "-c", script])).unwrap();
    assert_eq!(
        serde_json::to_value(ExecutorchBackendConfig::default()).unwrap(),
        installed
    );
}
