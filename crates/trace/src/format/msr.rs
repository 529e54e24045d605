//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Trace: Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008 (SNIA IOTTA).

use super::spc::{direction, direction_word, keep};
use super::{Format, Names, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, byte_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge csv; host and disk number make the device",
    time: "times in 100 ns (Windows filetime)",
    ranges: "addresses and sizes in bytes",
    columns: "time=filetime,-,device,op,lba=bytes,size=bytes,-",
    detect: |lines| first_is_request(Msr::default(), lines),
    open: |_| Box::new(Msr::default()),
    binary: None,
};

#[derive(Default)]
struct Msr {
    devices: Names,
}

impl Parser for Msr {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.starts_with(b"Timestamp,Hostname,") {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let at = fields.take("Timestamp")?.time(TimeUnit::Filetime)?;
        let device = device_text(&mut fields)?;
        let word = fields.take("Type")?;
        // Conversions have one letter.
        let op = direction(word).or_else(|_| direction_word(word))?;
        let (offset, size) = (fields.take("Offset")?, fields.take("Size")?);
        fields.take("ResponseTime")?.number()?;
        fields.end("seven fields")?;
        let (lba, sectors) = byte_range(offset, size)?;
        let device = self.devices.number(Field { name: "Hostname", bytes: &device })?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}

/// `host,number`: one key, since two hosts both have a disk 0.
fn device_text(fields: &mut Fields<'_>) -> Result<Vec<u8>, Bad> {
    let (host, disk) = (fields.take("Hostname")?, fields.take("DiskNumber")?);
    disk.number()?;
    Ok([host.bytes, disk.bytes].join(&b','))
}
