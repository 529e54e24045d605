//! The first screen of a comparison: what was run, the answer, one table, what was verified and held equal, how to see more.

use crate::table::{flows_text, marked, reasons};
use common::Quantity;
use common::quantity::{mib, percent, times};
use common::table::{Row, aligned_within, grouped, wrapped_to};
use experiment::Arrival;
use lab::Comparison;
use lab::Outcome;
use lab::SchemeVerdict;
use lab::show_runs;
use ssd::{Latency, Pace};
use vocab::Bytes;

/// Samples that lie beyond a percentile at least, if it is to be shown.
const BEYOND: f64 = 50.0;

/// A percentile: its words, the share of samples beyond it, and its value.
type Percentile = (&'static str, f64, fn(&Latency) -> f64);

/// A kind of requests: its word, and their latencies.
type Kind = (&'static str, fn(&Outcome) -> &Latency);

const PERCENTILES: [Percentile; 3] = [("p99", 0.01, |r| r.p99), ("p99.9", 0.001, |r| r.p999), ("p99.99", 0.0001, |r| r.p9999)];

/// A row of the first screen; without cells it is a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenRow {
    /// Its label; rows below a heading begin with two blanks.
    pub label: String,
    /// A cell for each scheme.
    pub cells: Vec<ScreenCell>,
}

/// A cell of the first screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenCell {
    /// The figure.
    pub figure: String,
    /// Its ratio to that of the baseline.
    pub ratio: Option<String>,
    /// Whether nothing may be concluded from the ratio, or where there is none from the figure.
    pub is_marked: bool,
}

impl ScreenCell {
    fn plain(figure: String) -> Self {
        Self { figure, ratio: None, is_marked: false }
    }

    /// The mark.
    #[must_use]
    pub fn mark(&self) -> &'static str {
        if self.is_marked { " !" } else { "" }
    }

    /// As text for a terminal; ratios are closer to their figures where it is narrow.
    fn text(&self, is_narrow: bool) -> String {
        let (figure, mark) = (&self.figure, self.mark());
        match &self.ratio {
            Some(ratio) if is_narrow => format!("{figure} {:>5}{mark}", ratio.replace(' ', "")),
            Some(ratio) => format!("{figure}  {ratio:>6}{mark}"),
            None => format!("{figure}{mark}"),
        }
    }
}

impl From<Row> for ScreenRow {
    fn from(row: Row) -> Self {
        Self { label: row.label, cells: row.cells.into_iter().map(ScreenCell::plain).collect() }
    }
}

/// Rows under their headings.
struct Screen<'a> {
    comparison: &'a Comparison,
    runs: Vec<Vec<&'a Outcome>>,
    /// Place of the scheme that ratios are relative to.
    baseline: Option<usize>,
    rows: Vec<ScreenRow>,
}

impl<'a> Screen<'a> {
    fn new(comparison: &'a Comparison) -> Self {
        let runs = comparison.runs_by_scheme();
        let baseline = comparison.verdict.baseline.as_ref();
        let baseline = comparison.outcomes.iter().position(|outcome| baseline == Some(&outcome.label));
        Self { comparison, runs, baseline, rows: Vec::new() }
    }

    fn heading(&mut self, label: &str) {
        self.rows.push(ScreenRow { label: label.into(), cells: Vec::new() });
    }

    fn words(&mut self, label: &str, cell: impl Fn(&SchemeVerdict) -> String) {
        let cells = self.comparison.verdict.schemes.iter().map(|one| ScreenCell::plain(cell(one))).collect();
        self.rows.push(ScreenRow { label: format!("  {label}"), cells });
    }

    /// A figure of the runs of a scheme, where every run has it.
    fn values(&self, scheme: usize, of: &impl Fn(&Outcome) -> Option<f64>) -> Option<Vec<f64>> {
        self.runs[scheme].iter().map(|run| of(run)).collect()
    }

    /// A figure, with its ratio to that of the baseline.
    fn figure(&mut self, label: &str, quantity: Quantity, of: impl Fn(&Outcome) -> Option<f64>) {
        self.judged(label, quantity, |_| true, of);
    }

    /// The same of a figure that is marked where nothing may be concluded from it.
    fn judged(
        &mut self,
        label: &str,
        quantity: Quantity,
        may_judge: impl Fn(&SchemeVerdict) -> bool,
        of: impl Fn(&Outcome) -> Option<f64>,
    ) {
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let base = self.baseline.and_then(|baseline| self.values(baseline, &of)).as_ref().map(mean);
        let cell = |scheme: usize| {
            let Some(values) = self.values(scheme, &of) else { return ScreenCell::plain("-".into()) };
            let figure = show_runs(quantity, &values);
            let verdict = self.comparison.verdict.schemes.get(scheme);
            let is_comparable = verdict.is_some_and(SchemeVerdict::is_comparable);
            let is_judged = verdict.is_none_or(&may_judge);
            let is_base = Some(scheme) == self.baseline;
            let base = base.filter(|base| *base > 0.0 && is_comparable && !is_base);
            let ratio = base.map(|base| times(mean(&values) / base));
            let is_marked = !(is_judged && (is_base || ratio.is_some()));
            ScreenCell { figure, ratio, is_marked }
        };
        let cells = (0..self.runs.len()).map(cell).collect();
        self.rows.push(ScreenRow { label: format!("  {label}"), cells });
    }

