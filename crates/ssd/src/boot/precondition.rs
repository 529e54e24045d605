//! The state in which a workload finds the drive: a real write history, and an age.
//!
//! Preconditioning fills the logical space in ascending order and then overwrites it at random
//! until write amplification no longer moves. A verdict on that comes when GC has run in
//! every log: before, flash is written that was never written, at a write amplification of 1. It
//! runs the very code that host writes run, only without time: each flash command completes
//! before the next begins.

use crate::boot::demand::Demand;
use crate::config::Precondition;
use crate::core::flash::FlashPayload;
use crate::core::jobs::{Asker, PageWrite};
use crate::engine::Engine;
use crate::write::ahead::Wanted;
use device::facts::RequestKind;
use device::folds::Folds;
use ftl::Ftl;
use vocab::{HostCommand, HostOp, Lpn, SimTime, Stream, Streams};

/// Result of preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Steady {
    /// Overwrites in multiples of the working set.
    pub overwrites: f64,
    /// Write amplification of the last window.
    pub waf: f64,
    /// Whether the windows agreed before the limit.
    pub converged: bool,
}

/// How far the write history of a new drive has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryProgress {
    /// Logical pages written for the first time.
    pub filled: u64,
    /// Pages that are to be filled.
    pub to_fill: u64,
    /// Pages overwritten after that.
    pub overwritten: u64,
    /// Pages that are overwritten if write amplification never settles; usually far fewer are.
    pub overwritten_at_most: u64,
    /// Pages that the workload itself wrote after that, before it is measured.
    pub warmed: u64,
    /// The same if write amplification never settles.
    pub warmed_at_most: u64,
}

/// Hears how far a write history has come, every some thousand pages.
pub(crate) type HearHistory<'a> = &'a mut dyn FnMut(HistoryProgress);

/// Pages between two reports of progress: some milliseconds.
const REPORTED_EVERY: u32 = 1 << 13;

/// Overwrites drawn ahead of their turn.
const AHEAD: usize = 16;

/// Flash that nothing had to be collected for yet: until it is used up, write amplification is that of a new drive.
pub(crate) struct ErasedFlash {
    /// Of each log, its free units before the first overwrite; `None`: GC ran in it.
    logs: Vec<Option<u32>>,
}

impl ErasedFlash {
    pub(crate) fn before_overwrites(map: &Ftl) -> Self {
        Self { logs: (0..map.logs()).map(|log| Some(map.free_units(log))).collect() }
    }

    /// Whether GC ran in every log that is written. Before the drive is aged, units that were erased are those
    /// with P/E cycles. A log with as many free units as before is not written by these overwrites.
    pub(crate) fn is_used_up(&mut self, map: &Ftl) -> bool {
        if self.logs.iter().any(Option::is_some) {
            for unit in (0..map.units() as u32).filter(|&unit| map.unit(unit).pe > 0) {
                self.logs[map.log_of(unit)] = None;
            }
        }
        (0..).zip(&self.logs).all(|(log, free)| free.is_none_or(|free| map.free_units(log) == free))
    }
}

/// Writes the history; the drive is then at time zero, with all commands completed.
pub(crate) fn precondition<P: FlashPayload>(
    engine: &mut Engine<P>,
    settings: &Precondition,
    streams: &Streams,
    hear: HearHistory<'_>,
) -> Steady {
    let share = |share: f64, of: u32| (share.clamp(0.0, 1.0) * f64::from(of)).round() as u32;
    let filled = share(settings.fill, engine.core.map.user_slots());
    let working_set = share(settings.working_set, filled);
    engine.core.device.timed = false;
    // The workload finds an SLC cache empty.
    engine.core.map.bypass_slc();
    // A row's worth at a time, as a host that writes sequentially does.
    let batch = history_batch(engine);
    let overwrites = if settings.converge_within > 0.0 { settings.overwrite_at_most } else { 0.0 };
    let limit = (overwrites * f64::from(working_set)) as u64;
    let progress = |filled_now: u32, overwritten| HistoryProgress {
        filled: u64::from(filled_now),
        to_fill: u64::from(filled),
        overwritten,
        overwritten_at_most: limit,
        ..HistoryProgress::default()
    };
    let (mut lpn, mut reported) = (0, 0);
    while lpn < filled {
        if lpn >= reported {
            hear(progress(lpn, 0));
            reported = lpn + REPORTED_EVERY;
        }
        let end = (lpn + batch).min(filled);
        write_now(engine, lpn..end);
        lpn = end;
    }
    let mut draws = streams.stream("precondition/overwrites");
    let mut hear = |overwritten| hear(progress(filled, overwritten));
    let steady = overwrite_until_steady(engine, settings, working_set, limit, &mut draws, &mut hear);
    finish_untimed(engine);
    engine.core.map.use_slc();
    steady
}

/// Pages written at once: what fills a row, so that history costs each scheme its least.
pub(crate) fn history_batch<P: FlashPayload>(engine: &Engine<P>) -> u32 {
    engine.writer.in_use(&engine.core).full_write(&engine.core.device.grid)
}

pub(crate) fn finish_untimed<P: FlashPayload>(engine: &mut Engine<P>) {
    // The written history is durable when a cut may come; without cuts the last page waits to be full.
    if engine.core.is_mountable() {
        engine.writer.send_open_page(&mut engine.core);
    }
    engine.settle();
    if engine.writer.cover_open(&mut engine.core) {
        engine.settle();
    }
    debug_assert!(engine.core.device.is_idle());
    engine.core.device.timed = true;
    engine.core.device.folds = Folds::new(engine.core.device.grid.slots_per_page());
}

