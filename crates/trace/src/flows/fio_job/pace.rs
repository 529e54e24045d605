//! When the requests of a job come: rates, pauses, queue depths, and the engines that have one.

use super::section::{Setting, Values};
use crate::TraceError;
use crate::flows::{KINDS, Pacing, Pauses, Rate};
use vocab::Nanos;

/// Engines that wait for each request: whatever `iodepth` says, one is unanswered.
const SYNCHRONOUS: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];

/// Engines that ask a drive for no data, and what they do instead.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("cpuio", "takes time of a processor"),
    ("dircreate", "makes folders"),
    ("dirdelete", "removes folders"),
    ("dirstat", "asks a file system about folders"),
    ("e4defrag", "moves the files of a file system"),
    ("exec", "runs a program"),
    ("falloc", "gives files room in a file system"),
    ("filecreate", "makes empty files"),
    ("filedelete", "removes files"),
    ("filestat", "asks a file system about files"),
    ("ftruncate", "changes the sizes of files"),
    ("net", "sends data over a network"),
    ("netsplice", "sends data over a network"),
    ("rdma", "sends data over a network"),
];

/// The engine of a job that names none.
const DEFAULT_ENGINE: &str = "psync";

/// Refuses an engine that asks a drive for nothing.
pub(super) fn check_engine(values: Values<'_>) -> Result<(), TraceError> {
    let Some(engine) = values.text("ioengine", "the name of an engine")? else { return Ok(()) };
    let Some((_, does)) = WITHOUT_DATA.iter().find(|(name, _)| *name == engine) else { return Ok(()) };
    let setting = values.get("ioengine").expect("it has a text");
    Err(values.file.bad(setting, &format!("an engine that reads or writes data of a drive: this one {does}")))
}

/// When the requests of a job come.
pub(super) struct Pace {
    pub pacing: Pacing,
    /// Pauses, of a job with a queue.
    pub pauses: Option<Pauses>,
    /// The queue of a kind without a rate, where the other kind has one.
    pub unrated: Option<(usize, Pacing)>,
}

/// When requests come, and pauses between them.
pub(super) fn pacing(values: Values<'_>, shares: [f64; 3], notes: &mut Vec<String>) -> Result<Pace, TraceError> {
    const IOPS: &str = "requests a second, up to 1000000000, or one each for reads, writes and trims";
    let poisson = match values.text("rate_process", "linear or poisson")? {
        None | Some("linear") => false,
        Some("poisson") => true,
        Some(_) => return Err(values.file.bad(values.get("rate_process").expect("it has a text"), "linear or poisson")),
    };
    let per_second = |text: &str| values.bytes(text).filter(|rate| *rate <= 1_000_000_000_000_000);
    let iops = |text: &str| text.parse::<u64>().ok().filter(|rate| *rate <= 1_000_000_000);
    let (iops, bytes) =
        (values.triple("rate_iops", IOPS, iops)?, values.triple("rate", "bytes a second, such as 20m", per_second)?);
    let pause = values.time("thinktime", 1_000)?.filter(|pause| *pause > 0);
    // A rate of 0 is none.
    let above = |rates: Option<[Option<u64>; 3]>| rates.unwrap_or_default().map(|rate| rate.filter(|rate| *rate > 0));
    let (iops, bytes) = (above(iops), above(bytes));
    let given = values.get("rate_iops").or(values.get("rate"));
    let has_rate = |kind: usize| shares[kind] > 0.0 && (iops[kind].is_some() || bytes[kind].is_some());
    if let Some(given) = given.filter(|_| (0..KINDS.len()).any(has_rate)) {
        let rates = std::array::from_fn(|kind| match (iops[kind], bytes[kind]) {
            (None, None) => None,
            (iops, bytes) => Some(Rate {
                per_request: iops.map_or(0.0, |iops| 1e9 / iops as f64),
                per_byte: if iops.is_some() { 0.0 } else { bytes.map_or(0.0, |bytes| 1e9 / bytes as f64) },
                poisson,
            }),
        });
        let unrated = (0..KINDS.len()).find(|kind| shares[*kind] > 0.0 && rates[*kind].is_none());
        let unrated = unrated.map(|kind| Ok((kind, beside_a_rate(values, given, notes)?))).transpose()?;
        if pause.is_some() {
            notes.push("thinktime: has no effect beside a rate, which holds its mean".into());
        }
        return Ok(Pace { pacing: Pacing::Each(rates), pauses: None, unrated });
    }
    let every = values.number("thinktime_blocks", 1, 1 << 40)?.unwrap_or(1);
    let pauses = pause.map(|pause| Pauses { pause: Nanos(pause), every });
    Ok(Pace { pacing: queue(values, notes)?, pauses, unrated: None })
}

/// The queue of a kind without a rate, in a job whose other kind has one.
fn beside_a_rate(values: Values<'_>, given: &Setting, notes: &mut Vec<String>) -> Result<Pacing, TraceError> {
    if values.time("runtime", 1_000_000_000)?.is_none_or(|time| time == 0) {
        const WANTED: &str = "a rate for each kind that the job asks for, or a `runtime`: how many requests come of the kind without a rate \
                              depends on the drive";
        return Err(values.file.bad(given, WANTED));
    }
    notes.push(
        "rate: one kind has its rate and the other a queue of `iodepth`, each as if it were a job of its own; `size` holds for each of them, and \
         the share in `rwmixread` does not count"
            .into(),
    );
    queue(values, notes)
}

/// The queue of a job.
fn queue(values: Values<'_>, notes: &mut Vec<String>) -> Result<Pacing, TraceError> {
    let engine = values.text("ioengine", "the name of an engine")?.unwrap_or(DEFAULT_ENGINE);
    let depth = values.number("iodepth", 1, 65_536)?.unwrap_or(1);
    if SYNCHRONOUS.contains(&engine) && depth > 1 {
        notes.push(format!("iodepth: 1, because the engine `{engine}` waits for each request, as in fio"));
        return Ok(Pacing::Queue(1));
    }
    Ok(Pacing::Queue(depth as u32))
}

pub(super) fn delay(values: Values<'_>) -> Result<Nanos, TraceError> {
    Ok(Nanos(values.time("startdelay", 1_000_000_000)?.unwrap_or(0)))
}
