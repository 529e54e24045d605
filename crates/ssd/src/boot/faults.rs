//! Faults that a drive has from its beginning, once its history is written: the settings `faults`.

use crate::config::{Faults, SetupError};
use nand::Faulty;
use vocab::{Stream, Streams};

/// Refuses faults that come later to a drive whose requests no one counts from its beginning.
pub(crate) fn check_from_the_beginning(faults: &Faults) -> Result<(), SetupError> {
    match faults.dead_die_at_request {
        0 if faults.replace_after.is_some() => {
            let what =
                "faults.replace_after: found a time, valid is off; of a drive that is served `replace die` replaces a dead die";
            Err(SetupError::new(what))
        }
        0 => Ok(()),
        at => {
            let what =
                format!("faults.dead_die_at_request: found {at}, valid is 0; a schedule has what happens to a drive later");
            Err(SetupError::new(what))
        }
    }
}

/// From now on blocks wear out and reads are wrong as these settings say.
pub(crate) fn begin<A>(array: &mut Faulty<A>, faults: &Faults, streams: &Streams) {
    wear_out_at_random(array, faults, 0.0, streams.stream("nand/wear-out"));
    if faults.silent > 0.0 {
        array.fail_silently(faults.silent, streams.stream("nand/silent"));
    }
}

/// From now on blocks wear out if these settings say so, the next one with at least this chance.
pub(crate) fn wear_out_at_random<A>(array: &mut Faulty<A>, faults: &Faults, chance: f64, draws: Stream) {
    if faults.wear_out > 0.0 {
        array.wear_out_at_random(faults.wear_out, chance, draws);
    }
}
