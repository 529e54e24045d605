//! Sysinternals DiskMon export: `index time duration disk Read/Write sector length`.

use super::spc::{direction_word, keep};
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;

pub(super) const FORMAT: Format = Format {
    name: "diskmon",
    about: "Sysinternals DiskMon export; its clock steps by 15.6 ms",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "-,time=s,-,device,op,lba=sectors,size=sectors",
    detect: |lines| first_is_request(Diskmon, lines),
    open: |_| Box::new(Diskmon),
    binary: None,
};

struct Diskmon;

impl Parser for Diskmon {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Blanks);
        fields.take("index")?.number()?;
        let at = fields.take("time")?.time(TimeUnit::Seconds)?;
        fields.take("duration")?.time(TimeUnit::Seconds)?;
        let device = fields.take("disk")?.number()?;
        let op = direction_word(fields.take("request")?)?;
        let (sector, length) = (fields.take("sector")?, fields.take("length")?);
        fields.end("seven fields")?;
        let (lba, sectors) = sector_range(sector, length)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
