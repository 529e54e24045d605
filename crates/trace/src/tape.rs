//! A workload as a host asks it: what a recording, a generator or a description gives, with what is to be left out left out,
//! repeated, at its times or at others, as commands of a drive. Every request passes here, once for each drive: the steps
//! know each other's types, so that they become one function.

mod left_out;

pub use left_out::{Clip, LeftOut, Pick};

use crate::flows::Flows;
use crate::generate::{GenerateError, Generator, GeneratorKind, Workload};
use crate::{AddressMap, Footprint, Joined, MappedRecords, ReadCounts, Record, TimeScale, TraceError, TraceSource};
use crate::{digest, looped};
use left_out::Edit;
use std::collections::BTreeSet;
use vocab::{Bytes, FNV_START, HostCommand, StreamId, Streams};

/// Where requests come from.
pub enum Tape {
    /// A recording.
    Recorded(TraceSource),
    /// Several recordings.
    Joined(Joined),
    /// A generator, which was found to take these options: [`Tape::generated`].
    Generated {
        /// Which one.
        kind: &'static GeneratorKind,
        /// Its options.
        workload: Workload,
        /// Random stream.
        seed: u64,
    },
    /// A description of what a program asks.
    Described {
        /// The description.
        flows: Box<Flows>,
        /// Seed, where the description has none.
        seed: u64,
    },
}

/// Facts about a tape, known when all of it was read.
pub struct Scanned {
    /// Slots that it touches, and its totals.
    pub footprint: Footprint,
    /// Lines that its reader left out.
    pub read: ReadCounts,
    /// Gaps that were made shorter.
    pub clip: Clip,
    /// Format of the recording, or `generated`.
    pub format: &'static str,
    /// FNV-1a of all requests.
    pub digest: u64,
    /// Streams that its requests name.
    pub streams: BTreeSet<StreamId>,
    /// All requests, if they are few enough to be kept.
    pub kept: Option<Vec<Record>>,
}

/// A part of a workload: one of its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The flow of this index, of a description.
    Flow(usize),
    /// The requests to a device, of a recording.
    Device(u32),
    /// The writes of a stream, of a recording; reads are of stream 0.
    Stream(StreamId),
}

impl Part {
    /// True if a request of a recording is of it.
    fn has(self, record: &Record) -> bool {
        match self {
            Self::Flow(_) => true,
            Self::Device(device) => record.device == device,
            Self::Stream(stream) => record.stream == stream,
        }
    }
}

/// Counts of unusual lines and gaps, from reading a tape.
pub struct Met {
    /// Lines that its reader left out.
    pub read: ReadCounts,
    /// Gaps that were made shorter.
    pub clip: Clip,
    /// Format of the recording, or `generated`.
    pub format: &'static str,
}

/// Takes the digest of the requests that are read, and keeps the requests while they are few.
struct Reel<'a> {
    digest: u64,
    streams: BTreeSet<StreamId>,
    count: u64,
    kept: Option<Vec<Record>>,
    keep_at_most: usize,
    progress: &'a dyn Fn(u64),
}

impl Reel<'_> {
    fn hear(&mut self, item: &Result<Record, TraceError>) {
        let Ok(record) = item else { return };
        self.digest = digest(self.digest, record);
        self.count += 1;
        if self.streams.last() != Some(&record.stream) {
            self.streams.insert(record.stream);
        }
        if self.count.is_multiple_of(4096) {
            (self.progress)(self.count);
        }
        match &mut self.kept {
            Some(records) if records.len() < self.keep_at_most => records.push(*record),
            other => *other = None,
        }
    }
}

/// Records one after the other, of any kind.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, TraceError>> + 'a>;

impl Tape {
    /// Requests of a generator.
    ///
    /// # Errors
    /// Names the option that is out of its range.
    pub fn generated(kind: &'static GeneratorKind, workload: Workload, seed: u64) -> Result<Self, GenerateError> {
        generator(kind, &workload, seed)?;
        Ok(Self::Generated { kind, workload, seed })
    }

