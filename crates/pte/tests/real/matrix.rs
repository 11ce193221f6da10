//! The twenty combinations of the five settings that export, for `a + b` of two 8 by 8 float32 tensors (256 bytes each).
//!
//! The table was measured with another reader on another machine; that two of them agree is what this test is for.

use pte::{Device, Method, Step};

use crate::programs::one;

/// Name, arenas, inputs, output, chain (`H` and `D` copies, `x` the delegate), and whether a tensor is unreachable.
const TABLE: &[(&str, &str, &str, &str, &str, bool)] = &[
    (
        "h0d0_i1o1_n1",
        "512 cpu + 768 cuda:0",
        "planned cpu",
        "planned cpu",
        "HHxD",
        false,
    ),
    (
        "h0d0_i1o0_n1",
        "512 cpu + 512 cuda:0",
        "planned cpu",
        "planned cpu",
        "HHxD",
        true,
    ),
    (
        "h0d0_i0o1_n1",
        "256 cpu + 768 cuda:0",
        "unplanned cpu",
        "planned cpu",
        "HHxD",
        false,
    ),
    (
        "h0d0_i0o0_n1",
        "256 cpu + 512 cuda:0",
        "unplanned cpu",
        "planned cpu",
        "HHxD",
        true,
    ),
    (
        "h0d1_i1o1_n1",
        "512 cpu + 768 cuda:0",
        "planned cpu",
        "planned cuda:0",
        "HHx",
        false,
    ),
    (
        "h0d1_i1o0_n1",
        "512 cpu + 512 cuda:0",
        "planned cpu",
        "unplanned cuda:0",
        "HHx",
        false,
    ),
    (
        "h0d1_i0o1_n1",
        "768 cuda:0",
        "unplanned cpu",
        "planned cuda:0",
        "HHx",
        false,
    ),
    (
        "h0d1_i0o0_n1",
        "512 cuda:0",
        "unplanned cpu",
        "unplanned cuda:0",
        "HHx",
        false,
    ),
    (
        "h1d0_i1o1_n1",
        "256 cpu + 768 cuda:0",
        "planned cuda:0",
        "planned cpu",
        "xD",
        false,
    ),
    (
        "h1d0_i1o0_n1",
        "256 cpu + 512 cuda:0",
        "planned cuda:0",
        "planned cpu",
        "xD",
        true,
    ),
    (
        "h1d0_i0o1_n1",
        "256 cpu + 256 cuda:0",
        "unplanned cuda:0",
        "planned cpu",
        "xD",
        false,
    ),
    (
        "h1d0_i0o0_n1",
        "256 cpu",
        "unplanned cuda:0",
        "planned cpu",
        "xD",
        true,
    ),
    (
        "h1d1_i1o1_n1",
        "768 cuda:0",
        "planned cuda:0",
        "planned cuda:0",
        "x",
        false,
    ),
    (
        "h1d1_i1o0_n1",
        "512 cuda:0",
        "planned cuda:0",
        "unplanned cuda:0",
        "x",
        false,
    ),
    (
        "h1d1_i0o1_n1",
        "256 cuda:0",
        "unplanned cuda:0",
        "planned cuda:0",
        "x",
        false,
    ),
    (
        "h1d1_i0o0_n1",
        "",
        "unplanned cuda:0",
        "unplanned cuda:0",
        "x",
        false,
    ),
    (
        "h0d0_i1o1_n0",
        "768 cpu",
        "planned cuda:0",
        "planned cuda:0",
        "x",
        false,
    ),
    (
        "h0d0_i1o0_n0",
        "512 cpu",
        "planned cuda:0",
        "unplanned cuda:0",
        "x",
        false,
    ),
    (
        "h0d0_i0o1_n0",
        "256 cpu",
        "unplanned cuda:0",
        "planned cuda:0",
        "x",
        false,
    ),
    (
        "h0d0_i0o0_n0",
        "",
        "unplanned cuda:0",
        "unplanned cuda:0",
        "x",
        false,
    ),
];

#[test]
fn the_twenty_combinations_read_as_measured() {
    for &(name, arenas, input, output, chain, unreachable) in TABLE {
        let program = one(name).program();
        let method = program.method("forward").unwrap();
        let planned = |tensor: &pte::TensorInfo| {
            format!(
                "{} {}",
                if tensor.planned.is_some() {
                    "planned"
                } else {
                    "unplanned"
                },
                tensor.device
            )
        };
        let inputs: Vec<String> = method.input_tensors().map(planned).collect();
        let outputs: Vec<String> = method.output_tensors().map(planned).collect();
        assert_eq!(arenas_of(method), arenas, "{name}");
        assert_eq!(inputs, [input, input], "{name}");
        assert_eq!(outputs, [output], "{name}");
        assert_eq!(chain_of(method), chain, "{name}");
        assert_eq!(
            !method.unreachable.is_empty(),
            unreachable,
            "{name}: {:?}",
            method.unreachable
        );
        let copied = method.copied();
        assert_eq!(
            copied.host_to_device.nbytes,
            256 * chain.matches('H').count() as u64,
            "{name}"
        );
        assert_eq!(
            copied.device_to_host.nbytes,
            256 * chain.matches('D').count() as u64,
            "{name}"
        );
    }
}

#[test]
fn the_figures_of_the_pairing_rule() {
    let planned = |name| {
        one(name)
            .program()
            .method("forward")
            .unwrap()
            .planned_bytes()
    };
    assert_eq!(planned("h1d1_i1o1_n1"), 768);
    assert_eq!(planned("h1d1_i0o1_n1"), 256);
    assert_eq!(planned("h1d1_i0o0_n1"), 0);
    let program = one("h0d0_i1o1_n1").program();
    let method = program.method("forward").unwrap();
    let cuda = method.delegates[0].target_device();
    assert_eq!(
        (method.planned_bytes_on(Device::CPU), cuda),
        (512, Some("cuda:0"))
    );
}

/// The arenas that hold anything.
fn arenas_of(method: &Method) -> String {
    let arenas = method.arenas.iter().filter(|arena| arena.nbytes > 0);
    arenas
        .map(|arena| format!("{} {}", arena.nbytes, arena.device))
        .collect::<Vec<_>>()
        .join(" + ")
}

fn chain_of(method: &Method) -> String {
    method
        .chain
        .iter()
        .map(|step| match step {
            Step::Copy(copy) if copy.direction == pte::Direction::HostToDevice => 'H',
            Step::Copy(_) => 'D',
            Step::Delegate(_) => 'x',
            other => panic!("{other:?}"),
        })
        .collect()
}
