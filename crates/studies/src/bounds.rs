//! Bandwidth that drives attain beside their physical bounds, under loads that keep them at work.
//!
//! Each drive is asked for five loads at a queue depth that fills it: writes on an empty drive, reads and a mixture on a full one, without
//! GC. A bound is the rate at which one resource alone would serve the load without redundancy: the dies (cells, and the data that
//! a die takes in or gives out while its cells rest), the channels, the controller, the host link.

use common::{Problem, in_parallel};
use experiment::{DRIVES, Experiment, Overrides};
use lab::waits::longest;
use lab::{Bench, compare};
use ssd::Drive;
use ssd::nand::{Latencies, ProgramUnit};
use std::fmt::Write as _;
use vocab::Nanos;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// 128 KiB, one after the other.
    SequentialWrites,
    /// A logical page each, anywhere.
    RandomWrites,
    /// 128 KiB, one after the other.
    SequentialReads,
    /// A logical page each, anywhere.
    RandomReads,
    /// 70 % reads and 30 % writes of a logical page each, anywhere.
    Mixture,
}

/// Bytes of a sequential request.
const LONG: u64 = 128 << 10;
/// Share of reads of the mixture.
const READ_SHARE: f64 = 0.7;

impl Load {
    /// All of them, in report order.
    pub const ALL: [Load; 5] =
        [Load::SequentialWrites, Load::RandomWrites, Load::SequentialReads, Load::RandomReads, Load::Mixture];

    /// Its name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Load::SequentialWrites => "sequential writes, 128 KiB",
            Load::RandomWrites => "random writes, a logical page",
            Load::SequentialReads => "sequential reads, 128 KiB",
            Load::RandomReads => "random reads, a logical page",
            Load::Mixture => "70 % random reads, 30 % random writes, a logical page",
        }
    }

    fn is_sequential(self) -> bool {
        matches!(self, Load::SequentialWrites | Load::SequentialReads)
    }

    fn read_share(self) -> f64 {
        match self {
            Load::SequentialWrites | Load::RandomWrites => 0.0,
            Load::SequentialReads | Load::RandomReads => 1.0,
            Load::Mixture => READ_SHARE,
        }
    }

    fn request(self, drive: &Drive) -> u64 {
        if self.is_sequential() { LONG } else { drive.geometry.slot_size.0 }
    }

    /// Requests outstanding: 32 logical pages for each die, and 1024 at least.
    fn depth(self, drive: &Drive) -> u64 {
        let pages = (32 * u64::from(drive.geometry.dies())).max(1024);
        (pages * drive.geometry.slot_size.0 / self.request(drive)).clamp(32, 65_536)
    }

    /// Settings of its run, with `bytes` asked for in all.
    fn experiment(self, preset: &str, drive: &Drive, scheme: &str, bytes: u64) -> Result<Experiment, Problem> {
        let request = self.request(drive);
        let is_read = self.read_share() > 0.0;
        let set = [
            format!("trace.arrival=closed={}", self.depth(drive)),
            format!("generate.request_size={request}B"),
            format!("generate.requests={}", (bytes / request).max(1)),
            format!("generate.range={}B", bytes * 2),
            format!("generate.read_fraction={}", self.read_share()),
            format!("precondition.fill={}", u8::from(is_read)),
            "precondition.converge_within=0".into(),
            "warmup=none".into(),
            "drive.slc.mode=off".into(),
            "payload=none".into(),
        ];
        let source = if self.is_sequential() { "sequential" } else { "uniform" };
        Experiment::with(&Overrides {
            trace: Some(source.into()),
            options: of_preset(preset),
            schemes: Some(scheme.into()),
            set: set.into(),
        })
    }
}

/// The resource that limits a load without redundancy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The resource.
    pub by: &'static str,
    /// Its rate, were it alone, in MB/s.
    pub mb_per_s: f64,
}

/// The option that names a preset, for [`Overrides`].
fn of_preset(name: &str) -> Vec<(String, String, String)> {
    vec![("--drive".into(), "drive.preset".into(), name.into())]
}

