//! Runs with a time series beside their result.

use crate::config::Pace;
use crate::result::RunResult;
use crate::result::series::{SeriesColumn, SeriesResult};
use crate::session::{Session, inside};
use device::facts::{RequestKind, Step};
use device::series::{Bin, Latencies, Series};
use vocab::{Bytes, Cause, HostCommand, Nanos};

/// Events of one run over time. The columns are made on request: bins may be merged before.
#[derive(Clone, Debug)]
pub struct RunSeries {
    series: Box<Series>,
    slot_size: Bytes,
    slots_per_page: u32,
    /// Pages that the write buffer holds; `None`: there is none.
    buffer_pages: Option<u32>,
}

impl Session {
    /// Replays as [`Self::run`] does and also says what happened when. The result is the same.
    pub fn run_with_series(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        progress: &mut dyn FnMut(u64),
    ) -> (RunResult, RunSeries) {
        self.begin_series();
        let result = self.run(commands, pace, progress);
        (result, self.end_series().expect("a run keeps the series that was begun for it"))
    }

    /// The next run also records what happens when, until [`Self::end_series`]; its result is the same.
    pub fn begin_series(&mut self) {
        inside!(self.inner_mut(), prepared => prepared.engine.begin_series());
    }

    /// Events of the run since [`Self::begin_series`]; `None` where it was not called.
    pub fn end_series(&mut self) -> Option<RunSeries> {
        inside!(self.inner_mut(), prepared => {
            let engine = &mut prepared.engine;
            let series = engine.end_series()?;
            let geometry = engine.core.device.grid.geometry();
            let capacity = engine.host.buffer_capacity(&engine.writer) as u32;
            let (slot_size, slots_per_page) = (geometry.slot_size, geometry.slots_per_page());
            Some(RunSeries { series, slot_size, slots_per_page, buffer_pages: (capacity > 0).then_some(capacity) })
        })
    }
}

impl RunSeries {
    /// Width of a bin.
    #[must_use]
    pub fn width(&self) -> Nanos {
        self.series.width()
    }

