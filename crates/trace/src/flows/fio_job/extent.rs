//! The range of a job within its files, and how much it asks for (`setup_files` of fio's filesetup.c).

use super::follow;
use super::section::{Part, SIZE, Values};
use crate::TraceError;
use crate::flows::{Amount, KINDS, Manner, Pacing, Place, ReadBack, Synthetic};
use vocab::{Bytes, Nanos, SECTOR_BYTES};

/// Passes of a job over its files.
#[derive(Clone, Copy)]
struct Passes {
    /// Bytes of each.
    pass: u64,
    rounds: u64,
}

/// Bytes that a job asks for.
struct Asked {
    /// Bytes of a pass.
    pass: u64,
    /// Bytes of all passes.
    all: u64,
}

/// The size of a job; 0 is none.
fn size(values: Values<'_>) -> Result<Option<Part>, TraceError> {
    Ok(values.part("size")?.filter(|size| !matches!(size, Part::Bytes(0) | Part::Percent(0 | 100))))
}

/// The size of each file, where the job says it.
fn filesize(values: Values<'_>) -> Result<Option<u64>, TraceError> {
    let setting = values.get("filesize");
    if let Some(setting) = setting.filter(|setting| setting.value.as_deref().is_some_and(|value| value.contains(['-', ',']))) {
        return Err(values.file.bad(setting, "one size: sizes of files are not drawn here"));
    }
    Ok(values.size("filesize")?.filter(|size| *size > 0))
}

/// Whether the job is on the drive itself: nothing says how large its files are.
pub(super) fn is_on_the_drive(values: Values<'_>) -> Result<bool, TraceError> {
    if values.flag("fill_device")? {
        return Ok(true);
    }
    Ok(filesize(values)?.is_none() && !matches!(size(values)?, Some(Part::Bytes(_))))
}

/// True of a job that names a device, whose size is not that of the job.
fn is_device(values: Values<'_>) -> bool {
    let name = values.get("filename").and_then(|setting| setting.value.as_deref());
    name.is_some_and(|name| name.starts_with("/dev/") || name.starts_with("\\\\.\\"))
}

/// Range and amount of a clone of a job, and what is to be said about them; a device that is the drive has `drive` bytes.
pub(super) fn set(values: Values<'_>, one: &mut Synthetic, clone: u64, drive: u64) -> Result<Vec<String>, TraceError> {
    let mut notes = Vec::new();
    let least = least(one);
    let files = u64::from(one.manner.files.count);
    let (size, filesize) = if values.flag("fill_device")? { (None, None) } else { (size(values)?, filesize(values)?) };
    // A file that is no device is as large as what is asked for of it.
    let of_file = |size: Option<Part>| match size {
        Some(Part::Bytes(bytes)) if !is_device(values) => Some(bytes / files),
        _ => None,
    };
    let whole = filesize.or(of_file(size)).unwrap_or(drive);
    let offset = offset(values, whole, least, clone)?;
    // Bytes in `size` limit how much is asked for of files whose size is known; else they are the size of the files.
    let (length, total) = match (filesize, size) {
        (None, Some(Part::Bytes(bytes))) => (bytes / files, bytes / files * files),
        (Some(_), Some(Part::Bytes(bytes))) => {
            let length = whole.saturating_sub(offset);
            (length, bytes.min(length.saturating_mul(files)))
        }
        (_, size) => {
            let left = whole.saturating_sub(offset);
            let share = |percent: u64| Part::Percent(percent).of(whole).min(left) / least * least;
            let length = if let Some(Part::Percent(percent)) = size { share(percent) } else { left };
            // Zones reach to the end of the file, whatever is asked for.
            let reach = if one.manner.strides.is_some() { left } else { length };
            (reach, length.saturating_mul(files))
        }
    };
    one.range = (offset, length);
    check_range(values, offset, length, least)?;
    check_listed(values, one)?;
    let io_size =
        values.part("io_size")?.filter(|size| !matches!(size, Part::Bytes(0) | Part::Percent(0))).map(|size| size.of(total));
    if let Some(strides) = &mut one.manner.strides {
        strides.begins_again = io_size.is_some_and(|bytes| bytes > total);
    }
    // A pass without `io_size` ends where no further request fits; with it, with the request that reaches it.
    let is_once = matches!(one.place, Place::Sequential | Place::Once) && one.manner.strides.is_none();
    let is_exact = io_size.is_none_or(|bytes| bytes <= total) && is_once;
    let per_file = if is_exact { length / least * least } else { length };
    let size_pass = total.min(per_file.saturating_mul(files));
    let pass = if is_exact && io_size.is_none() { size_pass / least * least } else { io_size.unwrap_or(size_pass) };
    let rounds = rounds(values, one)?;
    // Zones have no end at which a further loop could begin: all loops are one pass, as in fio.
    let is_endless = one.manner.strides.is_some();
    let (pass, rounds) = if is_endless { (pass.saturating_mul(rounds), 1) } else { (pass, rounds) };
    let asked = match io_size.filter(|_| rounds > 1 && !is_endless && one.manner.read_back.is_none()) {
        Some(io_size) => looped(io_size, rounds, size_pass, one),
        None => {
            let passes = reading_back(one, Passes { pass, rounds }, size_pass, least, &mut notes);
            Asked { pass: passes.pass, all: passes.pass.saturating_mul(passes.rounds) }
        }
    };
    amount(values, one, asked, is_exact && io_size.is_none(), &mut notes)?;
    Ok(notes)
}

