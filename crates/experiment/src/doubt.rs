//! Doubts about a recording: a rate, a gap, addresses and sizes that no drive has, with the unit that would fit.

use common::quantity::{bytes, seconds, short};
use common::table::grouped;
use trace::{Met, Tape, TraceCounts};
use vocab::Nanos;

/// Rates in requests a second that a recording of a real host may have.
pub const PLAUSIBLE_RATES: std::ops::RangeInclusive<f64> = 0.01..=1e6;

/// A year, in seconds: no recording is longer.
pub const YEAR: f64 = 365.25 * 86_400.0;

/// Addresses from here on are of no drive, in bytes: 256 TiB.
pub const EXTENT_MAX: f64 = (1u64 << 48) as f64;

/// A mean request from here on is none of a host, in bytes.
pub const MEAN_MAX: f64 = (16u64 << 20) as f64;

/// Requests from which on a rate says something.
const ENOUGH: u64 = 16;

/// Share of the duration, and seconds, from which on a gap makes mean rates meaningless.
const GAP: (f64, f64) = (0.25, 60.0);

/// Share of requests that come earlier than the one before from which on the order itself is wrong.
const BACK: f64 = 0.01;

/// Findings in a recording.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Units of its columns, as `--columns` writes them; empty where the format has none that could be others.
    pub columns: &'a str,
    /// Its requests.
    pub requests: u64,
    /// Time from the first to the last, in seconds.
    pub duration_s: f64,
    /// Longest time between two requests, in seconds.
    pub longest_gap_s: f64,
    /// Highest address, in bytes.
    pub extent: f64,
    /// Mean size of reads and writes, in bytes.
    pub mean: f64,
    /// Requests that were moved to the time of the one before.
    pub clamped: u64,
}

impl<'a> Found<'a> {
    /// Columns, counts, the highest address and times that were met.
    pub fn new(columns: &'a str, counts: &TraceCounts, extent: u64, met: &Met) -> Self {
        let moved = (counts.reads + counts.writes).max(1);
        Self {
            columns,
            requests: counts.requests,
            duration_s: counts.duration.as_secs_f64(),
            longest_gap_s: Nanos(met.clip.longest).as_secs_f64(),
            extent: extent as f64,
            mean: (counts.read_bytes.0 + counts.written_bytes.0) as f64 / moved as f64,
            clamped: met.read.clamped,
        }
    }

    /// All doubts, each a sentence.
    pub fn doubts(&self) -> Vec<String> {
        self.doubts_but_gaps().into_iter().chain(self.gap()).collect()
    }

    /// All but those of gaps.
    pub fn doubts_but_gaps(&self) -> Vec<String> {
        [self.order(), self.rate(), self.addresses(), self.sizes()].into_iter().flatten().collect()
    }

    fn order(&self) -> Option<String> {
        let share = self.clamped as f64 / self.requests.max(1) as f64;
        (share > BACK).then(|| {
            format!(
                "{} of {} requests come earlier than one before them, by more than a second, and are moved to its time: several \
                 recordings one after the other, it seems. `--set trace.order=sorted` sorts by time, `--device 0` takes one device",
                grouped(self.clamped),
                grouped(self.requests)
            )
        })
    }

    fn gap(&self) -> Option<String> {
        (self.longest_gap_s >= GAP.1 && self.longest_gap_s >= GAP.0 * self.duration_s).then(|| {
            format!(
                "one gap between two requests lasts {} of {}; `--set trace.max_gap=10s` clips gaps",
                long(self.longest_gap_s),
                long(self.duration_s)
            )
        })
    }

    fn rate(&self) -> Option<String> {
        // A single gap is a doubt of its own.
        let duration = if self.gap().is_some() { self.duration_s - self.longest_gap_s } else { self.duration_s };
        if self.requests < ENOUGH || duration <= 0.0 {
            return None;
        }
        let is_plausible = |duration: f64| PLAUSIBLE_RATES.contains(&(self.requests as f64 / duration)) && duration <= YEAR;
        let said = |duration: f64| format!("{} requests/s over {}", short(self.requests as f64 / duration), long(duration));
        if is_plausible(duration) {
            return None;
        }
        let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
        Some(self.with_units(format!("{} is not plausible", said(duration)), "time", &units, |factor| {
            Some(duration * factor).filter(|duration| is_plausible(*duration)).map(said)
        }))
    }

    fn addresses(&self) -> Option<String> {
        (self.extent >= EXTENT_MAX).then(|| {
            self.with_units(format!("addresses up to {} are of no drive", bytes(self.extent)), "lba", &UNITS, |factor| {
                let extent = self.extent * factor;
                (extent < EXTENT_MAX).then(|| format!("{} at most", bytes(extent)))
            })
        })
    }

