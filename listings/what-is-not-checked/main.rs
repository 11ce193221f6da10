//! What the runtime checks about a tensor that a caller hands over: one fault at a time, in a process of its own.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use device::Device;
use executorch::device::{Device as Tag, DeviceType};
use executorch::evalue::{EValue, IntoEValue};
use executorch::module::Module;
use executorch::tensor::Scalar;
use executorch::tensor::{TensorPtr, TensorPtrBuilder, View};
use executorch_device::TensorRef;
use export::pte;
use proof::Origin::{self, Library, Runtime, StandIn};
use proof::{claim, table};
use serde_json::{Value, json};

/// What is wrong with the first input, and how a page says it.
const FAULTS: [(&str, &str); 10] = [
    ("none", "nothing"),
    (
        "tag",
        "the tag: the right memory, tagged as the other side's",
    ),
    (
        "side",
        "the pointer: memory of the other side, tagged as it should be",
    ),
    ("null", "the pointer: null"),
    ("memory", "the memory: half as long as the sizes say"),
    ("type", "the type: int32 for float32"),
    ("rank", "the rank: 64 for 8×8"),
    ("shape", "the shape: 4×16 for 8×8"),
    ("layout", "the layout: columns outermost in memory"),
    ("alignment", "the alignment: one byte off"),
];

/// The programs, and the side that each wants its inputs on.
const PROGRAMS: [(&str, &str); 3] = [
    ("default-copies/default", "host"),
    ("default-copies/default_unplanned_inputs", "host"),
    ("pairing-rule/paired", "device"),
];

const COUNT: usize = 64;

const SIGSEGV: i32 = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => prove(),
        [path, side, fault] => {
            println!("{}", case(path, *side == "device", fault)?);
            Ok(())
        }
        _ => Err("usage: what-is-not-checked [PTE host|device FAULT]".into()),
    }
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Right,
    Wrong,
    Refused {
        code: u64,
        origin: Origin,
        text: String,
    },
    Killed(i32),
}

fn prove() -> Result<(), Box<dyn Error>> {
    let mut answers = BTreeMap::new();
    for (column, (program, side)) in PROGRAMS.into_iter().enumerate() {
        let exported = pte(program)?;
        let eager = exported.eager.outputs[0].f32()?;
        let sum: Vec<f32> = a().iter().zip(b()).map(|(a, b)| a + b).collect();
        if eager != sum {
            return Err(
                format!("{program}: not the sum of this listing's inputs").into()
            );
        }
        for (fault, _) in FAULTS {
            let ended = Command::new(env::current_exe()?)
                .arg(&exported.pte)
                .args([side, fault])
                .env_remove(proof::FACTS_VARIABLE)
                .output()?;
            let answer = match ended.status.signal() {
                Some(signal) => Answer::Killed(signal),
                None => read(&ended.stdout).ok_or_else(|| {
                    let said = String::from_utf8_lossy(&ended.stderr);
                    format!("{program}, {fault}: {said}")
                })?,
            };
            answers.insert((fault, column), answer);
        }
    }

    let mut rows = Vec::new();
    for (fault, words) in FAULTS {
        let row = [0, 1, 2].map(|column| &answers[&(fault, column)]);
        let mut cells = vec![words.to_owned()];
        cells.extend(row.map(in_words));
        let who: BTreeSet<_> = row.map(|answer| by(answer).name()).into();
        cells.push(who.into_iter().collect::<Vec<_>>().join(", "));
        println!("{fault}: {}", row.map(in_short).join(", "));
        rows.push(cells);
    }
    let header = [
        "what is wrong",
        "host input, planned",
        "host input, yours",
        "device input, yours",
        "says who",
    ];
    table(StandIn, "what-is-not-checked.inputs", &header, rows);

    let all = |fault: &str, is: &dyn Fn(&Answer) -> bool| {
        (0..PROGRAMS.len()).all(|column| is(&answers[&(fault, column)]))
    };
    let refused = |code: u64| move |answer: &Answer| matches!(answer, Answer::Refused { code: given, origin: Runtime, .. } if *given == code);
    claim(
        Runtime,
        "checked.refused",
        "The runtime checks the type, the rank and the shape of every input.",
        all("type", &refused(0x12))
            && all("rank", &refused(0x10))
            && all("shape", &refused(0x10)),
    );
    claim(
        StandIn,
        "checked.layout",
        "It does not check the layout: a transposed tensor gives a wrong result, wherever the input is.",
        all("layout", &|answer| *answer == Answer::Wrong),
    );
    claim(
        StandIn,
        "checked.memory",
        "It does not check the memory: a tensor that is longer than its memory takes the values of whatever lies behind it.",
        all("memory", &|answer| *answer == Answer::Wrong),
    );
    claim(
        StandIn,
        "checked.tag",
        "It checks the tag only where it copies the input itself, which is where the input is planned.",
        refused(0x10)(&answers[&("tag", 0)])
            && [1, 2].map(|column| &answers[&("tag", column)])
                == [&Answer::Right; 2],
    );
    claim(
        Runtime,
        "checked.null",
        "A null pointer is refused where the input is yours. Where it is planned nothing is copied and nothing is refused: the method reads what its buffer held before.",
        answers[&("null", 0)] == Answer::Wrong
            && [1, 2]
                .iter()
                .all(|column| refused(0x12)(&answers[&("null", *column)])),
    );
    claim(
        StandIn,
        "checked.alignment",
        "It does not check the alignment: a host tensor that begins one byte off gives the right result.",
        [0, 1].map(|column| &answers[&("alignment", column)])
            == [&Answer::Right; 2],
    );
    claim(
        Library,
        "checked.device-crate",
        "`executorch-device` makes no tensor that is longer than its memory.",
        TensorRef::host(&b()[..COUNT / 2], &[8, 8]).is_err()
            && TensorRef::host(&b(), &[8, 8]).is_ok(),
    );
    claim(
        StandIn,
        "checked.control",
        "The same calls with nothing wrong give the right result.",
        all("none", &|answer| *answer == Answer::Right),
    );
    Ok(())
}

