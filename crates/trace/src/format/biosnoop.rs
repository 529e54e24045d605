//! biosnoop of the BPF tools: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`.
//!
//! Lines are read from the right, since names of processes hold blanks; the header says how many columns there are.

use super::blkparse::event;
use super::{Format, Names, Parser, Taken};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, mixed_range};
use crate::record::Raw;
use vocab::HostOp;

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    about: "biosnoop of the BPF tools; every disk is a device",
    time: "times in s",
    ranges: "addresses in sectors, sizes in bytes",
    columns: "time=s,-,-,device,op,lba=sectors,size=bytes,-",
    detect: |lines| lines.first().is_some_and(|line| is_header(line)),
    open: |_| Box::new(Biosnoop { behind: 1, disks: Names::default() }),
    binary: None,
};

fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"TIME(s)") && line.windows(6).any(|part| part == b"SECTOR")
}

struct Biosnoop {
    /// Columns behind the bytes.
    behind: usize,
    disks: Names,
}

impl Parser for Biosnoop {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if is_header(line) {
            let columns: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|column| !column.is_empty()).collect();
            let bytes = columns.iter().position(|column| *column == b"BYTES").unwrap_or(columns.len().saturating_sub(2));
            self.behind = columns.len() - bytes - 1;
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Blanks);
        let at = fields.take("TIME(s)")?.time(TimeUnit::Seconds)?;
        for _ in 0..self.behind {
            fields.take_last("LAT(ms)")?;
        }
        let (bytes, sector) = (fields.take_last("BYTES")?, fields.take_last("SECTOR")?);
        let (kind, disk) = (fields.take_last("T")?, fields.take_last("DISK")?);
        fields.take_last("PID")?.number()?;
        let device = self.disks.number(disk)?;
        // A request without data has no place.
        let (lba, sectors) = if bytes.bytes == b"0" { (0, 0) } else { mixed_range(sector, bytes, 1)? };
        event(kind, Raw { at, device, op: HostOp::Read, lba, sectors, stream: vocab::StreamId::default() }, out)
    }
}
