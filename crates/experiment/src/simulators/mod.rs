//! Parameters of other simulators as drives: the configuration of SimpleSSD (`.cfg`), the header of NVMeVirt (`.h`), a command line
//! of FEMU (`.sh`).
//!
//! As with MQSim, what has a counterpart is taken over, what has none is listed, what contradicts it is refused. `docs/mqsim.md` names
//! every parameter and what becomes of it.

mod femu;
mod macros;
mod nvmevirt;
mod simplessd;

use crate::document::{Document, Foreign};
use crate::parameters::{Fields, Writing};
use common::Problem;
use std::ops::RangeInclusive;

/// Power of a die at work, in watts, where a simulator has none: 3.3 V and 25 mA, as SimpleSSD has it.
const WATT: f64 = 0.0825;

/// Bounds of a whole number of the shape; those of a drive are tighter.
const COUNT: RangeInclusive<u64> = 1..=1 << 24;

/// Longest operation, in nanoseconds; the bounds of a drive say so again.
const TIME: RangeInclusive<u64> = 0..=1_000_000_000;

/// Parts that a drive's out-of-band area is of a page, where a simulator has none.
const OOB_PARTS: u64 = 16;

/// A drive that was read, and what is to be said about it.
type Read = (Document, Vec<String>);

/// A simulator whose parameters are read.
struct Simulator {
    ending: &'static str,
    read: fn(&str, &Foreign, &str) -> Result<Read, Problem>,
}

const SIMULATORS: &[Simulator] = &[
    Simulator { ending: ".cfg", read: |_, file, text| simplessd::drive(file, text) },
    Simulator { ending: nvmevirt::ENDING, read: |name, file, text| nvmevirt::drive(file, text, nvmevirt::model(name)) },
    Simulator { ending: ".sh", read: |_, file, text| femu::drive(file, text) },
];

/// The path of a drive's file without the model that may stand behind it: `ssd_config.h#SAMSUNG_970PRO`.
pub(crate) fn path(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((path, _)) if path.ends_with(nvmevirt::ENDING) => path,
        _ => name,
    }
}

fn of(name: &str) -> Option<&'static Simulator> {
    SIMULATORS.iter().find(|simulator| path(name).ends_with(simulator.ending))
}

/// True where a drive is a file of one of them.
pub(crate) fn is_device(name: &str) -> bool {
    of(name).is_some()
}

/// The drive of a file, and as notes what of the file has no counterpart.
///
/// # Errors
/// The first fault of the file, with its place.
pub(crate) fn drive(name: &str, text: &str) -> Result<(Document, Vec<String>), Problem> {
    let simulator = of(name).expect("it was told by its ending");
    (simulator.read)(name, &Foreign::new(path(name), text), text)
}

/// Sets many settings, each from a parameter.
fn set_all(writing: &mut Writing<'_>, from: &Fields<'_>, settings: &[(&str, &str, String)]) -> Result<(), Problem> {
    settings.iter().try_for_each(|(name, path, toml)| writing.set(from, name, path, toml))
}

/// One kind of page: its name, the parameters of its times, and these times in nanoseconds.
struct Kind {
    name: &'static str,
    from: (&'static str, &'static str),
    read: u64,
    program: u64,
}

/// The times of pages; where that may be, one kind for all that are alike, so that blocks may have any number of pages.
fn set_pages(writing: &mut Writing<'_>, from: &Fields<'_>, kinds: &[Kind], may_be_one: bool) -> Result<(), Problem> {
    let alike = may_be_one && kinds.iter().all(|kind| (kind.read, kind.program) == (kinds[0].read, kinds[0].program));
    let kinds = if alike { &kinds[..1] } else { kinds };
    let page = |kind: &Kind| {
        let name = if alike { "page" } else { kind.name };
        format!("{{ name = \"{name}\", read = \"{}ns\", program = \"{}ns\" }}", kind.read, kind.program)
    };
    let pages: Vec<String> = kinds.iter().map(page).collect();
    writing.set(from, kinds[0].from.0, "timing.page", &format!("[{}]", pages.join(", ")))?;
    for (index, kind) in kinds.iter().enumerate() {
        writing.set(from, kind.from.0, &format!("timing.page.{index}.read"), &time(kind.read))?;
        writing.set(from, kind.from.1, &format!("timing.page.{index}.program"), &time(kind.program))?;
    }
    Ok(())
}

/// A time as settings have it.
fn time(nanos: u64) -> String {
    format!("\"{nanos}ns\"")
}

/// A size as settings have it.
fn size(bytes: u64) -> String {
    format!("\"{bytes}B\"")
}

/// Energy of an operation of this many nanoseconds.
fn energy(nanos: u64, watt: f64) -> String {
    format!("\"{}nJ\"", (nanos as f64 * watt).round())
}

/// Ends a drive: what is to be said of the parameters of its sets.
fn finished(writing: Writing<'_>, sets: &[&Fields<'_>], mut notes: Vec<String>) -> (Document, Vec<String>) {
    let without: Vec<String> = sets.iter().flat_map(|set| set.unread()).collect();
    if !without.is_empty() {
        notes.push(format!("has no counterpart here: {}", without.join(", ")));
    }
    notes.extend(sets.iter().flat_map(|set| set.notes()));
    (writing.document, notes.into_iter().map(|note| format!("drive: {note}")).collect())
}
