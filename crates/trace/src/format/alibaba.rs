//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Trace: Li et al., An In-Depth Analysis of Cloud Block Storage Workloads, IISWC 2020 (github.com/alibaba/block-traces).

use super::spc::{direction, keep};
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, byte_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    about: "Alibaba Cloud block traces, csv",
    time: "times in us",
    ranges: "addresses and sizes in bytes",
    columns: "device,op,lba=bytes,size=bytes,time=us",
    detect: |lines| first_is_request(Alibaba, lines),
    open: |_| Box::new(Alibaba),
    binary: None,
};

struct Alibaba;

impl Parser for Alibaba {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.starts_with(b"device_id,") {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let device = fields.take("device_id")?.number()?;
        let op = direction(fields.take("opcode")?)?;
        let (offset, length) = (fields.take("offset")?, fields.take("length")?);
        let at = fields.take("timestamp")?.time(TimeUnit::Micros)?;
        fields.end("five fields")?;
        let (lba, sectors) = byte_range(offset, length)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
