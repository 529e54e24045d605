//! Who waits for space, in which order they are served, and in which order they are given up.
//!
//! A drive has eleven waiting rooms: the rows of `Engine::ROOMS`. Whenever space or parity appeared
//! (`core.retry`), all rooms are tried again, in the order of the table: work that GC depends on comes
//! before work that only the host waits for. When nothing moves any more, no erase will ever bring the space that
//! is still waited for: then the rooms are given up one entry at a time, in the order of [`Room::GIVEN_UP`], until
//! something moves again.
//!
//! The first room that refuses a write for lack of space turns a drive that lost blocks or dies read-only
//! (`host::read_only`).

use crate::core::flash::FlashPayload;
use crate::core::jobs::Asker;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::write::seam::OwnRoom;
use device::waits::Wait;
use nand::ProgramOutcome;
use vocab::Cause;

/// A waiting room, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    ParityCache,
    Displaced,
    Rescued,
    Astray,
    Zones,
    Parked,
    StripeUpdates,
    Jobs,
    Buffer,
    UncoveredRepairs,
    UncoveredRows,
}

impl Room {
    /// The rooms that can be given up, in this order: first what costs no write, then what fails writes, last
    /// what leaves a rebuild incomplete.
    const GIVEN_UP: [Room; 9] = [
        Room::UncoveredRows,
        Room::Rescued,
        Room::Displaced,
        Room::Zones,
        Room::Jobs,
        Room::StripeUpdates,
        Room::ParityCache,
        Room::Buffer,
        Room::Parked,
    ];

    /// Whether writes wait here for space, of the host or on its behalf.
    const fn holds_writes(self) -> bool {
        matches!(self, Room::Displaced | Room::Zones | Room::Jobs | Room::StripeUpdates | Room::ParityCache | Room::Buffer)
    }
}

/// A row of the table of waiting rooms.
struct WaitingRoom<E> {
    room: Room,
    has_waiting: fn(&E) -> bool,
    /// Tries everything in the room again, in order, as far as there is space.
    retry: fn(&mut E),
    /// There is no space for what waits first, and there never will be. True if something moved.
    give_up: fn(&mut E) -> bool,
}

impl<P: FlashPayload> Engine<P> {
    /// All waiting rooms, in the order in which they are tried again.
    const ROOMS: [WaitingRoom<Self>; 11] = [
        // Updates of stripes that need an entry in the parity cache. They take what room there is; for the others
        // the least recently updated entries are committed. They fail with the commit that they wait for, or where
        // no entry can be committed.
        WaitingRoom {
            room: Room::ParityCache,
            has_waiting: |engine| engine.writer.has_waiting(OwnRoom::ParityCache),
            retry: |engine| engine.writer.retry(&mut engine.core, OwnRoom::ParityCache),
            give_up: |engine| engine.writer.give_up_first(&mut engine.core, OwnRoom::ParityCache),
        },
        // Programs that failed, until another page takes their contents: one of the same die, or of any die where
        // pages have no redundancy. Given up, a strip goes to any die that has room; else the program has failed.
        WaitingRoom {
            room: Room::Displaced,
            has_waiting: |engine| !engine.core.device.displaced.is_empty(),
            retry: Self::retry_displaced,
            give_up: Self::give_up_displaced,
        },
        // Pages of rows and groups whose program failed, until an open row or group takes them. Given up, their
        // codewords stand in for them; where these cannot, their writers are told that there is no room.
        WaitingRoom {
            room: Room::Rescued,
            has_waiting: |engine| engine.writer.moves.rescuing || !engine.writer.moves.waiting.is_empty(),
            retry: Self::place_rescued,
            give_up: Self::give_up_rescue,
        },
        // Blocks that returned another page than was asked for. They are collected out of turn.
        WaitingRoom {
            room: Room::Astray,
            has_waiting: |engine| !engine.care.damage.astray.is_empty(),
            retry: Self::want_astray,
            give_up: |_| false,
        },
        // Data and code pages whose segment is full, and code over rows or block groups that are. Given up, the first of
        // them fails.
        WaitingRoom {
            room: Room::Zones,
            has_waiting: |engine| engine.writer.has_waiting_in_segments(),
            retry: Self::retry_zones,
            give_up: Self::fail_waiting_in_zones,
        },
        // Strips that were solved for, until their die has room. Given up, the first of them goes to any die that has room, or
        // stays lost.
        WaitingRoom {
            room: Room::Parked,
            has_waiting: |engine| engine.care.rebuild.has_parked(),
            retry: Self::retry_rebuild,
            give_up: Self::drop_parked,
        },
        // Updates of stripes that lack a page on some die. Tried again, a write lets urgent work of its stripe go
        // first. Given up, the first update fails, and so does what waits in the parity cache for this commit.
        WaitingRoom {
            room: Room::StripeUpdates,
            has_waiting: |engine| engine.writer.has_waiting(OwnRoom::StripeUpdates),
            retry: |engine| engine.writer.retry(&mut engine.core, OwnRoom::StripeUpdates),
            give_up: |engine| engine.writer.give_up_first(&mut engine.core, OwnRoom::StripeUpdates),
        },
        // Writes and discards, of the host or of the write buffer, whose pages are not all placed. Given up, the
        // first of them fails.
        WaitingRoom {
            room: Room::Jobs,
            has_waiting: |engine| !engine.host.stalled.is_empty(),
            retry: Self::retry_jobs,
            give_up: Self::fail_first_job,
        },
        // Writes that need room in the write buffer. Given up, the first of them fails.
        WaitingRoom {
            room: Room::Buffer,
            has_waiting: |engine| engine.host.has_waiting_for_buffer(),
            retry: |engine| engine.host.retry_buffer(&mut engine.core, &engine.writer),
            give_up: |engine| {
                engine.host.fail_buffer_waiter(&mut engine.core);
                true
            },
        },
        // Repairs of pages whose row has no parity yet: the end of the row brings it.
        WaitingRoom {
            room: Room::UncoveredRepairs,
            has_waiting: |engine| !engine.reads.uncovered_repairs.is_empty(),
            retry: |engine| {
                let waiting = std::mem::take(&mut engine.reads.uncovered_repairs);
                waiting.into_iter().for_each(|target| engine.repair(target));
            },
            give_up: |_| false,
        },
        // Answers to writes whose row lost its parity. They are looked at whenever a row gets a parity, not here.
        // Given up, they are sent although one more loss would take the data.
        WaitingRoom {
            room: Room::UncoveredRows,
            has_waiting: |engine| engine.writer.has_uncovered(),
            retry: |_| {},
            give_up: Self::give_up_uncovered,
        },
    ];

