//! From what a caller saw to what a cell says.

use std::sync::LazyLock;

use device::{ErrorLine, Report};
use proof::Origin;
use regex::Regex;

use crate::observe::{Failure, Observation, Tensor};
use crate::schema::{Call, Execution, Line, Outcome, Owner, Place, Read, Run, Side, Written};
use crate::{Key, Output};

/// What the results have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// For each execution: sizes, and the bits of the elements.
    pub(crate) results: [(Vec<usize>, Vec<u32>); 2],
}

/// How a caller's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exited,
    /// By this signal.
    Signal(i32),
}

/// The run that these observations describe; why they describe none.
pub(crate) fn judge(
    key: &Key,
    observations: &[Observation],
    end: End,
    expected: &Expected,
) -> Result<Run, String> {
    let mut calls = vec![Call::Load];
    if matches!(key.output, Output::Device | Output::Host) {
        calls.push(Call::SetOutput);
    }
    calls.extend([Call::Execute, Call::Execute]);
    let made: Vec<Call> = observations.iter().map(|seen| seen.call).collect();
    if made == [Call::Inputs] {
        calls.insert(0, Call::Inputs);
    }
    if !calls.starts_with(&made) {
        return Err(format!("it made the calls {made:?}, expected {calls:?}"));
    }
    let preparations = calls.len() - 2;
    let prevented = observations[..made.len().min(preparations)]
        .iter()
        .position(|seen| seen.failure.is_some());
    let complete = prevented.map_or(calls.len(), |failed| failed + 1);
    let died = match end {
        End::Signal(_) if made.len() < complete => Some(calls[made.len()]),
        End::Exited if made.len() == complete => None,
        end => return Err(format!("it ended ({end:?}) after the calls {made:?}")),
    };

    let destination = observations
        .iter()
        .find(|seen| seen.call == Call::SetOutput)
        .and_then(|seen| seen.given.first().copied());
    let results: Vec<Option<&Tensor>> = observations
        .iter()
        .filter(|seen| seen.call == Call::Execute)
        .map(|seen| seen.result.as_ref())
        .collect();
    let pair = match results[..] {
        [Some(first), Some(second)] => Some((first, second)),
        _ => None,
    };
    let owner = |result: &Tensor| match pair {
        _ if destination == Some(result.data) => Owner::Caller,
        None => Owner::Unknown,
        Some((first, second)) if first.data == second.data => Owner::Runtime,
        Some(_) => Owner::Fresh,
    };

    let mut executions = Vec::new();
    let mut number = 0;
    for seen in observations {
        match &seen.failure {
            Some(failure) => executions.push(execution(
                seen,
                failed(seen.call, &seen.report, failure),
                None,
            )),
            None if seen.call == Call::Execute => {
                let result = seen
                    .result
                    .as_ref()
                    .ok_or("an execution without a result")?;
                let (sizes, bits) = &expected.results[number];
                let right = result.sizes == *sizes && result.bits.as_ref() == Some(bits);
                let outcome = if right {
                    Outcome::Right
                } else {
                    Outcome::Wrong
                };
                executions.push(execution(
                    seen,
                    (outcome, Origin::StandIn),
                    Some((result, owner(result))),
                ));
            }
            None => {}
        }
        number += usize::from(seen.call == Call::Execute);
    }
    if let (Some(call), End::Signal(signal)) = (died, end) {
        let outcome = Outcome::Died {
            call,
            signal: name(signal),
        };
        // The access is the runtime's; that it ends the process is the fence's doing.
        executions.push(Execution {
            outcome,
            origin: Origin::StandIn,
            h2d: device::Copies::default(),
            d2h: device::Copies::default(),
            inputs: None,
            writes: None,
            output: None,
        });
    }
    let mut executions = executions.into_iter();
    Ok(Run {
        first: executions.next().ok_or("nothing was executed")?,
        second: executions.next(),
        second_overwrites_first: pair.map(|(first, second)| first.data == second.data),
    })
}

fn execution(
    seen: &Observation,
    (outcome, origin): (Outcome, Origin),
    result: Option<(&Tensor, Owner)>,
) -> Execution {
    // Of every program: two inputs, one output.
    let called = matches!(seen.report.seen[..], [_, _, _]);
    let given = &seen.given[..];
    Execution {
        outcome,
        origin,
        h2d: seen.report.h2d,
        d2h: seen.report.d2h,
        inputs: called.then(|| {
            if seen.report.seen.starts_with(given) {
                Read::AsTheyAre
            } else {
                Read::Copied
            }
        }),
        writes: called.then(|| match (seen.report.seen[2], result) {
            (0, _) => Written::Null,
            (address, Some((result, _))) if address == result.data => Written::Result,
            _ => Written::Elsewhere,
        }),
        output: result.map(|(result, of)| Place {
            on: if result.on_device {
                Side::Device
            } else {
                Side::Host
            },
            of,
        }),
    }
}

pub(crate) fn failed(call: Call, report: &Report, failure: &Failure) -> (Outcome, Origin) {
    let mut log: Vec<Line> = report.errors.iter().map(line).collect();
    // After the text PyTorch's own exceptions have the C++ frames that they came through.
    let exception = failure.exception.as_deref().map(|text| {
        let end = text.find("\nException raised from ");
        normal(&text[..end.unwrap_or(text.len())])
    });
    if let Some(exception) = &exception
        && log.is_empty()
        && exception.contains("NVIDIA driver")
    {
        let exception = exception.clone();
        return (Outcome::NeedsAGpu { call, exception }, Origin::Runtime);
    }
    if let Some(refusal) = &failure.refusal {
        let text = normal(refusal);
        log.insert(
            0,
            Line {
                origin: Origin::Library,
                text,
            },
        );
    }
    let origin = log.first().map_or(Origin::Runtime, |line| line.origin);
    let outcome = Outcome::Failed {
        call,
        code: failure.code.map(|code| format!("{code:#x}")),
        exception,
        log,
    };
    (outcome, origin)
}

pub(crate) fn line(line: &ErrorLine) -> Line {
    Line {
        origin: match line.origin {
            device::Origin::Runtime => Origin::Runtime,
            device::Origin::StandIn => Origin::StandIn,
        },
        text: normal(&line.message),
    }
}

/// Without addresses, which differ from run to run and alone have this many digits.
pub(crate) fn normal(text: &str) -> String {
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("0x[0-9a-f]{9,16}").expect("a pattern"));
    ADDRESS.replace_all(text, "<address>").into_owned()
}

pub(crate) fn name(signal: i32) -> String {
    let known = [
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (14, "SIGALRM"),
    ];
    known
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(
            || format!("signal {signal}"),
            |(_, name)| (*name).to_owned(),
        )
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn addresses_go_and_codes_stay() {
        assert_eq!(
            normal("Tensor 0 at 0x7f00deadbeef: 0x12 (err=0)"),
            "Tensor 0 at <address>: 0x12 (err=0)"
        );
    }
}
