//! The age of a drive: P/E cycles, reads and bad blocks of its flash (decision D12).

use crate::config::{Age, Setup};
use crate::engine::Engine;
use device::contents::HostPayload;
use nand::FlashArray;
use vocab::{BlockAddr, Streams};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Stripes whose blocks have become worn get the parity that asks for.
    pub(crate) fn age_stripes(&mut self) {
        self.tell_worn_strips();
        self.core.device.timed = false;
        let stripes = self.stripe_count();
        while let Some(stripe) = self.stripe_scheme_mut().next_unprotected(stripes) {
            self.build_parity(stripe, None);
            self.settle();
        }
        self.finish_untimed();
    }

    /// Gives every block its P/E cycles and reads.
    pub(crate) fn wear(&mut self, age: &Age, streams: &Streams) {
        let (mut draws, mut scattered) = (streams.stream("age/pe"), streams.stream("age/worn"));
        let (mean, deviation) = (f64::from(age.pe_cycles.0), age.pe_deviation);
        for block in (0..self.core.device.grid.geometry().blocks()).map(BlockAddr) {
            let worn = age.worn_blocks > 0.0 && scattered.chance(age.worn_blocks);
            let mean = if worn { f64::from(age.worn_pe_cycles.0) } else { mean };
            let added = if deviation > 0.0 { (mean + deviation * draws.normal()).round().max(0.0) } else { mean } as u32;
            self.core.device.array.set_age(block, |info| {
                info.pe += added;
                // Nobody can have read an erased block.
                info.reads = if info.next_page > 0 { age.reads } else { 0 };
            });
            let (unit, pe) = (self.core.map.unit_of_block(block), self.core.device.array.block(block).pe);
            self.core.map.set_pe(unit, pe);
        }
    }
}

/// Marks factory-bad blocks.
pub(crate) fn mark_bad_blocks<P: HostPayload>(array: &mut impl FlashArray<P>, setup: &Setup, streams: &Streams) {
    if setup.age.bad_blocks <= 0.0 {
        return;
    }
    let mut draws = streams.stream("nand/bad-blocks");
    for block in 0..setup.drive.geometry.blocks() {
        if draws.chance(setup.age.bad_blocks) {
            array.set_age(BlockAddr(block), |info| info.bad = true);
        }
    }
}