    /// Tries again whatever waits for space.
    pub(crate) fn retry_stalled(&mut self) {
        for row in Self::ROOMS {
            if (row.has_waiting)(self) {
                (row.retry)(self);
                self.hand_on();
            }
        }
    }

    /// The drive fell idle. What only waits for company is finished; then what still waits for space will never
    /// get it and is given up, one entry at a time. True if anything moved.
    pub(crate) fn unstick(&mut self) -> bool {
        if self.power.mounting.is_some() || self.writer.cover_open(&mut self.core) {
            return true;
        }
        for log in 0..self.core.map.logs() {
            self.start_collecting_if_short(log);
        }
        self.retry_stalled();
        if self.core.is_mountable() && self.writer.uses_idle_time && self.host.requests.outstanding == 0 {
            self.writer.use_idle_time(&mut self.core);
            self.hand_on();
        }
        if !self.core.device.is_idle() || self.core.retry || self.core.is_pending(Timer::Answers) {
            return true;
        }
        if self.has_waiting_for_space() && (0..self.core.map.logs()).any(|log| self.erase_another(log)) {
            return true;
        }
        if self.care.rebuild.has_parked() && self.commit_what_keeps_room() {
            return true;
        }
        Room::GIVEN_UP.into_iter().any(|room| self.give_up(room))
    }

    /// The log's collector waits for a pin of its victim, and what holds that pin may wait for the room that the erase is to
    /// bring: an update keeps old versions until it is durable, and its program has failed. Another unit of which nothing
    /// is needed is erased instead. True if there is one.
    fn erase_another(&mut self, log: usize) -> bool {
        let Some(victim) = self.care.collectors[log].waits_for_a_pin(&self.core, log) else { return false };
        let Some(other) = self.core.map.condemn_unpinned(log) else { return false };
        if self.core.map.unit(other).valid > 0 {
            self.core.map.reprieve(other);
            return false;
        }
        self.core.map.reprieve(victim);
        self.begin_collecting(log, other, Cause::Gc);
        true
    }

    /// GC of a log may find nothing that it could erase, because partial parities keep old versions in its units, and
    /// begins no commit of these as long as that log has no room for parity. The parity of such a stripe may go to another die,
    /// which has room: it is committed. True if there is one.
    fn commit_what_keeps_room(&mut self) -> bool {
        let stripes = self.writer.committed_for_room(&self.core);
        for &stripe in &stripes {
            self.writer.commit(&mut self.core, stripe);
            self.hand_on();
        }
        !stripes.is_empty()
    }

