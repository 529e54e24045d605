//! Mobile block traces of the Technion (Pixel 6a): csv `proces,device,rw_flag,sector,size,timestamp`.
//!
//! Process names hold any character, commas too, so lines are read from the right.

use super::spc::{direction, keep};
use super::{Format, Parser, Taken};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "pixel",
    about: "csv of the Technion mobile block traces (Pixel 6a)",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "-,device,op,lba=sectors,size=sectors,time=s",
    // Without its header these columns could be those of anything.
    detect: |lines| lines.first() == Some(&HEADER),
    open: |_| Box::new(Pixel),
    binary: None,
};

const HEADER: &[u8] = b"proces,device,rw_flag,sector,size,timestamp";

struct Pixel;

impl Parser for Pixel {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.trim_ascii() == HEADER {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let at = fields.take_last("timestamp")?.time(TimeUnit::Seconds)?;
        let (size, sector) = (fields.take_last("size")?, fields.take_last("sector")?);
        let op = direction(fields.take_last("rw_flag")?)?;
        let device = fields.take_last("device")?.number()?;
        fields.take_last("proces")?;
        let (lba, sectors) = sector_range(sector, size)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
