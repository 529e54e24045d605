//! blkparse default text output (Linux blktrace): `maj,min cpu seq time pid action RWBS sector + sectors [process]`.
//!
//! One request passes several actions (queued, issued, completed ...); one action is read, the
//! others are skipped, and so is the summary blkparse prints at the end.

use super::{Format, Parser, Taken};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    about: "Linux blktrace, default text output of blkparse",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "",
    detect: |lines| {
        let mut parser = Blkparse { action: BlkAction::Issued };
        // Notes of the tool may come first; the first event decides.
        let first = lines.iter().find(|line| !is_summary(line));
        first.is_some_and(|line| parser.line(line, &mut Vec::new()).is_ok())
    },
    open: |options| Box::new(Blkparse { action: options.blk_action }),
    binary: None,
};

/// Which of the actions on a request counts as the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlkAction {
    /// `Q`: as the file system or application asked, before merging.
    Queued,
    /// `D`: as issued to the device, after merging.
    #[default]
    Issued,
    /// `C`: as completed by the device.
    Completed,
}

impl BlkAction {
    fn letter(self) -> &'static [u8] {
        match self {
            BlkAction::Queued => b"Q",
            BlkAction::Issued => b"D",
            BlkAction::Completed => b"C",
        }
    }
}

impl std::str::FromStr for BlkAction {
    type Err = String;

    /// `Q`, `D` or `C`.
    fn from_str(text: &str) -> Result<Self, String> {
        [BlkAction::Queued, BlkAction::Issued, BlkAction::Completed]
            .into_iter()
            .find(|action| action.letter() == text.as_bytes())
            .ok_or_else(|| format!("blkparse action `{}` is unknown; known are Q, D, C", text.escape_default()))
    }
}

struct Blkparse {
    action: BlkAction,
}

/// The operation of a word of RWBS letters: a preflush makes a write durable at least.
pub(super) fn rwbs_operation(word: &[u8]) -> Option<HostOp> {
    let rwbs = Rwbs::parse(Field { name: "op", bytes: word }).ok()?;
    match rwbs.op {
        Op::Read => Some(HostOp::Read),
        Op::Write => Some(HostOp::Write(if rwbs.preflush { Fua::Yes } else { rwbs.fua })),
        Op::Discard => Some(HostOp::Discard),
        Op::Flush => Some(HostOp::Flush),
        Op::NoData | Op::Other => None,
    }
}

/// The requests of an event of the block layer: its RWBS, and its range.
pub(super) fn event(rwbs: Field<'_>, raw: Raw, out: &mut Vec<Raw>) -> Result<Taken, Bad> {
    Ok(emit(&Rwbs::parse(rwbs)?, raw, out))
}

/// First words of the summary (blkparse.c, `show_stats` and what surrounds it).
const SUMMARY: [&[u8]; 14] = [
    b"CPU",
    b"Total",
    b"Throughput",
    b"Events",
    b"Skips:",
    b"Reads",
    b"Read",
    b"Writes",
    b"PC",
    b"IO",
    b"Input",
    b"Trace",
    b"Allocation",
    b"Discards",
];

/// The meaning of the letters of RWBS.
struct Rwbs {
    preflush: bool,
    op: Op,
    fua: Fua,
}

#[derive(PartialEq)]
enum Op {
    Read,
    Write,
    Discard,
    Flush,
    NoData,
    /// Zone management and what newer kernels add.
    Other,
}

