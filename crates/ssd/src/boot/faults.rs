//! Faults that a drive has from its beginning, once its history is written: the settings `faults`.

use crate::config::Faults;
use nand::Faulty;
use vocab::{Stream, Streams};

/// From now on blocks wear out and reads are wrong as these settings say.
pub(crate) fn begin<A>(array: &mut Faulty<A>, faults: &Faults, streams: &Streams) {
    tire(array, faults, 0.0, streams.stream("nand/wear-out"));
    if faults.silent > 0.0 {
        array.hush(faults.silent, streams.stream("nand/silent"));
    }
}

/// From now on blocks wear out if these settings say so, the next one with at least this chance.
pub(crate) fn tire<A>(array: &mut Faulty<A>, faults: &Faults, chance: f64, draws: Stream) {
    if faults.wear_out > 0.0 {
        array.tire(faults.wear_out, chance, draws);
    }
}
