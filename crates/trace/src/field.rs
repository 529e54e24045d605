//! Fields of a line: splitting, numbers, exact times, checked ranges.

use crate::error::Bad;
use crate::record::{LBA_LIMIT, REQUEST_LIMIT};
use vocab::SECTOR_BYTES;

/// Digits of a fraction that can matter: finer than a nanosecond in every unit used.
const FRACTION_DIGITS: usize = 18;

/// The length of one unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    /// Windows filetime: 100 ns.
    Filetime,
    Picos,
}

impl TimeUnit {
    fn nanos(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Millis => 1_000_000,
            TimeUnit::Micros => 1_000,
            TimeUnit::Filetime => 100,
            TimeUnit::Nanos | TimeUnit::Picos => 1,
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "a time in s, such as 12.345",
            TimeUnit::Millis => "a time in ms, such as 12.345",
            TimeUnit::Micros => "a time in us, such as 12345",
            TimeUnit::Filetime => "a time in units of 100 ns (Windows filetime)",
            TimeUnit::Nanos => "a time in ns, such as 12345",
            TimeUnit::Picos => "a whole time in ps, such as 12345",
        }
    }
}

/// One column of a line.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub name: &'static str,
    pub bytes: &'a [u8],
}

impl Field<'_> {
    pub fn bad(&self, wanted: impl Into<String>) -> Bad {
        Bad::new(self.name, self.bytes, wanted)
    }

    /// A whole number in decimal digits, or in hexadecimal ones behind `0x`.
    pub fn number(&self) -> Result<u64, Bad> {
        let wanted = "a whole number below 2^64";
        let number = hexadecimal(self.bytes).or_else(|| digits(self.bytes)?.try_into().ok());
        number.ok_or_else(|| self.bad(wanted))
    }

    /// A whole number as programs write one that they hold as a fraction: `4096.0`, `4.096e3`.
    pub fn whole(&self) -> Result<u64, Bad> {
        let exact = || decimal(self.bytes, 1).filter(|_| is_whole(self.bytes));
        self.number().or_else(|bad| exact().ok_or(bad))
    }

    /// A byte in hexadecimal digits, `0x` allowed.
    pub fn hex_byte(&self) -> Result<u8, Bad> {
        let text = self.bytes.strip_prefix(b"0x").unwrap_or(self.bytes);
        let is_hex = !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
        std::str::from_utf8(text)
            .ok()
            .filter(|_| is_hex)
            .and_then(|text| u8::from_str_radix(text, 16).ok())
            .ok_or_else(|| self.bad("an operation code in hexadecimal, 00 to ff"))
    }

    /// A decimal time in nanoseconds: multiplied first, rounded half up once.
    pub fn time(&self, unit: TimeUnit) -> Result<u64, Bad> {
        let nanos = match unit {
            TimeUnit::Picos => decimal(self.bytes, 1).map(|picos| picos / 1000),
            _ => decimal(self.bytes, unit.nanos()),
        };
        nanos.ok_or_else(|| self.bad(format!("{} (below 2^64 ns)", unit.wanted())))
    }
}

fn digits(text: &[u8]) -> Option<u128> {
    // 30 digits cannot overflow 128 bits, and no field needs more.
    if text.is_empty() || text.len() > 30 {
        return None;
    }
    text.iter().try_fold(0u128, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u128::from(byte - b'0')))
}

/// A number behind `0x`.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let is_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(digits).ok().filter(|_| is_hex).and_then(|digits| u64::from_str_radix(digits, 16).ok())
}

/// A decimal number with or without a fraction and an exponent, times `scale`: multiplied first, rounded half up once.
fn decimal(text: &[u8], scale: u64) -> Option<u64> {
    let Decimal { whole, fraction, exponent } = split(text)?;
    if exponent == 0 {
        let scale = u128::from(scale);
        let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
        let unit = 10u128.pow(fraction.len() as u32);
        let part = if fraction.is_empty() { 0 } else { digits(fraction)? };
        let nanos = digits(whole)?.checked_mul(scale)? + (part * scale + unit / 2) / unit;
        return u64::try_from(nanos).ok();
    }
    // The digits without the point, and how many places the point is moved.
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let all = digits(&[whole, fraction].concat())?.checked_mul(u128::from(scale))?;
    let places = exponent - fraction.len() as i32;
    let nanos = match 10u128.checked_pow(places.unsigned_abs()) {
        Some(power) if places >= 0 => all.checked_mul(power)?,
        Some(power) => (all + power / 2) / power,
        None => return (places < 0 || all == 0).then_some(0),
    };
    u64::try_from(nanos).ok()
}

struct Decimal<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i32,
}

