//! Event Tracing for Windows as text (`xperf -a dumper`): `DiskRead, TimeStamp, Process ( PID), ThreadID, IrpPtr, ByteOffset, IOSize,
//! ElapsedTime, DiskNum, ..` behind a header that says what the fields of each event are.
//!
//! Trace: Kavalanekar et al., Characterization of storage workload traces from production Windows servers, IISWC 2008 (SNIA IOTTA).

use super::spc::keep;
use super::{Format, Parser, Taken};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, byte_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "etw",
    about: "Event Tracing for Windows as text: DiskRead, DiskWrite and DiskFlush; every disk is a device",
    time: "times in us",
    ranges: "addresses and sizes in bytes, hexadecimal",
    columns: "",
    detect: |lines| {
        lines.first().is_some_and(|line| line.trim_ascii() == BEGIN) || super::first_is_request(Etw::default(), lines)
    },
    open: |_| Box::new(Etw::default()),
    binary: None,
};

const BEGIN: &[u8] = b"BeginHeader";
const END: &[u8] = b"EndHeader";

#[derive(Default)]
struct Etw {
    is_in_header: bool,
}

impl Parser for Etw {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let trimmed = line.trim_ascii();
        if trimmed == BEGIN || trimmed == END || self.is_in_header {
            self.is_in_header = trimmed == BEGIN || (self.is_in_header && trimmed != END);
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let event = fields.take("event")?;
        let op = match event.bytes {
            b"DiskRead" => HostOp::Read,
            b"DiskWrite" => HostOp::Write(Fua::No),
            b"DiskFlush" => HostOp::Flush,
            // Other events are of processes, files and the like.
            [first, ..] if first.is_ascii_alphabetic() => {
                fields.take("TimeStamp")?;
                return Ok(Taken::NoRequest);
            }
            _ => return Err(event.bad("the name of an event, such as DiskRead")),
        };
        let at = fields.take("TimeStamp")?.time(TimeUnit::Micros)?;
        for name in ["Process Name ( PID)", "ThreadID", "IrpPtr"] {
            fields.take(name)?;
        }
        if op == HostOp::Flush {
            fields.take("ElapsedTime")?;
            let device = fields.take("DiskNum")?.number()?;
            return Ok(keep(Raw { at, device, op, lba: 0, sectors: 0, stream: vocab::StreamId::default() }, out));
        }
        let (offset, size) = (fields.take("ByteOffset")?, fields.take("IOSize")?);
        fields.take("ElapsedTime")?;
        let device = fields.take("DiskNum")?.number()?;
        let (lba, sectors) = byte_range(offset, size)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }

    fn looks_for(&self) -> String {
        String::from("it looks for events DiskRead, DiskWrite and DiskFlush")
    }
}