    /// Gives up what waits first in the room. True if something moved.
    fn give_up(&mut self, room: Room) -> bool {
        let row = &Self::ROOMS[room as usize];
        if !(row.has_waiting)(self) {
            return false;
        }
        if room.holds_writes() && !(room == Room::Zones && self.writer.only_code_waits_in_segments()) {
            self.host.turn_read_only(&self.core);
        }
        let moved = (row.give_up)(self);
        self.hand_on();
        moved
    }

    /// Whether a write waits for space, of the host or on its behalf.
    pub(crate) fn has_waiting_for_space(&self) -> bool {
        Self::ROOMS.iter().any(|row| row.room.holds_writes() && (row.has_waiting)(self))
    }

    fn retry_jobs(&mut self) {
        while let Some(job) = self.host.stalled.pop_front() {
            self.host.drop_discarded(&mut self.core, job);
            self.core.job_waited(job, Wait::Space);
            if !self.place(job) {
                self.host.stalled.push_front(job);
                break;
            }
            self.hand_on();
        }
    }

    /// A program that failed finds no place on its die. True if there was one.
    fn give_up_displaced(&mut self) -> bool {
        let Some(command) = self.core.device.displaced.pop_front() else { return false };
        if !self.place_anywhere(&command) {
            self.program_over(&command, ProgramOutcome::Failed);
        }
        true
    }

    /// There is no room for the pages of the first job. True if there was one.
    fn fail_first_job(&mut self) -> bool {
        let Some(job) = self.host.stalled.pop_front() else { return false };
        if self.core.jobs[job].asker == Asker::Buffer {
            // A request waits for the room in the buffer that this job was to make. It fails with the job:
            // otherwise the same pages would be sent to flash again, and so for ever.
            self.host.fail_buffer_waiter(&mut self.core);
            self.hand_on();
        }
        self.host.fail_job(&mut self.core, job);
        self.hand_on();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive as Drive, tiny_drive};
    use ftl::{Stream, UnitId, UnitState};

    /// Giving up finds a room by its number: a row in another place would give up another room's work.
    #[test]
    fn every_room_has_its_row() {
        let found: Vec<usize> = Drive::ROOMS.iter().map(|row| row.room as usize).collect();
        assert_eq!(found, (0..11).collect::<Vec<_>>());
    }

    /// A write that waits can be refused, and is refused only after what costs no write: otherwise a drive would
    /// hang, or turn read-only too early.
    #[test]
    fn rooms_are_given_up_once_and_those_without_writes_first() {
        for room in Room::GIVEN_UP {
            assert_eq!(Room::GIVEN_UP.iter().filter(|&&other| other == room).count(), 1, "{room:?}");
        }
        let first = Room::GIVEN_UP.iter().position(|room| room.holds_writes()).expect("some hold writes");
        assert_eq!(&Room::GIVEN_UP[..first], &[Room::UncoveredRows, Room::Rescued]);
        let holds = Drive::ROOMS.iter().map(|row| row.room).filter(|room| room.holds_writes());
        assert_eq!(holds.filter(|room| Room::GIVEN_UP.contains(room)).count(), 6);
    }

    /// Half the blocks of a die are gone, a program failed there, and its update pins the collector's victim (torture, seed 507,
    /// 855142). Catches a drive that gives the page up though another unit only has to be erased; one that erases what
    /// is pinned or needed; and a victim that is forgotten.
    #[test]
    fn a_unit_is_erased_instead_of_a_victim_that_waits_for_a_pin() {
        let mut drive = tiny_drive(&tiny_setup("none", BufferKind::Off));
        while drive.core.map.take_page(0, Stream::Gc).is_some() {}
        let is_closed =
            |unit: &UnitId| drive.core.map.log_of(*unit) == 0 && drive.core.map.unit(*unit).state == UnitState::Closed;
        let closed: Vec<UnitId> = (0..drive.core.map.units() as UnitId).filter(is_closed).collect();
        assert!(!drive.erase_another(0), "the collector waits for nothing");
        closed.iter().for_each(|&unit| drive.core.map.pin(unit));
        assert!(drive.core.map.condemn_unit(closed[0]));
        drive.begin_collecting(0, closed[0], Cause::Gc);
        assert!(!drive.erase_another(0), "all others are pinned, too");
        assert!(!drive.core.map.release(closed[1]), "it was not condemned");
        assert!(drive.erase_another(0));
        drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        assert_eq!(drive.core.map.unit(closed[1]).state, UnitState::Free);
        // The log is short yet: the victim that was left is taken again.
        assert_eq!((drive.care.collectors[0].victim, drive.core.map.unit(closed[0]).pins), (Some(closed[0]), 1));
    }
}
