//! One job of fio as a flow of requests.

use super::section::Values;
use super::{extent, follow, pace};
use crate::flows::{Amount, KINDS, Manner, Pacing, Place, Sizes, Synthetic, Zone};
use crate::{REQUEST_LIMIT, TraceError};
use vocab::{Nanos, SECTOR_BYTES};

/// Bytes of a request, where the job does not say.
const DEFAULT_SIZE: u64 = 4096;

/// A job: what its clones have in common, and where they differ.
pub(super) struct Job<'a> {
    values: Values<'a>,
    pub clones: u64,
    pub delay: Nanos,
    pub notes: Vec<String>,
    one: Synthetic,
    /// The kind without a rate, where the other has one, and its queue.
    unrated: Option<(usize, Pacing)>,
}

impl<'a> Job<'a> {
    pub fn read(values: Values<'a>) -> Result<Self, TraceError> {
        let mut notes = Vec::new();
        pace::check_engine(values)?;
        let shares = shares(values)?;
        let (sizes, units) = (sizes(values, &mut notes)?, units(values)?);
        check_sizes(values, &sizes, shares)?;
        check_rewrites(values, &sizes)?;
        if values.flag("experimental_verify")? && extent::loops(values)? > 1 {
            notes.push("experimental_verify: each of `loops` is read back, where fio reads back once".into());
        }
        if values.number("num_range", 1, 1 << 16)?.is_some_and(|ranges| ranges > 1) {
            notes.push("num_range: each range of a trim is a request of its own".into());
        }
        let units: [u64; 3] = std::array::from_fn(|kind| units[kind].unwrap_or_else(|| crate::flows::smallest(&sizes[kind])));
        let pace::Pace { pacing, pauses, unrated } = pace::pacing(values, shares, &mut notes)?;
        let manner = follow::manner(values, file_names(values, 0)?.len() as u32, &mut notes)?;
        let place = place(values, &sizes, units, shares, manner.burst > 1, &mut notes)?;
        check_strides(values, manner, &place)?;
        let placed = values.triple("percentage_random", "a percentage, or one each for reads, writes and trims", percentage)?;
        let flushes = [values.number("fsync", 0, 1 << 40)?, values.number("fdatasync", 0, 1 << 40)?];
        Ok(Self {
            values,
            clones: values.number("numjobs", 1, crate::flows::FLOWS_LIMIT as u64)?.unwrap_or(1),
            delay: pace::delay(values)?,
            one: Synthetic {
                range: (0, 0),
                shares,
                sizes,
                units,
                place,
                placed: placed.unwrap_or_default().map(|share| share.unwrap_or(1.0)),
                pacing,
                pauses,
                amount: Amount::default(),
                flush_every: flushes.into_iter().flatten().filter(|every| *every > 0).collect(),
                fua: fua(values)?,
                manner,
                seed: values.number("randseed", 0, u64::MAX)?,
            },
            notes,
            unrated,
        })
    }

    /// The files that a clone goes to.
    pub fn devices(&self, clone: u64) -> Vec<String> {
        file_names(self.values, clone).unwrap_or_default()
    }

    /// The requests of a clone, where a device that is the drive has this many bytes, and notes about them.
    pub fn requests(&self, clone: u64, drive: u64) -> Result<(Synthetic, Vec<String>), TraceError> {
        let mut one = self.one.clone();
        let notes = extent::set(self.values, &mut one, clone, drive)?;
        Ok((one, notes))
    }

    /// The flows of a clone: its requests, or those of the kind with a rate and those of the kind without.
    pub fn flows(&self, one: Synthetic) -> Vec<(String, Synthetic)> {
        let name = &self.values.section.name;
        let Some((unrated, queue)) = self.unrated else { return vec![(name.clone(), one)] };
        let of_kind = |kind: usize, pacing: Pacing| {
            let mut part = Synthetic { shares: [0.0; 3], pacing, ..one.clone() };
            part.shares[kind] = 1.0;
            let is_read = kind == 0;
            if is_read {
                (part.manner.read_back, part.manner.flushes_at_end) = (None, false);
            }
            (format!("{name}, {}", if is_read { "reads" } else { "writes" }), part)
        };
        // Of a mix there are reads and writes.
        vec![of_kind(1 - unrated, one.pacing), of_kind(unrated, queue)]
    }
}