/// Overwrites the working set until write amplification no longer moves, at most `limit` pages; `hear` gets how many.
fn overwrite_until_steady<P: FlashPayload>(
    engine: &mut Engine<P>,
    settings: &Precondition,
    working_set: u32,
    limit: u64,
    draws: &mut Stream,
    hear: &mut dyn FnMut(u64),
) -> Steady {
    let mut steady = Steady { overwrites: 0.0, waf: 1.0, converged: settings.converge_within <= 0.0 };
    if working_set == 0 || steady.converged {
        return steady;
    }
    let window = (working_set / 4).max(1);
    let (mut written, mut past) = (0u64, Vec::new());
    let mut erased = ErasedFlash::before_overwrites(&engine.core.map);
    while written < limit {
        let before = engine.core.device.folds.programmed_slots();
        overwrite(engine, window, working_set, draws, &mut |done| hear(written + u64::from(done)));
        written += u64::from(window);
        let slots = engine.core.device.folds.programmed_slots() - before;
        steady.waf = slots as f64 / f64::from(window);
        steady.overwrites = written as f64 / f64::from(working_set);
        // A window that wrote flash no one had to erase says nothing of those to come.
        if !erased.is_used_up(&engine.core.map) {
            continue;
        }
        if let [.., a, b] = past[..] {
            let mean: f64 = (a + b) / 2.0;
            if (steady.waf - mean).abs() <= settings.converge_within * mean {
                steady.converged = true;
                break;
            }
        }
        past.push(steady.waf);
    }
    steady
}

/// Overwrites random pages, as many in one request as cost the scheme least.
fn overwrite<P: FlashPayload>(
    engine: &mut Engine<P>,
    count: u32,
    working_set: u32,
    draws: &mut Stream,
    hear: &mut dyn FnMut(u32),
) {
    let together = engine.writer.in_use(&engine.core).overwritten_at_once(&engine.core.device.grid) as usize;
    let (mut left, mut unreported) = (count as usize, 0);
    let mut drawn = Vec::new();
    while left > 0 {
        if unreported == 0 {
            hear(count - left as u32);
            unreported = REPORTED_EVERY as usize;
        }
        drawn.clear();
        drawn.extend((0..left.min(AHEAD.max(together))).map(|_| draws.below(u64::from(working_set)) as u32));
        // Random places of the map are far from any cache: fetch them side by side.
        drawn.iter().for_each(|&lpn| engine.writer.fetch_map(&engine.core, Lpn(lpn)));
        drawn.iter().for_each(|&lpn| engine.host.oracle.prefetch(Lpn(lpn)));
        drawn.iter().for_each(|&lpn| engine.writer.fetch_places(&engine.core, Lpn(lpn), Wanted::Write));
        if engine.writer.facts.reads_to_write {
            drawn.iter().for_each(|&lpn| engine.writer.fetch_contents(&engine.core, Lpn(lpn), Wanted::Write));
        }
        for batch in drawn.chunks(together) {
            write_now(engine, batch.iter().copied());
        }
        left -= drawn.len();
        unreported = unreported.saturating_sub(drawn.len());
    }
}

/// Writes pages as one request, to the end.
fn write_now<P: FlashPayload>(engine: &mut Engine<P>, lpns: impl Iterator<Item = u32>) {
    let per = engine.core.device.grid.geometry().sectors_per_slot();
    let job = engine.core.jobs.take();
    engine.core.jobs[job].reset(Asker::NoOne, RequestKind::Write, engine.core.device.now);
    for lpn in lpns.map(Lpn) {
        let version = engine.host.oracle.sent(lpn);
        let payload = engine.host.made_up(lpn, version);
        engine.core.jobs[job].pages.push(PageWrite { lpn, version, payload, from: 0, to: per, rank: 0 });
    }
    engine.place_or_wait(job);
    engine.host.part_done(&mut engine.core, job);
    engine.hand_on();
    engine.settle();
}

/// Executes host commands in order without time; what that asked of dies and channels. `each` is called before a
/// request arrives, with its number.
pub(crate) fn dry_run<P: FlashPayload>(
    engine: &mut Engine<P>,
    commands: &mut dyn Iterator<Item = HostCommand>,
    each: &mut dyn FnMut(&mut Engine<P>, u64),
) -> Demand {
    engine.core.device.timed = false;
    engine.core.device.folds = Folds::new(engine.core.device.grid.slots_per_page());
    for (number, command) in (0..).zip(commands) {
        each(engine, number);
        // Requests that the buffer completes are completed at once.
        engine.arrive(&HostCommand { at: SimTime::ZERO, ..command }, engine.core.device.now);
        engine.settle();
        debug_assert!(command.op != HostOp::Flush || engine.host.stalled.is_empty());
    }
    let geometry = engine.core.device.grid.geometry();
    let Folds { busy: dies, carried: channels, ecc, .. } = &engine.core.device.folds;
    let (of_dies, of_channels) = ((geometry.dies() - engine.core.device.losses.dead().len()).max(1), geometry.channels);
    Demand { dies: *dies, channels: *channels, decoders: ecc.decode, of_dies, of_channels }
}
