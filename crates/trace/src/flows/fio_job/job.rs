//! One job of fio as a flow of requests.

use super::section::{SIZE, Values};
use crate::flows::{Amount, KINDS, Pacing, Place, Rate, Sizes, Synthetic, Zone};
use crate::{REQUEST_LIMIT, TraceError};
use vocab::{Nanos, SECTOR_BYTES};

/// Engines that wait for each request: whatever `iodepth` says, one is unanswered.
const SYNCHRONOUS: &[&str] =
    &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "falloc", "e4defrag", "ftruncate", "filecreate"];

/// The engine of a job that names none.
const DEFAULT_ENGINE: &str = "psync";

/// Bytes of a request, where the job does not say.
const DEFAULT_SIZE: u64 = 4096;

/// A job: what its clones have in common, and where they differ.
pub(super) struct Job {
    name: String,
    pub clones: u64,
    pub delay: Nanos,
    pub notes: Vec<String>,
    filename: Option<String>,
    increment: u64,
    one: Synthetic,
}

impl Job {
    pub fn read(values: Values<'_>) -> Result<Self, TraceError> {
        let mut notes = Vec::new();
        let shares = shares(values)?;
        let (sizes, units) = (sizes(values)?, units(values)?);
        let units: [u64; 3] = std::array::from_fn(|kind| units[kind].unwrap_or_else(|| crate::flows::smallest(&sizes[kind])));
        let pacing = pacing(values, shares, &mut notes)?;
        let place = place(values, &sizes, units, shares, &mut notes)?;
        let (range, amount) = extent(values, &sizes, shares, (&place, pacing), &mut notes)?;
        check_range(values, range, &sizes, shares)?;
        let filename = values.text("filename", "a name")?.map(str::to_owned);
        if let Some(setting) = values.get("filename").filter(|_| filename.as_deref().is_some_and(|name| name.contains(':'))) {
            return Err(values.file.bad(setting, "one name: give each file a job of its own"));
        }
        if let Some(setting) = values.get("nrfiles").filter(|setting| setting.value.as_deref() != Some("1")) {
            return Err(values.file.bad(setting, "1: give each file a job of its own"));
        }
        let placed = values.triple("percentage_random", "a percentage, or one each for reads, writes and trims", percentage)?;
        let flushes = [values.number("fsync", 0, 1 << 40)?, values.number("fdatasync", 0, 1 << 40)?];
        Ok(Self {
            name: values.section.name.clone(),
            clones: values.number("numjobs", 1, crate::flows::FLOWS_LIMIT as u64)?.unwrap_or(1),
            delay: delay(values, pacing, &mut notes)?,
            filename,
            increment: values.size("offset_increment")?.unwrap_or(0),
            one: Synthetic {
                range,
                shares,
                sizes,
                units,
                place,
                placed: placed.unwrap_or_default().map(|share| share.unwrap_or(1.0)),
                pacing,
                amount,
                flush_every: flushes.into_iter().flatten().find(|every| *every > 0),
                fua: fua(values)?,
                seed: values.number("randseed", 0, u64::MAX)?,
            },
            notes,
        })
    }

    /// The file that a clone goes to.
    pub fn device(&self, clone: u64) -> String {
        self.filename.clone().unwrap_or_else(|| format!("{}.{clone}", self.name))
    }

    /// What a clone asks for.
    pub fn requests(&self, clone: u64) -> Synthetic {
        let mut one = self.one.clone();
        one.range.0 = one.range.0.saturating_add(self.increment.saturating_mul(clone)).min(crate::LBA_LIMIT.0);
        one
    }
}

fn percentage(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().filter(|percent| *percent <= 100).map(|percent| percent as f64 / 100.0)
}

/// Share of each kind.
fn shares(values: Values<'_>) -> Result<[f64; 3], TraceError> {
    const WANTED: &str = "read, write, rw, randread, randwrite, randrw, trim or randtrim";
    let reads = values.percent("rwmixread")?;
    let reads = reads.or(values.percent("rwmixwrite")?.map(|writes| 1.0 - writes)).unwrap_or(0.5);
    let Some(text) = values.text("rw", WANTED)? else { return Ok([1.0, 0.0, 0.0]) };
    match text.strip_prefix("rand").unwrap_or(text) {
        "read" => Ok([1.0, 0.0, 0.0]),
        "write" => Ok([0.0, 1.0, 0.0]),
        "rw" | "readwrite" => Ok([reads, 1.0 - reads, 0.0]),
        "trim" => Ok([0.0, 0.0, 1.0]),
        _ => Err(values.file.bad(values.get("rw").expect("it has a text"), WANTED)),
    }
}

fn is_random(values: Values<'_>) -> bool {
    values.get("rw").and_then(|setting| setting.value.as_deref()).is_some_and(|text| text.starts_with("rand"))
}