/// Refuses places that are not drawn in zones.
fn check_strides(values: Values<'_>, manner: Manner, place: &Place) -> Result<(), TraceError> {
    if manner.strides.is_none() || matches!(place, Place::Sequential | Place::Once | Place::Uniform) {
        return Ok(());
    }
    let setting = values.get("random_distribution").expect("it says where requests go");
    Err(values.file.bad(setting, "random, which is all that is drawn in zones here"))
}

/// Names of the files of a clone. Those of jobs on the drive that name none are the drive.
fn file_names(values: Values<'_>, clone: u64) -> Result<Vec<String>, TraceError> {
    if let Some(names) = values.text("filename", "a name")? {
        // A colon that belongs to a name has a backslash before it.
        let names = names.replace("\\:", "\0");
        return Ok(names.split(':').map(|name| name.replace('\0', ":")).collect());
    }
    let count = values.number("nrfiles", 1, crate::DEVICES_LIMIT as u64)?.unwrap_or(1);
    let (job, folder) = (&values.section.name, values.text("directory", "a folder")?.unwrap_or_default());
    if extent::is_on_the_drive(values)? {
        return Ok((0..count).map(|file| format!("the drive, part {file}")).collect());
    }
    let format = values.text("filename_format", "a name")?.unwrap_or("$jobname.$jobnum.$filenum");
    let name = |file: u64| {
        let numbers = format.replace("$jobnum", &clone.to_string()).replace("$filenum", &file.to_string());
        format!("{folder}/{}", numbers.replace("$jobname", job))
    };
    Ok((0..count).map(name).collect())
}

/// The devices of a job that are the drive.
pub(super) fn devices_on_the_drive(values: Values<'_>) -> Result<Vec<String>, TraceError> {
    if extent::is_on_the_drive(values)? { file_names(values, 0) } else { Ok(Vec::new()) }
}

fn percentage(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().filter(|percent| *percent <= 100).map(|percent| percent as f64 / 100.0)
}

/// Share of each kind.
fn shares(values: Values<'_>) -> Result<[f64; 3], TraceError> {
    let reads = match (values.percent("rwmixread")?, values.percent("rwmixwrite")?) {
        (None, None) => 0.5,
        (Some(reads), None) => reads,
        (None, Some(writes)) => 1.0 - writes,
        (Some(reads), Some(writes)) => {
            let order = |name: &str| values.get(name).map(|setting| setting.order);
            if order("rwmixread") > order("rwmixwrite") { reads } else { 1.0 - writes }
        }
    };
    match follow::direction(values)?.kind {
        "read" => Ok([1.0, 0.0, 0.0]),
        "write" => Ok([0.0, 1.0, 0.0]),
        "rw" => Ok([reads, 1.0 - reads, 0.0]),
        // Each write of `trimwrite` follows the trim that it belongs to.
        _ => Ok([0.0, 0.0, 1.0]),
    }
}

/// Whole sectors of a request; `check_sizes` holds them against what its kind may have.
fn request_size(values: Values<'_>, text: &str) -> Option<u64> {
    let is_size = |size: &u64| *size > 0 && size.is_multiple_of(SECTOR_BYTES) && *size / SECTOR_BYTES <= u64::from(u32::MAX);
    values.bytes(text).filter(is_size)
}

/// Reads and writes have a limit that trims have not.
fn check_sizes(values: Values<'_>, sizes: &[Sizes; 3], shares: [f64; 3]) -> Result<(), TraceError> {
    let is_write = follow::direction(values)?.kind == "trimwrite";
    let is_moved = |kind: usize| if kind == 2 { is_write } else { shares[kind] > 0.0 };
    if !(0..KINDS.len()).any(|kind| is_moved(kind) && crate::flows::largest(&sizes[kind]) > REQUEST_LIMIT.0) {
        return Ok(());
    }
    let setting = ["bssplit", "bsrange", "bs"].into_iter().find_map(|name| values.get(name));
    Err(values.file.bad(setting.expect("the default is small"), "reads and writes of at most 1g"))
}

/// Writes that follow trims in order may be smaller, if they meet each place where a trim begins: else fio trims once and then writes to the end.
fn check_rewrites(values: Values<'_>, sizes: &[Sizes; 3]) -> Result<(), TraceError> {
    let direction = follow::direction(values)?;
    // At random a write is as large as the trim that it follows, whatever its own size.
    if direction.kind != "trimwrite" || direction.is_random || sizes[1] == sizes[2] {
        return Ok(());
    }
    let meets = match (&sizes[1], &sizes[2]) {
        (Sizes::Weighted(writes), Sizes::Weighted(trims)) if writes.len() == 1 && trims.len() == 1 => {
            trims[0].0.is_multiple_of(writes[0].0)
        }
        _ => false,
    };
    let is_plain = direction.suffix.is_none() && values.get("fsync").is_none() && values.get("fdatasync").is_none();
    if meets && is_plain && values.get("verify").is_none() {
        return Ok(());
    }
    let setting = ["bssplit", "bsrange", "bs"].into_iter().find_map(|name| values.get(name));
    let wanted = "one size for writes and trims beside `rw=trimwrite`, or, without flushes and checks, trims of a multiple of the size of writes";
    Err(values.file.bad(setting.expect("the default is one size"), wanted))
}

