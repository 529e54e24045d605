//! Small drives of a given shape, and draws from lists.

use ssd::Drive;
use ssd::nand::{Energy, PageKind, Timing, Transfer};
use vocab::{BusRate, Bytes, Geometry, Nanojoules, Nanos, PeCycles, PlaneUse, Stream};

/// Bytes of a logical page.
pub(super) const SLOT: u64 = 4096;

/// One of these, each as likely as the others.
pub(super) fn pick<'a, T>(of: &'a [T], draws: &mut Stream) -> &'a T {
    &of[draws.below(of.len() as u64) as usize]
}

/// A drive of two-bit cells.
pub(super) fn shaped(dies: u32, channels: u32, blocks: u32, pages: u32, slots: u64) -> Drive {
    let page = |name: &str, read, program| PageKind { name: name.into(), read: Nanos(read), program: Nanos(program) };
    Drive {
        geometry: Geometry {
            channels,
            dies_per_channel: dies / channels,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_size: Bytes(SLOT * slots),
            oob_size: Bytes(224 * slots),
            slot_size: Bytes(SLOT),
        },
        timing: Timing {
            command: Nanos(300),
            erase: Nanos(3_000_000),
            transfer: Transfer::DataMtPerS(BusRate(400)),
            page: vec![page("lsb", 40_000, 500_000), page("msb", 65_000, 1_300_000)],
            ..Timing::default()
        },
        energy: Energy { read: Nanojoules(3_000), program: Nanojoules(131_000), erase: Nanojoules(289_000) },
        endurance: PeCycles(3000),
        controller: ssd::Controller::default(),
        slc: ssd::Slc::default(),
    }
}