/// What a case printed.
fn read(stdout: &[u8]) -> Option<Answer> {
    let said: Value = serde_json::from_slice(stdout).ok()?;
    Some(match said["ended"].as_str()? {
        "right" => Answer::Right,
        "wrong" => Answer::Wrong,
        _ => Answer::Refused {
            code: said["code"].as_u64()?,
            origin: serde_json::from_value(said["origin"].clone()).ok()?,
            text: said["text"].as_str()?.to_owned(),
        },
    })
}

/// Who decided it. Of a result the values are the stand-in's.
fn by(answer: &Answer) -> Origin {
    match answer {
        Answer::Refused { origin, .. } => *origin,
        Answer::Right | Answer::Wrong | Answer::Killed(_) => StandIn,
    }
}

fn in_short(answer: &Answer) -> String {
    match answer {
        Answer::Right => "right".to_owned(),
        Answer::Wrong => "wrong".to_owned(),
        Answer::Refused { code, .. } => format!("{code:#x}"),
        Answer::Killed(signal) => format!("signal {signal}"),
    }
}

fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Right => "right".to_owned(),
        Answer::Wrong => "**wrong**, without an error".to_owned(),
        Answer::Refused {
            code,
            origin: Runtime,
            text,
        } => {
            format!("`{code:#x}`: `{text}`")
        }
        Answer::Refused { code, text, .. } if text.starts_with("copy_") => {
            format!("the copy is given it; our stand-in answers `{code:#x}`")
        }
        Answer::Refused { code, .. } => {
            format!("the delegate is given it; our stand-in answers `{code:#x}`")
        }
        Answer::Killed(SIGSEGV) => "**killed by SIGSEGV**".to_owned(),
        Answer::Killed(signal) => format!("**killed by signal {signal}**"),
    }
}

fn a() -> Vec<f32> {
    (0..COUNT).map(|i| i as f32 / 8.0).collect()
}

fn b() -> Vec<f32> {
    (0..COUNT).rev().map(|i| i as f32 / 4.0).collect()
}