/// The parts of a decimal number.
fn split(text: &[u8]) -> Option<Decimal<'_>> {
    let (text, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        None => (text, 0),
        Some(at) => {
            let exponent = std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?;
            (&text[..at], Some(exponent).filter(|exponent| exponent.abs() <= 60)?)
        }
    };
    let (whole, fraction) = match text.iter().position(|&byte| byte == b'.') {
        None => (text, &[][..]),
        Some(dot) => (&text[..dot], &text[dot + 1..]),
    };
    let is_cut = whole.len() < text.len() && fraction.is_empty();
    let is_decimal = !whole.is_empty() && !is_cut && fraction.iter().all(u8::is_ascii_digit);
    is_decimal.then_some(Decimal { whole, fraction, exponent })
}

/// Whether a decimal number has no fraction.
fn is_whole(text: &[u8]) -> bool {
    let Some(Decimal { fraction, exponent, whole }) = split(text) else { return false };
    let last = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last as i32 + 1);
    let zeros = whole.iter().rev().take_while(|digit| **digit == b'0').count() as i32;
    if exponent >= 0 { exponent >= last } else { last == 0 && zeros >= -exponent }
}

/// How a line is cut into fields.
#[derive(Clone, Copy)]
pub(crate) enum Separator {
    /// Runs of blanks and tabs.
    Blanks,
    /// One byte; blanks around a field are dropped.
    Byte(u8),
}

