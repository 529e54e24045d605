//! The channel that several dies share: data pass in the order of asking, commands go in between.

use std::collections::VecDeque;
use vocab::{Nanos, SimTime};

/// One channel, with the transfers that are booked on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    /// When all that is booked has passed.
    free: SimTime,
    /// When transfers that have not ended begin and end.
    booked: VecDeque<(SimTime, SimTime)>,
}

impl Channel {
    /// When data pass that are ready then: behind all that is booked.
    #[inline]
    pub fn data(&mut self, now: SimTime, ready: SimTime, time: Nanos) -> SimTime {
        let begins = self.free.max(ready);
        self.free = begins + time;
        while self.booked.front().is_some_and(|(_, ends)| *ends <= now) {
            self.booked.pop_front();
        }
        self.booked.push_back((begins, self.free));
        begins
    }

    /// When the command of a read or an erase that is ready then passes. It waits for the transfer under way and not for those that are
    /// booked behind that: a controller sends some cycles of command first, so that cells work while data of other dies pass. Its time on
    /// the channel is added behind all that is booked.
    #[inline]
    pub fn command(&mut self, ready: SimTime, time: Nanos) -> SimTime {
        let begins = self.next_gap(ready);
        if time.0 > 0 {
            self.free = self.free.max(begins) + time;
        }
        begins
    }

    /// When the transfer has ended that is under way then.
    #[inline]
    pub fn next_gap(&self, ready: SimTime) -> SimTime {
        let under_way = self.booked.iter().find(|(_, ends)| *ends > ready).filter(|(begins, _)| *begins < ready);
        under_way.map_or(ready, |(_, ends)| *ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three transfers are booked, and a command comes during the first. Catches a command that waits for all of them, one that breaks a
    /// transfer off, one that waits for a transfer that begins in this moment or later, and a command whose time is not counted.
    #[test]
    fn a_command_waits_for_the_transfer_under_way_alone() {
        let mut channel = Channel::default();
        let at = SimTime;
        assert_eq!(channel.data(at(0), at(0), Nanos(100)), at(0));
        assert_eq!(channel.data(at(0), at(0), Nanos(100)), at(100));
        assert_eq!(channel.data(at(10), at(250), Nanos(100)), at(250));
        assert_eq!(
            [0, 30, 100, 130, 200, 220, 250, 260].map(|ready| channel.next_gap(at(ready)).0),
            [0, 100, 100, 200, 200, 220, 250, 350]
        );
        assert_eq!(channel.command(at(30), Nanos(5)), at(100));
        assert_eq!(channel.data(at(30), at(30), Nanos(100)), at(355), "the command takes its time, behind what is booked");
    }
}
