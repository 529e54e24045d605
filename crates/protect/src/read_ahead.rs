//! Paper: Y.-B. Chang and L.-P. Chang, "An Erasure-code-based Striping Scheme for NAND-Flash Storage
//! System", master thesis, National Chiao Tung University, 2007, section 3.3: read-ahead.
//!
//! Idea: a code group is read most freely as a whole. Reads that go on where the last one of a thread
//! ended are counted in a table of threads; past a threshold they are turned into reads of whole groups,
//! and what is left over waits in a buffer of one group. A read starts a thread only if it continues one
//! of the recent reads in a sliding window, so that random reads do not drive threads out of the table.
//!
//! Differs: the table is asked before the window, because a read that continues a thread never entered
//! the window. A read continues another if it starts at the very sector where that ended; the paper
//! compares data blocks. Writes empty the buffers they touch.
//! Invariant: a buffer is only called upon for sectors that were fetched into it and not written since.

use std::collections::VecDeque;
use std::ops::Range;
use vocab::Lba;

/// Facts on which read-ahead depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAheadSettings {
    /// Threads that are followed.
    pub threads: u32,
    /// Recent reads that a new thread may continue.
    pub window: u32,
    /// Sectors in sequence from which on reads are of whole groups.
    pub over_sectors: u64,
    /// Sectors of a code group.
    pub group_sectors: u64,
    /// The end of the drive.
    pub end: Lba,
}

/// How a read of a followed thread is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readahead {
    /// Which buffer.
    pub thread: usize,
    /// First sectors of the read that are in the buffer.
    pub from_buffer: u64,
    /// Blocks to read from flash: whole groups, the last of which replaces what was in the buffer.
    pub fetch: Option<Extent>,
}

/// Sectors in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first.
    pub lba: Lba,
    /// How many.
    pub sectors: u64,
}

#[derive(Clone, Debug)]
struct Thread {
    /// Where its next read starts.
    next: Lba,
    /// Sectors in sequence so far.
    sectors: u64,
    /// Contents of its buffer.
    buffer: Range<u64>,
    used: u64,
}

/// The table of threads and the window of recent reads. What it calls a buffer's may still be on its way
/// from flash: a read waits for it.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    settings: ReadAheadSettings,
    threads: Vec<Thread>,
    /// Ends and lengths of recent reads that continue nothing, oldest first.
    window: VecDeque<(Lba, u64)>,
    /// Reads so far.
    clock: u64,
}

impl ReadAhead {
    /// # Panics
    /// If there are no threads, no window, or groups without sectors.
    #[must_use]
    pub fn new(settings: ReadAheadSettings) -> Self {
        assert!(settings.threads > 0 && settings.window > 0 && settings.group_sectors > 0, "{settings:?}");
        Self { settings, threads: Vec::new(), window: VecDeque::new(), clock: 0 }
    }

    /// A read of the host arrives. `None`: it is served as it is.
    pub fn on_read(&mut self, lba: Lba, sectors: u32) -> Option<Readahead> {
        let end = lba.0.checked_add(sectors.into()).filter(|end| sectors > 0 && *end <= self.settings.end.0)?;
        self.clock += 1;
        let thread = self.thread_of(lba, end)?;
        let of = &mut self.threads[thread];
        (of.next, of.used) = (Lba(end), self.clock);
        of.sectors = of.sectors.saturating_add(sectors.into());
        (of.sectors > self.settings.over_sectors).then(|| self.serve(thread, lba.0..end))
    }

    /// The thread that a read continues, perhaps a new one. Else the read enters the window.
    fn thread_of(&mut self, lba: Lba, end: u64) -> Option<usize> {
        if let Some(thread) = self.threads.iter().position(|thread| thread.next == lba) {
            return Some(thread);
        }
        let Some(at) = self.window.iter().position(|(end, _)| *end == lba) else {
            if self.window.len() == self.settings.window as usize {
                self.window.pop_front();
            }
            self.window.push_back((Lba(end), end - lba.0));
            return None;
        };
        let (_, sectors) = self.window.remove(at).expect("it is there");
        let new = Thread { next: lba, sectors, buffer: 0..0, used: self.clock };
        if self.threads.len() < self.settings.threads as usize {
            self.threads.push(new);
            return Some(self.threads.len() - 1);
        }
        let oldest = (0..self.threads.len()).min_by_key(|&thread| self.threads[thread].used).expect("there are threads");
        self.threads[oldest] = new;
        Some(oldest)
    }

