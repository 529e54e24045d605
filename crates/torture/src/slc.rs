//! Drives with an SLC cache (decision 14). Schemes that can have none get the same drive without it.

use crate::shape::{pick, shaped};
use ssd::nand::ProgramUnit;
use ssd::protect::SchemeChoice;
use ssd::{Drive, Slc, SlcFold, SlcFull, SlcMode};
use vocab::{Nanos, PeCycles, Stream};

/// A small drive with a cache of one to three blocks a die; on half of them pages are programmed together.
pub(super) fn drive(choice: &SchemeChoice, draws: &mut Stream) -> Drive {
    let dies = 3 + draws.below(4) as u32;
    let channels = if dies.is_multiple_of(2) && draws.chance(0.5) { 2 } else { 1 };
    let unit = *pick(&[None, None, None, Some((1, 1, 2)), Some((2, 1, 1)), Some((2, 1, 2))], draws);
    let unit = unit.map(|(planes, plane_pages, bits)| ProgramUnit { planes, plane_pages, bits });
    let sensed = unit.map_or(1, |unit| unit.sensed());
    let pages = 2 * sensed * (1 + draws.below(u64::from(4 / sensed)) as u32);
    let mut drive = shaped(dies, channels, 9 + draws.below(7) as u32, pages, 1);
    drive.timing.unit = unit;
    if unit.is_some() && draws.chance(0.5) {
        drive.timing.suspend = Some(Nanos(20_000));
    }
    let cached = Drive { slc: cache(&drive, draws), ..drive.clone() };
    let can_have_one = ssd::user_slots_max(&cached, choice, &ssd::ftl::GcConfig::default()).is_ok();
    if can_have_one { cached } else { drive }
}

fn cache(drive: &Drive, draws: &mut Stream) -> Slc {
    let (mode, fold, full) = (
        *pick(&[SlcMode::Static, SlcMode::Dynamic], draws),
        *pick(&[SlcFold::Idle, SlcFold::Full], draws),
        *pick(&[SlcFull::Bypass, SlcFull::Wait], draws),
    );
    // A cycle for each erase, or for some of them.
    let endurance = PeCycles(drive.endurance.0 * *pick(&[1, 2, 10], draws));
    Slc { mode, fold, full, blocks: 1 + draws.below(3) as u32, endurance, ..Slc::default() }
}
