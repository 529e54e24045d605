//! A drive whose requests come one by one, from someone who waits for answers: a device, not a replay.

use crate::core::flash::FlashPayload;
use crate::core::timer::{Resource, Timer};
use crate::engine::Engine;
use vocab::{HostCommand, SimTime};

/// Outcome of one step of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something happened, or may happen now.
    On,
    /// Nothing will happen until a request arrives.
    AtRest,
}

impl<P: FlashPayload> Engine<P> {
    /// Requests come one by one from now on.
    pub(crate) fn go_online(&mut self) {
        self.core.clear(Timer::Arrivals);
        self.writer.run_begins(&mut self.core);
        self.after_event();
    }

    /// A request that has waited since then arrives now. The drive must take requests ([`Self::is_off_line`]).
    pub(crate) fn submit_since(&mut self, command: &HostCommand, since: SimTime) {
        self.arrive(command, since.min(self.core.device.now));
        self.after_event();
    }

    /// The next event, if it comes before `end`.
    pub(crate) fn turn(&mut self, end: SimTime) -> Turn {
        self.after_event();
        match self.care.next_event(&mut self.core) {
            Some((time, _)) if time > end => Turn::AtRest,
            Some((time, resource)) => {
                // Events that were due while the drive was without power are due now.
                self.core.device.now = time.max(self.core.device.now);
                self.core.device.watch_event();
                match resource {
                    Resource::Timer(Timer::Arrivals) => self.core.clear(Timer::Arrivals),
                    own => self.own_event(own),
                }
                self.hand_on();
                self.after_event();
                Turn::On
            }
            None if self.unstick() => Turn::On,
            None => Turn::AtRest,
        }
    }
}