    fn protection(&mut self) {
        self.heading("protection");
        self.words("die failures survived", |one| one.survives.dies.to_string());
        self.words("power loss", |one| one.survives.power_cuts.short().into());
        self.words("capacity overhead", |one| Quantity::Tenths.show(one.costs.capacity_overhead));
        if self.comparison.verdict.schemes.iter().any(|one| one.costs.rebuild.is_some()) {
            self.words("rebuild, pages written", |one| {
                let told = one
                    .costs
                    .rebuild
                    .map(|rebuild| format!("{}, {} a die", Quantity::Seconds.show(rebuild.seconds), times(rebuild.of_a_die)));
                told.unwrap_or_else(|| "-".into())
            });
        }
    }

    fn latency(&mut self) {
        self.heading("latency");
        let kinds: [Kind; 2] = [("read ", |o| &o.result.host.read_latency_us), ("write", |o| &o.result.host.write_latency_us)];
        for (kind, of) in kinds {
            let least = self.runs.iter().flatten().map(|run| of(run).count).min().unwrap_or(0);
            if least == 0 {
                continue;
            }
            self.figure(&format!("{kind} mean"), Quantity::Micros, |o| Some(of(o).mean));
            let shown = PERCENTILES.into_iter().filter(|(_, beyond, _)| least as f64 * beyond >= BEYOND);
            for (words, _, value) in shown {
                self.figure(&format!("{kind} {words}"), Quantity::Micros, |o| Some(value(of(o))));
            }
        }
    }

    /// Throughput follows the drive where requests wait for answers; else it is the workload's own.
    fn throughput(&mut self) {
        if matches!(self.comparison.clock.pace, Pace::Closed { .. }) {
            let slot = self.comparison.experiment.drive.geometry.slot_size.0;
            self.heading("throughput");
            self.figure("requests/s", Quantity::Plain, |o| o.throughput(slot).0);
            self.figure("MB/s", Quantity::Plain, |o| o.throughput(slot).1);
        }
    }

    fn cost(&mut self) {
        let bears = |one: &SchemeVerdict| !one.costs.unborne;
        self.heading("cost");
        if self.comparison.verdict.schemes.iter().all(bears) {
            self.figure("write amplification", Quantity::Plain, |o| o.result.flash.waf);
            let endurance: Vec<Option<f64>> = self.comparison.verdict.schemes.iter().map(|one| one.costs.dwpd).collect();
            let labels: Vec<&str> = self.comparison.outcomes.iter().map(|o| o.label.as_str()).collect();
            let dwpd = |o: &Outcome| {
                let at = labels.iter().position(|label| *label == o.label)?;
                endurance[at]
            };
            self.figure("DWPD over 5 years", Quantity::Plain, dwpd);
        } else {
            self.words("write amplification", |one| {
                one.costs.waf.map_or("-".into(), |waf| format!("{} !", Quantity::Plain.show(waf)))
            });
        }
        self.figure("die utilisation", Quantity::Share, |o| Some(o.result.flash.die_utilisation));
        self.judged("flash power, mW", Quantity::Plain, bears, |o| {
            Some(1e3 * o.energy_j() / o.result.flash.rested_s).filter(|power| power.is_finite())
        });
    }

    /// The rows as text.
    fn text(&self, is_narrow: bool) -> impl Iterator<Item = Row> {
        let cells = move |row: &ScreenRow| row.cells.iter().map(|cell| cell.text(is_narrow)).collect();
        self.rows.iter().map(move |row| Row { label: row.label.clone(), cells: cells(row) })
    }

    fn figures(&mut self) {
        self.protection();
        self.latency();
        self.throughput();
        self.cost();
    }

    fn waits(&mut self) {
        let rows = crate::waits::slowest_reads(&self.runs);
        if !rows.is_empty() {
            self.heading("slowest 1 % of reads wait for");
            self.rows.extend(rows.into_iter().map(ScreenRow::from));
        }
    }
}

/// Utilisation of the busiest scheme's dies below which a reader is told that the drive is lightly loaded.
const LIGHT_LOAD: f64 = 0.15;