    /// Number of bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.series.bins().len()
    }

    /// Makes bins at least so wide, by merging them.
    pub fn widen(&mut self, width: Nanos) {
        self.series.widen(width);
    }

    /// The series as columns.
    #[must_use]
    pub fn result(&self) -> SeriesResult {
        let width_s = self.width().as_secs_f64();
        SeriesResult {
            bin_s: width_s,
            time_s: (0..self.bins()).map(|bin| (self.width() * bin as u64).as_secs_f64()).collect(),
            columns: [self.host(width_s), self.latencies(), self.flash(width_s), self.state(), self.dies(), self.flows(width_s)]
                .concat(),
            dies: self.dies().len() as u32,
        }
    }

    fn column(&self, name: impl Into<String>, of: impl Fn(&Bin) -> Option<f64>) -> SeriesColumn {
        SeriesColumn { name: name.into(), values: self.series.bins().iter().map(of).collect() }
    }

    /// Requests and latencies per second.
    fn host(&self, width_s: f64) -> Vec<SeriesColumn> {
        let per_second = |count: u64| Some(count as f64 / width_s);
        let mb = |pages: u64| Some((pages * self.slot_size.0) as f64 / 1e6 / width_s);
        let mut columns = Vec::new();
        for (kind, name) in RequestKind::ALL {
            columns.push(self.column(format!("{name}_requests_per_s"), |bin| per_second(bin.counts.arrived[kind as usize])));
        }
        for (kind, name) in [(RequestKind::Read, "read"), (RequestKind::Write, "write")] {
            columns.push(self.column(format!("{name}_mb_per_s"), |bin| mb(bin.counts.pages[kind as usize])));
        }
        for (kind, name) in RequestKind::ALL {
            columns.push(self.column(format!("{name}_answers_per_s"), |bin| per_second(bin.counts.answered[kind as usize])));
        }
        columns
    }

    /// Latencies of what was answered: of reads and writes together, then of each.
    fn latencies(&self) -> Vec<SeriesColumn> {
        let both = |bin: &Bin| {
            let mut both = bin.latencies[0].clone();
            both.add(&bin.latencies[1]);
            both
        };
        type Of<'a> = &'a dyn Fn(&Bin) -> Latencies;
        let kinds: [(&str, Of<'_>); 3] =
            [("", &both), ("read_", &|bin| bin.latencies[0].clone()), ("write_", &|bin| bin.latencies[1].clone())];
        let us = |ns: u64| Nanos(ns).as_micros_f64();
        let mut columns = Vec::new();
        for (prefix, of) in kinds {
            for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
                columns.push(self.column(format!("{prefix}latency_{name}_us"), |bin| of(bin).quantile(share).map(us)));
            }
            let longest = |bin: &Bin| Some(of(bin)).filter(|latencies| latencies.count() > 0).map(|latencies| us(latencies.max));
            columns.push(self.column(format!("{prefix}latency_max_us"), longest));
        }
        columns
    }

    /// Work of the flash per second, by cause, and for each page written.
    fn flash(&self, width_s: f64) -> Vec<SeriesColumn> {
        type Counts = fn(&Bin) -> &[u64; Cause::ALL.len()];
        let operations: [(&str, Counts); 3] =
            [("reads", |bin| &bin.counts.reads), ("programs", |bin| &bin.counts.programs), ("erases", |bin| &bin.counts.erases)];
        let mut columns = Vec::new();
        for (operation, of) in operations {
            for cause in Cause::ALL {
                let name = format!("flash_{operation}_per_s_{}", cause.name().replace('-', "_"));
                columns.push(self.column(name, |bin| Some(of(bin)[cause as usize] as f64 / width_s)));
            }
        }
        // Only where there is a ladder.
        if self.series.bins().iter().any(|bin| bin.counts.ladder.iter().any(|&reads| reads > 0)) {
            let steps = Step::ALL.map(|(_, name)| name).into_iter().chain(["parity"]);
            for (which, step) in steps.enumerate() {
                columns.push(
                    self.column(format!("retry_reads_per_s_{step}"), |bin| Some(bin.counts.ladder[which] as f64 / width_s)),
                );
            }
        }
        columns.push(self.column("waf", |bin| {
            let written = bin.counts.pages[RequestKind::Write as usize];
            let programmed = bin.counts.programs.iter().sum::<u64>() * u64::from(self.slots_per_page);
            (written > 0).then(|| programmed as f64 / written as f64)
        }));
        columns
    }

    /// Waiting requests, and free room.
    fn state(&self) -> Vec<SeriesColumn> {
        let width = self.width().0 as f64;
        let full = |bin: &Bin| Some(f64::from(bin.gauges.buffered_most) / f64::from(self.buffer_pages?));
        vec![
            self.column("outstanding_mean", |bin| Some(bin.outstanding_ns as f64 / width)),
            self.column("outstanding_max", |bin| Some(f64::from(bin.gauges.outstanding_most))),
            self.column("free_blocks", |bin| Some(f64::from(bin.gauges.free_blocks))),
            self.column("buffer_pages_max", |bin| self.buffer_pages.map(|_| f64::from(bin.gauges.buffered_most))),
            self.column("buffer_fill_max", full),
        ]
    }

    /// Answers to each flow, where there are several.
    fn flows(&self, width_s: f64) -> Vec<SeriesColumn> {
        let flows = self.series.bins().iter().map(|bin| bin.flows.len()).max().unwrap_or(0);
        let of = |bin: &Bin, flow: usize| {
            let [mut both, writes] = bin.flows.get(flow).cloned().unwrap_or_default();
            both.add(&writes);
            both
        };
        let us = |ns: u64| Nanos(ns).as_micros_f64();
        let columns = |flow: usize| {
            let quantile = |share: f64| move |bin: &Bin| of(bin, flow).quantile(share).map(us);
            [
                self.column(format!("flow_{flow}_answers_per_s"), |bin| Some(of(bin, flow).count() as f64 / width_s)),
                self.column(format!("flow_{flow}_latency_p50_us"), quantile(0.5)),
                self.column(format!("flow_{flow}_latency_p99_us"), quantile(0.99)),
            ]
        };
        (0..flows).flat_map(columns).collect()
    }

    fn dies(&self) -> Vec<SeriesColumn> {
        let bins = 0..self.bins();
        let width = self.width().0 as f64;
        let dies = 0..bins.clone().next().map_or(0, |bin| self.series.busy(bin).len());
        let share = |die: usize, bin| Some(self.series.busy(bin)[die].0 as f64 / width);
        let column = |die| SeriesColumn {
            name: format!("die_utilisation_{die}"),
            values: bins.clone().map(|bin| share(die, bin)).collect(),
        };
        dies.map(column).collect()
    }
}
