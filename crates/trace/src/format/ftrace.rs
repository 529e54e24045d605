//! Events of the Linux block layer as text of ftrace, trace-cmd or perf: `block_rq_issue: maj,min RWBS bytes () sector + sectors [process]`.
//!
//! `block_rq_issue` is what blkparse calls action D, `block_bio_queue` Q, `block_rq_complete` C (include/trace/events/block.h).

use super::blkparse::{BlkAction, device, event};
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;
use vocab::HostOp;

pub(super) const FORMAT: Format = Format {
    name: "ftrace",
    about: "block events of ftrace, trace-cmd or perf as text: block_rq_issue, or as trace.blk_action says",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "",
    detect: |lines| {
        let is_event = |line: &&[u8]| EVENTS.iter().any(|(event, _)| find(line, event).is_some());
        lines.iter().any(is_event) && first_is_request(Ftrace { action: BlkAction::Issued }, lines)
    },
    open: |options| Box::new(Ftrace { action: options.blk_action }),
    binary: None,
};

const EVENTS: [(&[u8], BlkAction); 3] = [
    (b"block_rq_issue:", BlkAction::Issued),
    (b"block_bio_queue:", BlkAction::Queued),
    (b"block_rq_complete:", BlkAction::Completed),
];

struct Ftrace {
    action: BlkAction,
}

fn find(line: &[u8], part: &[u8]) -> Option<usize> {
    line.windows(part.len()).position(|window| window == part)
}

impl Parser for Ftrace {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let (name, action) = *EVENTS.iter().find(|(_, action)| *action == self.action).expect("each action has an event");
        // Comments, other events, and what tools say about themselves.
        let Some(at) = find(line, name).filter(|_| !line.starts_with(b"#")) else { return Ok(Taken::NoRequest) };
        let before = line[..at].strip_suffix(b"block:").unwrap_or(&line[..at]);
        let time = Fields::new(before, Separator::Blanks).take_last("time")?;
        let time = Field { bytes: time.bytes.strip_suffix(b":").unwrap_or(time.bytes), ..time }.time(TimeUnit::Seconds)?;
        let mut fields = Fields::new(&line[at + name.len()..], Separator::Blanks);
        let (device, rwbs) = (device(fields.take("device")?)?, fields.take("RWBS")?);
        if action == BlkAction::Issued {
            fields.take("bytes")?.number()?;
        }
        // The command stands in brackets, with blanks where there is one.
        let mut sector = fields.take("sector")?;
        if sector.bytes.starts_with(b"(") {
            while !sector.bytes.ends_with(b")") {
                sector = fields.take("sector")?;
            }
            sector = fields.take("sector")?;
        }
        let plus = fields.take("+")?;
        if plus.bytes != b"+" {
            return Err(plus.bad("`+` between sector and sectors"));
        }
        let sectors = fields.take("sectors")?;
        // A flush that has no address has the largest number for one.
        let (lba, sectors) = if sectors.bytes == b"0" { (0, 0) } else { sector_range(sector, sectors)? };
        event(rwbs, Raw { at: time, device, op: HostOp::Read, lba, sectors, stream: vocab::StreamId::default() }, out)
    }

    fn looks_for(&self) -> String {
        let name = EVENTS.iter().find(|(_, action)| *action == self.action).map_or(&b""[..], |(name, _)| name);
        format!(
            "it looks for events `{}`; `trace.blk_action` chooses others",
            String::from_utf8_lossy(name).trim_end_matches(':')
        )
    }
}