/// A line that says that the drive is lightly loaded, where requests keep times of their own.
fn light_load(comparison: &Comparison) -> Option<String> {
    let busiest = comparison.outcomes.iter().map(|one| one.result.flash.die_utilisation).fold(0.0, f64::max);
    let is_paced = comparison.clock.pace == Pace::Open && !matches!(comparison.experiment.trace.arrival, Arrival::Load(_));
    (is_paced && busiest > 0.0 && busiest < LIGHT_LOAD).then(|| {
        format!(
            "The drive is lightly loaded: dies of the busiest scheme work {} of the time. Differences in latency grow with the load: \
             `--arrival load=30%`.",
            percent(busiest)
        )
    })
}

/// Bytes that the host may use.
fn user_capacity(comparison: &Comparison) -> u64 {
    u64::from(comparison.user_slots) * comparison.experiment.drive.geometry.slot_size.0
}

/// The comparison on one screen. `explain`: where the time of all requests goes, as well. `width`: characters of a line of the
/// terminal; without it prose is wrapped at 110 and the table is as wide as its columns.
#[must_use]
pub fn to_screen(comparison: &Comparison, explain: bool, width: Option<usize>) -> String {
    let width = width.unwrap_or(usize::MAX);
    let answer: String =
        comparison.verdict.answer.iter().chain(&light_load(comparison)).map(|text| wrapped_to(text, width)).collect();
    let warnings: String =
        lab::told_on_screen(&comparison.cautions).iter().map(|text| wrapped_to(&format!("WARNING: {text}"), width)).collect();
    let table = tables(comparison, explain, width);
    let (setup, flows, checks) =
        (setup(comparison, width), flows_text(comparison, explain, width), checks(comparison, explain, width));
    format!("{setup}\n{answer}\n{table}\n{flows}{warnings}{checks}")
}

/// The rows of the table of a screen, without its heads: for the report.
pub(crate) fn rows(comparison: &Comparison) -> Vec<ScreenRow> {
    let mut screen = Screen::new(comparison);
    screen.figures();
    screen.waits();
    screen.rows
}

/// The table of a screen, and with `explain` that of waits.
fn tables(comparison: &Comparison, explain: bool, width: usize) -> String {
    let mut screen = Screen::new(comparison);
    screen.figures();
    if !explain {
        screen.waits();
    }
    let filled = |is_narrow: bool| {
        let heads = comparison.outcomes.iter().map(|outcome| marked(comparison, &outcome.label)).collect();
        let mut rows = vec![Row { label: String::new(), cells: heads }];
        rows.extend(reasons(comparison));
        rows.extend(screen.text(is_narrow));
        rows
    };
    let wide = aligned_within(&filled(false), usize::MAX);
    let fits = wide.lines().all(|line| line.chars().count() <= width);
    let table = if fits { wide } else { aligned_within(&filled(true), width) };
    let waits = explain.then(|| format!("\n{}", aligned_within(&crate::waits::rows(&screen.runs), width)));
    table + &waits.unwrap_or_default()
}

/// Workload and drive, in two lines.
fn setup(comparison: &Comparison, width: usize) -> String {
    let trace = &comparison.trace;
    let of_all = |kind: u64| percent(kind as f64 / trace.requests.max(1) as f64);
    let kinds = [("reads", trace.reads), ("writes", trace.writes), ("flushes", trace.flushes)];
    let kinds: Vec<String> =
        kinds.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{} {name}", of_all(*count))).collect();
    let planned = &comparison.outcomes[0].planned;
    let op = |of_raw: f64| percent(experiment::over_provisioning::of_user(of_raw));
    let over_provisioning = match planned.capacity_overhead > 0.0 {
        true => format!("{} ({} after parity)", op(planned.op_of_raw), op(planned.op_after_parity_of_raw)),
        false => op(planned.op_of_raw),
    };
    let seeds = comparison
        .seeds
        .as_ref()
        .map(|_| format!("; seeds {}: means with 95 % confidence intervals", lab::seeds::range(&comparison.experiment)));
    let seconds = trace.duration_s * comparison.clock.factor;
    let times = if trace.loops > 1 { format!(", repeated {} times", trace.loops) } else { String::new() };
    let lasts = if seconds > 0.0 { format!(" in {}", Quantity::Seconds.show(seconds)) } else { String::new() };
    let asked = comparison.answered_words().unwrap_or_else(|| {
        let (requests, kinds) = (grouped(trace.requests), kinds.join(", "));
        format!("{requests} requests{lasts}{times} ({kinds}), footprint {}", mib(Bytes(trace.footprint_bytes)))
    });
    let workload = format!("{}: {asked}, {}{}", trace.name, pace(comparison), seeds.unwrap_or_default());
    let drive = format!(
        "drive {}: {}; {} for the host of {}, over-provisioning {} under `{}`",
        comparison.experiment.drive.name,
        comparison.experiment.drive.summary,
        mib(Bytes(user_capacity(comparison))),
        mib(planned.drive.geometry.raw_size()),
        over_provisioning,
        comparison.outcomes[0].label
    );
    wrapped_to(&workload, width) + &wrapped_to(&drive, width)
}

