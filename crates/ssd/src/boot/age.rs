//! The age of a drive: P/E cycles, reads and bad blocks of its flash (decision D12).

use crate::boot::precondition::finish_untimed;
use crate::config::{Age, Setup};
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::write::Way;
use ftl::LogKind;
use nand::FlashArray;
use protect::Protection;
use vocab::{BlockAddr, Streams};

/// Stripes whose blocks have become worn get the parity that asks for.
pub(crate) fn age_stripes<P: FlashPayload>(engine: &mut Engine<P>) {
    engine.writer.blocks_aged(&engine.core);
    engine.core.device.timed = false;
    while engine.writer.build_next(&mut engine.core) {
        engine.hand_on();
        engine.settle();
    }
    finish_untimed(engine);
}

/// Gives every block its P/E cycles and reads.
pub(crate) fn wear<P: FlashPayload>(engine: &mut Engine<P>, age: &Age, streams: &Streams) {
    let (mut draws, mut scattered) = (streams.stream("age/pe"), streams.stream("age/worn"));
    let (mean, deviation) = (f64::from(age.pe_cycles.0), age.pe_deviation);
    for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
        let worn = age.worn_blocks > 0.0 && scattered.chance(age.worn_blocks);
        let mean = if worn { f64::from(age.worn_pe_cycles.0) } else { mean };
        let added = if deviation > 0.0 { (mean + deviation * draws.normal()).round().max(0.0) } else { mean } as u32;
        engine.core.device.array.set_age(block, |info| {
            info.pe += added;
            // No one can have read an erased block.
            info.reads = if info.next_page > 0 { age.reads } else { 0 };
        });
        let (unit, pe) = (engine.core.map.unit_of_block(block), engine.core.device.array.block(block).pe);
        engine.core.map.set_pe(unit, pe);
    }
}

/// Marks factory-bad blocks.
///
/// Under schemes that write superblocks the controller numbers the blocks of each die and plane, the good ones first: a
/// superblock is made of any good block of each die, and bad blocks cost their own space and nothing else. Superblocks
/// that lack a die are the last ones. Elsewhere blocks have the numbers of the flash.
pub(crate) fn mark_bad_blocks<P: FlashPayload>(
    array: &mut impl FlashArray<P>,
    setup: &Setup,
    protection: &Protection,
    streams: &Streams,
) {
    if setup.age.bad_blocks <= 0.0 {
        return;
    }
    let mut draws = streams.stream("nand/bad-blocks");
    let geometry = &setup.drive.geometry;
    let mut bad: Vec<bool> = (0..geometry.blocks()).map(|_| draws.chance(setup.age.bad_blocks)).collect();
    if Way::of(protection).facts().log == LogKind::Group {
        let planes = geometry.blocks_per_die() / geometry.blocks_per_plane;
        bad.chunks_mut(geometry.blocks_per_die() as usize).for_each(|die| number_good_ones_first(die, planes as usize));
    }
    for (block, _) in (0..).map(BlockAddr).zip(bad).filter(|&(_, bad)| bad) {
        array.set_age(block, |info| info.bad = true);
    }
}

/// Whether each block of a die is bad, after the good ones of each plane were given the first numbers. Planes take the
/// blocks of a die in turn.
fn number_good_ones_first(bad: &mut [bool], planes: usize) {
    for plane in 0..planes {
        let mut of_plane: Vec<bool> = bad.iter().skip(plane).step_by(planes).copied().collect();
        of_plane.sort_unstable();
        bad.iter_mut().skip(plane).step_by(planes).zip(of_plane).for_each(|(slot, is_bad)| *slot = is_bad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if a plane gets a bad block of another one, or a good block comes after a bad one of its plane.
    #[test]
    fn good_blocks_of_each_plane_come_first() {
        let drawn = [true, false, false, true, false, false, false, true];
        let mut bad = drawn;
        number_good_ones_first(&mut bad, 2);
        assert_eq!(bad, [false, false, false, false, false, true, true, true]);
        let mut bad = drawn;
        number_good_ones_first(&mut bad, 1);
        assert_eq!(bad, [false, false, false, false, false, true, true, true]);
        let mut bad = drawn;
        number_good_ones_first(&mut bad, 4);
        assert_eq!(bad, [false, false, false, true, true, false, false, true]);
    }
}