impl Rwbs {
    /// `[F]` preflush, one operation, then attributes of which only `F` (FUA) matters here.
    fn parse(field: Field<'_>) -> Result<Rwbs, Bad> {
        let wanted = "RWBS letters: R, W, D, N or F, F before for a preflush, F A B S M E after";
        let (preflush, rest) = match field.bytes {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (op, attributes) = match rest {
            [b'R', rest @ ..] => (Op::Read, rest),
            [b'W', rest @ ..] => (Op::Write, rest),
            [b'D', rest @ ..] => (Op::Discard, rest),
            [b'F', rest @ ..] if preflush => (Op::Flush, rest),
            [b'N', rest @ ..] if preflush => (Op::Flush, rest),
            [b'N', rest @ ..] => (Op::NoData, rest),
            [b'Z', ..] => (Op::Other, &[][..]),
            rest if preflush => (Op::Flush, rest),
            _ => return Err(field.bad(wanted)),
        };
        if attributes.len() > 8 || !attributes.iter().all(|letter| b"FABSMEUTI".contains(letter)) {
            return Err(field.bad(wanted));
        }
        let fua = if attributes.contains(&b'F') { Fua::Yes } else { Fua::No };
        Ok(Rwbs { preflush, op, fua })
    }
}

fn is_summary(line: &[u8]) -> bool {
    SUMMARY.iter().any(|word| line.trim_ascii_start().starts_with(word)) || is_process(line)
}

/// Whether a line begins the part of a process, which `blkparse -s` adds: its name, and `(1234)` or `(1234, ...)`.
fn is_process(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let line = line.strip_suffix(b":").unwrap_or(line);
    let Some(inner) = line.strip_suffix(b")") else { return false };
    let Some(open) = inner.iter().rposition(|&byte| byte == b'(') else { return false };
    let pid = inner[open + 1..].strip_suffix(b", ...").unwrap_or(&inner[open + 1..]);
    !pid.is_empty() && pid.iter().all(u8::is_ascii_digit)
}

pub(super) fn device(field: Field<'_>) -> Result<u64, Bad> {
    let mut parts = Fields::new(field.bytes, Separator::Byte(b','));
    let number = |part: Field<'_>| part.number().ok().filter(|&n| n < 1 << 32);
    let major = parts.take("device").ok().and_then(number);
    let minor = parts.take("device").ok().and_then(number);
    match (major, minor, parts.end("nothing")) {
        (Some(major), Some(minor), Ok(())) => Ok(major << 32 | minor),
        _ => Err(field.bad("a device as major,minor, such as 8,16")),
    }
}

impl Parser for Blkparse {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Blanks);
        if is_summary(line) {
            return Ok(Taken::NoRequest);
        }
        let device = device(fields.take("device")?)?;
        fields.take("cpu")?.number()?;
        fields.take("sequence")?.number()?;
        let at = fields.take("time")?.time(TimeUnit::Seconds)?;
        fields.take("pid")?.number()?;
        let action = fields.take("action")?;
        if action.bytes.len() > 2 || !action.bytes.iter().all(u8::is_ascii_alphabetic) {
            return Err(action.bad("an action of one or two letters, such as Q, D or C"));
        }
        if action.bytes != self.action.letter() {
            return Ok(Taken::NoRequest);
        }
        let rwbs = Rwbs::parse(fields.take("RWBS")?)?;
        let Some((lba, sectors)) = range(&mut fields)? else {
            return Ok(Taken::Ignored);
        };
        Ok(emit(&rwbs, Raw { at, device, op: HostOp::Read, lba, sectors, stream: vocab::StreamId::default() }, out))
    }

    fn looks_for(&self) -> String {
        let letter = char::from(self.action.letter()[0]);
        format!("it looks for events of action {letter}; `--set trace.blk_action=C` takes C, and so Q and D")
    }
}

/// `sector + sectors [process]`, or only `[process]` for a request without data; `None` for a
/// raw SCSI command (`bytes (hex ..)`), which is no request of the block layer.
fn range(fields: &mut Fields<'_>) -> Result<Option<(u64, u32)>, Bad> {
    let sector = fields.take("sector")?;
    if sector.bytes.starts_with(b"[") {
        return Ok(Some((0, 0)));
    }
    let plus = fields.take("+")?;
    // A completion without data has its error there.
    if plus.bytes.starts_with(b"[") && sector.number().is_ok() {
        return Ok(Some((0, 0)));
    }
    if plus.bytes.starts_with(b"(") && sector.number().is_ok() {
        return Ok(None);
    }
    if plus.bytes != b"+" {
        return Err(plus.bad("`+` between sector and sectors"));
    }
    let range = sector_range(sector, fields.take("sectors")?)?;
    let process = fields.take("process")?;
    // Without it the line may have been cut inside the number before.
    if !process.bytes.starts_with(b"[") {
        return Err(process.bad("the process in brackets"));
    }
    Ok(Some(range))
}