    /// The requests.
    ///
    /// # Errors
    /// If the recording cannot be opened.
    pub fn records(&self, left_out: LeftOut) -> Result<Records<'_>, TraceError> {
        let records: Records<'_> = match self {
            Self::Recorded(source) => Box::new(source.open()?),
            Self::Joined(joined) => Box::new(joined.open()?),
            Self::Described { flows, seed } => Box::new(flows.records(*seed)),
            Self::Generated { kind, workload, seed } => Box::new(recorded(kind, workload, *seed)),
        };
        Ok(edited(records, left_out))
    }

    /// The requests that a part is among: of a description those of the flow, at times from the start of its stage.
    fn records_of(&self, part: Part, left_out: LeftOut) -> Result<Records<'_>, TraceError> {
        match (self, part) {
            (Self::Described { flows, seed }, Part::Flow(index)) => {
                Ok(edited(Box::new(flows.records_of(index, *seed)), left_out))
            }
            _ => self.records(left_out),
        }
    }

    /// Hands all requests to `hear`; what it says, and what was met while reading.
    ///
    /// # Errors
    /// If the recording cannot be opened.
    pub fn read<R>(
        &self,
        left_out: LeftOut,
        hear: impl FnOnce(&mut dyn Iterator<Item = Result<Record, TraceError>>) -> R,
    ) -> Result<(R, Met), TraceError> {
        let mut edit = Edit::new(left_out);
        let edited = |records: &mut dyn Iterator<Item = Result<Record, TraceError>>| {
            hear(&mut records.map_while(|item| edit.item(item)).flatten())
        };
        let (heard, read, format) = match self {
            Self::Recorded(source) => {
                let mut reader = source.open()?;
                (edited(&mut reader), reader.counts(), reader.format().name)
            }
            Self::Joined(joined) => {
                let mut reader = joined.open()?;
                (edited(&mut reader), reader.counts(), reader.format())
            }
            Self::Generated { kind, workload, seed } => {
                (edited(&mut recorded(kind, workload, *seed)), ReadCounts::default(), "generated")
            }
            Self::Described { flows, seed } => (edited(&mut flows.records(*seed)), ReadCounts::default(), flows.format),
        };
        Ok((heard, Met { read, clip: edit.clip(), format }))
    }

    /// Reads all requests once. This many are kept at most; `progress` hears the number of those read so far.
    ///
    /// # Errors
    /// The fault in the recording, with file, line and field; and all that [`Footprint::scan`] refuses.
    pub fn scan(
        &self,
        left_out: LeftOut,
        slot_size: Bytes,
        keep_at_most: usize,
        progress: &dyn Fn(u64),
    ) -> Result<Scanned, TraceError> {
        let mut reel =
            Reel { digest: FNV_START, streams: BTreeSet::new(), count: 0, kept: Some(Vec::new()), keep_at_most, progress };
        let (footprint, met) =
            self.read(left_out, |records| Footprint::scan(records.inspect(|item| reel.hear(item)), slot_size))?;
        let footprint = match self {
            Self::Described { flows, .. } => match left_out.pick.device {
                Some(device) => footprint?.widened(flows.extents.get(device as usize..=device as usize).unwrap_or_default()),
                None => footprint?.widened(&flows.extents),
            },
            _ => footprint?,
        };
        let Met { read, clip, format } = met;
        Ok(Scanned { footprint, read, clip, format, digest: reel.digest, streams: reel.streams, kept: reel.kept })
    }
}

/// Records without what is left out.
fn edited(records: Records<'_>, left_out: LeftOut) -> Records<'_> {
    if left_out == LeftOut::default() {
        return records;
    }
    let mut edit = Edit::new(left_out);
    Box::new(records.map_while(move |item| edit.item(item)).flatten())
}

fn generator(kind: &GeneratorKind, workload: &Workload, seed: u64) -> Result<Generator, GenerateError> {
    kind.generate(workload, Streams::new(seed).stream("generate"))
}

/// Generated requests as those of a recording.
fn recorded(kind: &GeneratorKind, workload: &Workload, seed: u64) -> impl Iterator<Item = Result<Record, TraceError>> + use<> {
    let commands = generator(kind, workload, seed).expect("the tape was made of options that it takes");
    commands.map(|c| Ok(Record { at: c.at, device: 0, op: c.op, lba: c.lba, sectors: c.sectors, stream: c.stream }))
}

/// Commands up to the first error of the tape, which is kept.
pub struct HostCommands<'a>(Box<dyn Mapped + 'a>);

/// Commands of records of any kind.
trait Mapped: Iterator<Item = HostCommand> {
    fn error(self: Box<Self>) -> Option<TraceError>;
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Mapped for MappedRecords<I> {
    fn error(self: Box<Self>) -> Option<TraceError> {
        (*self).error()
    }
}

impl<'a> HostCommands<'a> {
    /// The commands of a tape that is read as often as it is repeated.
    #[must_use]
    pub fn of_tape(tape: &'a Tape, left_out: LeftOut, times: u64, map: &AddressMap, scale: Option<TimeScale>) -> Self {
        Self::of(looped(move || tape.records(left_out), times), map, scale)
    }

    /// The commands of records that were kept.
    #[must_use]
    pub fn of_kept(kept: &'a [Record], times: u64, map: &AddressMap, scale: Option<TimeScale>) -> Self {
        Self::of(looped(move || Ok(kept.iter().copied().map(Ok)), times), map, scale)
    }

    /// The commands of a part of a tape that is repeated.
    #[must_use]
    pub fn of_part(
        tape: &'a Tape,
        part: Part,
        left_out: LeftOut,
        times: u64,
        map: &AddressMap,
        scale: Option<TimeScale>,
    ) -> Self {
        let is_of = move |item: &Result<Record, TraceError>| item.as_ref().map_or(true, |record| part.has(record));
        Self::of(looped(move || tape.records_of(part, left_out), times).filter(is_of), map, scale)
    }

    /// The commands of a part of a recording whose records were kept.
    #[must_use]
    pub fn of_kept_part(kept: &'a [Record], part: Part, times: u64, map: &AddressMap, scale: Option<TimeScale>) -> Self {
        let is_of = move |item: &Result<Record, TraceError>| item.as_ref().map_or(true, |record| part.has(record));
        Self::of(looped(move || Ok(kept.iter().copied().map(Ok)), times).filter(is_of), map, scale)
    }

    fn of<I>(records: I, map: &AddressMap, scale: Option<TimeScale>) -> Self
    where
        I: Iterator<Item = Result<Record, TraceError>> + 'a,
    {
        let map = map.clone();
        match scale {
            None => Self(Box::new(map.commands(records))),
            Some(scale) => Self(Box::new(map.commands(scale.scale(records)))),
        }
    }

    /// The error that ended the commands early, if one did.
    #[must_use]
    pub fn error(self) -> Option<TraceError> {
        self.0.error()
    }
}

impl Iterator for HostCommands<'_> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        self.0.next()
    }
}
