//! Write amplification of streams against theory.
//!
//! Where streams are isolated persistently, each is a log of its own that is written uniformly, in the blocks that it has: its
//! write amplification is that of a uniform workload with as much spare as these leave. How many blocks each has follows from the
//! victims: the block with the fewest valid pages of all streams. It is read off the drive.
//!
//! T is counted as in `write_amplification`: blocks that are closed when a victim is chosen. Between requests one less is, of the
//! stream that was collected last; over time each stream lacks as much of a block as it has of the erases.

use crate::common::{drive, setup};
use flashkeep_ssd as ssd;
use ssd::ftl::{Isolation, StreamConfig};
use ssd::{Pace, PayloadKind, RunResult, Session};
use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, Stream, StreamId, Streams};

const BLOCKS: u32 = 1024;
const BLOCK_PAGES: u32 = 32;
const SPARE: f64 = 0.2;
/// Half of the pages gets four fifths of the writes.
const TO_HOT: f64 = 0.8;
/// Overwrites in multiples of the user's pages. A cold page is rewritten each 2.5 of them: three times before what is measured.
const WARM_UP: u32 = 8;
const MEASURED: u32 = 4;

struct HotCold {
    pages: u32,
    hot: u32,
    draws: Stream,
}

impl HotCold {
    fn write(&self, lpn: u32) -> HostCommand {
        let (lba, stream) = (Lba(u64::from(lpn) * 8), StreamId(u8::from(lpn >= self.hot)));
        HostCommand { at: SimTime::ZERO, op: HostOp::Write(Fua::No), lba, sectors: 8, stream }
    }

    fn next(&mut self) -> HostCommand {
        let (first, pages) = if self.draws.chance(TO_HOT) { (0, self.hot) } else { (self.hot, self.pages - self.hot) };
        let lpn = first + self.draws.below(u64::from(pages)) as u32;
        self.write(lpn)
    }
}

/// Results of one run.
struct Found {
    result: RunResult,
    user_pages: u32,
    /// Closed blocks of each stream, the mean over the run.
    closed: [f64; 2],
}

fn run(isolation: Isolation) -> Found {
    let pages = (f64::from((BLOCKS - 3 - 3) * BLOCK_PAGES) * (1.0 - SPARE)).round() as u32 / 2 * 2;
    let mut setup = setup("none", drive(1, BLOCKS, BLOCK_PAGES, 1), 1.0);
    setup.gc.streams = StreamConfig { count: 2, isolation };
    // A victim is moved before the host's next page is placed, as the formulas have it.
    setup.gc.moves_in_flight = BLOCK_PAGES;
    setup.wear = ssd::ftl::WearConfig { dynamic: false, static_threshold: 0 };
    (setup.user_slots, setup.payload) = (pages, PayloadKind::None);
    let mut work = HotCold { pages, hot: pages / 2, draws: Streams::new(7).stream("test/hot-cold") };
    let mut order: Vec<u32> = (0..pages).collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, work.draws.below(i as u64 + 1) as usize));
    let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
    let pace = Pace::Closed { depth: 1 };
    session.run(&mut order.into_iter().map(|lpn| work.write(lpn)), pace, &mut |_| ());
    session.run(&mut (0..pages * WARM_UP).map(|_| work.next()), pace, &mut |_| ());
    let before = closed_blocks(&session);
    let result = session.run(&mut (0..pages * MEASURED).map(|_| work.next()), pace, &mut |_| ());
    let after = closed_blocks(&session);
    Found { result, user_pages: pages, closed: [0, 1].map(|stream| (before[stream] + after[stream]) / 2.0) }
}

/// Full blocks whose pages are of one stream.
fn closed_blocks(session: &Session) -> [f64; 2] {
    let mut pages = vec![[0; 2]; BLOCKS as usize];
    for page in session.inventory().pages {
        page.coverage.iter().for_each(|stream| pages[(page.ppn.0 / BLOCK_PAGES) as usize][stream as usize] += 1);
    }
    [0, 1].map(|stream| pages.iter().filter(|of| of[stream] == BLOCK_PAGES).count() as f64)
}

/// Catches write pointers that mix streams, and GC that moves a page into the wrong one.
#[test]
fn each_isolated_stream_has_the_write_amplification_of_a_uniform_workload() {
    let kinds = [Isolation::Off, Isolation::Initial, Isolation::Persistent];
    let [off, initial, persistent] =
        std::thread::scope(|scope| kinds.map(|kind| scope.spawn(move || run(kind))).map(|run| run.join().expect("the run ends")));
    let programs = |found: &Found, stream: usize| {
        let of = found.result.streams[stream];
        (of.written_pages + of.moved_pages) as f64
    };
    let all = programs(&persistent, 0) + programs(&persistent, 1);
    for stream in [0, 1] {
        let held = persistent.closed[stream] + programs(&persistent, stream) / all;
        let spare = 1.0 - f64::from(persistent.user_pages / 2) / (held * f64::from(BLOCK_PAGES));
        let (found, theory) = (persistent.result.streams[stream].waf().expect("writes"), theory::greedy(spare, BLOCK_PAGES));
        // The tolerance of uniform workloads in `write_amplification`.
        assert!((found / theory - 1.0).abs() < 0.01, "stream {stream}: {found}, theory {theory} at a spare of {spare}");
    }
    let waf = |found: &Found| found.result.flash.waf.expect("pages were written");
    let [of_none, of_some, of_all] = [&off, &initial, &persistent].map(waf);
    assert!(of_all < of_some && of_some < of_none, "persistent {of_all}, initial {of_some}, off {of_none}");
    for found in [&off, &initial, &persistent] {
        let (all, result) = (programs(found, 0) + programs(found, 1), &found.result);
        // Pages placed before the run may be programmed in it, and the other way round.
        let off = all - result.flash.programs.values().sum::<u64>() as f64;
        assert!(off.abs() <= f64::from(2 * BLOCK_PAGES), "{all} pages of streams, {off} more than programs");
        assert_eq!(result.streams.iter().map(|stream| stream.host_pages).sum::<u64>(), result.host.write_pages);
    }
}
