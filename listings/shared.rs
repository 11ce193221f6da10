//! What the listings need alike: the device, tensors over memory that is already somewhere, a plan in words, the
//! command `pte`, and the installed package.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use device::{LogLine, Origin};
use proof::{Drawing, Move};

mod shell;
mod tensor;

pub use shell::Shell;
pub use tensor::{address, host_values, on_device, on_host, tagged_cpu};

/// Runs a listing on this process's device. The memory that it took there must be free again at its end.
///
/// # Errors
///
/// Without a device, what the listing returns, and when blocks are left.
pub fn with_device(
    listing: fn(device::Device) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let gpu = device::install()?;
    listing(gpu)?;
    match gpu.counters().live_blocks() {
        0 => Ok(()),
        left => {
            Err(format!("{left} blocks of device memory were not freed").into())
        }
    }
}

/// Where the tensors at a method's boundary live, in words: `planned, CPU` if all agree, else one after the other.
pub fn placement<'a>(tensors: impl Iterator<Item = &'a pte::TensorInfo>) -> String {
    let mut words: Vec<String> = tensors
        .map(|tensor| {
            let planned = if tensor.planned.is_some() {
                "planned"
            } else {
                "unplanned"
            };
            format!("{planned}, {}", tensor.device.device_type)
        })
        .collect();
    words.dedup();
    words.join("; ")
}

/// What moves in an execution of a method of one delegate, between the caller, the method's arenas and the delegate.
pub fn drawn(method: &pte::Method) -> Drawing {
    const CALLER: usize = 0;
    let device = |tensor: &pte::TensorInfo| !tensor.device.is_cpu();
    let arena = |tensor: &pte::TensorInfo| if device(tensor) { 2 } else { 1 };
    // Where a tensor's memory is: an arena's, or the caller's.
    let at =
        |tensor: &pte::TensorInfo| tensor.planned.map_or(CALLER, |_| arena(tensor));
    let mut moves = Moves::default();
    for input in method.input_tensors() {
        if input.planned.is_some() {
            moves.copy(CALLER, arena(input), input.nbytes);
        }
    }
    for step in &method.chain {
        match step {
            pte::Step::Copy(copy) => {
                let ends = [copy.from, copy.to].map(|value| method.tensor(value));
                if let [Some(from), Some(to)] = ends {
                    moves.copy(at(from), at(to), copy.nbytes);
                }
            }
            pte::Step::Delegate(call) => {
                let tensors =
                    call.args.iter().filter_map(|value| method.tensor(*value));
                let (outputs, inputs): (Vec<_>, Vec<_>) =
                    tensors.partition(|tensor| {
                        let mut results =
                            method.output_tensors().map(|output| output.value);
                        let mut kept = method.copies().filter(|copy| {
                            copy.direction == pte::Direction::DeviceToHost
                        });
                        results.any(|value| value == tensor.value)
                            || kept.any(|copy| copy.from == tensor.value)
                    });
                for input in inputs {
                    moves.touch(at(input), DELEGATE, "reads the inputs");
                }
                for output in outputs {
                    moves.touch(DELEGATE, at(output), "writes the result");
                }
            }
            _ => {}
        }
    }
    for output in method.output_tensors() {
        if output.planned.is_some() {
            moves.touch(at(output), CALLER, "the result's address");
        }
    }
    let bytes = |device: bool| {
        let arenas = method
            .arenas
            .iter()
            .filter(|arena| arena.device.is_cpu() != device);
        arenas.map(|arena| arena.nbytes).sum::<u64>()
    };
    Drawing {
        lanes: vec![
            "you".into(),
            format!("host arena, {} bytes", bytes(false)),
            format!("device arena, {} bytes", bytes(true)),
            "delegate".into(),
        ],
        moves: moves.0.into_iter().map(Arrow::said).collect(),
    }
}

/// The lane of the delegate in what is [`drawn`].
const DELEGATE: usize = 3;

/// Arrows, in which neighbours that go the same way are one.
#[derive(Default)]
struct Moves(Vec<Arrow>);

struct Arrow {
    from: usize,
    to: usize,
    count: usize,
    nbytes: u64,
    /// What happens where nothing is copied.
    touch: Option<&'static str>,
}

impl Moves {
    fn copy(&mut self, from: usize, to: usize, nbytes: u64) {
        self.push(from, to, nbytes, None);
    }

    fn touch(&mut self, from: usize, to: usize, what: &'static str) {
        self.push(from, to, 0, Some(what));
    }

    fn push(
        &mut self,
        from: usize,
        to: usize,
        nbytes: u64,
        touch: Option<&'static str>,
    ) {
        match self.0.last_mut() {
            Some(last) if (last.from, last.to, last.touch) == (from, to, touch) => {
                last.count += 1;
                last.nbytes += nbytes;
            }
            _ => self.0.push(Arrow {
                from,
                to,
                count: 1,
                nbytes,
                touch,
            }),
        }
    }
}

impl Arrow {
    fn said(self) -> Move {
        let copies = if self.count == 1 { "copy" } else { "copies" };
        Move {
            from: self.from,
            to: self.to,
            what: self.touch.map_or_else(
                || format!("{} {copies}, {} bytes", self.count, self.nbytes),
                str::to_owned,
            ),
            copied: self.touch.is_none(),
        }
    }
}

/// The first line of a log, which must be the runtime's own: a reader meets it, and not our device's.
///
/// # Errors
///
/// When there is none, or the stand-in spoke first.
pub fn runtime_line(log: &[LogLine]) -> Result<&str, Box<dyn Error>> {
    match log.first() {
        Some(line) if line.origin == Origin::Runtime => Ok(&line.message),
        Some(line) => {
            Err(format!("the stand-in spoke first: {}", line.message).into())
        }
        None => Err("nothing was logged".into()),
    }
}

/// The folder of the installed package `executorch`: exporter, headers and bindings.
///
/// # Errors
///
/// When it is not installed.
pub fn package() -> Result<PathBuf, Box<dyn Error>> {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/lib");
    for entry in fs::read_dir(lib)? {
        let package = entry?.path().join("site-packages/executorch");
        if package.is_dir() {
            return Ok(package);
        }
    }
    Err("ExecuTorch is not installed; run `cargo xtask setup`".into())
}
