//! The path between host and flash: firmware that takes up commands one by one, and the link that carries their data.
//!
//! A command that the rest of the drive has done passes both before it is answered, as in NVMeVirt's model of whole drives.
//! Whether firmware works before or behind the flash changes no latency, as long as commands do not overtake each other there.

use crate::config::Controller;
use device::facts::RequestKind;
use vocab::{BusRate, Bytes, Nanos, SECTOR_BYTES, SimTime};

/// Firmware and link of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    controller: Controller,
    /// When the processor can take up the next command.
    processor: SimTime,
    /// When the link is free, towards the host and away from it.
    link: [SimTime; 2],
}

impl Front {
    /// Those of a controller; `None`: commands pass them at once.
    pub fn new(controller: Controller) -> Option<Self> {
        let costs = controller != Controller::default();
        costs.then_some(Self { controller, processor: SimTime::ZERO, link: [SimTime::ZERO; 2] })
    }

    /// When a command of this many sectors, done by the rest of the drive now, is answered.
    pub fn answer_at(&mut self, now: SimTime, kind: RequestKind, sectors: u32) -> SimTime {
        let controller = &self.controller;
        let (latency, every, link) = match kind {
            RequestKind::Read => (controller.read, controller.read_every, 0),
            _ => (controller.write, controller.write_every, 1),
        };
        let bytes = match kind {
            RequestKind::Read | RequestKind::Write => Bytes(u64::from(sectors) * SECTOR_BYTES),
            RequestKind::Flush | RequestKind::Discard => Bytes(0),
        };
        let carried = match controller.link_mb_per_s {
            0 => Nanos(0),
            rate => BusRate(rate).transfer(bytes),
        };
        let handled = self.processor.max(now) + every;
        self.processor = handled;
        let carried = self.link[link].max(handled) + carried;
        self.link[link] = carried;
        carried + latency + Nanos(controller.per_4k.0 * bytes.0.div_ceil(4096))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLLER: Controller = Controller {
        read: Nanos(10_000),
        write: Nanos(3_000),
        per_4k: Nanos(500),
        read_every: Nanos(1_000),
        write_every: Nanos(2_000),
        link_mb_per_s: 4096,
    };

    fn front() -> Front {
        Front::new(CONTROLLER).expect("it has costs")
    }

    #[test]
    fn a_lone_command_takes_its_latency_its_turn_and_its_way() {
        let answered = |kind, sectors| front().answer_at(SimTime(7), kind, sectors).0 - 7;
        // 4096 bytes at 4096 MB/s are 1 us.
        assert_eq!(answered(RequestKind::Read, 8), 1_000 + 1_000 + 10_000 + 500);
        assert_eq!(answered(RequestKind::Write, 32), 2_000 + 4_000 + 3_000 + 4 * 500);
        assert_eq!(answered(RequestKind::Flush, 0), 2_000 + 3_000);
    }

    /// Catches commands that overtake each other in the processor, and directions of the link that wait for each other.
    #[test]
    fn commands_at_the_same_instant_queue_for_processor_and_link() {
        let mut front = front();
        let first = front.answer_at(SimTime(0), RequestKind::Read, 64);
        let second = front.answer_at(SimTime(0), RequestKind::Read, 64);
        assert_eq!(second.since(first), Nanos(8_000), "32 KiB each: the link is the limit");
        let write = front.answer_at(SimTime(0), RequestKind::Write, 8);
        assert_eq!(write.0, 2 * 1_000 + 2_000 + 1_000 + 3_000 + 500, "the other direction is free");
    }

    #[test]
    fn there_is_none_without_costs() {
        assert!(Front::new(Controller::default()).is_none());
        for one in
            [Controller { read: Nanos(1), ..Controller::default() }, Controller { link_mb_per_s: 1, ..Controller::default() }]
        {
            assert!(Front::new(one).is_some(), "{one:?}");
        }
    }
}
