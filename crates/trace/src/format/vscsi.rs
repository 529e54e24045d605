//! vSCSI csv (VMware, CloudPhysics): header `version,time,op,size,lbn`, op = SCSI operation code.

use super::spc::keep;
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, mixed_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    about: "vSCSI csv (CloudPhysics); other SCSI commands are ignored and counted",
    time: "times in us",
    ranges: "addresses in sectors, sizes in bytes",
    columns: "-,time=us,op=08:read,28:read,88:read,a8:read,0a:write,2a:write,8a:write,aa:write,42:discard,35:flush,91:flush,*:-,size=bytes,lba=sectors",
    detect: |lines| lines.first() == Some(&HEADER) || first_is_request(Vscsi, lines),
    open: |_| Box::new(Vscsi),
    binary: None,
};

const HEADER: &[u8] = b"version,time,op,size,lbn";

struct Vscsi;

impl Parser for Vscsi {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.trim_ascii() == HEADER {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        fields.take("version")?.number()?;
        let at = fields.take("time")?.time(TimeUnit::Micros)?;
        let opcode = fields.take("op")?.hex_byte()?;
        let (size, lbn) = (fields.take("size")?, fields.take("lbn")?);
        fields.end("five fields: version,time,op,size,lbn")?;
        let op = match opcode {
            // READ and WRITE (6), (10), (12), (16).
            0x08 | 0x28 | 0xa8 | 0x88 => HostOp::Read,
            0x0a | 0x2a | 0xaa | 0x8a => HostOp::Write(Fua::No),
            // UNMAP.
            0x42 => HostOp::Discard,
            // SYNCHRONIZE CACHE (10), (16): the range is a hint, all of the cache is flushed.
            0x35 | 0x91 => {
                return Ok(keep(
                    Raw { at, device: 0, op: HostOp::Flush, lba: 0, sectors: 0, stream: vocab::StreamId::default() },
                    out,
                ));
            }
            _ => return Ok(Taken::Ignored),
        };
        let (lba, sectors) = mixed_range(lbn, size, 1)?;
        Ok(keep(Raw { at, device: 0, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }

    fn looks_for(&self) -> String {
        String::from("it looks for READ, WRITE, UNMAP and SYNCHRONIZE CACHE commands")
    }
}
