//! Drives that program several pages together, gathered in PLP memory (decision 13): a word line has all pages of a program.

use crate::shape::{pick, shaped};
use ssd::nand::{Pairing, ProgramUnit};
use ssd::{Drive, Power, Setup};
use vocab::{Nanos, Stream};

/// A small drive whose programs store 2 to 8 pages.
pub(super) fn drive(draws: &mut Stream) -> Drive {
    let dies = 3 + draws.below(4) as u32;
    let channels = if dies.is_multiple_of(2) && draws.chance(0.5) { 2 } else { 1 };
    let (planes, plane_pages, bits) = *pick(&[(1, 1, 2), (2, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 1), (2, 2, 2)], draws);
    let unit = ProgramUnit { planes, plane_pages, bits };
    let pages = unit.pages() * (1 + draws.below(u64::from(10 / unit.pages()).max(2)) as u32);
    let mut drive = shaped(dies, channels, 7 + draws.below(7) as u32, pages, 1);
    drive.timing.unit = Some(unit);
    if draws.chance(0.5) {
        drive.timing.suspend = Some(Nanos(20_000));
    }
    drive
}

/// The pages of a program are lost together; capacitors end programs.
pub(super) fn power(setup: &Setup) -> Power {
    let pages = setup.drive.timing.unit.map_or(1, |unit| unit.pages());
    Power { pairing: Pairing::Adjacent { bits: pages }, hold_up: true, ..setup.power }
}
