//! SPC trace format 1.0.1 (UMass repository): `ASU,LBA,size,opcode,time[,..]`.

use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, mixed_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    about: "SPC (UMass: Financial, WebSearch); every ASU is its own address space",
    time: "times in s",
    ranges: "addresses in sectors, sizes in bytes",
    columns: "device,lba=sectors,size=bytes,op,time=s",
    detect: |lines| first_is_request(Spc, lines),
    open: |_| Box::new(Spc),
    binary: None,
};

struct Spc;

/// `r` or `w`, in either case.
pub(super) fn direction(field: Field<'_>) -> Result<HostOp, Bad> {
    match field.bytes {
        b"r" | b"R" => Ok(HostOp::Read),
        b"w" | b"W" => Ok(HostOp::Write(Fua::No)),
        _ => Err(field.bad("R or W")),
    }
}

/// `Read` or `Write`, in any case.
pub(super) fn direction_word(field: Field<'_>) -> Result<HostOp, Bad> {
    match field.bytes {
        word if word.eq_ignore_ascii_case(b"read") => Ok(HostOp::Read),
        word if word.eq_ignore_ascii_case(b"write") => Ok(HostOp::Write(Fua::No)),
        _ => Err(field.bad("Read or Write")),
    }
}

/// Keeps a request that asks for something.
pub(super) fn keep(raw: Raw, out: &mut Vec<Raw>) -> Taken {
    if raw.sectors == 0 && raw.op != HostOp::Flush {
        return Taken::Ignored;
    }
    out.push(raw);
    Taken::Requests
}

impl Parser for Spc {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let device = fields.take("ASU")?.number()?;
        let (lba, size) = (fields.take("LBA")?, fields.take("size")?);
        let op = direction(fields.take("opcode")?)?;
        let at = fields.take("time")?.time(TimeUnit::Seconds)?;
        let (lba, sectors) = mixed_range(lba, size, 1)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