/// Whole sectors of a request.
fn request_size(values: Values<'_>, text: &str) -> Option<u64> {
    values.bytes(text).filter(|size| *size > 0 && size.is_multiple_of(SECTOR_BYTES) && *size <= REQUEST_LIMIT.0)
}

fn sizes(values: Values<'_>) -> Result<[Sizes; 3], TraceError> {
    const WANTED: &str = "multiples of 512 bytes up to 1g, such as 4k, or one each for reads, writes and trims";
    let one = |size: u64| Sizes::Weighted(vec![(size, 1.0)]);
    let given = values.triple("bs", WANTED, |text| request_size(values, text))?.unwrap_or_default();
    let mut sizes = given.map(|size| one(size.unwrap_or(DEFAULT_SIZE)));
    let range = |text: &str| {
        let (low, high) = text.split_once('-')?;
        let (low, high) = (request_size(values, low.trim())?, request_size(values, high.trim())?);
        (low <= high).then_some((low, high))
    };
    const RANGE: &str = "a range of multiples of 512 bytes, such as 4k-64k";
    if let Some(ranges) = values.triple("bsrange", RANGE, range)? {
        for (sizes, (low, high)) in sizes.iter_mut().zip(ranges).filter_map(|(sizes, range)| Some((sizes, range?))) {
            *sizes = if low == high { one(low) } else { Sizes::Multiples { low, high } };
        }
    }
    if let Some(setting) = values.get("bssplit") {
        const SPLIT: &str = "sizes with percentages up to 100 in all, such as 4k/60:16k/30:64k/10";
        let text = setting.value.as_deref().unwrap_or_default();
        let parts: Vec<&str> = text.split(',').collect();
        for (kind, sizes) in sizes.iter_mut().enumerate() {
            let part = parts.get(kind).or(parts.last()).copied().unwrap_or_default();
            *sizes = split(part, |text| request_size(values, text))
                .map(Sizes::Weighted)
                .ok_or_else(|| values.file.bad(setting, SPLIT))?;
        }
    }
    Ok(sizes)
}

/// `a/50:b/30:c/`: those without a percentage share what is left.
fn split(text: &str, size: impl Fn(&str) -> Option<u64>) -> Option<Vec<(u64, f64)>> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (left, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = if percent.trim().is_empty() { None } else { Some(percentage(percent.trim())?) };
        parts.push((size(left.trim())?, percent));
    }
    let given: f64 = parts.iter().filter_map(|(_, percent)| *percent).sum();
    let open = parts.iter().filter(|(_, percent)| percent.is_none()).count();
    let rest = (1.0 - given) / open.max(1) as f64;
    let filled: Vec<(u64, f64)> = parts.into_iter().map(|(size, percent)| (size, percent.unwrap_or(rest))).collect();
    (given <= 1.0 + 1e-9 && filled.iter().any(|(_, share)| *share > 0.0)).then_some(())?;
    Some(filled.into_iter().filter(|(_, share)| *share > 0.0).collect())
}

fn units(values: Values<'_>) -> Result<[Option<u64>; 3], TraceError> {
    const WANTED: &str = "multiples of 512 bytes, such as 4k";
    Ok(values.triple("blockalign", WANTED, |text| request_size(values, text))?.unwrap_or_default())
}

/// The one size of all kinds that are asked for, where that is what addresses are multiples of, too.
fn one_size(sizes: &[Sizes; 3], units: [u64; 3], shares: [f64; 3]) -> Option<u64> {
    let asked = (0..KINDS.len()).filter(|kind| shares[*kind] > 0.0);
    let mut found = asked.map(|kind| match &sizes[kind] {
        Sizes::Weighted(sizes) if sizes.len() == 1 && units[kind] == sizes[0].0 => Some(sizes[0].0),
        _ => None,
    });
    let first = found.next()??;
    found.all(|other| other == Some(first)).then_some(first)
}

fn place(
    values: Values<'_>,
    sizes: &[Sizes; 3],
    units: [u64; 3],
    shares: [f64; 3],
    notes: &mut Vec<String>,
) -> Result<Place, TraceError> {
    if !is_random(values) {
        return Ok(Place::Sequential);
    }
    let distribution = values.text("random_distribution", DISTRIBUTIONS)?.unwrap_or("random");
    if distribution != "random" {
        return distributed(values, distribution);
    }
    if values.flag("norandommap")? {
        return Ok(Place::Uniform);
    }
    if one_size(sizes, units, shares).is_some() {
        return Ok(Place::Once);
    }
    notes.push(
        "bs: with several sizes, blocks may be asked for again, as with `norandommap`; fio cuts requests short where they meet \
         blocks that it has done"
            .into(),
    );
    Ok(Place::Uniform)
}