/// The option `loops`; 0 counts as 1, as in fio.
pub(super) fn loops(values: Values<'_>) -> Result<u64, TraceError> {
    Ok(values.number("loops", 0, 1 << 32)?.unwrap_or(1).max(1))
}

/// Times that a job is run. One that only reads, with a check, is run once whatever `loops` says, as in fio.
fn rounds(values: Values<'_>, one: &Synthetic) -> Result<u64, TraceError> {
    let loops = loops(values)?;
    let is_checked = follow::verify(values)?.is_some_and(|name| !matches!(name, "0" | "none"));
    let is_read = follow::direction(values)?.kind == "read" && one.shares[0] >= 1.0;
    Ok(if is_read && is_checked { 1 } else { loops })
}

/// Bytes of a pass, and of all, with `io_size` and several loops (`do_io` and `keep_running` of fio's backend.c): a pass is one of the files, and
/// the next loop goes on where the one before ended. An `io_size` beyond the files only sees to it that there are passes enough.
fn looped(io_size: u64, rounds: u64, size_pass: u64, one: &Synthetic) -> Asked {
    if io_size <= size_pass {
        return Asked { pass: size_pass, all: io_size.saturating_mul(rounds) };
    }
    let asked = (0..KINDS.len()).filter(|kind| one.shares[*kind] > 0.0);
    let largest = asked.map(|kind| crate::flows::largest(&one.sizes[kind])).max().unwrap_or(SECTOR_BYTES);
    let passes = (io_size + 1).saturating_sub(largest).div_ceil(size_pass.max(1)).max(rounds);
    Asked { pass: size_pass, all: size_pass.saturating_mul(passes) }
}

/// Refuses blocks that are listed and not in the range, at which fio ends with an error.
fn check_listed(values: Values<'_>, one: &Synthetic) -> Result<(), TraceError> {
    let Place::Listed { blocks, .. } = &one.place else { return Ok(()) };
    for kind in (0..KINDS.len()).filter(|kind| one.shares[*kind] > 0.0) {
        let room = one.range.1 / crate::flows::smallest(&one.sizes[kind]);
        if blocks.iter().any(|block| *block >= room) {
            let setting = values.get("random_distribution").expect("it lists blocks");
            return Err(values.file.bad(setting, &format!("blocks below {room}, as many as the range has")));
        }
    }
    Ok(())
}

/// The smallest request of all kinds that are asked for.
fn least(one: &Synthetic) -> u64 {
    let asked = (0..KINDS.len()).filter(|kind| one.shares[*kind] > 0.0);
    asked.map(|kind| crate::flows::smallest(&one.sizes[kind])).min().unwrap_or(SECTOR_BYTES)
}

