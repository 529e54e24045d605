//! Drives a format over a file: order, time zero, device numbers, errors with a place.

use crate::format::{Format, Parser, ReadOptions, SORTED_LIMIT, Taken};
use crate::lines::Lines;
use crate::record::{DEVICES_LIMIT, REQUEST_LIMIT, Raw, SPAN_LIMIT};
use crate::reorder::Reorder;
use crate::{Record, TraceError};
use std::collections::BTreeMap;
use vocab::{HostOp, Lba, SECTOR_BYTES, SimTime};

/// Most requests the reorder window may hold, whatever the options say.
const REORDER_LIMIT: usize = 1 << 20;

/// Counts of the lines read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Lines read.
    pub lines: u64,
    /// Requests delivered.
    pub requests: u64,
    /// Requests of length 0 and commands with no counterpart here, left out.
    pub ignored: u64,
    /// Requests earlier than the one before by more than the window sorts, moved to its time.
    pub clamped: u64,
}

/// The requests of one trace, in order of time, the first at time 0.
///
/// The first error ends it. Requests before the damaged line are delivered first.
pub struct TraceReader {
    lines: Lines,
    format: &'static Format,
    parser: Box<dyn Parser>,
    reorder: Reorder,
    state: State,
    /// Requests of the current line.
    fresh: Vec<Raw>,
    /// Time of the first request of the file, to bound all others.
    anchor: Option<u64>,
    /// Time of the first request delivered.
    base: Option<u64>,
    previous: SimTime,
    devices: BTreeMap<u64, u32>,
    counts: ReadCounts,
}

enum State {
    Reading,
    /// Delivering what the window still holds, then the error if any.
    Draining(Option<TraceError>),
}

impl TraceReader {
    pub(crate) fn new(lines: Lines, format: &'static Format, options: &ReadOptions) -> Self {
        let (window, records) = match options.is_sorted {
            true => (u64::MAX, usize::MAX),
            false => (options.reorder_window.0, options.reorder_records.min(REORDER_LIMIT)),
        };
        Self {
            lines,
            format,
            parser: (format.open)(options),
            reorder: Reorder::new(window, records),
            state: State::Reading,
            fresh: Vec::new(),
            anchor: None,
            base: None,
            previous: SimTime::ZERO,
            devices: BTreeMap::new(),
            counts: ReadCounts::default(),
        }
    }

    /// The format the trace is read as.
    #[must_use]
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Counts of the lines read so far; complete once the iterator has ended.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// Reads one line into the window; false at the end of the file.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        if !self.lines.advance()? {
            let is_empty = self.anchor.is_none();
            return if is_empty { Err(self.empty()) } else { Ok(false) };
        }
        self.counts.lines = self.lines.number();
        let line = self.lines.current();
        if line.trim_ascii().is_empty() {
            return Ok(true);
        }
        self.fresh.clear();
        let taken = self.parser.line(line, &mut self.fresh);
        match taken.map_err(|bad| bad.at(self.lines.file(), self.lines.number()))? {
            Taken::Ignored => self.counts.ignored += 1,
            Taken::NoRequest | Taken::Requests => {}
        }
        for index in 0..self.fresh.len() {
            let raw = self.fresh[index];
            self.check_span(raw)?;
            self.check_size(raw)?;
            self.check_device(raw)?;
            if self.reorder.len() == SORTED_LIMIT {
                let wanted = format!("at most {SORTED_LIMIT} requests, the most that is sorted as a whole");
                return Err(self.field("time", "more requests".to_owned(), &wanted));
            }
            self.reorder.push(raw);
        }
        Ok(true)
    }

    fn check_span(&mut self, raw: Raw) -> Result<(), TraceError> {
        let anchor = *self.anchor.get_or_insert(raw.at);
        if raw.at.abs_diff(anchor) > SPAN_LIMIT.0 {
            return Err(self.field(
                "time",
                format!("{} ns after the first", i128::from(raw.at) - i128::from(anchor)),
                "times within 73 years of the first",
            ));
        }
        Ok(())
    }

    /// No host reads or writes more at once; it may discard more.
    fn check_size(&self, raw: Raw) -> Result<(), TraceError> {
        let bytes = u64::from(raw.sectors) * SECTOR_BYTES;
        if bytes <= REQUEST_LIMIT.0 || raw.op == HostOp::Discard {
            return Ok(());
        }
        Err(self.field("size", format!("{bytes} bytes"), &format!("a request of at most {REQUEST_LIMIT}")))
    }

    /// Numbers the device by appearance in the file, whatever order the window makes of it.
    fn check_device(&mut self, raw: Raw) -> Result<(), TraceError> {
        let next = self.devices.len();
        if next >= DEVICES_LIMIT && !self.devices.contains_key(&raw.device) {
            return Err(self.field("device", raw.device.to_string(), "at most 4096 different devices"));
        }
        self.devices.entry(raw.device).or_insert(next as u32);
        Ok(())
    }

    fn field(&self, field: &'static str, found: String, wanted: &str) -> TraceError {
        let (file, line) = (self.lines.file().to_owned(), self.lines.number());
        TraceError::Field { file, line, field, found, wanted: wanted.to_owned() }
    }

    fn empty(&self) -> TraceError {
        TraceError::Empty {
            file: self.lines.file().to_owned(),
            format: self.format.name,
            lines: self.lines.number(),
            hint: self.parser.looks_for(),
        }
    }

    fn deliver(&mut self, raw: Raw) -> Record {
        let base = *self.base.get_or_insert(raw.at);
        let at = SimTime(raw.at.saturating_sub(base));
        if at < self.previous || raw.at < base {
            self.counts.clamped += 1;
        }
        self.previous = self.previous.max(at);
        self.counts.requests += 1;
        Record {
            at: self.previous,
            device: self.devices.get(&raw.device).copied().unwrap_or(0),
            op: raw.op,
            lba: Lba(raw.lba),
            sectors: raw.sectors,
            stream: raw.stream,
        }
    }
}

impl Iterator for TraceReader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match &mut self.state {
                State::Reading => {
                    if let Some(raw) = self.reorder.pop_due() {
                        return Some(Ok(self.deliver(raw)));
                    }
                    match self.read_line() {
                        Ok(true) => {}
                        Ok(false) => self.state = State::Draining(None),
                        Err(error) => self.state = State::Draining(Some(error)),
                    }
                }
                State::Draining(error) => {
                    return match self.reorder.pop() {
                        Some(raw) => Some(Ok(self.deliver(raw))),
                        None => error.take().map(Err),
                    };
                }
            }
        }
    }
}
