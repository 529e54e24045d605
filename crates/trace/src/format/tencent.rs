//! Tencent Cloud block storage traces: `Timestamp,Offset,Size,IOType,VolumeID`; type 0 reads, 1 writes.
//!
//! Trace: Zhang et al., OSCA: An Online-Model Based Cache Allocation Scheme, USENIX ATC 2020 (SNIA IOTTA 27917).

use super::spc::keep;
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    about: "Tencent Cloud block storage, csv",
    time: "times in whole s",
    ranges: "addresses and sizes in sectors",
    columns: "time=s,lba=sectors,size=sectors,op=0:read,1:write,device",
    detect: |lines| first_is_request(Tencent, lines),
    open: |_| Box::new(Tencent),
    binary: None,
};

struct Tencent;

impl Parser for Tencent {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.starts_with(b"Timestamp,") {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let at = fields.take("Timestamp")?.time(TimeUnit::Seconds)?;
        let (offset, size) = (fields.take("Offset")?, fields.take("Size")?);
        let kind = fields.take("IOType")?;
        let device = fields.take("VolumeID")?.number()?;
        fields.end("five fields")?;
        let op = match kind.bytes {
            b"0" => HostOp::Read,
            b"1" => HostOp::Write(Fua::No),
            _ => return Err(kind.bad("0 for a read or 1 for a write")),
        };
        let (lba, sectors) = sector_range(offset, size)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