/// Where a clone begins.
fn offset(values: Values<'_>, whole: u64, least: u64, clone: u64) -> Result<u64, TraceError> {
    let (offset, increment) = (values.part("offset")?, values.part("offset_increment")?);
    let bytes = |part: Option<Part>| part.map_or(0, |part| part.of(whole));
    let offset_of = bytes(offset).saturating_add(bytes(increment).saturating_mul(clone)).min(crate::LBA_LIMIT.0);
    // fio aligns what percentages give, upwards.
    let is_share = [offset, increment].into_iter().flatten().any(|part| matches!(part, Part::Percent(_)));
    let unit = values.size("offset_align")?.filter(|unit| *unit > 0).unwrap_or(least);
    let offset_of = if is_share { offset_of.div_ceil(unit).saturating_mul(unit) } else { offset_of };
    let given = ["offset", "offset_increment", "offset_align"].into_iter().find_map(|name| values.get(name));
    match given.filter(|_| !offset_of.is_multiple_of(SECTOR_BYTES)) {
        Some(given) => Err(values.file.bad(given, "offsets that are multiples of 512 bytes")),
        None => Ok(offset_of),
    }
}

/// Passes of a job that reads back; sets in which order it does.
fn reading_back(one: &mut Synthetic, passes: Passes, size_pass: u64, least: u64, notes: &mut Vec<String>) -> Passes {
    let Passes { pass, rounds } = passes;
    let Some(read_back) = one.manner.read_back.filter(|_| one.shares[1] > 0.0 || one.manner.rewrites) else {
        one.manner.read_back = None;
        return passes;
    };
    // Reads that verify count in `io_size`, and each pass is of the size.
    let (pass, rounds) = if pass > size_pass && read_back != ReadBack::Only {
        (size_pass, pass.div_ceil(2 * size_pass.max(1)).saturating_mul(rounds))
    } else {
        (pass, rounds)
    };
    let Manner { step, files, strides, .. } = one.manner;
    let is_in_order = step == 0 && strides.is_none() && files.count == 1;
    let is_once = matches!(one.place, Place::Sequential | Place::Once) && is_in_order && pass <= size_pass;
    if read_back == ReadBack::InOrder && !is_once {
        if pass / least.max(1) <= crate::flows::SORTED_LIMIT {
            one.manner.read_back = Some(ReadBack::Sorted);
        } else {
            notes.push(format!(
                "verify: of more than {} writes, places that are written again are read back each time",
                crate::flows::SORTED_LIMIT
            ));
        }
    }
    Passes { pass, rounds }
}

fn amount(
    values: Values<'_>,
    one: &mut Synthetic,
    asked: Asked,
    is_exact: bool,
    notes: &mut Vec<String>,
) -> Result<(), TraceError> {
    let runtime = values.time("runtime", 1_000_000_000)?.filter(|time| *time > 0);
    let until = runtime.map(Nanos);
    let loops = loops(values)?;
    let mut bytes = Some(asked.all);
    if values.flag("time_based")? && until.is_some() {
        bytes = None;
    }
    if until.is_some() && matches!(one.pacing, Pacing::Queue(_)) {
        notes.push(
            "runtime: how many requests it holds depends on the drive; sums of the workload are those of its `size`".into(),
        );
    }
    one.manner.pass = Some(asked.pass.max(1));
    // Each loop has as many.
    let requests = values.number("number_ios", 0, 1 << 40)?.filter(|requests| *requests > 0);
    let requests = requests.map(|requests| requests.saturating_mul(loops));
    one.amount = Amount { bytes, is_exact, requests, until };
    if follow::direction(values)?.kind == "trimwrite" && one.manner.read_back == Some(ReadBack::Only) {
        one.manner.read_back = None;
    }
    Ok(())
}

fn check_range(values: Values<'_>, offset: u64, length: u64, least: u64) -> Result<(), TraceError> {
    let section = values.section;
    if length < least {
        let hint = if is_on_the_drive(values)? { "a drive that is large enough (`--capacity`)" } else { SIZE };
        let message = format!(
            "found a range of {length} bytes from byte {offset} on for requests of {least} bytes; wanted room for one at least, and {hint}"
        );
        return Err(values.file.wrong(section.line, &section.name, message));
    }
    let end = u128::from(offset) + u128::from(length);
    if end > u128::from(crate::LBA_LIMIT.0) * u128::from(SECTOR_BYTES) / 2 {
        let message = format!("found addresses beyond 2^62 bytes, up to {}; wanted a smaller range", Bytes(length));
        return Err(values.file.wrong(section.line, &section.name, message));
    }
    Ok(())
}