    fn sizes(&self) -> Option<String> {
        (self.mean >= MEAN_MAX).then(|| {
            self.with_units(format!("a mean request of {} is not plausible", bytes(self.mean)), "size", &UNITS, |factor| {
                let mean = self.mean * factor;
                (mean < MEAN_MAX).then(|| bytes(mean))
            })
        })
    }

    /// A doubt with the units that would fit, and how to say so.
    fn with_units(&self, doubt: String, column: &str, units: &[(&str, f64)], fits: impl Fn(f64) -> Option<String>) -> String {
        let now = self.columns.split(',').find_map(|one| one.strip_prefix(column)?.strip_prefix('='));
        let Some((now, worth)) = now.and_then(|now| units.iter().find(|(unit, _)| *unit == now)) else { return doubt };
        let others = units.iter().filter(|(unit, _)| unit != now);
        let fitting: Vec<(&str, String)> = others.filter_map(|(unit, other)| Some((*unit, fits(other / worth)?))).collect();
        let Some((last, _)) = fitting.first() else { return doubt };
        let said: Vec<String> = fitting.iter().map(|(unit, said)| format!("in {unit} {said}")).collect();
        let columns = self.columns.replace(&format!("{column}={now}"), &format!("{column}={last}"));
        format!("{doubt}: the unit may be another, {}. `--columns={columns}` says so", said.join(", "))
    }
}

const UNITS: [(&str, f64); 3] = [("bytes", 1.0), ("sectors", 512.0), ("pages", 4096.0)];

/// A time, in years where it is that long.
fn long(time: f64) -> String {
    if time >= YEAR { format!("{:.1} years", time / YEAR) } else { seconds(time) }
}

/// Lines that reading left out or changed, each a sentence.
pub fn met(met: &Met) -> Vec<String> {
    let mut notes = Vec::new();
    let (ignored, clip) = (met.read.ignored, met.clip);
    if ignored > 0 {
        notes.push(format!("{} lines ask for nothing, or for what has no counterpart, and are left out", grouped(ignored)));
    }
    if met.read.clamped > 0 {
        notes.push(format!("{} requests out of order are moved to the time of the one before", grouped(met.read.clamped)));
    }
    if clip.gaps > 0 {
        let cut = Nanos(clip.cut).as_secs_f64();
        notes.push(format!("{} gaps are clipped to trace.max_gap; {} in all left out", grouped(clip.gaps), long(cut)));
    }
    notes
}

/// Columns of a recording, as `--columns` writes them.
pub fn columns<'a>(tape: &Tape, format: &str, given: Option<&'a str>) -> &'a str {
    match tape {
        Tape::Recorded(_) | Tape::Joined(_) => {
            given.unwrap_or_else(|| trace::FORMATS.iter().find(|one| one.name == format).map_or("", |one| one.columns))
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &str) -> Found<'_> {
        Found { columns, requests: 400, duration_s: 99.0, longest_gap_s: 1.0, extent: 1e9, mean: 8192.0, clamped: 0 }
    }

    #[test]
    fn what_is_plausible_is_not_doubted() {
        assert_eq!(found("time=s,op,lba=bytes,size=bytes").doubts(), Vec::<String>::new());
        assert_eq!(Found { requests: 3, duration_s: 1e-6, ..found("") }.doubts(), Vec::<String>::new());
    }

    #[test]
    fn a_doubt_names_the_units_that_fit() {
        let said = |found: Found<'_>| found.doubts().join("\n");
        let fast = said(Found { duration_s: 99e-6, ..found("-,time=us,op,size=bytes,lba=sectors") });
        assert!(fast.contains("in s 4.04 requests/s over 99"), "{fast}");
        assert!(fast.contains("`--columns=-,time=s,op,size=bytes,lba=sectors` says so"), "{fast}");
        let far = said(Found { extent: 440e12, ..found("time=ms,device,lba=sectors,size=sectors,op") });
        assert!(far.contains("addresses up to 440 TB are of no drive") && far.contains("lba=bytes"), "{far}");
        let large = said(Found { mean: 64e6, ..found("time=ms,lba=sectors,size=pages,op") });
        assert!(large.contains("size=sectors") || large.contains("size=bytes"), "{large}");
        let gap = said(Found { duration_s: 40.1 * YEAR, longest_gap_s: 40.1 * YEAR - 50.0, ..found("time=s") });
        assert!(
            gap.contains("one gap between two requests lasts 40.1 years of 40.1 years") && !gap.contains("plausible"),
            "{gap}"
        );
        let back = said(Found { clamped: 200, ..found("") });
        assert!(back.contains("200 of 400 requests come earlier"), "{back}");
    }
}
