//! The series against bins made by hand of the same facts.

use super::*;
use crate::folds::Folds;
use vocab::{Bytes, ChannelId, Streams};

const DIES: usize = 3;

/// Events of a made-up drive for `span` ns, in order of time; each die serves one command after the other, and rests.
fn facts(seed: u64, span: u64) -> Vec<(SimTime, Fact)> {
    let mut draws = Streams::new(seed).stream("test/series");
    let mut facts: Vec<(SimTime, Fact)> = Vec::new();
    let step = span / 400;
    for die in 0..DIES {
        let mut now = 0;
        while now < span {
            let busy = 1 + draws.below(step);
            now += busy;
            let cause = Cause::ALL[draws.below(Cause::ALL.len() as u64) as usize];
            let (die, busy) = (Some(DieId(die as u16)), Nanos(busy));
            facts.push((SimTime(now), Fact::Served { die, busy, channel: ChannelId(0), carried: Nanos(1), moved: Bytes(0) }));
            let either = [Fact::Read { ppn: 1, cause }, Fact::Erased { block: 1, cause }][draws.below(2) as usize];
            facts.push((SimTime(now), either));
            facts.push((SimTime(now), Fact::Programmed { ppn: 1, cause, filled: 1 }));
            now += draws.below(2) * draws.below(step);
        }
    }
    for _ in 0..1_500 {
        let bits = 10 + draws.below(24);
        let (at, latency) = (draws.below(span / 2), 1 + draws.below(1 << bits).min(span / 2));
        let kind = RequestKind::ALL[draws.below(4) as usize].0;
        facts.push((SimTime(at), Fact::Arrived { kind }));
        facts.push((SimTime(at), Fact::Pages { kind, pages: 2 }));
        facts.push((SimTime(at + latency), Fact::Answered { kind, latency: Nanos(latency) }));
    }
    facts.sort_by_key(|&(at, _)| at);
    facts
}

fn folded(facts: &[(SimTime, Fact)], series: Series) -> Series {
    let mut folds = Folds::new(1);
    folds.record_series(Some(Box::new(series)));
    for &(at, fact) in facts {
        folds.close_bins(
            at,
            Gauges { free_blocks: (at.0 / 1_000) as u32, buffered_most: (at.0 % 977) as u32, outstanding_most: 0 },
        );
        folds.record(at, fact);
    }
    *folds.end_series(facts.last().expect("something happens").0, Gauges::default()).expect("it was begun")
}

fn series() -> Series {
    Series::new(SimTime::ZERO, DIES as u32, 0)
}

/// Time that `from..until` has in a bin.
fn within(from: u64, until: u64, bin: usize, width: u64) -> u64 {
    let (start, end) = (bin as u64 * width, (bin as u64 + 1) * width);
    until.min(end).saturating_sub(from.max(start))
}

/// Bins as they are by definition: each looks at all facts.
fn by_hand(facts: &[(SimTime, Fact)], bin: usize, width: u64) -> (Bin, [Vec<u64>; 2], Vec<Nanos>) {
    let mut made = Bin::default();
    let (mut latencies, mut busy) = ([Vec::new(), Vec::new()], vec![Nanos(0); DIES]);
    let (mut outstanding, mut since) = (0u32, 0);
    for &(at, fact) in facts {
        let is_in = at.0 / width == bin as u64;
        made.outstanding_ns += u128::from(outstanding) * u128::from(within(since, at.0, bin, width));
        since = at.0;
        match fact {
            Fact::Served { die: Some(die), busy: time, .. } => {
                busy[die.index()] += Nanos(within(at.0 - time.0, at.0, bin, width));
            }
            Fact::Arrived { kind } => {
                outstanding += 1;
                made.counts.arrived[kind as usize] += u64::from(is_in);
            }
            Fact::Answered { kind, latency } => {
                outstanding -= 1;
                made.counts.answered[kind as usize] += u64::from(is_in);
                if is_in && (kind as usize) < 2 {
                    latencies[kind as usize].push(latency.0);
                }
            }
            Fact::Pages { kind, pages } if is_in => made.counts.pages[kind as usize] += u64::from(pages),
            Fact::Read { cause, .. } if is_in => made.counts.reads[cause as usize] += 1,
            Fact::Programmed { cause, .. } if is_in => made.counts.programs[cause as usize] += 1,
            Fact::Erased { cause, .. } if is_in => made.counts.erases[cause as usize] += 1,
            _ => {}
        }
    }
    (made, latencies, busy)
}

