//! Data flows one way: which crate of the workspace may depend on which, from cargo's own metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Every allowed dependency within the workspace. A crate that is not named here may depend on none.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("book", &["export", "proof"]),
    ("device", &["executorch-device", "export"]),
    ("device-library", &["device"]),
    ("executorch-device", &[]),
    ("export", &[]),
    (
        "listings",
        &[
            "book",
            "device",
            "executorch-device",
            "export",
            "matrix",
            "proof",
            "pte",
        ],
    ),
    (
        "matrix",
        &["device", "executorch-device", "export", "proof", "pte"],
    ),
    ("proof", &[]),
    ("pte", &[]),
    ("pte-web", &["pte"]),
    ("reading", &["executorch-device", "export", "pte"]),
    ("snippets", &["executorch-device", "pte"]),
    (
        "tests",
        &[
            "book",
            "device",
            "executorch-device",
            "export",
            "proof",
            "pte",
        ],
    ),
    ("ui", &["executorch-device"]),
    ("xtask", &[]),
];

#[test]
fn dependencies_flow_one_way() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");

    let allowed: BTreeMap<_, BTreeSet<_>> = MAY_DEPEND_ON
        .iter()
        .map(|(name, on)| (*name, on.iter().copied().collect()))
        .collect();
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    assert_eq!(
        ours,
        allowed.keys().copied().collect(),
        "the table names every crate of the workspace, and no other"
    );

    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().expect("a name");
            if ours.contains(on) && !allowed[name].contains(on) {
                wrong.push(format!("{name} depends on {on}"));
            }
        }
    }
    assert!(wrong.is_empty(), "against the flow of data: {wrong:?}");
}

#[test]
fn the_notices_name_every_crate_of_the_site_s_module() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--package", "pte-web"])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(["--edges", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo tree runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8(output.stdout).expect("cargo tree is UTF-8");
    let crates = tree.lines().filter_map(|line| line.split(' ').next());
    let theirs: BTreeSet<&str> = crates.filter(|name| !name.starts_with("pte")).collect();
    let (_, list) = include_str!("../THIRD-PARTY.md")
        .split_once("| crate | licence taken |")
        .expect("the list of crates");
    let (list, _) = list.split_once("\n\n").expect("its end");
    let rows = list.lines().filter_map(|row| row.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(['|', '©']).next());
    let named: BTreeSet<&str> = cells
        .flat_map(|cell| cell.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(named, theirs);
}

#[test]
fn what_publishes_the_site_runs_what_the_readme_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a text");
    let readme = read("README.md");
    let workflow = read(".github/workflows/pages.yml");
    let commands: Vec<_> = workflow
        .lines()
        .filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("run: "))
        .collect();
    assert!(!commands.is_empty());
    for command in commands {
        assert!(readme.contains(&format!("`{command}`")), "{command}");
    }
}
