//! How the requests of a job follow each other: what stands behind `rw`, files, reading back, flushes at the end.

use super::section::Values;
use crate::TraceError;
use crate::flows::{FileOrder, Files, Manner, ReadBack, Strides};

/// Most writes that wait to be read back.
const BACKLOG_MAX: u64 = 1 << 20;

/// Bytes that a step may leave out at most.
const STEP_MAX: u64 = 1 << 50;

const DIRECTIONS: &str = "read, write, rw, randread, randwrite, randrw, trim, randtrim, trimwrite or randtrimwrite, in order with \
    `:BYTES` that are left out, at random with `:REQUESTS` for each place";

/// The value of `rw`.
pub(super) struct Direction<'a> {
    /// `read`, `write`, `rw`, `trim` or `trimwrite`.
    pub kind: &'static str,
    pub is_random: bool,
    /// The text behind the colon.
    pub suffix: Option<&'a str>,
}

/// Reads `rw`.
pub(super) fn direction(values: Values<'_>) -> Result<Direction<'_>, TraceError> {
    let Some(text) = values.text("rw", DIRECTIONS)? else {
        return Ok(Direction { kind: "read", is_random: false, suffix: None });
    };
    let (word, suffix) = text.split_once(':').map_or((text, None), |(word, suffix)| (word, Some(suffix.trim())));
    let (is_random, word) = word.strip_prefix("rand").map_or((false, word), |word| (true, word));
    let kinds =
        [("read", "read"), ("write", "write"), ("rw", "rw"), ("readwrite", "rw"), ("trim", "trim"), ("trimwrite", "trimwrite")];
    let kind = kinds.into_iter().find(|(known, _)| *known == word).map(|(_, kind)| kind);
    let kind = kind.ok_or_else(|| values.file.bad(values.get("rw").expect("it has a text"), DIRECTIONS))?;
    Ok(Direction { kind, is_random, suffix })
}

/// How requests follow each other, of a job with this many files.
pub(super) fn manner(values: Values<'_>, files: u32, notes: &mut Vec<String>) -> Result<Manner, TraceError> {
    let direction = direction(values)?;
    let (mut step, mut burst) = (0, 1);
    if let Some(suffix) = direction.suffix {
        let bad = || values.file.bad(values.get("rw").expect("it has a suffix"), DIRECTIONS);
        if direction.is_random {
            burst = suffix.parse().ok().filter(|burst| (1..=1 << 40).contains(burst)).ok_or_else(bad)?;
        } else {
            let (sign, digits) = suffix.strip_prefix('-').map_or((1, suffix), |digits| (-1, digits));
            step = sign
                * values.bytes(digits).filter(|bytes| *bytes <= STEP_MAX && bytes.is_multiple_of(512)).ok_or_else(bad)? as i64;
        }
    }
    let is_burst_in_place = match values.text("rw_sequencer", "sequential or identical")? {
        None | Some("sequential") => false,
        Some("identical") => true,
        Some(_) => {
            return Err(values.file.bad(values.get("rw_sequencer").expect("it has a text"), "sequential or identical"));
        }
    };
    let flushes_at_end = values.flag("end_fsync")? || values.flag("end_syncfs")? || values.flag("fsync_on_close")?;
    if flushes_at_end {
        notes.push("end_fsync, end_syncfs, fsync_on_close: a flush behind the last write".into());
    }
    let files = self::files(values, files, notes)?;
    Ok(Manner {
        step,
        burst,
        is_burst_in_place,
        rewrites: direction.kind == "trimwrite",
        flushes_at_end,
        read_back: read_back(values)?,
        files,
        strides: strides(values, notes)?,
        pass: None,
    })
}

/// How written places are read back. The order depends on the places, which are not known yet.
fn read_back(values: Values<'_>) -> Result<Option<ReadBack>, TraceError> {
    let verify = verify(values)?;
    let is_left = values.get("do_verify").is_some() && !values.flag("do_verify")?;
    if values.flag("verify_only")? {
        return Ok(Some(ReadBack::Only));
    }
    if is_left || verify.is_none_or(|name| matches!(name, "0" | "none")) {
        return Ok(None);
    }
    let backlog = values.number("verify_backlog", 0, BACKLOG_MAX)?.filter(|backlog| *backlog > 0);
    let batch = values.number("verify_backlog_batch", 0, BACKLOG_MAX)?.filter(|batch| *batch > 0);
    Ok(Some(match backlog {
        Some(backlog) => ReadBack::Every { backlog, batch: batch.unwrap_or(backlog) },
        None => ReadBack::InOrder,
    }))
}

/// The check that a job names; a pattern alone stands for one.
pub(super) fn verify(values: Values<'_>) -> Result<Option<&str>, TraceError> {
    const CHECKS: &str = "0 md5 crc64 crc32 crc32c-intel crc32c crc16 crc7 sha1 sha256 sha512 sha3-224 sha3-256 sha3-384 sha3-512 xxhash \
        meta pattern pattern_hdr null none";
    const WANTED: &str = "a check that fio has, such as crc32c, md5, sha256, xxhash or pattern";
    let Some(name) = values.text("verify", WANTED)? else {
        return Ok(values.get("verify_pattern").map(|_| "pattern"));
    };
    // fio looks no further than its own name of a check, which an offset may follow.
    let word = name.split([',', ':']).next().unwrap_or_default();
    if CHECKS.split_whitespace().any(|check| check == word) {
        return Ok(Some(word));
    }
    Err(values.file.bad(values.get("verify").expect("it has a text"), WANTED))
}

fn files(values: Values<'_>, count: u32, notes: &mut Vec<String>) -> Result<Files, TraceError> {
    const WANTED: &str = "roundrobin, sequential or random, each with `:REQUESTS` in turn";
    let open = values.number("openfiles", 1, u64::from(u32::MAX))?.map_or(count, |open| (open as u32).min(count));
    let text = values.text("file_service_type", WANTED)?.unwrap_or("roundrobin");
    let (word, turn) = text.split_once(':').map_or((text, None), |(word, turn)| (word, Some(turn)));
    let bad = || values.file.bad(values.get("file_service_type").expect("it has a text"), WANTED);
    let order = match word {
        "roundrobin" => FileOrder::RoundRobin,
        "sequential" => FileOrder::Sequential,
        "random" => FileOrder::Random,
        "zipf" | "pareto" | "normal" | "gauss" => {
            notes.push("file_service_type: every file is as popular as any other".into());
            FileOrder::Random
        }
        _ => return Err(bad()),
    };
    let is_popularity = !matches!(word, "roundrobin" | "sequential" | "random");
    let turn = match turn.filter(|_| !is_popularity) {
        None => 1,
        Some(turn) => turn.parse().ok().filter(|turn| *turn > 0).ok_or_else(bad)?,
    };
    Ok(Files { count, open, turn, order })
}

/// Zones that follow each other (`fixup_options` of fio's init.c).
fn strides(values: Values<'_>, notes: &mut Vec<String>) -> Result<Option<Strides>, TraceError> {
    const MODES: &str = "none or strided: drives with zones that are written in order (zbd) are not simulated";
    let size = values.size("zonesize")?.filter(|size| *size > 0);
    let mode = values.text("zonemode", MODES)?;
    let bad = |name: &str, wanted: &str| Err(values.file.bad(values.get(name).expect("it has a text"), wanted));
    let amount = match (mode, size) {
        (None | Some("none"), None) => return Ok(None),
        (Some("strided"), Some(size)) => size,
        (Some("strided"), None) => return bad("zonemode", "strided with a `zonesize`, the bytes to ask for in a zone"),
        (None | Some("none"), Some(_)) => return bad("zonesize", "`zonemode=strided` beside it, without which fio refuses it"),
        (Some(_), _) => return bad("zonemode", MODES),
    };
    if values.number("openfiles", 1, u64::from(u32::MAX))?.is_some_and(|open| open > 1) {
        notes.push("zonemode: zones are left out with `openfiles` above 1, as in fio".into());
        return Ok(None);
    }
    let (zone, skip) = (values.size("zonerange")?.filter(|zone| *zone > 0), values.size("zoneskip")?.unwrap_or(0));
    let strides = Strides { amount, zone: zone.unwrap_or(amount), skip, begins_again: false };
    let units = [("zonerange", strides.zone), ("zonesize", strides.amount), ("zoneskip", skip)];
    for (option, bytes) in units {
        if let Some(setting) = values.get(option).filter(|_| bytes % vocab::SECTOR_BYTES != 0) {
            return Err(values.file.bad(setting, "a multiple of 512 bytes"));
        }
    }
    Ok(Some(strides))
}