/// The fields of a line, taken from the left or the right by name.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Fields<'a> {
    pub fn new(line: &'a [u8], separator: Separator) -> Self {
        let mut fields = Fields { rest: Some(line), separator };
        if let Separator::Blanks = separator {
            fields.rest = Some(line.trim_ascii()).filter(|line| !line.is_empty());
        }
        fields
    }

    /// The next field from the left.
    pub fn take(&mut self, name: &'static str) -> Result<Field<'a>, Bad> {
        let rest = self.rest.ok_or_else(|| missing(name))?;
        let cut = match self.separator {
            Separator::Blanks => rest.iter().position(u8::is_ascii_whitespace),
            Separator::Byte(byte) => rest.iter().position(|&b| b == byte),
        };
        let (bytes, rest) = cut.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        self.rest = self.tidy(rest);
        Ok(Field { name, bytes: bytes.trim_ascii() })
    }

    /// The next field from the right.
    pub fn take_last(&mut self, name: &'static str) -> Result<Field<'a>, Bad> {
        let rest = self.rest.ok_or_else(|| missing(name))?;
        let cut = match self.separator {
            Separator::Blanks => rest.iter().rposition(u8::is_ascii_whitespace),
            Separator::Byte(byte) => rest.iter().rposition(|&b| b == byte),
        };
        let (bytes, rest) = cut.map_or((rest, None), |at| (&rest[at + 1..], Some(&rest[..at])));
        self.rest = self.tidy(rest);
        Ok(Field { name, bytes: bytes.trim_ascii() })
    }

    fn tidy(&self, rest: Option<&'a [u8]>) -> Option<&'a [u8]> {
        match self.separator {
            Separator::Blanks => rest.map(<[u8]>::trim_ascii).filter(|rest| !rest.is_empty()),
            Separator::Byte(_) => rest,
        }
    }

    /// Refuses fields the format does not have.
    pub fn end(&self, wanted: &'static str) -> Result<(), Bad> {
        self.rest.map_or(Ok(()), |rest| Err(Bad::new("end of line", rest, wanted)))
    }
}

pub(crate) fn missing(name: &'static str) -> Bad {
    Bad { field: name, found: String::from("end of line"), wanted: format!("the field `{name}`: the line is cut short") }
}

/// Checks a range given in sectors.
pub(crate) fn sector_range(lba: Field<'_>, size: Field<'_>) -> Result<(u64, u32), Bad> {
    checked(lba, size, lba.number()?, size.number()?)
}

/// Checks a range that starts at a sector and is a number of units of `unit` bytes long; a
/// length that is no multiple of a sector is rounded up.
pub(crate) fn mixed_range(lba: Field<'_>, size: Field<'_>, unit: u64) -> Result<(u64, u32), Bad> {
    let count = size.number()?;
    let bytes = count.checked_mul(unit).ok_or_else(|| too_long(size))?;
    checked(lba, size, lba.number()?, bytes.div_ceil(SECTOR_BYTES))
}

/// Checks a range given in bytes: every sector it overlaps.
pub(crate) fn byte_range(offset: Field<'_>, size: Field<'_>) -> Result<(u64, u32), Bad> {
    let (start, count) = (offset.number()?, size.number()?);
    let first = start / SECTOR_BYTES;
    if count == 0 {
        return checked(offset, size, first, 0);
    }
    let end = start.checked_add(count).ok_or_else(|| too_long(size))?;
    checked(offset, size, first, end.div_ceil(SECTOR_BYTES) - first)
}

/// A field, and the bytes that it stands for.
pub(crate) struct Counted<'a> {
    pub field: Field<'a>,
    pub bytes: u128,
}

/// Checks a range whose ends were converted to bytes: every sector it overlaps.
pub(crate) fn counted_range(from: Counted<'_>, length: Counted<'_>) -> Result<(u64, u32), Bad> {
    let Counted { field: lba, bytes: start } = from;
    let Counted { field: size, bytes: count } = length;
    let sector = u128::from(SECTOR_BYTES);
    let first = u64::try_from(start / sector).map_err(|_| too_far(lba))?;
    let end = (start + count).div_ceil(sector);
    let sectors = if count == 0 { 0 } else { end - u128::from(first) };
    checked(lba, size, first, u64::try_from(sectors).map_err(|_| too_long(size))?)
}

/// Reads and writes have a tighter bound, which the reader checks: here the request may be a discard.
fn checked(lba: Field<'_>, size: Field<'_>, first: u64, sectors: u64) -> Result<(u64, u32), Bad> {
    let sectors = u32::try_from(sectors).map_err(|_| too_long(size))?;
    // `first` is unbounded here; `sectors` is small.
    if first > LBA_LIMIT.0 - u64::from(sectors) {
        return Err(too_far(lba));
    }
    Ok((first, sectors))
}

fn too_far(lba: Field<'_>) -> Bad {
    lba.bad("an address whose request ends below 2^63 bytes")
}

fn too_long(size: Field<'_>) -> Bad {
    size.bad(format!("a request of at most {REQUEST_LIMIT}, or a discard of less than 2TiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field<'_> {
        Field { name: "f", bytes: text.as_bytes() }
    }

    #[test]
    fn times_are_exact_and_rounded_once() {
        assert_eq!(field("660881.0188740001").time(TimeUnit::Seconds), Ok(660_881_018_874_000));
        assert_eq!(field("26.214000").time(TimeUnit::Millis), Ok(26_214_000));
        assert_eq!(field("0.0000000005").time(TimeUnit::Seconds), Ok(1));
        assert_eq!(field("128166481075232275").time(TimeUnit::Filetime), Ok(12_816_648_107_523_227_500));
        assert_eq!(field("5e-05").time(TimeUnit::Seconds), Ok(50_000));
        assert_eq!(field("1.5E-4").time(TimeUnit::Seconds), Ok(150_000));
        assert_eq!(field("1.25e3").time(TimeUnit::Nanos), Ok(1250));
        assert_eq!(field("1e-30").time(TimeUnit::Seconds), Ok(0));
        assert_eq!(field("0.00e+00").time(TimeUnit::Seconds), Ok(0));
        for bad in ["", ".", "1.", ".5", "-1", "1e", "e3", "1e99", "1e40", "1e3.5", "1.2.3", "99999999999999999999", "1_0", "nan"]
        {
            assert!(field(bad).time(TimeUnit::Nanos).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_decimal_hexadecimal_or_whole_fractions() {
        for (text, number) in
            [("17", 17), ("0x11", 17), ("0XfF", 255), ("4096.0", 4096), ("4.096e3", 4096), ("4096e-1", 0), ("50e-1", 5)]
        {
            assert_eq!(field(text).whole().ok().unwrap_or(0), number, "{text}");
        }
        for bad in ["0x", "0xg", "4096.5", "1e30", "x"] {
            assert!(field(bad).whole().is_err(), "{bad}");
        }
        assert!(field("4096.0").number().is_err());
    }

    #[test]
    fn byte_ranges_cover_every_sector_they_overlap() {
        assert_eq!(byte_range(field("511"), field("2")), Ok((0, 2)));
        assert_eq!(byte_range(field("512"), field("512")), Ok((1, 1)));
        assert_eq!(mixed_range(field("9"), field("513"), 1), Ok((9, 2)));
    }

    #[test]
    fn no_range_overflows_or_exceeds_its_bound() {
        let most = u64::MAX.to_string();
        for (start, size) in [(most.as_str(), "1"), ("1", most.as_str()), (&most, &most), ("0", "2199023255552")] {
            assert!(byte_range(field(start), field(size)).is_err());
            assert!(mixed_range(field(start), field(size), 4096).is_err());
        }
        assert!(sector_range(field("18014398509481984"), field("1")).is_err());
        assert_eq!(sector_range(field("18014398509481983"), field("1")), Ok(((1 << 54) - 1, 1)));
    }

    #[test]
    fn fields_are_taken_from_both_ends() {
        let mut fields = Fields::new(b"a b,c,1 , 2", Separator::Byte(b','));
        assert_eq!(fields.take_last("y").unwrap().bytes, b"2");
        assert_eq!(fields.take_last("x").unwrap().bytes, b"1");
        assert_eq!(fields.rest, Some(&b"a b,c"[..]));
        let mut fields = Fields::new(b"  1\t\t2  ", Separator::Blanks);
        assert_eq!((fields.take("x").unwrap().bytes, fields.take("y").unwrap().bytes), (&b"1"[..], &b"2"[..]));
        assert_eq!(fields.take("z").err().map(|bad| bad.field), Some("z"));
    }
}