const DISTRIBUTIONS: &str = "random, zipf:THETA, pareto:POWER, normal:DEVIATION, zoned:SHARE/PART:.. or zoned_abs:SHARE/SIZE:..";

fn distributed(values: Values<'_>, text: &str) -> Result<Place, TraceError> {
    let bad = |wanted: &str| values.file.bad(values.get("random_distribution").expect("it has a text"), wanted);
    let (kind, rest) = text.split_once([':', '=']).ok_or_else(|| bad(DISTRIBUTIONS))?;
    let within = |low: f64, high: f64| rest.parse::<f64>().ok().filter(|value| *value > low && *value < high);
    match kind {
        "zipf" => within(0.0, 100.0).map(Place::Zipf).ok_or_else(|| bad("zipf:THETA, above 0 and below 100, without a centre")),
        "pareto" => within(0.0, 1.0).map(Place::Pareto).ok_or_else(|| bad("pareto:POWER, between 0 and 1, without a centre")),
        "normal" | "gauss" => {
            let deviation = rest.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
            deviation.map(Place::Normal).ok_or_else(|| bad("normal:DEVIATION, 0 to 100, without a centre"))
        }
        "zoned" | "zoned_abs" => {
            const WANTED: &str = "shares of the requests and parts of the range, each 100 % in all, such as zoned:60/10:40/90";
            let whole = if kind == "zoned" { None } else { values.size_of("size", values.size("filesize")?)? };
            let parts: Vec<&str> = rest.split(',').collect();
            let zones = |kind: usize| zones(values, parts.get(kind).or(parts.last()).copied().unwrap_or_default(), whole);
            match [zones(0), zones(1), zones(2)] {
                [Some(reads), Some(writes), Some(trims)] => Ok(Place::Zones([reads, writes, trims])),
                _ => Err(bad(WANTED)),
            }
        }
        _ => Err(bad(DISTRIBUTIONS)),
    }
}

/// `share/part:..`: parts are percentages, or sizes of a whole.
fn zones(values: Values<'_>, text: &str, whole: Option<u64>) -> Option<Vec<Zone>> {
    let (mut from, mut total, mut zones) = (0.0, 0.0, Vec::new());
    for part in text.split(':') {
        let (share, size) = part.split_once('/')?;
        let size = match whole {
            Some(whole) => values.bytes(size.trim())? as f64 / whole.max(1) as f64,
            None => percentage(size.trim())?,
        };
        let share = percentage(share.trim())?;
        zones.push(Zone { share, from, to: from + size });
        from += size;
        total += share;
    }
    ((total - 1.0f64).abs() < 1e-9 && from <= 1.0 + 1e-9).then_some(zones)
}

fn fua(values: Values<'_>) -> Result<bool, TraceError> {
    match values.get("sync").map(|setting| (setting, setting.value.as_deref())) {
        None | Some((_, Some("0" | "none"))) => Ok(false),
        Some((_, None | Some("1" | "sync" | "dsync"))) => Ok(true),
        Some((setting, _)) => Err(values.file.bad(setting, "0, 1, none, sync or dsync")),
    }
}

fn pacing(values: Values<'_>, shares: [f64; 3], notes: &mut Vec<String>) -> Result<Pacing, TraceError> {
    const IOPS: &str = "requests a second, 1 to 1000000000, or one each for reads, writes and trims";
    let poisson = match values.text("rate_process", "linear or poisson")? {
        None | Some("linear") => false,
        Some("poisson") => true,
        Some(_) => return Err(values.file.bad(values.get("rate_process").expect("it has a text"), "linear or poisson")),
    };
    let per_second = |text: &str| values.bytes(text).filter(|rate| (1..=1_000_000_000_000_000).contains(rate));
    let iops = |text: &str| text.parse::<u64>().ok().filter(|rate| (1..=1_000_000_000).contains(rate));
    let (iops, bytes) =
        (values.triple("rate_iops", IOPS, iops)?, values.triple("rate", "bytes a second, such as 20m", per_second)?);
    let pause = values.time("thinktime", 1_000)?.filter(|pause| *pause > 0);
    if let Some(given) = values.get("rate_iops").or(values.get("rate")) {
        let (iops, bytes) = (iops.unwrap_or_default(), bytes.unwrap_or_default());
        let rates = std::array::from_fn(|kind| match (iops[kind], bytes[kind]) {
            (None, None) => None,
            (iops, bytes) => Some(Rate {
                per_request: iops.map_or(0.0, |iops| 1e9 / iops as f64),
                per_byte: if iops.is_some() { 0.0 } else { bytes.map_or(0.0, |bytes| 1e9 / bytes as f64) },
                poisson,
            }),
        });
        if (0..KINDS.len()).any(|kind| shares[kind] > 0.0 && rates[kind].is_none()) {
            return Err(values.file.bad(given, "a rate for each kind that the job asks for: there is one clock for all"));
        }
        if pause.is_some() {
            notes.push("thinktime: has no effect beside a rate, which holds its mean".into());
        }
        return Ok(Pacing::Each(rates));
    }
    if let Some(pause) = pause {
        notes.push("thinktime: counted from when a request was sent, not from when it was answered".into());
        let every = values.number("thinktime_blocks", 1, 1 << 40)?.unwrap_or(1);
        return Ok(Pacing::Pauses { pause, every });
    }
    let engine = values.text("ioengine", "the name of an engine")?.unwrap_or(DEFAULT_ENGINE);
    let depth = values.number("iodepth", 1, 65_536)?.unwrap_or(1);
    if SYNCHRONOUS.contains(&engine) && depth > 1 {
        notes.push(format!("iodepth: 1, because the engine `{engine}` waits for each request, as in fio"));
        return Ok(Pacing::Queue(1));
    }
    Ok(Pacing::Queue(depth as u32))
}

