//! DiskSim ASCII and its descendants: `time device address size flag`, flag 1 = read, 0 = write.
//!
//! Five tools write the same columns in different units, and the file does not say which. So
//! each variant is a format of its own, and detection refuses to guess between them.

use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, byte_range, mixed_range, sector_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

#[derive(Clone, Copy)]
enum Ranges {
    Sectors,
    /// Address in sectors, size in pages of 4 KiB.
    Pages,
    Bytes,
}

struct Disksim {
    time: TimeUnit,
    ranges: Ranges,
}

const SECTORS: &str = "addresses and sizes in sectors";

const COMMON: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII",
    time: "times in ms",
    ranges: SECTORS,
    columns: "time=ms,device,lba=sectors,size=sectors,op=0:write,1:read",
    detect: |lines| first_is_request(Disksim { time: TimeUnit::Nanos, ranges: Ranges::Bytes }, lines),
    open: |_| Box::new(Disksim { time: TimeUnit::Millis, ranges: Ranges::Sectors }),
    binary: None,
};

pub(super) const MS_SECTORS: Format =
    Format { name: "disksim-ms-sectors", about: "DiskSim ASCII as DiskSim itself reads it", ..COMMON };

pub(super) const MS_PAGES4K: Format = Format {
    name: "disksim-ms-pages4k",
    about: "DiskSim ASCII as FlashSim writes it",
    ranges: "addresses in sectors, sizes in 4 KiB pages",
    columns: "time=ms,device,lba=sectors,size=pages,op=0:write,1:read",
    open: |_| Box::new(Disksim { time: TimeUnit::Millis, ranges: Ranges::Pages }),
    ..COMMON
};

pub(super) const MS_BYTES: Format = Format {
    name: "disksim-ms-bytes",
    about: "DiskSim-like text as Heimdall writes it",
    ranges: "addresses and sizes in bytes",
    columns: "time=ms,device,lba=bytes,size=bytes,op=0:write,1:read",
    open: |_| Box::new(Disksim { time: TimeUnit::Millis, ranges: Ranges::Bytes }),
    ..COMMON
};

pub(super) const US_SECTORS: Format = Format {
    name: "disksim-us-sectors",
    about: "DiskSim ASCII as SSDsim writes it",
    time: "times in us",
    columns: "time=us,device,lba=sectors,size=sectors,op=0:write,1:read",
    open: |_| Box::new(Disksim { time: TimeUnit::Micros, ranges: Ranges::Sectors }),
    ..COMMON
};

pub(super) const NS_SECTORS: Format = Format {
    name: "disksim-ns-sectors",
    about: "DiskSim ASCII as MQSim writes it",
    time: "times in ns",
    columns: "time=ns,device,lba=sectors,size=sectors,op=0:write,1:read",
    open: |_| Box::new(Disksim { time: TimeUnit::Nanos, ranges: Ranges::Sectors }),
    ..COMMON
};

/// No tool writes this alone: MQSim's description of a workload says that times are in picoseconds, so it is not among those tried.
pub(super) const PS_SECTORS: Format = Format {
    name: "disksim-ps-sectors",
    about: "DiskSim ASCII in picoseconds, as MQSim's PICOSECOND",
    time: "times in ps",
    columns: "",
    detect: |_| false,
    open: |_| Box::new(Disksim { time: TimeUnit::Picos, ranges: Ranges::Sectors }),
    ..COMMON
};

impl Parser for Disksim {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Blanks);
        let at = fields.take("time")?.time(self.time)?;
        let device = fields.take("device")?.number()?;
        let (address, size, flag) = (fields.take("address")?, fields.take("size")?, fields.take("flag")?);
        fields.end("five fields: time device address size flag")?;
        let op = match flag.bytes {
            b"1" => HostOp::Read,
            b"0" => HostOp::Write(Fua::No),
            _ => return Err(flag.bad("1 for a read or 0 for a write")),
        };
        let (lba, sectors) = match self.ranges {
            Ranges::Sectors => sector_range(address, size)?,
            Ranges::Pages => mixed_range(address, size, 4096)?,
            Ranges::Bytes => byte_range(address, size)?,
        };
        Ok(super::spc::keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
