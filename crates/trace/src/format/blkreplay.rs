//! blkreplay load: free text, a header line, then `start ; sector ; length ; op ; delay ; duration`.

use super::spc::keep;
use super::{Format, Parser, Taken};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, sector_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "blkreplay",
    about: "blkreplay .load",
    time: "times in s",
    ranges: "addresses and sizes in sectors",
    columns: "time=s,lba=sectors,size=sectors,op,-,-",
    detect: |lines| lines.iter().any(|line| is_header(line)),
    open: |_| Box::new(Blkreplay::default()),
    binary: None,
};

/// Lines of licence text a file may begin with.
const PREAMBLE_LIMIT: u32 = 500;

#[derive(Default)]
struct Blkreplay {
    preamble: u32,
    has_header: bool,
    has_requests: bool,
}

impl Parser for Blkreplay {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        // A published file has text and header twice, so text is over at the first request.
        let is_data = self.has_requests || (self.has_header && line.contains(&b';'));
        if !is_data || is_header(line) {
            return self.preamble(line);
        }
        let taken = request(line, out)?;
        self.has_requests = true;
        Ok(taken)
    }

    fn looks_for(&self) -> String {
        String::from("it looks for lines after the header `start ; sector ; length ; op ; ..`")
    }
}

fn request(line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
    let mut fields = Fields::new(line, Separator::Byte(b';'));
    let at = fields.take("start")?.time(TimeUnit::Seconds)?;
    let (sector, length) = (fields.take("sector")?, fields.take("length")?);
    let op = operation(fields.take("op")?)?;
    fields.take("replay_delay")?.time(TimeUnit::Seconds)?;
    fields.take("replay_duration")?.time(TimeUnit::Seconds)?;
    fields.end("six fields")?;
    let (lba, sectors) = sector_range(sector, length)?;
    Ok(keep(Raw { at, device: 0, op, lba, sectors, stream: vocab::StreamId::default() }, out))
}

impl Blkreplay {
    fn preamble(&mut self, line: &[u8]) -> Result<Taken, Bad> {
        self.has_header |= is_header(line);
        self.preamble += 1;
        let is_text = !line.iter().any(|&byte| byte < b' ' && byte != b'\t');
        if self.preamble > PREAMBLE_LIMIT || !is_text {
            return Err(Bad::new("header", line, "text, then the header `start ; sector ; length ; op ; ..`"));
        }
        Ok(Taken::NoRequest)
    }
}

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"start") && line.contains(&b';')
}

/// `R` or `W`, then attributes kept from blktrace, such as `RA` for a read ahead.
fn operation(field: Field<'_>) -> Result<HostOp, Bad> {
    match field.bytes {
        [b'R' | b'r', rest @ ..] if rest.iter().all(|letter| b"ASM".contains(letter)) => Ok(HostOp::Read),
        [b'W' | b'w', rest @ ..] if rest.iter().all(|letter| b"ASM".contains(letter)) => Ok(HostOp::Write(Fua::No)),
        _ => Err(field.bad("R or W, attributes A, S or M after it")),
    }
}