/// Seconds that one die, and one channel, work for a byte of reads.
fn read_times(drive: &Drive, load: Load) -> (f64, f64) {
    let (timing, geometry) = (&drive.timing, &drive.geometry);
    let slots = geometry.slots_per_page();
    let unit = timing.unit.unwrap_or(ProgramUnit { planes: 1, plane_pages: 1, bits: 1 });
    let sensing = timing.page.iter().map(|kind| kind.read.as_secs_f64()).sum::<f64>() / timing.page.len() as f64;
    // Pages that one sensing serves, and logical pages of each.
    let (pages, moved) = if load.is_sequential() { (unit.sensed(), slots) } else { (1, 1) };
    let latencies = Latencies::new(timing, geometry);
    let moving = f64::from(pages) * (latencies.transfer(moved) + timing.command).as_secs_f64();
    let planes = if timing.independent_planes && !load.is_sequential() { f64::from(unit.planes) } else { 1.0 };
    let die = match timing.cache_read {
        Some(to_cache) => (sensing / planes + to_cache.as_secs_f64()).max(moving),
        None if timing.independent_planes => (sensing / planes).max(moving),
        None => sensing + moving,
    };
    let bytes = (u64::from(pages) * u64::from(moved) * geometry.slot_size.0) as f64;
    (die / bytes, moving / bytes)
}

/// Seconds that one die, and one channel, work for a byte of writes.
fn write_times(drive: &Drive) -> (f64, f64) {
    let (timing, geometry) = (&drive.timing, &drive.geometry);
    let latencies = Latencies::new(timing, geometry);
    let mean = timing.page.iter().map(|kind| kind.program.as_secs_f64()).sum::<f64>() / timing.page.len() as f64;
    let slots = geometry.slots_per_page();
    let (programming, moving, pages) = match timing.unit {
        None => (mean, latencies.transfer(slots), 1),
        Some(unit) if unit.bits == 1 => (mean, latencies.unit.transfer(), unit.pages()),
        Some(unit) => {
            (timing.page.last().map_or(Nanos(0), |kind| kind.program).as_secs_f64(), latencies.unit.transfer(), unit.pages())
        }
    };
    let moving = (moving + timing.command).as_secs_f64();
    let bytes = (u64::from(pages) * u64::from(slots) * geometry.slot_size.0) as f64;
    ((programming + moving) / bytes, moving / bytes)
}

/// The tightest bound of a load.
#[must_use]
pub fn bound(drive: &Drive, load: Load) -> Bound {
    let share = load.read_share();
    let (reads, writes) = (read_times(drive, load), write_times(drive));
    let mixed = |read: f64, write: f64| share * read + (1.0 - share) * write;
    let (geometry, controller) = (&drive.geometry, &drive.controller);
    let every = mixed(controller.read_every.as_secs_f64(), controller.write_every.as_secs_f64()) / load.request(drive) as f64;
    // Reads and writes have a direction of the link each.
    let link = match controller.link_mb_per_s {
        0 => 0.0,
        rate => share.max(1.0 - share) / (f64::from(rate) * 1e6),
    };
    let seconds_a_byte = [
        ("dies", mixed(reads.0, writes.0) / f64::from(geometry.dies())),
        ("channels", mixed(reads.1, writes.1) / f64::from(geometry.channels)),
        ("controller", every),
        ("link", link),
    ];
    let (by, most) = seconds_a_byte.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("four resources");
    Bound { by, mb_per_s: 1e-6 / most }
}

/// Bandwidth of one scheme under one load.
#[derive(Clone, Debug)]
pub struct Attained {
    /// Bandwidth in MB/s.
    pub mb_per_s: f64,
    /// Mean share of time in which a die is busy.
    pub dies_busy: f64,
    /// The longest wait of requests, in words.
    pub wait: Option<&'static str>,
}

/// One drive under one load.
#[derive(Clone, Debug)]
pub struct BoundRow {
    /// Name of the preset.
    pub drive: &'static str,
    /// The load.
    pub load: Load,
    /// The tightest bound.
    pub bound: Bound,
    /// The bandwidth of each scheme, in the order asked for; `None`: the scheme refuses the drive.
    pub attained: Vec<Option<Attained>>,
}

