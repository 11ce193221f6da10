//! Words for the parts of a program.

use crate::{Device, Dynamism, Method, Step, TensorInfo, Value};

/// Text out of a file, without what could move a terminal's cursor or start a new line.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
            .chars()
            .collect::<Vec<_>>()
        })
        .collect()
}

/// `host`, or the device.
pub(crate) fn place(device: Device) -> String {
    if device == Device::CPU {
        "host".into()
    } else {
        device.to_string()
    }
}

/// `1792 bytes`, and from 10 kB on in thousands.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 10_000 {
        return format!("{count} B");
    }
    let mut scaled = count as f64;
    let mut unit = "B";
    for next in UNITS {
        if scaled < 999.5 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    if scaled < 9.995 {
        format!("{scaled:.2} {unit}")
    } else if scaled < 99.95 {
        format!("{scaled:.1} {unit}")
    } else {
        format!("{scaled:.0} {unit}")
    }
}

pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `float32[8, 8]`, or `float32[≤16, 8]` where the sizes are bounds.
pub(crate) fn shape(tensor: &TensorInfo) -> String {
    let sizes: Vec<String> = tensor.sizes.iter().map(ToString::to_string).collect();
    let sizes = sizes.join(", ");
    match tensor.dynamism {
        Dynamism::Static => format!("{}[{sizes}]", tensor.dtype),
        Dynamism::Bound => format!("{}[up to {sizes}]", tensor.dtype),
        Dynamism::Unbound => format!("{}[any sizes]", tensor.dtype),
    }
}

/// One row of a table of inputs or outputs: position and name, what it is, bytes, where, and whose memory.
pub(crate) fn row(index: usize, value: &Value, output: bool) -> [String; 5] {
    let plain =
        |name: String, what: String| [name, what, String::new(), String::new(), String::new()];
    match value {
        Value::Tensor(tensor) => {
            let name = tensor.name.as_ref().map_or_else(
                || index.to_string(),
                |name| format!("{index} {}", clean(name)),
            );
            [
                name,
                shape(tensor),
                bytes(tensor.nbytes),
                place(tensor.device),
                memory(tensor, output).into(),
            ]
        }
        Value::Int { value } => plain(index.to_string(), format!("int, {value} and no other")),
        Value::Double { value } => plain(
            index.to_string(),
            value.map_or("double".into(), |value| {
                format!("double, {value} and no other")
            }),
        ),
        Value::Bool { value } => plain(index.to_string(), format!("bool, {value} and no other")),
        Value::String { value } => plain(index.to_string(), format!("string \"{}\"", clean(value))),
        Value::None => plain(index.to_string(), "None".into()),
        Value::List { of, len } => plain(
            index.to_string(),
            format!("list of {len} {of:?}").to_lowercase(),
        ),
        other => plain(index.to_string(), format!("{other:?}").to_lowercase()),
    }
}

/// Whose memory a tensor is in.
fn memory(tensor: &TensorInfo, output: bool) -> &'static str {
    match (tensor.planned.is_some(), tensor.data.is_some(), output) {
        (_, true, _) => "a constant of the program",
        (true, _, false) => "planned: the runtime copies it into its own buffer",
        (true, _, true) => "planned: the runtime's own buffer, overwritten by the next execution",
        (false, _, false) => "yours: the runtime uses your memory",
        (false, _, true) => "yours: hand it over with set_output before the first execution",
    }
}

/// The same in as few words as a marked line has room for; empty for what is no tensor.
pub(crate) fn planned(value: &Value) -> &'static str {
    match value.tensor() {
        Some(tensor) if tensor.planned.is_some() => "planned",
        Some(tensor) if tensor.data.is_some() => "constant",
        Some(_) => "not planned",
        None => "",
    }
}

/// Columns of equal width, each line indented by as many spaces.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], indent: usize) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("{:indent$}{}\n", "", cells.join("   ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The way of the data through a method, in words: a part for what the caller hands over, one for each run of steps of a
/// kind, one for what comes back.
pub(crate) fn way(method: &Method) -> Vec<String> {
    // What a run of equal steps has in common, and what it adds up to.
    let mut runs: Vec<(String, usize, u64)> = Vec::new();
    for step in &method.chain {
        let (kind, nbytes) = match step {
            Step::Copy(copy) if copy.direction == crate::Direction::HostToDevice => {
                (format!("copy to {}", place(copy.device)), copy.nbytes)
            }
            Step::Copy(copy) => (format!("copy from {}", place(copy.device)), copy.nbytes),
            Step::Delegate(call) => (clean(&call.id), 0),
            Step::Operator(_) => ("host operator".into(), 0),
            Step::JumpIfFalse { .. } => ("branch".into(), 0),
            // Moves and frees touch no data.
            _ => continue,
        };
        match runs.last_mut() {
            Some((last, count, sum)) if *last == kind => {
                (*count, *sum) = (*count + 1, sum.saturating_add(nbytes));
            }
            _ => runs.push((kind, 1, nbytes)),
        }
    }
    const MOST: usize = 12;
    let part = |(kind, count, nbytes): &(String, usize, u64)| match (*count, *nbytes) {
        (1, 0) => kind.clone(),
        (1, nbytes) => format!("{kind}, {}", bytes(nbytes)),
        (count, 0) => format!("{count} × {kind}"),
        (count, nbytes) => format!("{count} × {kind}, {}", bytes(nbytes)),
    };
    let mut parts: Vec<String> = runs.iter().map(part).collect();
    if parts.len() > MOST {
        let left = parts.len() - MOST;
        parts.splice(MOST / 2..MOST / 2 + left, [format!("… {left} more …")]);
    }
    parts
}