/// Catches facts in the wrong bin, busy time that is not split where a bin ends, and merges that lose or double anything.
#[test]
fn bins_are_those_made_by_hand_at_every_width() {
    for (seed, span) in [(1, 100_000_000), (2, 511_000_000), (3, 40_000_000_000)] {
        let facts = facts(seed, span);
        let series = folded(&facts, series());
        let last = facts.last().expect("something happens").0.0;
        let narrowest = (0..).map(|doubled| FIRST_WIDTH.0 << doubled).find(|width| last / width < BINS_MAX as u64);
        let width = narrowest.expect("some width is wide enough");
        assert_eq!(series.width(), Nanos(width), "span {span}");
        assert_eq!(series.bins().len() as u64, last / width + 1);
        for (number, bin) in series.bins().iter().enumerate() {
            let (made, latencies, busy) = by_hand(&facts, number, width);
            let name = format!("seed {seed}, bin {number}");
            assert_eq!(series.busy(number), busy, "{name}");
            assert!(busy.iter().all(|busy| busy.0 <= width), "{name}: a die does one thing at a time");
            let found = Bin { latencies: Default::default(), gauges: Gauges::default(), ..bin.clone() };
            assert_eq!(found, made, "{name}");
            for (kind, times) in latencies.into_iter().enumerate() {
                check_latencies(&bin.latencies[kind], times, &name);
            }
        }
    }
}

fn check_latencies(found: &Latencies, mut times: Vec<u64>, name: &str) {
    times.sort_unstable();
    assert_eq!((found.count(), found.max), (times.len() as u64, times.last().copied().unwrap_or(0)), "{name}");
    for share in [0.5, 0.99] {
        let Some(quantile) = found.quantile(share) else {
            assert!(times.is_empty(), "{name}");
            continue;
        };
        let exact = times[((share * times.len() as f64).ceil() as usize).max(1) - 1];
        let off = (quantile as f64 - exact as f64).abs() / exact as f64;
        assert!(off <= 1.0 / 64.0, "{name}: {quantile} for {exact}");
    }
}

/// Catches merged bins that differ from bins that were as wide from the start, gauges and percentiles included.
#[test]
fn merging_is_binning_at_the_wider_width() {
    let facts = facts(4, 300_000_000);
    let mut merged = folded(&facts, series());
    let mut wide = folded(&facts, Series { width: FIRST_WIDTH * 8, end: SimTime(FIRST_WIDTH.0 * 8), ..series() });
    wide.bins.iter_mut().for_each(|bin| bin.gauges.buffered_most = 0);
    merged.widen(FIRST_WIDTH * 5);
    assert_eq!((merged.width(), merged.bins().len()), (FIRST_WIDTH * 8, wide.bins().len()));
    for (number, (one, other)) in merged.bins().iter().zip(wide.bins()).enumerate() {
        let free_blocks = one.gauges.free_blocks;
        let gauges = Gauges { free_blocks, ..Gauges::default() };
        assert_eq!(&Bin { gauges, ..one.clone() }, other, "bin {number}");
        assert_eq!(merged.busy(number), wide.busy(number), "bin {number}");
    }
}

/// Catches a run whose bins grow with its length, or that walks every millisecond of a pause of months.
#[test]
fn a_pause_of_a_year_costs_no_more_bins_than_any_other_run() {
    let year = 365 * 86_400 * 1_000_000_000u64;
    let kind = RequestKind::Read;
    let facts = [
        (SimTime(5), Fact::Arrived { kind }),
        (SimTime(9), Fact::Answered { kind, latency: Nanos(4) }),
        (SimTime(year), Fact::Arrived { kind }),
        (SimTime(year + 7), Fact::Answered { kind, latency: Nanos(7) }),
    ];
    let series = folded(&facts, series());
    let bins = series.bins();
    assert!((BINS_MAX / 2..=BINS_MAX).contains(&bins.len()), "{}", bins.len());
    assert_eq!((bins[0].counts.answered[0], bins[bins.len() - 1].counts.answered[0]), (1, 1));
    assert_eq!(bins.iter().map(|bin| bin.outstanding_ns).sum::<u128>(), 11);
}

/// Catches a die whose work from before the run is laid to the run.
#[test]
fn what_a_die_did_before_the_run_is_left_out() {
    let at = SimTime(11_500_000);
    let facts = [Some(DieId(0)), None]
        .map(|die| (at, Fact::Served { die, busy: Nanos(5_000_000), channel: ChannelId(0), carried: Nanos(0), moved: Bytes(0) }));
    let series = folded(&facts, Series::new(SimTime(10_000_000), 1, 0));
    assert_eq!((series.busy(0), series.busy(1)), (&[Nanos(1_000_000)][..], &[Nanos(500_000)][..]));
}

/// Catches buckets that overlap, leave gaps or are wider than they may be.
#[test]
fn a_bucket_is_known_to_a_64th() {
    let mut draws = Streams::new(7).stream("test/buckets");
    let random = (0..20_000).map(|_| {
        let bits = 1 + draws.below(42);
        draws.below(1 << bits)
    });
    for ns in (0..5_000).chain(random) {
        let off = (middle_of(bucket_of(ns) as u16) as f64 - ns as f64).abs();
        assert!(off <= ns as f64 / 64.0, "{ns}");
        assert!(bucket_of(ns) <= bucket_of(ns + 1), "{ns}");
    }
    assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
}