/// How the table is made.
pub struct Bounds<'a> {
    /// Presets; empty: all.
    pub drives: &'a [String],
    /// Schemes, `none` first.
    pub schemes: &'a [&'a str],
    /// Bytes that each load asks for.
    pub bytes: u64,
    /// Runs at the same time.
    pub threads: usize,
    /// Called with the runs that are done and all of them.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Runs every load on every drive under every scheme.
///
/// # Errors
/// A drive that is not known, or a run that fails.
pub fn bounds(wanted: &Bounds<'_>) -> Result<Vec<BoundRow>, Problem> {
    let known: Vec<&str> = DRIVES.iter().map(|entry| entry.name).collect();
    if let Some(unknown) = wanted.drives.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Problem::unknown("--drive", "preset", unknown, &known));
    }
    let names = known.into_iter().filter(|name| wanted.drives.is_empty() || wanted.drives.iter().any(|wanted| wanted == name));
    let mut rows = Vec::new();
    for name in names {
        let drive = Experiment::with(&Overrides { options: of_preset(name), ..Overrides::default() })?.drive.drive();
        for load in Load::ALL {
            rows.push((BoundRow { drive: name, load, bound: bound(&drive, load), attained: Vec::new() }, drive.clone()));
        }
    }
    let schemes = wanted.schemes;
    let work: Vec<(usize, usize)> = (0..rows.len()).flat_map(|row| (0..schemes.len()).map(move |scheme| (row, scheme))).collect();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let all = work.len();
    let attained = in_parallel(wanted.threads, work, |(row, scheme): (usize, usize)| {
        let (BoundRow { drive: name, load, .. }, drive) = &rows[row];
        let experiment = load.experiment(name, drive, schemes[scheme], wanted.bytes)?;
        let run = compare(&experiment, &Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} });
        (wanted.progress)(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, all);
        let comparison = match run {
            Ok(comparison) => comparison,
            // A scheme that refuses the drive is a hole in the table.
            Err(problem) if problem.field == "schemes" => return Ok(None),
            Err(problem) => return Err(problem),
        };
        let run = &comparison.outcomes[0].result;
        let bytes =
            comparison.experiment.generate.as_ref().map_or(0, |generate| generate.request_size.0) * run.host.latency_us.count;
        Ok(Some(Attained {
            mb_per_s: bytes as f64 / run.replay.simulated_s / 1e6,
            dies_busy: run.flash.die_utilisation,
            wait: longest(run.waits.as_ref()),
        }))
    })?;
    for (at, (row, _)) in rows.iter_mut().enumerate() {
        row.attained = attained[at * schemes.len()..(at + 1) * schemes.len()].to_vec();
    }
    Ok(rows.into_iter().map(|(row, _)| row).collect())
}

/// The table in Markdown: of each load, a row for each drive.
#[must_use]
pub fn markdown(rows: &[BoundRow], schemes: &[&str]) -> String {
    let mut text = String::new();
    for load in Load::ALL {
        let _ = writeln!(text, "\n**{}**\n\n| drive | bound, MB/s | {} |", load.name(), schemes.join(" | "));
        let _ = writeln!(text, "| --- | --- |{}", " --- |".repeat(schemes.len()));
        for row in rows.iter().filter(|row| row.load == load) {
            let none = row.attained.first().and_then(|first| first.as_ref()).map_or(f64::NAN, |none| none.mb_per_s);
            let cell = |(at, attained): (usize, &Option<Attained>)| {
                let Some(Attained { mb_per_s, dies_busy, wait }) = attained else { return "-".to_owned() };
                let of = if at == 0 { row.bound.mb_per_s } else { none };
                let waits =
                    wait.filter(|_| *dies_busy < 0.85 && mb_per_s / of < 0.9).map_or(String::new(), |wait| format!(", {wait}"));
                format!("{mb_per_s:.0} ({:.0} %; busy {:.0} %{waits})", 100.0 * mb_per_s / of, 100.0 * dies_busy)
            };
            let cells: Vec<String> = row.attained.iter().enumerate().map(cell).collect();
            let _ = writeln!(text, "| `{}` | {:.0}, {} | {} |", row.drive, row.bound.mb_per_s, row.bound.by, cells.join(" | "));
        }
    }
    text
}
