//! Several recordings as one: one after the other, and side by side.
//!
//! Times of each recording count from its own first request. Those of a sequence follow each other without a gap, those beside it begin
//! with it; requests of the same time come in the order in which their recordings are named.

use crate::{DEVICES_LIMIT, ReadCounts, Record, TraceError, TraceReader, TraceSource};
use std::collections::BTreeMap;
use std::collections::VecDeque;
use vocab::SimTime;

/// Most recordings that are joined.
pub const JOINED_LIMIT: usize = 64;

/// Address space of several recordings: separate for each, or the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ranges {
    /// Recordings of a sequence go on with the devices of the first; those beside it have devices of their own.
    #[default]
    Auto,
    /// Each recording has devices of its own.
    Separate,
    /// All recordings are of the same devices.
    Same,
}

/// Recordings that are replayed together.
#[derive(Clone, Debug)]
pub struct Joined {
    /// One after the other.
    pub sequence: Vec<TraceSource>,
    /// Each beside these, from the start.
    pub beside: Vec<TraceSource>,
    /// Whose places their addresses are.
    pub ranges: Ranges,
}

impl Joined {
    /// The requests.
    ///
    /// # Errors
    /// If the first of a lane cannot be opened.
    pub fn open(&self) -> Result<JoinedReader, TraceError> {
        let all = self.sequence.iter().chain(&self.beside).enumerate().map(|(index, source)| (index, source.clone()));
        let (sequence, beside): (VecDeque<_>, Vec<_>) =
            all.fold(Default::default(), |(mut sequence, mut beside), (index, source)| {
                if index < self.sequence.len() {
                    sequence.push_back((index, source))
                } else {
                    beside.push((index, source))
                }
                (sequence, beside)
            });
        let lanes = std::iter::once(sequence).chain(beside.into_iter().map(|one| VecDeque::from([one])));
        let mut reader = JoinedReader {
            ranges: self.ranges,
            lanes: lanes.map(Lane::new).collect(),
            devices: BTreeMap::new(),
            counts: ReadCounts::default(),
            format: None,
            failed: None,
            is_over: false,
        };
        for lane in 0..reader.lanes.len() {
            reader.advance(lane)?;
        }
        Ok(reader)
    }
}

/// Recordings one after the other.
struct Lane {
    waiting: VecDeque<(usize, TraceSource)>,
    open: Option<(usize, TraceReader)>,
    /// When the open recording begins, and when the last request came.
    start: u64,
    last: u64,
    head: Option<Record>,
}

impl Lane {
    fn new(waiting: VecDeque<(usize, TraceSource)>) -> Self {
        Self { waiting, open: None, start: 0, last: 0, head: None }
    }
}

/// The requests of joined recordings, in the order of time. The first error ends them.
pub struct JoinedReader {
    ranges: Ranges,
    lanes: Vec<Lane>,
    /// Numbers of devices, by whose they are and their number there.
    devices: BTreeMap<(usize, u32), u32>,
    counts: ReadCounts,
    format: Option<&'static str>,
    /// Why there is nothing behind the last request.
    failed: Option<TraceError>,
    is_over: bool,
}

impl JoinedReader {
    /// All that was met so far.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// The format of all recordings, where it is one.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format.unwrap_or("several formats")
    }

    /// Reads the next request of a lane.
    fn advance(&mut self, number: usize) -> Result<(), TraceError> {
        let lane = &mut self.lanes[number];
        loop {
            let Some((index, reader)) = &mut lane.open else {
                let Some((index, source)) = lane.waiting.pop_front() else { return Ok(()) };
                let reader = source.open()?;
                let name = reader.format().name;
                self.format = Some(self.format.map_or(name, |known| if known == name { known } else { "several formats" }));
                lane.start = lane.last;
                lane.open = Some((index, reader));
                continue;
            };
            let Some(record) = reader.next() else {
                let ReadCounts { lines, requests, ignored, clamped } = reader.counts();
                let all = &mut self.counts;
                *all = ReadCounts {
                    lines: all.lines + lines,
                    requests: all.requests + requests,
                    ignored: all.ignored + ignored,
                    clamped: all.clamped + clamped,
                };
                lane.open = None;
                continue;
            };
            let mut record = record?;
            let whose = match self.ranges {
                Ranges::Auto => number,
                Ranges::Separate => *index,
                Ranges::Same => 0,
            };
            let next = self.devices.len();
            if next == DEVICES_LIMIT && !self.devices.contains_key(&(whose, record.device)) {
                let (file, found) = ("recordings side by side".to_owned(), record.device.to_string());
                let wanted = format!("at most {DEVICES_LIMIT} different devices");
                return Err(TraceError::Field { file, line: 0, field: "device", found, wanted });
            }
            record.device = *self.devices.entry((whose, record.device)).or_insert(next as u32);
            record.at = SimTime(lane.start.saturating_add(record.at.0));
            lane.last = record.at.0;
            lane.head = Some(record);
            return Ok(());
        }
    }

    fn take(&mut self) -> Result<Option<Record>, TraceError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let heads = self.lanes.iter().enumerate().filter_map(|(number, lane)| Some((lane.head?.at, number)));
        let Some((_, number)) = heads.min() else { return Ok(None) };
        let record = self.lanes[number].head.take();
        // Requests before the fault are delivered first.
        self.failed = self.advance(number).err();
        Ok(record)
    }
}

impl Iterator for JoinedReader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.take().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}
