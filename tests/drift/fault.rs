//! What a planted fault is: a row of the table.

use book::Kind;

use crate::doors::{Door, Expected};

/// Where a fault is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Guidance,
    Exporter,
    Runtime,
    Device,
    Build,
}

impl Area {
    pub const ALL: [Self; 5] = [Self::Guidance, Self::Exporter, Self::Runtime, Self::Device, Self::Build];

    pub fn name(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Exporter => "exporter",
            Self::Runtime => "runtime",
            Self::Device => "device",
            Self::Build => "build",
        }
    }

    /// For the sentence that pages show.
    pub fn place(self) -> &'static str {
        match self {
            Self::Guidance => "in the guidance",
            Self::Exporter => "in the exporter",
            Self::Runtime => "in the runtime",
            Self::Device => "in the device",
            Self::Build => "in the build itself",
        }
    }
}

/// One thing that is changed.
#[derive(Clone, Copy, Debug)]
pub enum Plant {
    /// `from`, which stands in `file` exactly once, becomes `to`.
    Replace { file: &'static str, from: &'static str, to: &'static str },
    /// A file that is there is removed.
    Remove { file: &'static str },
    /// A file that is not there is written.
    Write { file: &'static str, text: &'static str },
    /// A program becomes a shell script.
    Script { file: &'static str, text: &'static str },
    /// The exporting process runs `tests/drift/exporter/<module>.py` first.
    Exporter { module: &'static str },
    /// A text of the runtime's library becomes another one of the same length.
    Runtime { from: &'static str, to: &'static str },
    /// The device misbehaves: a fault of `device::PLANTED_FAULTS`.
    Device { fault: &'static str },
}

/// A line of a file, after the fault was planted.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// By its number: for what concerns a whole file.
    Line(usize),
    /// The one line that has this text.
    Text(&'static str),
    /// The line above that one.
    Above(&'static str),
    /// Where a listing calls `claim(…, "id", …)` or `fact(…, "id", …)`.
    Call(&'static str),
}

/// A failure that must be reported: rule, id, file, line.
pub type Declared = (Kind, &'static str, &'static str, At);

/// What plain `mdbook build` does about a fault.
#[derive(Clone, Copy, Debug)]
pub enum Plain {
    /// It reports the same failures as `cargo xtask build`.
    Same,
    /// It notices nothing: a row of the list on the page `how-this-guide-stays-true`.
    Nothing,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub name: &'static str,
    pub area: Area,
    /// What is wrong, in a few words.
    pub what: &'static str,
    pub plant: &'static [Plant],
    /// What `cargo xtask build` must report.
    pub failures: &'static [Declared],
    /// What `cargo xtask build` must say, where its failures are not enough.
    pub says: Option<&'static str>,
    /// Whether the book is built without having been proved, so that `cargo xtask build` must find every page of it
    /// without this run's mark, and the directives on it unreplaced.
    pub unproved: bool,
    pub plain: Plain,
}

/// A row whose failures both ways of building report.
pub const fn fault(
    area: Area,
    name: &'static str,
    what: &'static str,
    plant: &'static [Plant],
    failures: &'static [Declared],
) -> Fault {
    Fault { name, area, what, plant, failures, says: None, unproved: false, plain: Plain::Same }
}

/// Rules that a listing's own test applies.
const OF_A_LISTING: &[Kind] = &[
    Kind::ClaimFails,
    Kind::OutcomeDiffers,
    Kind::OutputDiffers,
    Kind::LanguagesDiffer,
    Kind::ListingWithoutOutput,
    Kind::ExportFails,
    Kind::TimeLimit,
    Kind::OutputLimit,
    Kind::RunFails,
];

impl Fault {
    /// Whether a listing's `export.py` becomes another, and so has to be exported.
    pub fn changes_a_recipe(&self) -> bool {
        let of = |plant: &Plant| match plant {
            Plant::Replace { file, .. } | Plant::Remove { file } | Plant::Write { file, .. } => Some(*file),
            _ => None,
        };
        self.plant.iter().filter_map(of).any(|file| file.ends_with("/export.py"))
    }

    /// The same, for what leaves the book unproved and mdBook none the wiser.
    pub const fn unproved(mut self) -> Self {
        self.unproved = true;
        self.plain = Plain::Nothing;
        self
    }

    /// The same, with a text that `cargo xtask build` must print.
    pub const fn says(mut self, text: &'static str) -> Self {
        self.says = Some(text);
        self
    }

    /// The doors, in order, and what must happen at each.
    pub fn doors(&self) -> Vec<(Door, Expected)> {
        let refused = if self.unproved {
            Expected::Unproved
        } else {
            Expected::Refused { failures: self.failures, says: self.says }
        };
        let plain = match self.plain {
            Plain::Same => refused.clone(),
            Plain::Nothing => Expected::Passed,
        };
        let mut doors = vec![(Door::Build, refused), (Door::Plain, plain)];
        let listings = self.listings();
        if !listings.is_empty() {
            doors.push((Door::Test, Expected::TestsFail(listings)));
        }
        doors
    }

    /// The listings whose own tests must fail.
    fn listings(&self) -> Vec<&'static str> {
        let mut listings: Vec<_> = self
            .failures
            .iter()
            .filter(|(kind, ..)| OF_A_LISTING.contains(kind))
            // A claim names itself, everything else the listing; and where a listing fails may be a file that all share.
            .filter_map(|(kind, id, file, _)| match kind {
                Kind::ClaimFails => file.strip_prefix("listings/")?.split('/').next(),
                // `planned-output/program` of one, `planned-output.py` in another language.
                _ => id.split(['/', '.']).next(),
            })
            .collect();
        listings.sort_unstable();
        listings.dedup();
        listings
    }
}
