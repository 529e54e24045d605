//! BIOtracer (Nexus 5 eMMC): `sector sectors bytes type generated started submitted finished`.
//!
//! Trace: Zhou et al., IISWC 2015 (SNIA IOTTA). The log is in completion order while `generated`
//! is the time that matters, so it steps back at times; the reorder window fixes that.

use super::spc::keep;
use super::{Format, Parser, Taken, first_is_request};
use crate::error::Bad;
use crate::field::{Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "biotracer",
    about: "BIOtracer (Nexus 5, eMMC); times are those of generation",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "",
    detect: |lines| first_is_request(Biotracer, lines),
    open: |_| Box::new(Biotracer),
    binary: None,
};

struct Biotracer;

impl Parser for Biotracer {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let mut fields = Fields::new(line, Separator::Blanks);
        let (sector, size) = (fields.take("sector")?, fields.take("sectors")?);
        fields.take("bytes")?.number()?;
        let kind = fields.take("type")?;
        let at = fields.take("generated")?.time(TimeUnit::Seconds)?;
        for name in ["started", "submitted", "finished"] {
            fields.take(name)?.time(TimeUnit::Seconds)?;
        }
        fields.end("eight fields")?;
        if kind.number()? > 0xff {
            return Err(kind.bad("a request type of 0 to 255"));
        }
        let op = if kind.number()? & 1 == 1 { HostOp::Write(Fua::No) } else { HostOp::Read };
        let (lba, sectors) = sector_range(sector, size)?;
        Ok(keep(Raw { at, device: 0, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}