/// The valid sizes in words, with a hint about units that mean something else to fio.
fn wanted_size(values: Values<'_>, option: &str, wanted: &str) -> String {
    let text = values.get(option).and_then(|setting| setting.value.as_deref()).unwrap_or_default().to_ascii_lowercase();
    if text.contains('-') && option == "bs" {
        return format!("{wanted}; a range is `bsrange={text}`");
    }
    if text.contains("ib") && values.get("kb_base").is_none() {
        return format!("{wanted}; in fio 4KiB are 4000 bytes unless kb_base=1000: write 4k");
    }
    wanted.to_owned()
}

fn sizes(values: Values<'_>, notes: &mut Vec<String>) -> Result<[Sizes; 3], TraceError> {
    const WANTED: &str = "multiples of 512 bytes, such as 4k, or one each for reads, writes and trims";
    let one = |size: u64| Sizes::Weighted(vec![(size, 1.0)]);
    let given = values.triple("bs", &wanted_size(values, "bs", WANTED), |text| request_size(values, text))?.unwrap_or_default();
    let mut sizes = given.map(|size| one(size.unwrap_or(DEFAULT_SIZE)));
    let range = |text: &str| {
        let (low, high) = text.split_once(['-', ':'])?;
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
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_range = |text: &str| text.contains('-') && !text.contains('(');
        for (kind, sizes) in sizes.iter_mut().enumerate() {
            let part = parts.get(kind).or(parts.last()).copied().unwrap_or_default();
            // A kind that is left out has the sizes that it has without the option.
            if part.is_empty() && parts.len() > 1 {
                continue;
            }
            let size = |text: &str| request_size(values, if is_range(text) { text.split('-').next()? } else { text });
            *sizes = split(part, size).map(Sizes::Weighted).ok_or_else(|| values.file.bad(setting, SPLIT))?;
        }
        if is_range(text) {
            notes.push("bssplit: of a range such as 36k-60k its first size counts, as in fio".into());
        }
    }
    Ok(sizes)
}

/// `a/50:b/30:c/`: those without a percentage share what is left; where none is without, the last has it.
fn split(text: &str, size: impl Fn(&str) -> Option<u64>) -> Option<Vec<(u64, f64)>> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (left, percent) = part.split_once('/').unwrap_or((part, ""));
        // fio reads whole percentages, and leaves out what stands behind their point.
        let (whole, fraction) = percent.trim().split_once('.').unwrap_or((percent.trim(), ""));
        let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let percent = if whole.is_empty() { None } else { Some(percentage(whole).filter(|_| is_number)?) };
        parts.push((size(left.trim())?, percent));
    }
    let given: f64 = parts.iter().filter_map(|(_, percent)| *percent).sum();
    let open = parts.iter().filter(|(_, percent)| percent.is_none()).count();
    let rest = (1.0 - given) / open.max(1) as f64;
    let mut filled: Vec<(u64, f64)> = parts.into_iter().map(|(size, percent)| (size, percent.unwrap_or(rest))).collect();
    filled.retain(|(_, share)| *share > 0.0);
    if let Some(last) = filled.last_mut().filter(|_| open == 0) {
        last.1 += rest.max(0.0);
    }
    (given <= 1.0 + 1e-9 && !filled.is_empty()).then_some(filled)
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
    is_in_bursts: bool,
    notes: &mut Vec<String>,
) -> Result<Place, TraceError> {
    if !follow::direction(values)?.is_random {
        return Ok(Place::Sequential);
    }
    let distribution = values.text("random_distribution", DISTRIBUTIONS)?.unwrap_or("random");
    if distribution != "random" {
        return distributed(values, distribution);
    }
    // Requests that follow a place are not checked against the map of blocks that are done, in fio neither.
    if values.flag("norandommap")? || is_in_bursts {
        return Ok(Place::Uniform);
    }
    if one_size(sizes, units, shares).is_some() {
        return Ok(Place::Once);
    }
    let is_aligned = (0..KINDS.len()).any(|kind| units[kind] > crate::flows::smallest(&sizes[kind]));
    notes.push(if is_aligned {
        "blockalign: places that are further apart than a block is long are asked for again, as in fio".into()
    } else {
        "bs: with several sizes, blocks may be asked for again, as with `norandommap`; fio cuts requests short where they meet blocks \
         that it has done"
            .into()
    });
    Ok(Place::Uniform)
}