fn delay(values: Values<'_>, pacing: Pacing, notes: &mut Vec<String>) -> Result<Nanos, TraceError> {
    let delay = values.time("startdelay", 1_000_000_000)?.unwrap_or(0);
    if delay > 0 && matches!(pacing, Pacing::Queue(_)) {
        notes.push("startdelay: has no effect without a rate".into());
        return Ok(Nanos(0));
    }
    Ok(Nanos(delay))
}

/// Range of the addresses, and how much is asked for.
fn extent(
    values: Values<'_>,
    sizes: &[Sizes; 3],
    shares: [f64; 3],
    (place, pacing): (&Place, Pacing),
    notes: &mut Vec<String>,
) -> Result<((u64, u64), Amount), TraceError> {
    let filesize = values.size("filesize")?;
    let offset = values.size_of("offset", filesize)?.unwrap_or(0);
    let size = values.size_of("size", filesize)?;
    let io_size = values.size_of("io_size", size.or(filesize))?;
    let length = match (filesize, size) {
        (Some(filesize), _) => filesize.saturating_sub(offset),
        (None, Some(size)) => size,
        (None, None) => {
            let section = values.section;
            let message = format!("the job has no `size`, and there is no file whose size it could be; wanted {SIZE}");
            return Err(values.file.wrong(section.line, &section.name, message));
        }
    };
    let loops = values.number("loops", 1, 1 << 32)?.unwrap_or(1);
    let runtime = values.time("runtime", 1_000_000_000)?.filter(|time| *time > 0);
    let is_timed = !matches!(pacing, Pacing::Queue(_));
    let asked = (0..KINDS.len()).filter(|kind| shares[*kind] > 0.0);
    let least = asked.map(|kind| crate::flows::smallest(&sizes[kind])).min().unwrap_or(DEFAULT_SIZE);
    // A pass without `io_size` ends where no further request fits; with it, with the request that reaches it.
    let is_exact = io_size.is_none() && matches!(place, Place::Sequential | Place::Once);
    let pass = size.unwrap_or(length).min(if io_size.is_none() { length } else { u64::MAX });
    let pass = if is_exact { pass / least * least } else { pass };
    let bytes = io_size.unwrap_or(pass).saturating_mul(loops);
    let (mut bytes, mut until) = (Some(bytes), runtime.filter(|_| is_timed).map(Nanos));
    if values.flag("time_based")? && until.is_some() {
        bytes = None;
    }
    if runtime.is_some() && !is_timed {
        until = None;
        notes.push(
            "runtime: how many requests it holds depends on the drive, and all schemes answer the same ones: each job asks for its \
             `size` or `io_size` once; a rate gives it times"
                .into(),
        );
    }
    let requests = values.number("number_ios", 1, 1 << 40)?;
    Ok(((offset, length), Amount { bytes, is_exact, requests, until }))
}

fn check_range(values: Values<'_>, range: (u64, u64), sizes: &[Sizes; 3], shares: [f64; 3]) -> Result<(), TraceError> {
    let section = values.section;
    let asked = (0..KINDS.len()).filter(|kind| shares[*kind] > 0.0);
    let least = asked.map(|kind| crate::flows::smallest(&sizes[kind])).max().unwrap_or(0);
    if range.1 < least {
        let message = format!("found a range of {} bytes for requests of {least} bytes; wanted room for one at least", range.1);
        return Err(values.file.wrong(section.line, &section.name, message));
    }
    let end = u128::from(range.0) + u128::from(range.1);
    if end > u128::from(crate::LBA_LIMIT.0) * u128::from(SECTOR_BYTES) / 2 {
        return Err(values.file.wrong(section.line, &section.name, "found addresses beyond 2^62 bytes; wanted a smaller range"));
    }
    Ok(())
}