    fn serve(&mut self, thread: usize, read: Range<u64>) -> Readahead {
        let size = self.settings.group_sectors;
        let buffer = &mut self.threads[thread].buffer;
        let held = if buffer.contains(&read.start) { buffer.end.min(read.end) } else { read.start };
        let from_buffer = held - read.start;
        if held == read.end {
            return Readahead { thread, from_buffer, fetch: None };
        }
        let first = held / size * size;
        let last = (read.end - 1) / size * size;
        let end = (last + size).min(self.settings.end.0);
        *buffer = last..end;
        Readahead { thread, from_buffer, fetch: Some(Extent { lba: Lba(first), sectors: end - first }) }
    }

    /// Sectors change: what buffers hold of them, or near them, is forgotten.
    pub fn on_write(&mut self, lba: Lba, sectors: u32) {
        let end = lba.0.saturating_add(sectors.into());
        for thread in self.threads.iter_mut().filter(|thread| thread.buffer.start < end && lba.0 < thread.buffer.end) {
            thread.buffer = 0..0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    /// Groups of 64 sectors, on a drive of 2^20.
    fn table(threads: u32, window: u32) -> ReadAhead {
        ReadAhead::new(ReadAheadSettings { threads, window, over_sectors: 128, group_sectors: 64, end: Lba(1 << 20) })
    }

    fn fetched(lba: u64, sectors: u64) -> Option<Extent> {
        Some(Extent { lba: Lba(lba), sectors })
    }

    #[test]
    fn past_128_sectors_a_sequence_is_read_in_groups_and_the_rest_waits_in_the_buffer() {
        let mut table = table(20, 20);
        for lba in (1000..1128).step_by(8) {
            assert_eq!(table.on_read(Lba(lba), 8), None, "{lba}");
        }
        // 1128 lies in the group 1088..1152.
        let first = Readahead { thread: 0, from_buffer: 0, fetch: fetched(1088, 64) };
        assert_eq!(table.on_read(Lba(1128), 8), Some(first));
        for lba in [1136, 1144] {
            assert_eq!(table.on_read(Lba(lba), 8), Some(Readahead { thread: 0, from_buffer: 8, fetch: None }));
        }
        assert_eq!(table.on_read(Lba(1152), 4), Some(Readahead { thread: 0, from_buffer: 0, fetch: fetched(1152, 64) }));
        // Partly in the buffer; the rest takes two groups, the last of which stays.
        let rest = Readahead { thread: 0, from_buffer: 60, fetch: fetched(1216, 128) };
        assert_eq!(table.on_read(Lba(1156), 130), Some(rest));
        assert_eq!(table.on_read(Lba(1286), 10), Some(Readahead { thread: 0, from_buffer: 10, fetch: None }));
    }

    #[test]
    fn random_reads_leave_threads_in_the_table() {
        let mut table = table(2, 4);
        let mut stream = Streams::new(1).stream("read-ahead");
        let mut served = 0;
        for step in 0..40 {
            served += u32::from(table.on_read(Lba(step * 16), 16).is_some());
            for _ in 0..3 {
                // Far from the thread, and never in sequence.
                assert_eq!(table.on_read(Lba(500_000 + stream.below(4000) * 100), 8), None);
            }
        }
        // 8 reads are 128 sectors.
        assert_eq!(served, 32);
    }

    #[test]
    fn twenty_threads_in_turn_are_all_followed() {
        let mut table = table(20, 20);
        let mut served = 0;
        for step in 0..40u64 {
            served += (0..20).filter(|thread| table.on_read(Lba(thread * 10_000 + step * 8), 8).is_some()).count();
        }
        // All but the first 16 reads of each.
        assert_eq!(served, 20 * 24);
    }

    #[test]
    fn the_thread_read_least_recently_makes_room() {
        let mut table = table(2, 8);
        let mut read = |thread: u64, step: u64| table.on_read(Lba(thread * 10_000 + step * 128), 128).map(|read| read.thread);
        assert_eq!([read(0, 0), read(0, 1), read(1, 0), read(1, 1)], [None, Some(0), None, Some(1)]);
        assert_eq!([read(0, 2), read(2, 0), read(2, 1)], [Some(0), None, Some(1)]);
        // Thread 1 starts over, and takes the place of 0.
        assert_eq!([read(1, 2), read(1, 3), read(0, 3), read(2, 2)], [None, Some(0), None, Some(1)]);
    }

    #[test]
    fn a_write_empties_the_buffers_it_touches() {
        for (lba, sectors, is_touched) in [(0, 128, false), (127, 2, true), (191, 1, true), (192, 8, false), (128, 0, false)] {
            let mut table = table(1, 1);
            (0..17).for_each(|step| {
                table.on_read(Lba(step * 8), 8);
            });
            table.on_write(Lba(lba), sectors);
            let next = table.on_read(Lba(136), 8).expect("a followed thread");
            assert_eq!((next.from_buffer, next.fetch.is_some()), if is_touched { (0, true) } else { (8, false) }, "{lba}");
        }
    }

    #[test]
    fn reads_of_nothing_and_beyond_the_end_change_nothing() {
        let mut table = table(1, 1);
        for (lba, sectors) in [(0, 0), (1 << 20, 1), ((1 << 20) - 1, 2), (u64::MAX, u32::MAX)] {
            assert_eq!(table.on_read(Lba(lba), sectors), None);
        }
        assert!(table.window.is_empty() && table.threads.is_empty());
        // The last group ends with the drive.
        let mut end = ReadAhead::new(ReadAheadSettings { end: Lba(100), over_sectors: 8, ..table.settings });
        end.on_read(Lba(80), 8);
        assert_eq!(end.on_read(Lba(88), 8), Some(Readahead { thread: 0, from_buffer: 0, fetch: fetched(64, 36) }));
    }

    /// Whatever comes, what is said to be in a buffer was fetched by that thread last, and is unwritten.
    #[test]
    fn buffers_hold_what_is_taken_from_them() {
        let mut stream = Streams::new(2).stream("read-ahead");
        let mut table = table(3, 3);
        let mut buffers = vec![vec![false; 2048]; 3];
        let mut ends = [0u64; 4];
        let mut taken = 0;
        for step in 0..60_000 {
            let (of, sectors) = (stream.below(4) as usize, 1 + stream.below(40));
            if stream.chance(0.02) || ends[of] + sectors > 1900 {
                ends[of] = stream.below(1500);
            }
            if stream.chance(0.05) {
                let lba = stream.below(1900);
                table.on_write(Lba(lba), sectors as u32);
                buffers.iter_mut().for_each(|buffer| buffer[lba as usize..(lba + sectors) as usize].fill(false));
                continue;
            }
            let (lba, end) = (ends[of], ends[of] + sectors);
            ends[of] = end;
            let Some(served) = table.on_read(Lba(lba), sectors as u32) else { continue };
            let buffer = &mut buffers[served.thread];
            assert!((lba..lba + served.from_buffer).all(|at| buffer[at as usize]), "step {step}");
            taken += served.from_buffer;
            if let Some(Extent { lba: from, sectors }) = served.fetch {
                let to = from.0 + sectors;
                assert!(from.0 <= lba + served.from_buffer && end <= to && from.0 % 64 == 0 && to % 64 == 0, "step {step}");
                buffer.fill(false);
                buffer[to as usize - 64..to as usize].fill(true);
            }
            assert!(served.fetch.is_some() || served.from_buffer == sectors, "step {step}");
        }
        assert!(taken > 10_000, "{taken} sectors from buffers");
    }
}
