//! FIU IODedup: `time pid process LBA size R/W major minor md5`.
//!
//! Trace: Koller and Rangaswami, FAST 2010 (SNIA IOTTA). Read from both ends, since a process
//! name may hold blanks.

use super::spc::{direction, keep};
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    about: "FIU IODedup traces with content hashes",
    time: "times in ns",
    ranges: "addresses and sizes in sectors",
    columns: "",
    detect: |lines| first_is_request(Fiu, lines),
    open: |_| Box::new(Fiu),
    binary: None,
};

struct Fiu;

impl Parser for Fiu {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Blanks);
        let at = fields.take("time")?.time(TimeUnit::Nanos)?;
        fields.take("pid")?.number()?;
        let hash = fields.take_last("md5")?;
        if hash.bytes.len() != 32 || !hash.bytes.iter().all(u8::is_ascii_hexdigit) {
            return Err(hash.bad("an MD5 of 32 hexadecimal digits"));
        }
        let (minor, major) = (fields.take_last("minor")?, fields.take_last("major")?);
        let op = direction(fields.take_last("R/W")?)?;
        let (size, lba) = (fields.take_last("size")?, fields.take_last("LBA")?);
        fields.take_last("process")?;
        let (lba, sectors) = sector_range(lba, size)?;
        let part = |field: crate::field::Field<'_>| {
            field.number().ok().filter(|&n| n < 1 << 32).ok_or_else(|| field.bad("a device number below 2^32"))
        };
        let device = part(major)? << 32 | part(minor)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
