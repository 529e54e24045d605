//! A workload as a recording that other programs read.

use common::Problem;
use experiment::source::trace_problem;
use experiment::workload::{left_out, tape};
use experiment::{Addresses, Experiment, Size};
use std::collections::BTreeSet;
use std::io::Write;
use trace::{AddressMap, Footprint, Record, TapeWriter};
use vocab::{Bytes, Fua, HostOp, Lba, SECTOR_BYTES};

/// Formats to which a workload can be converted.
pub const CONVERSIONS: &[(&str, &str)] = &[
    ("fio-iolog", "log of fio, version 3: times in whole microseconds"),
    ("mqsim", "ASCII of MQSim: times in ns, sectors; reads and writes alone"),
    ("blkparse", "text of blkparse: every request is issued (action D)"),
    ("tape", "our own, binary: all that a recording here may have, in a few bytes a request"),
    ("csv", "read again with --columns time=ns,op,device,lba=bytes,size=bytes,stream"),
];

/// Lines that were written, and requests that could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Requests.
    pub requests: u64,
    /// Requests that the format has no word for.
    pub left_out: u64,
}

/// Writes the workload of an experiment. Addresses are those of the workload, each device's own; with `trace.addresses` compact, or
/// folded into `capacity.size`, they are those of one drive.
///
/// # Errors
/// A problem of the workload, an unknown format, and requests that cannot be written.
pub fn convert(experiment: &Experiment, to: &str, out: &mut dyn Write, progress: &dyn Fn(u64)) -> Result<Converted, Problem> {
    let names: Vec<&str> = CONVERSIONS.iter().map(|(name, _)| *name).collect();
    if !names.contains(&to) {
        return Err(Problem::unknown("--to", "format to write", to, &names));
    }
    let (tape, left_out) = (tape(experiment)?, left_out(experiment));
    let map = address_map(experiment, &tape)?;
    let mut converted = Converted::default();
    let failed = |error: std::io::Error| Problem::new("--out", format!("cannot be written: {error}"));
    let mut writer: Box<dyn Requests + '_> = match to {
        "tape" => Box::new(TapeWriter::new(out).map_err(failed)?),
        _ => Box::new(Lines::begin(to, out).map_err(failed)?),
    };
    let read = tape.read(left_out, |records| -> Result<(), Problem> {
        for record in records {
            let record = record.map_err(|error| trace_problem(&error))?;
            let mut write = |record: &Record| -> Result<(), Problem> {
                let is_written = writer.record(record).map_err(failed)?;
                converted.requests += u64::from(is_written);
                converted.left_out += u64::from(!is_written);
                Ok(())
            };
            match &map {
                None => write(&record)?,
                Some(map) => {
                    for command in map.map(&record).map_err(|error| trace_problem(&error))? {
                        let Lba(lba) = command.lba;
                        write(&Record { device: 0, lba: Lba(lba), sectors: command.sectors, ..record })?;
                    }
                }
            }
            if converted.requests.is_multiple_of(65_536) {
                progress(converted.requests);
            }
        }
        Ok(())
    });
    read.map_err(|error| trace_problem(&error))?.0?;
    writer.end().map_err(failed)?;
    Ok(converted)
}

/// How addresses become those of one drive; `None`: they stay.
fn address_map(experiment: &Experiment, tape: &trace::Tape) -> Result<Option<AddressMap>, Problem> {
    let slot = experiment.drive.geometry.slot_size;
    let footprint = || -> Result<Footprint, Problem> {
        let scanned = tape.scan(left_out(experiment), slot, 0, &|_| {}).map_err(|error| trace_problem(&error))?;
        Ok(scanned.footprint)
    };
    let map = match experiment.trace.addresses {
        Addresses::Auto => return Ok(None),
        Addresses::Compact => {
            let footprint = footprint()?;
            let size = footprint.size();
            AddressMap::compact(footprint, size)
        }
        Addresses::Fold => match experiment.capacity.size {
            Size::User(Bytes(bytes)) => AddressMap::fold(&footprint()?, Bytes(bytes)),
            _ => return Err(Problem::new("capacity.size", "folding needs a size: `--set capacity.size=4GiB`")),
        },
    };
    map.map(Some).map_err(|error| Problem::new("trace.addresses", error.to_string()))
}

/// Takes requests one by one.
trait Requests {
    /// Writes a request; false where the format has no word for it.
    fn record(&mut self, record: &Record) -> std::io::Result<bool>;
    /// Ends the file.
    fn end(self: Box<Self>) -> std::io::Result<()>;
}

impl<W: Write> Requests for TapeWriter<W> {
    fn record(&mut self, record: &Record) -> std::io::Result<bool> {
        self.record(record).map(|()| true)
    }

    fn end(self: Box<Self>) -> std::io::Result<()> {
        self.finish()
    }
}

/// A format of lines.
struct Lines<'a> {
    to: &'a str,
    out: &'a mut dyn Write,
    /// Devices that a log of fio has opened.
    opened: BTreeSet<u32>,
    sequence: u64,
}

impl<'a> Lines<'a> {
    fn begin(to: &'a str, out: &'a mut dyn Write) -> std::io::Result<Self> {
        match to {
            "fio-iolog" => writeln!(out, "fio version 3 iolog")?,
            "csv" => writeln!(out, "time,op,device,lba,size,stream")?,
            _ => {}
        }
        Ok(Self { to, out, opened: BTreeSet::new(), sequence: 0 })
    }
}

