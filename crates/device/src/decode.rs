//! Decoders at work: a page that was read waits for the decoder of its channel.

use crate::Device;
use crate::contents::HostPayload;
use crate::ecc::Decoding;
use crate::slab::CommandId;
use nand::{FlashArray, ReadOutcome};
use vocab::Nanos;

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// The page of a read goes to the decoder of its channel, which has the event `timer` of the calendar.
    pub fn decode_later(&mut self, id: CommandId, outcome: ReadOutcome, time: Nanos, timer: impl Fn(usize) -> usize) {
        let die = self.grid.die_of(self.commands[id].ppn);
        let channel = self.grid.channel_of(die).index();
        let (resource, now) = (timer(channel), self.now);
        let ecc = self.ecc.as_mut().expect("only pages with a code are decoded");
        ecc.ladder.follow(id, outcome, resource);
        let until = ecc.queue(channel, die, Decoding { command: id, outcome, until: now }, time);
        if !self.calendar.is_pending(resource) {
            self.calendar.schedule(resource, until);
        }
    }

    /// A decoder is done with a page: the command that read it, and what came of it. `None`: it is to be read again.
    pub fn decoded(&mut self, channel: usize, timer: usize) -> Option<(CommandId, ReadOutcome)> {
        let ecc = self.ecc.as_mut().expect("decoders belong to ECC");
        let Decoding { command: id, outcome, .. } = ecc.decoders[channel].pop_front().expect("a decoder works on something");
        match ecc.decoders[channel].front() {
            Some(next) => self.calendar.schedule(timer, next.until),
            None => self.calendar.clear(timer),
        }
        let die = self.grid.die_of(self.commands[id].ppn);
        if self.go_back(id, die) {
            return None;
        }
        let ecc = self.ecc.as_mut().expect("decoders belong to ECC");
        ecc.of_die[die.index()] -= 1;
        self.watch_decoded(id);
        Some((id, outcome))
    }
}