const DISTRIBUTIONS: &str =
    "random, zipf:THETA, pareto:POWER, normal:DEVIATION, zoned:SHARE/PART:.., zoned_abs:SHARE/SIZE:.. or sequence:BLOCK,..";

fn distributed(values: Values<'_>, text: &str) -> Result<Place, TraceError> {
    let bad = |wanted: &str| values.file.bad(values.get("random_distribution").expect("it has a text"), wanted);
    let (kind, rest) = match text {
        // The defaults of fio.
        "zipf" => (text, "1.1"),
        "pareto" => (text, "0.2"),
        "normal" | "gauss" => (text, "0"),
        _ => text.split_once([':', '=']).ok_or_else(|| bad(DISTRIBUTIONS))?,
    };
    let within = |low: f64, high: f64| rest.parse::<f64>().ok().filter(|value| *value > low && *value < high);
    match kind {
        "zipf" => within(0.0, 100.0).map(Place::Zipf).ok_or_else(|| bad("zipf:THETA, above 0 and below 100, without a centre")),
        "pareto" => within(0.0, 1.0).map(Place::Pareto).ok_or_else(|| bad("pareto:POWER, between 0 and 1, without a centre")),
        "normal" | "gauss" => {
            let deviation = rest.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
            deviation.map(Place::Normal).ok_or_else(|| bad("normal:DEVIATION, 0 to 100, without a centre"))
        }
        "zoned" | "zoned_abs" => {
            const WANTED: &str = "shares of the requests, 100 % in all, and parts of the range, such as zoned:60/10:40/90";
            let whole = if kind == "zoned" { None } else { Some(values.size("size")?.or(values.size("filesize")?).unwrap_or(0)) };
            let parts: Vec<&str> = rest.split(',').collect();
            let zones = |kind: usize| zones(values, parts.get(kind).or(parts.last()).copied().unwrap_or_default(), whole);
            match [zones(0), zones(1), zones(2)] {
                [Some(reads), Some(writes), Some(trims)] => Ok(Place::Zones([reads, writes, trims])),
                _ => Err(bad(WANTED)),
            }
        }
        "sequence" => {
            const WANTED: &str = "sequence:BLOCK,.. of at most 64 numbers of blocks, each below 4294967296";
            let blocks: Option<Vec<u64>> =
                rest.split(',').map(|block| Some(u64::from(block.trim().parse::<u32>().ok()?))).collect();
            let blocks = blocks.filter(|blocks| blocks.len() <= 64).ok_or_else(|| bad(WANTED))?;
            Ok(Place::Listed { blocks, moves_on: values.flag("random_sequence_stride")? })
        }
        _ => Err(bad(DISTRIBUTIONS)),
    }
}

/// `share/part:..`: parts are percentages, or sizes of a whole. Those without a share, or without a part, have equal parts of what is left.
fn zones(values: Values<'_>, text: &str, whole: Option<u64>) -> Option<Vec<Zone>> {
    /// Share and size of a part, where they are given.
    type Part = (Option<f64>, Option<f64>);
    let mut given: Vec<Part> = Vec::new();
    for part in text.split(':') {
        let (share, size) = part.split_once('/').unwrap_or((part, ""));
        let part = |text: &str, read: &dyn Fn(&str) -> Option<f64>| match text.trim() {
            "" => Some(None),
            text => read(text).map(Some),
        };
        let size = part(size, &|text| match whole {
            Some(whole) => Some(values.bytes(text)? as f64 / whole.max(1) as f64),
            None => percentage(text),
        })?;
        given.push((part(share, &percentage)?, size));
    }
    let rest = |of: fn(&Part) -> Option<f64>| {
        let open = given.iter().filter(|one| of(one).is_none()).count().max(1);
        (1.0 - given.iter().filter_map(of).sum::<f64>()).max(0.0) / open as f64
    };
    let (share_left, size_left) = (rest(|one| one.0), rest(|one| one.1));
    let (mut from, mut total, mut zones) = (0.0, 0.0, Vec::new());
    for (share, size) in given {
        let (share, size) = (share.unwrap_or(share_left), size.unwrap_or(size_left));
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