fn emit(rwbs: &Rwbs, raw: Raw, out: &mut Vec<Raw>) -> Taken {
    let before = out.len();
    let empty = raw.sectors == 0;
    let is_flush = rwbs.preflush || rwbs.op == Op::Flush || (rwbs.op == Op::NoData && empty);
    if is_flush {
        out.push(Raw { op: HostOp::Flush, lba: 0, sectors: 0, ..raw });
    }
    let op = match rwbs.op {
        Op::Read => Some(HostOp::Read),
        Op::Write => Some(HostOp::Write(rwbs.fua)),
        Op::Discard => Some(HostOp::Discard),
        Op::Flush | Op::NoData | Op::Other => None,
    };
    if let Some(op) = op.filter(|_| !empty) {
        out.push(Raw { op, ..raw });
    }
    if out.len() > before { Taken::Requests } else { Taken::Ignored }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(HostOp, u64, u32)>, Bad> {
        let mut out = Vec::new();
        Blkparse { action: BlkAction::Issued }.line(line.as_bytes(), &mut out)?;
        Ok(out.iter().map(|raw| (raw.op, raw.lba, raw.sectors)).collect())
    }

    fn event(tail: &str) -> Result<Vec<(HostOp, u64, u32)>, Bad> {
        read(&format!("  8,16   8        8     0.000033469 13213  D {tail}"))
    }

    #[test]
    fn a_preflush_comes_before_its_write_and_fua_stays_with_it() {
        let flush = (HostOp::Flush, 0, 0);
        assert_eq!(event("FWFS 8 + 8 [x y]").unwrap(), [flush, (HostOp::Write(Fua::Yes), 8, 8)]);
        assert_eq!(event("FWSM 8 + 8 [x]").unwrap(), [flush, (HostOp::Write(Fua::No), 8, 8)]);
        assert_eq!(event("WFS 8 + 8 [x]").unwrap(), [(HostOp::Write(Fua::Yes), 8, 8)]);
        for bare in ["FN 0 [0]", "FF 0 + 0 [x]", "FN [x]", "FWS [x]", "F 0 + 0 [x]", "N 0 + 0 [x]"] {
            assert_eq!(event(bare).unwrap(), [flush], "{bare}");
        }
    }

    #[test]
    fn other_events_and_the_summary_are_no_requests() {
        for line in [
            "259,2    0        3     0.000003650  4020  U   N [java] 1",
            "8,0 0 3 0.1 0 m   N cfq1234 anything",
            "CPU0 (8,16):",
            " Reads Queued:           0,        0KiB\t Writes Queued:       1",
            "Throughput (R/W): 0KiB/s / 0KiB/s",
            "kworker/1:1 (1234, ...)",
            "my program (17)",
        ] {
            assert_eq!(read(line).unwrap(), [], "{line}");
        }
        assert_eq!(event("R 36 (12 00 00 00) [x]").unwrap(), []);
        assert_eq!(event("DS 2048 + 16 [x]").unwrap(), [(HostOp::Discard, 2048, 16)]);
        assert_eq!(event("RAM 2048 + 16 [x]").unwrap(), [(HostOp::Read, 2048, 16)]);
    }

    #[test]
    fn a_damaged_event_names_its_field() {
        let field = |tail: &str| event(tail).unwrap_err().field;
        assert_eq!(field("W 8 + 8"), "process");
        assert_eq!(field("W 8 +"), "sectors");
        assert_eq!(field("W 8 - 8 [x]"), "+");
        assert_eq!(field("WQ 8 + 8 [x]"), "RWBS");
        assert_eq!(read("8,x 1 1 0.1 1 D R 1 + 1 [x]").unwrap_err().field, "device");
        assert_eq!(read("8,1 1 1 zero 1 D R 1 + 1 [x]").unwrap_err().field, "time");
    }
}
