//! SYSTOR '17, virtual desktops: `Timestamp,Latency,IOType,LUN,Offset,Size`.
//!
//! Trace: Lee et al., Understanding storage traffic characteristics on enterprise virtual desktop infrastructure, SYSTOR 2017
//! (SNIA IOTTA). What was not answered has no latency, and sometimes no type.

use super::spc::{direction, keep};
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, byte_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "systor17",
    about: "SYSTOR '17 virtual desktops, csv; every LUN is a device; lines without a type or a latency are left out",
    time: "times in s",
    ranges: "addresses and sizes in bytes",
    columns: "time=s,-,op,device,lba=bytes,size=bytes",
    detect: |lines| first_is_request(Systor, lines),
    open: |_| Box::new(Systor),
    binary: None,
};

const HEADER: &[u8] = b"Timestamp,Latency,IOType,LUN,Offset,Size";

struct Systor;

impl Parser for Systor {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.trim_ascii() == HEADER {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let at = fields.take("Timestamp")?.time(TimeUnit::Seconds)?;
        let (latency, kind) = (fields.take("Latency")?, fields.take("IOType")?);
        let device = fields.take("LUN")?.number()?;
        let (offset, size) = (fields.take("Offset")?, fields.take("Size")?);
        fields.end("six fields")?;
        if kind.bytes.is_empty() || latency.bytes.is_empty() {
            return Ok(Taken::Ignored);
        }
        latency.time(TimeUnit::Seconds)?;
        let op = direction(kind)?;
        let (lba, sectors) = byte_range(offset, size)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