/// How requests come, in words.
fn pace(comparison: &Comparison) -> String {
    let (is_generated, seconds) =
        (experiment::generated::is_generated(&comparison.experiment), comparison.trace.duration_s * comparison.clock.factor);
    match comparison.clock.pace {
        _ if comparison.clock.is_each => "each flow by its own clock".into(),
        Pace::Closed { depth } => format!("queue depth {depth}"),
        Pace::Open if is_generated => format!("{} requests/s", Quantity::Plain.show(comparison.trace.requests as f64 / seconds)),
        Pace::Open if experiment::described::is_described(&comparison.experiment) => "the pace of its description".into(),
        _ if comparison.clock.factor > 1.0 => format!("{} slower than recorded", times(comparison.clock.factor)),
        _ if comparison.clock.factor < 1.0 => format!("{} faster than recorded", times(1.0 / comparison.clock.factor)),
        _ => "recorded pace".into(),
    }
}

/// Checks, controls, and further commands.
fn checks(comparison: &Comparison, is_explained: bool, width: usize) -> String {
    let sum = |of: fn(&Outcome) -> u64| comparison.repetitions().iter().flat_map(|one| &one.outcomes).map(of).sum::<u64>();
    let (reads, wrong) = (sum(|o| o.result.oracle.checked_reads), sum(|o| o.result.oracle.mismatches));
    let capacity = match comparison.experiment.capacity.fairness {
        experiment::Fairness::EqualRaw => "raw flash, user capacity",
        experiment::Fairness::EqualOp => "user capacity, over-provisioning after parity",
    };
    let verified = format!("verified: {} page reads, {} mismatches", grouped(reads), grouped(wrong));
    let seeds = match &comparison.seeds {
        Some(_) => format!("seeds {}", lab::seeds::range(&comparison.experiment)),
        None => format!("seed {}", comparison.experiment.seed),
    };
    let arrival = match comparison.clock.pace {
        _ if comparison.clock.is_each => "the clock of each flow",
        Pace::Open => "arrival times",
        Pace::Closed { .. } => "queue depth",
    };
    let equal = format!("held equal: {capacity}, write buffer, preconditioning, {arrival}, {seeds}");
    let explain = if is_explained { "" } else { "--explain (latency breakdown), " };
    let more = if comparison.seeds.is_some() { "" } else { ", --seeds 5 (confidence intervals)" };
    let further = format!("more: {explain}--full (all tables and notes){more}");
    [verified, equal, further].iter().map(|text| wrapped_to(text, width)).collect()
}

#[cfg(test)]
mod tests {
    use experiment::Experiment;
    use lab::{Bench, compare};

    fn comparison(settings: &str) -> lab::Comparison {
        let text = format!("schemes = [\"none\", \"raid5\"]\nwarmup = \"none\"\n{settings}[trace]\nsource = \"uniform\"\n");
        let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        compare(&experiment, &Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} }).unwrap_or_else(|e| panic!("{e}"))
    }

    fn first_screen(settings: &str) -> String {
        super::to_screen(&comparison(settings), false, None)
    }

    /// Fails if a percentile is shown that fewer than 50 samples lie beyond.
    #[test]
    fn percentiles_are_those_that_the_samples_bear() {
        let few = first_screen("generate = { requests = 4000, range = \"8MiB\", read_fraction = 1.0 }\n");
        let more = first_screen("generate = { requests = 6000, range = \"8MiB\", read_fraction = 1.0 }\n");
        assert!(few.contains("read  mean") && !few.contains("p99") && !few.contains("write mean"), "{few}");
        assert!(more.contains("read  p99 ") && !more.contains("p99.9"), "{more}");
    }

    /// A life of five years at N drive writes per day writes N times the user capacity 1825 times.
    #[test]
    fn endurance_is_in_drive_writes_per_day() {
        let text = "generate = { requests = 60000, range = \"85%\", read_fraction = 0.0 }\n[drive]\npreset = \"mlc-2014\"\n";
        let text = text.replace("generate", "capacity = { size = \"64MiB\" }\ngenerate");
        let comparison = comparison(&text);
        let screen = super::to_screen(&comparison, false, None);
        let costs = &comparison.verdict.schemes[0].costs;
        let dwpd = costs.tbw_tb.expect("it writes") * 1e12 / f64::from(64 << 20) / 1825.0;
        let row = screen.lines().find(|line| line.contains("DWPD")).unwrap_or_else(|| panic!("{screen}"));
        assert!(row.contains(&common::Quantity::Plain.show(dwpd)), "{dwpd}: {row}");
    }
}
