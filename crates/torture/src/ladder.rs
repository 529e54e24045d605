//! Drives whose pages have LDPC codes and are read on a ladder, with program units as [`crate::gathered`] draws them: reads go on
//! for several steps while other commands of the die wait, blocks are read with references that a cut takes, and pages are
//! refreshed because their code is late.

use crate::shape::{pick, shaped};
use ssd::nand::{PageKind, ProgramUnit};
use ssd::{Age, CodecTiming, Drive, Ecc, Errors, PayloadKind, ReadRetry, Refresh, RefreshPolicy, Setup};
use vocab::{Bytes, Nanos, PeCycles, Stream};

const HOUR: u64 = 3_600_000_000_000;

/// A small drive of three-bit cells, of one to two planes, whose programs store three or six pages.
pub(super) fn drive(draws: &mut Stream) -> Drive {
    let dies = 3 + draws.below(4) as u32;
    let channels = if dies.is_multiple_of(2) && draws.chance(0.5) { 2 } else { 1 };
    let (planes, plane_pages) = *pick(&[(1, 1), (2, 1), (1, 2)], draws);
    let unit = ProgramUnit { planes, plane_pages, bits: 3 };
    let pages = unit.pages() * (1 + draws.below(u64::from(9 / unit.pages())) as u32);
    let mut drive = shaped(dies, channels, 7 + draws.below(7) as u32, pages, 1);
    // Parity of the strongest code lies beside 4 KiB.
    drive.geometry.oob_size = Bytes(1024);
    let page = |name: &str, read| PageKind { name: name.into(), read: Nanos(read), program: Nanos(600_000) };
    drive.timing.page = vec![page("lsb", 45_000), page("csb", 55_000), page("msb", 45_000)];
    drive.timing.unit = Some(unit);
    drive.timing.suspend = draws.chance(0.5).then_some(Nanos(20_000));
    drive
}

/// Cells that need the ladder, or soft reads; on one drive of five so old and so different that some pages are beyond all steps.
pub(super) fn age(setup: &mut Setup, draws: &mut Stream) {
    let beyond = draws.chance(0.2);
    let policy = *pick(&["ldpc", "ldpc", "ldpc-adaptive"], draws);
    let rate = if beyond { "0.928" } else { *pick(&["0.901", "0.889"], draws) };
    let options = if policy == "ldpc" { [("rate".to_owned(), rate.to_owned())].into() } else { Default::default() };
    let ladders = [ReadRetry::Table, ReadRetry::Tracked, ReadRetry::Predicted];
    setup.ecc = Ecc {
        policy: policy.into(),
        options,
        codeword: (*pick(&["1KiB", "2KiB", "4KiB"], draws)).into(),
        codec: *pick(&[CodecTiming::Instant, CodecTiming::Flares], draws),
        read_retry: *pick(&ladders, draws),
        // Few retries leave the rest to soft reads, which the codes that `ldpc-adaptive` picks do not always bear.
        retries: if policy == "ldpc" && draws.chance(0.5) { 6 } else { <Ecc>::default().retries },
        soft_bits: if beyond { 2 + draws.below(2) as u32 } else { 3 },
        prediction_sigma: *pick(&[0.0, 0.3], draws),
        ..Ecc::default()
    };
    let page_sigma = if beyond { 0.3 } else { 0.0 };
    // Drawn aside, so that scenarios of earlier campaigns keep their other draws.
    let persistent = draws.clone().below(1000).is_multiple_of(2);
    setup.errors = Errors { model: "tlc-128l".into(), page_sigma, persistent, ..Errors::default() };
    let (cycles, hours) = if beyond { (7000, 8760) } else { (1000 + draws.below(2000) as u32, 500 + draws.below(4000)) };
    setup.age = Age { pe_cycles: PeCycles(cycles), retention: Nanos(hours * HOUR), ..setup.age };
    let policies = [RefreshPolicy::None, RefreshPolicy::Alarm, RefreshPolicy::Joint];
    setup.refresh = Refresh { policy: *pick(&policies, draws), in_place_at_most: draws.below(2) as u32, ..setup.refresh };
    // The decoder itself costs more than all the rest, and changes no event.
    setup.payload = PayloadKind::Tag;
}

/// Whether some pages are beyond all steps of the ladder, so that reads fail at random.
pub(super) fn is_beyond(setup: &Setup) -> bool {
    setup.errors.page_sigma > 0.0
}
