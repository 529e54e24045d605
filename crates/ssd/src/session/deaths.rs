//! A die that dies in a life, between two stretches of it: the drive rebuilds what it held by its scheme, without time of commands.

use crate::boot::precondition::finish_untimed;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::session::{Session, inside, kill};
use crate::write::RebuiltBy;
use device::folds::Folds;
use vocab::DieId;

/// A drive after the death of a die and its rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterDeath {
    /// Logical pages programmed by the rebuild, those of parity and those without data among them.
    pub programmed: u64,
    /// Superblocks and strips that could not be rebuilt: there is no room for them, or no die.
    pub left: u64,
    /// Whether a spare die has the place of the dead one.
    pub is_replaced: bool,
}

impl Session {
    /// The die stops answering, permanently, and the drive rebuilds what it held, as far as its scheme and its room allow. No time passes. With
    /// `spare` a new die takes its place: at once under static stripes, and in a group log once it has rebuilt into spare room. One that lacks
    /// that room never takes it in, nor does a scheme without redundancy.
    ///
    /// The drive must be one that [lives](Self::live).
    ///
    /// # Panics
    /// If the die is dead.
    pub fn lose_die(&mut self, die: DieId, spare: bool) -> AfterDeath {
        inside!(self.inner_mut(), prepared => lose(&mut prepared.engine, die, spare))
    }
}

fn lose<P: FlashPayload>(engine: &mut Engine<P>, die: DieId, spare: bool) -> AfterDeath {
    assert!(!engine.core.device.is_dead(die), "{die} is dead already");
    engine.core.device.timed = false;
    engine.core.device.folds = Folds::new(engine.core.device.grid.slots_per_page());
    kill(engine, die);
    if spare && engine.writer.facts.rebuilt_by != RebuiltBy::Nothing {
        engine.replace_from(die, engine.core.device.now);
    }
    loop {
        engine.hand_on();
        engine.settle();
        if engine.care.replacements.is_any_asked() {
            engine.replacements_due();
            engine.hand_on();
            engine.settle();
        }
        if !engine.unstick() {
            break;
        }
    }
    let after = AfterDeath {
        programmed: engine.core.device.folds.programmed_slots(),
        left: engine.care.rebuild_left(&engine.core),
        is_replaced: !engine.core.device.is_dead(die),
    };
    finish_untimed(engine);
    after
}