impl Requests for Lines<'_> {
    fn end(self: Box<Self>) -> std::io::Result<()> {
        self.out.flush()
    }

    fn record(&mut self, record: &Record) -> std::io::Result<bool> {
        let Record { at, device, op, lba, sectors, stream } = *record;
        let (first, bytes) = (lba.0 * SECTOR_BYTES, u64::from(sectors) * SECTOR_BYTES);
        self.sequence += 1;
        match self.to {
            "fio-iolog" => {
                let time = at.0 / 1000;
                if self.opened.insert(device) {
                    writeln!(self.out, "{time} device{device} add\n{time} device{device} open")?;
                }
                let word = match op {
                    HostOp::Read => "read",
                    HostOp::Write(_) => "write",
                    HostOp::Discard => "trim",
                    HostOp::Flush => "sync",
                };
                writeln!(self.out, "{time} device{device} {word} {first} {bytes}")?;
            }
            "mqsim" => {
                let flag = match op {
                    HostOp::Read => 1,
                    HostOp::Write(_) => 0,
                    HostOp::Discard | HostOp::Flush => return Ok(false),
                };
                writeln!(self.out, "{} {device} {} {sectors} {flag}", at.0, lba.0)?;
            }
            "blkparse" => {
                let (seconds, nanos) = (at.0 / 1_000_000_000, at.0 % 1_000_000_000);
                writeln!(
                    self.out,
                    "8,{device} 0 {} {seconds}.{nanos:09} 0 D {} {} + {sectors} [flashkeep]",
                    self.sequence,
                    letters(op, "FF"),
                    lba.0
                )?;
            }
            _ => writeln!(self.out, "{},{},{device},{first},{bytes},{}", at.0, letters(op, "F"), stream.0)?,
        }
        Ok(true)
    }
}

/// RWBS letters of an operation.
fn letters(op: HostOp, flush: &'static str) -> &'static str {
    match op {
        HostOp::Read => "R",
        HostOp::Write(Fua::No) => "W",
        HostOp::Write(Fua::Yes) => "WF",
        HostOp::Discard => "D",
        HostOp::Flush => flush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::Overrides;
    use trace::{ReadOptions, TraceSource};

    fn experiment(trace: &str, set: &[&str]) -> Experiment {
        let set = set.iter().map(ToString::to_string).collect();
        Experiment::with(&Overrides { trace: Some(trace.into()), set, ..Overrides::default() }).unwrap_or_else(|e| panic!("{e}"))
    }

    fn written(experiment: &Experiment, to: &str) -> (Vec<u8>, Converted) {
        let mut out = Vec::new();
        let converted = convert(experiment, to, &mut out, &|_| {}).unwrap_or_else(|problem| panic!("{problem}"));
        (out, converted)
    }

    fn read(bytes: Vec<u8>, format: &str) -> Vec<Record> {
        let columns = (format == "csv").then(|| "time=ns,op,device,lba=bytes,size=bytes,stream".parse().expect("known"));
        let options = ReadOptions { columns, ..ReadOptions::default() };
        let source = TraceSource::bytes("converted", bytes).with_format(format).expect("a format").with_options(options);
        source.open().expect("opens").collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The bundled recording, written and read back, is itself, as far as the format can say it.
    #[test]
    fn what_is_written_is_read_back() {
        let experiment = experiment("pgbench", &["trace.first=3000"]);
        let tape = tape(&experiment).expect("a tape");
        let original: Vec<Record> = tape.records(left_out(&experiment)).expect("opens").collect::<Result<_, _>>().expect("read");
        assert_eq!(original.len(), 3000);
        for (to, format) in [("csv", "csv"), ("blkparse", "blkparse"), ("tape", "tape"), ("tape", "auto")] {
            assert_eq!(read(written(&experiment, to).0, format), original, "{to}");
        }
        let micros = |record: &Record| Record { at: vocab::SimTime(record.at.0 / 1000 * 1000), op: plain(record.op), ..*record };
        let fio: Vec<Record> = original.iter().map(micros).collect();
        assert_eq!(read(written(&experiment, "fio-iolog").0, "fio-iolog"), fio);
        let (bytes, converted) = written(&experiment, "mqsim");
        let moved: Vec<Record> =
            original.iter().filter(|one| one.sectors > 0).map(|one| Record { op: plain(one.op), ..*one }).collect();
        assert_eq!((converted.requests, converted.left_out), (moved.len() as u64, 3000 - moved.len() as u64));
        let start = moved[0].at.0;
        let moved: Vec<Record> = moved.iter().map(|one| Record { at: vocab::SimTime(one.at.0 - start), ..*one }).collect();
        assert_eq!(read(bytes, "disksim-ns-sectors"), moved);
    }

    fn plain(op: HostOp) -> HostOp {
        if let HostOp::Write(_) = op { HostOp::Write(Fua::No) } else { op }
    }

    #[test]
    fn addresses_are_those_of_one_drive_where_that_is_asked() {
        let compact = read(written(&experiment("pgbench", &["trace.first=2000", "trace.addresses=compact"]), "csv").0, "csv");
        let footprint = Footprint::scan(compact.iter().copied().map(Ok), Bytes(4096)).expect("scanned");
        assert_eq!(footprint.runs().len(), 1);
        let folded = experiment("pgbench", &["trace.first=2000", "trace.addresses=fold", "capacity.size=16MiB"]);
        let folded = read(written(&folded, "csv").0, "csv");
        assert!(folded.iter().all(|one| (one.lba.0 + u64::from(one.sectors)) * 512 <= 16 << 20));
        let mut none = Vec::new();
        let problem = convert(&experiment("pgbench", &["trace.addresses=fold"]), "csv", &mut none, &|_| {}).expect_err("no size");
        assert!(problem.to_string().contains("capacity.size=4GiB"), "{problem}");
    }
}