/// Calls the program with one fault, and says as JSON how that ended.
fn case(path: &str, device: bool, fault: &str) -> Result<Value, Box<dyn Error>> {
    let gpu = device::install()?;
    // The memory that the first input is in, and the offset and sizes of the tensor over it.
    let (values, offset) = match fault {
        // The caller's own 32 values, and behind them somebody else's.
        "memory" => ([&a()[..COUNT / 2], &[1000.0; COUNT]].concat(), 0),
        "layout" => (transposed(&a()), 0),
        "alignment" => (one_byte_later(&a()), 1),
        _ => (a(), 0),
    };
    let sizes: &[i32] = match fault {
        "rank" => &[64],
        "shape" => &[4, 16],
        _ => &[8, 8],
    };
    let there = device != (fault == "side");
    let tagged = device != (fault == "tag");
    let (on_device, b_on_device) = (gpu.buffer(&values)?, gpu.buffer(&b())?);
    let b_on_host = b();
    let start = if there {
        on_device.as_ptr()
    } else {
        values.as_ptr()
    };
    let first = match fault {
        "null" => std::ptr::null(),
        _ => start.wrapping_byte_add(offset),
    };
    let second = if device {
        b_on_device.as_ptr()
    } else {
        b_on_host.as_ptr()
    };

    let strides = (fault == "layout").then_some([1, 8]);
    let int = tensor(first.cast::<i32>(), sizes, strides, tagged)?;
    let float = tensor(first, sizes, strides, tagged)?;
    let second = tensor(second, &[8, 8], None, device)?;
    let first: EValue<'_> = match fault {
        "type" => int.into_evalue(),
        _ => float.into_evalue(),
    };

    let mut module = Module::new(path);
    module.load_method("forward", None, None)?;
    gpu.take_log();
    Ok(match module.forward(&[first, second.into_evalue()]) {
        Ok(outputs) => {
            gpu.synchronize()?;
            let right: Vec<f32> = a().iter().zip(b()).map(|(a, b)| a + b).collect();
            let result = result(gpu, &outputs[0])?;
            json!({"ended": if result == right { "right" } else { "wrong" }})
        }
        Err(code) => {
            let log = gpu.take_log();
            let line = log.first().ok_or("nothing was logged")?;
            let text = &line.message;
            json!({"ended": "refused", "code": code as u32, "origin": line.origin, "text": text})
        }
    })
}

/// The same 8×8 values, column by column.
fn transposed(values: &[f32]) -> Vec<f32> {
    (0..COUNT)
        .map(|place| values[place % 8 * 8 + place / 8])
        .collect()
}

/// The values whose bytes, from the second on, are those of `values`.
fn one_byte_later(values: &[f32]) -> Vec<f32> {
    let bytes = values.iter().flat_map(|value| value.to_ne_bytes());
    let mut bytes: Vec<u8> = std::iter::once(0).chain(bytes).collect();
    bytes.resize(4 * (values.len() + 1), 0);
    let words = bytes.chunks_exact(4);
    words
        .map(|word| f32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

fn tensor<'a, S: Scalar>(
    data: *const S,
    sizes: &[i32],
    strides: Option<[i32; 2]>,
    cuda: bool,
) -> Result<TensorPtr<'a, View<S>>, executorch::Error> {
    let tag = if cuda {
        DeviceType::Cuda
    } else {
        DeviceType::Cpu
    };
    // SAFETY: the callers keep the memory, and make some of the faults that these functions ask them not to make: what
    // comes of them is what this listing shows, and it ends its own process at worst.
    unsafe {
        let tensor =
            TensorPtrBuilder::<View<S>>::from_ptr(data, sizes.iter().copied());
        let tensor = tensor.device(Tag::new(tag, 0));
        match strides {
            Some(strides) => tensor.strides(strides),
            None => tensor,
        }
    }
    .build()
}

/// The result's values, wherever they are.
fn result(gpu: Device, output: &EValue<'_>) -> Result<Vec<f32>, Box<dyn Error>> {
    if output.as_tensor().device().is_cpu() {
        Ok(listings::host_values(output))
    } else {
        Ok(gpu.read(listings::address(output), COUNT)?)
    }
}
