//! Requests of the host, from a trace or a generator, as commands of the drive.

use crate::described::{self, DESCRIPTIONS, is_described};
use crate::doubt::{self, Found};
use crate::experiment::{Addresses, Experiment, Order, RangesSpec, TraceSpec};
use crate::flow::Flow;
use crate::generated::{generated, generated_workload, is_generated};
use crate::source::{STANDARD_INPUT, generator, is_name, standard_input, trace_problem};
use crate::textual::Size;
use common::{Problem, path_of};
use std::path::Path;
use std::sync::Arc;
use trace::Tape;
use trace::generate::GENERATORS;
use trace::{
    AddressMap, BlkAction, Columns, Footprint, HostCommands, Joined, LeftOut, Met, Pick, Ranges, ReadOptions, Record, Scanned,
};
use trace::{TimeScale, TraceError, TraceSource};
use vocab::{Bytes, HostCommand, Nanos};

/// Requests up to which a workload is kept in memory (32 bytes each, 128 MiB in all) instead of being read
/// again for every scheme.
const KEEP_REQUESTS: usize = 1 << 22;

/// A sequence of requests that each scheme replays.
pub struct Workload {
    tape: Tape,
    left_out: LeftOut,
    loops: u64,
    footprint: Arc<Footprint>,
    /// Slots the workload needs of the drive.
    touched: u64,
    kept: Option<Arc<Vec<Record>>>,
    facts: TraceFacts,
    /// Its flows; none where one order and one clock is all there is.
    flows: Vec<Flow>,
}

/// Facts of a workload; requests and bytes are those of one loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFacts {
    /// Bundled name, file name or generator.
    pub name: String,
    /// Trace format, or `generated`.
    pub format: String,
    /// Times it is repeated.
    pub loops: u32,
    /// True if a flow with a queue ends in time: the drive decides how many requests there are, and those counted here are of one
    /// pass over its size.
    pub ends_in_time: bool,
    /// Requests of any kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Writes that must be durable when answered.
    pub fua_writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that do not start or do not end at a slot boundary.
    pub unaligned: u64,
    /// Recorded duration in seconds.
    pub duration_s: f64,
    /// Bytes of distinct slots touched.
    pub footprint_bytes: u64,
    /// Bytes of distinct slots written.
    pub written_footprint_bytes: u64,
    /// Lines left out: requests of length 0 and commands with no counterpart.
    pub ignored_lines: u64,
    /// Requests out of order by more than sorting fixes, moved to the time before them.
    pub clamped: u64,
    /// Longest time between two requests, as replayed, in seconds.
    pub longest_gap_s: f64,
    /// Gaps clipped to `trace.max_gap`.
    pub clipped_gaps: u64,
    /// Time left out by that, in seconds.
    pub clipped_s: f64,
    /// Why its units or its order are doubted, each a sentence.
    pub doubts: Vec<String>,
    /// FNV-1a digest of all requests.
    pub digest: u64,
}

/// Whether the requests of the experiment are drawn from its seed.
pub fn is_drawn(experiment: &Experiment) -> bool {
    is_generated(experiment) || is_described(experiment)
}

/// Checks `[trace]` and `[generate]`.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Problem> {
    let spec = &experiment.trace;
    let described = DESCRIPTIONS.iter().map(|known| known.name);
    let formats: Vec<&str> = std::iter::once("auto").chain(trace::FORMATS.iter().map(|f| f.name)).chain(described).collect();
    if !formats.contains(&spec.format.as_str()) {
        return Err(Problem::unknown("trace.format", "trace format", &spec.format, &formats));
    }
    spec.columns.as_deref().map_or(Ok(()), |text| columns(text).map(drop))?;
    spec.blk_action.parse::<BlkAction>().map_err(|message| Problem::new("trace.blk_action", message))?;
    if spec.loops == 0 {
        return Err(Problem::new("trace.loops", "found 0, at least 1 is needed"));
    }
    match (generator(&spec.source), &experiment.generate) {
        (Some(kind), options) => {
            let workload = generated_workload(experiment, &options.clone().unwrap_or_default())?;
            generated(kind, workload, experiment.seed).map(drop)
        }
        (None, Some(_)) => {
            let message = format!("trace.source `{}` is no generator", common::printable(&spec.source));
            let known: Vec<&str> = GENERATORS.iter().map(|g| g.name).collect();
            Err(Problem { known: known.iter().map(ToString::to_string).collect(), ..Problem::new("generate", message) })
        }
        (None, None) => check_source(&spec.source),
    }?;
    check_joined(experiment)
}

/// Recordings are joined with recordings.
fn check_joined(experiment: &Experiment) -> Result<(), Problem> {
    let spec = &experiment.trace;
    let lists = [("trace.then", &spec.then), ("trace.beside", &spec.beside)];
    let Some((path, _)) = lists.iter().find(|(_, list)| !list.is_empty()) else { return Ok(()) };
    let recordings = "recordings are joined with recordings: `flashkeep convert` makes one of a workload";
    if is_drawn(experiment) {
        let message = format!("`{}` is no recording; {recordings}", common::printable(&spec.source));
        return Err(Problem::new(*path, message));
    }
    if spec.then.len() + spec.beside.len() >= trace::JOINED_LIMIT {
        return Err(Problem::new(*path, format!("found more than {} recordings in all", trace::JOINED_LIMIT)));
    }
    for (path, name) in lists.iter().flat_map(|(path, list)| list.iter().map(move |name| (path, name))) {
        if generator(name).is_some() || trace::flows::fio_job::is_command(name) || described::is_file_of_one(name) {
            return Err(Problem::new(*path, format!("`{}` is no recording; {recordings}", common::printable(name))));
        }
        check_source(name).map_err(|problem| Problem { field: (*path).to_owned(), ..problem })?;
    }
    Ok(())
}

fn columns(text: &str) -> Result<Columns, Problem> {
    text.parse().map_err(|error: TraceError| {
        let message = if let TraceError::Columns { reason, .. } = error { reason } else { error.to_string() };
        Problem::new("trace.columns", message)
    })
}

/// A source that is no file and looks like a name is probably a misspelt name.
fn check_source(source: &str) -> Result<(), Problem> {
    if is_name(source) {
        return Ok(());
    }
    let path = path_of(source);
    if path.extension().is_some_and(|ending| ending == "toml") && path.exists() {
        let message = format!(
            "`{}` is a file of settings, no trace: `flashkeep run` takes an experiment, `flashkeep sweep` a grid, `--drive` a drive",
            common::printable(source)
        );
        return Err(Problem::new("trace.source", message));
    }
    if path.exists() {
        return Ok(());
    }
    let bundled = trace::BUNDLED.iter().map(|b| b.name);
    let known: Vec<&str> = bundled.chain(GENERATORS.iter().map(|g| g.name)).collect();
    let mut problem = Problem::unknown("trace.source", "trace", source, &known);
    problem.message.push_str(", and no such file");
    problem.known.push("or the path of a trace".into());
    Err(problem)
}

/// The tape of an experiment.
pub fn tape(experiment: &Experiment) -> Result<Tape, Problem> {
    let spec = &experiment.trace;
    if let Some(kind) = generator(&spec.source) {
        let workload = generated_workload(experiment, &experiment.generate.clone().unwrap_or_default())?;
        return generated(kind, workload, experiment.seed);
    }
    if let Some(flows) = described::described(experiment)? {
        return Ok(Tape::Described { flows: Box::new(flows), seed: experiment.seed });
    }
    let first = recording(spec, &spec.source)?;
    if spec.then.is_empty() && spec.beside.is_empty() {
        return Ok(Tape::Recorded(first));
    }
    let others = |list: &[String]| list.iter().map(|one| recording(spec, one)).collect::<Result<Vec<_>, _>>();
    let sequence = [vec![first], others(&spec.then)?].concat();
    let ranges = match spec.ranges {
        RangesSpec::Auto => Ranges::Auto,
        RangesSpec::Separate => Ranges::Separate,
        RangesSpec::Same => Ranges::Same,
    };
    Ok(Tape::Joined(Joined { sequence, beside: others(&spec.beside)?, ranges }))
}

/// One recording, read as the experiment says.
fn recording(spec: &TraceSpec, name: &str) -> Result<TraceSource, Problem> {
    let is_bundled = trace::BUNDLED.iter().any(|b| b.name == name);
    let mut source = if is_bundled {
        TraceSource::bundled(name).map_err(|e| trace_problem(&e))?
    } else if name == STANDARD_INPUT {
        TraceSource::bytes("standard input", standard_input()?)
    } else {
        TraceSource::path(path_of(name))
    };
    let columns = spec.columns.as_deref().map(columns).transpose()?;
    if columns.is_some() && spec.format == "auto" {
        source = source.with_format("csv").map_err(|e| trace_problem(&e))?;
    } else if spec.format != "auto" {
        source = source.with_format(&spec.format).map_err(|e| trace_problem(&e))?;
    }
    let blk_action = spec.blk_action.parse().map_err(|message: String| Problem::new("trace.blk_action", message))?;
    let is_sorted = spec.order == Order::Sorted;
    Ok(source.with_options(ReadOptions { blk_action, columns, is_sorted, ..ReadOptions::default() }))
}

/// Requests that are left out.
pub fn left_out(experiment: &Experiment) -> LeftOut {
    let TraceSpec { max_gap, keep_writes, device, since, until, skip, first, .. } = experiment.trace;
    LeftOut { pick: Pick { device, from: since, until, skip, first }, max_gap, keep_writes }
}

impl Workload {
    /// Reads the whole workload once: its footprint, its totals, and whether it is valid.
    /// `progress` hears the requests read so far.
    ///
    /// # Errors
    /// A problem of the trace, with file, line and field.
    pub fn open(experiment: &Experiment, progress: &dyn Fn(u64)) -> Result<Self, Problem> {
        let (tape, left_out) = (tape(experiment)?, left_out(experiment));
        let slot_size = experiment.drive.geometry.slot_size;
        let scanned = tape.scan(left_out, slot_size, KEEP_REQUESTS, progress).map_err(|e| trace_problem(&e))?;
        let footprint = &scanned.footprint;
        if footprint.counts().requests == 0 {
            return Err(experiment.trace.leaves_nothing(is_generated(experiment)));
        }
        let touched = match &tape {
            // A generator means its whole range, whether or not each slot was drawn.
            Tape::Generated { workload, .. } => workload.slots,
            Tape::Described { .. } => footprint.extents().iter().sum(),
            Tape::Recorded(_) | Tape::Joined(_) => footprint.slots(),
        };
        let mut facts = facts(experiment, &scanned);
        if matches!(tape, Tape::Recorded(_) | Tape::Joined(_)) {
            let columns = doubt::columns(&tape, scanned.format, experiment.trace.columns.as_deref());
            let extent = footprint.extents().iter().max().copied().unwrap_or(0).saturating_mul(slot_size.0);
            let met = Met { read: scanned.read, clip: scanned.clip, format: scanned.format };
            // A gap is a warning of its own where it matters to the clock.
            facts.doubts = Found::new(columns, footprint.counts(), extent, &met).doubts_but_gaps();
        }
        facts.ends_in_time = matches!(&tape, Tape::Described { flows, .. } if flows.ends_in_time());
        let loops = u64::from(experiment.trace.loops);
        let flows = crate::flow::of(experiment, &tape, &scanned)?;
        let Scanned { footprint, kept, .. } = scanned;
        let (footprint, kept) = (Arc::new(footprint), kept.map(Arc::new));
        let workload = Self { tape, left_out, loops, footprint, touched, kept, facts, flows };
        workload.check_span(1.0).map_err(|years| match loops {
            1 => Problem::new("trace.source", years),
            _ => Problem::new("trace.loops", format!("found {loops}: {years}")),
        })?;
        Ok(workload)
    }

    /// Whether the last request, times multiplied by `factor`, comes while virtual time lasts. The replay looks at every
    /// request, too, but might get there after days.
    fn check_span(&self, factor: f64) -> Result<(), String> {
        let years = |seconds: f64| seconds / (365.0 * 86_400.0);
        let (found, most) = (years(self.duration_s() * factor), years(trace::SPAN_LIMIT.as_secs_f64()));
        if found <= most {
            return Ok(());
        }
        Err(format!("the last request would come {found:.0} years after the first, valid is up to {most:.0} years"))
    }

    /// Facts of the workload.
    #[must_use]
    pub fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    /// Fields of its description without a counterpart, or with a replacement.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        if let Tape::Described { flows, .. } = &self.tape { &flows.notes } else { &[] }
    }

    /// Requests that it has unanswered at most, where its description says so and its requests have no times.
    #[must_use]
    pub fn depth(&self) -> Option<u32> {
        if let Tape::Described { flows, .. } = &self.tape { flows.depth() } else { None }
    }

    /// Its flows, each with a clock of its own; none where one order and one clock is all there is.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// True if a flow has a queue: then the drive sets its pace, whatever times others have.
    #[must_use]
    pub fn has_queue(&self) -> bool {
        self.flows.iter().any(|flow| flow.clock != trace::flows::FlowClock::Times)
    }

    /// True if how many requests it has depends on the drive: a flow with a queue ends in time.
    #[must_use]
    pub fn ends_in_time(&self) -> bool {
        self.facts.ends_in_time
    }

    /// Slots it needs of a drive.
    #[must_use]
    pub fn touched(&self) -> u64 {
        self.touched
    }

    /// Requests of all loops.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.facts.requests.saturating_mul(self.loops)
    }

    /// Recorded time from the first request to the last, over all loops, in seconds.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        self.facts.duration_s * self.loops as f64
    }

    /// Refuses a drive that is many times what the workload touches only because a description says how large its files are: it would
    /// be written full before the first request.
    ///
    /// # Errors
    /// Says how large it is, and what makes it smaller.
    pub fn check_space(&self, experiment: &Experiment) -> Result<(), Problem> {
        /// Bytes from which on it matters, and how many times what is touched.
        const LARGE: (u64, u64) = (64 << 30, 16);
        let space = self.touched.saturating_mul(experiment.drive.geometry.slot_size.0);
        let is_large = space >= LARGE.0 && space / LARGE.1 > self.facts.footprint_bytes;
        if experiment.capacity.size != Size::Auto || !matches!(self.tape, Tape::Described { .. }) || !is_large {
            return Ok(());
        }
        Err(Problem::new(
            "capacity.size",
            format!(
                "the host's space is {}, as large as the files of the workload, and would be written full before the first request, for \
                 {} that are touched; `--capacity 1GiB` takes a smaller drive, into which addresses are folded, and \
                 `--capacity {}` this one",
                Bytes(space),
                common::quantity::bytes(self.facts.footprint_bytes as f64),
                Bytes(space)
            ),
        ))
    }

    /// How its addresses become addresses of a drive with `user_slots`.
    ///
    /// # Errors
    /// A compact mapping that does not fit.
    pub fn map(&self, experiment: &Experiment, user_slots: u32) -> Result<AddressMap, Problem> {
        let capacity = Bytes(u64::from(user_slots) * experiment.drive.geometry.slot_size.0);
        let follows_trace = experiment.capacity.size == Size::Auto && !is_drawn(experiment);
        let map = match experiment.trace.addresses {
            Addresses::Compact => AddressMap::compact(self.footprint.clone(), capacity),
            Addresses::Auto if follows_trace => AddressMap::compact(self.footprint.clone(), capacity),
            Addresses::Auto | Addresses::Fold => AddressMap::fold(&self.footprint, capacity),
        };
        map.map_err(|e| Problem::new("capacity.size", e.to_string()))
    }

    /// Whether folding with `map` moves any address.
    #[must_use]
    pub fn folds(&self, experiment: &Experiment, user_slots: u32) -> bool {
        let is_compact = match experiment.trace.addresses {
            Addresses::Compact => true,
            Addresses::Auto => experiment.capacity.size == Size::Auto && !is_drawn(experiment),
            Addresses::Fold => false,
        };
        !is_compact && self.footprint.extents().iter().sum::<u64>() > u64::from(user_slots)
    }

    /// The commands of all loops, their times multiplied by `factor`.
    ///
    /// # Errors
    /// A factor that is none, or one with which the workload lasts too long.
    pub fn commands(&self, map: &AddressMap, factor: f64) -> Result<CommandStream<'_>, Problem> {
        self.check_span(factor).map_err(|years| Problem::new("trace.arrival", format!("times x {factor}: {years}")))?;
        let scaled = || TimeScale::factor(factor).map_err(|e| Problem::new("trace.arrival", e.to_string()));
        let scale = if factor == 1.0 { None } else { Some(scaled()?) };
        Ok(CommandStream(match &self.kept {
            Some(kept) => HostCommands::of_kept(kept, self.loops, map, scale),
            None => HostCommands::of_tape(&self.tape, self.left_out, self.loops, map, scale),
        }))
    }
}

impl Workload {
    /// The commands of a flow, all loops, their times multiplied by `factor`.
    ///
    /// # Errors
    /// As [`Self::commands`].
    pub fn commands_of(&self, flow: &Flow, map: &AddressMap, factor: f64) -> Result<CommandStream<'_>, Problem> {
        self.check_span(factor).map_err(|years| Problem::new("trace.arrival", format!("times x {factor}: {years}")))?;
        let scaled = || TimeScale::factor(factor).map_err(|e| Problem::new("trace.arrival", e.to_string()));
        let scale = if factor == 1.0 { None } else { Some(scaled()?) };
        Ok(CommandStream(match (&self.kept, &self.tape) {
            (Some(kept), Tape::Recorded(_)) => HostCommands::of_kept_part(kept, flow.part, self.loops, map, scale),
            _ => HostCommands::of_part(&self.tape, flow.part, self.left_out, self.loops, map, scale),
        }))
    }
}

/// Requests that a generator is drawn further at most: more than any drive needs.
const FURTHER: u64 = 1_000_000_000_000;

impl Workload {
    /// The commands of one loop, at their own times.
    ///
    /// # Errors
    /// As [`Self::commands`].
    pub fn once(&self, map: &AddressMap) -> Result<CommandStream<'_>, Problem> {
        Ok(CommandStream(match &self.kept {
            Some(kept) => HostCommands::of_kept(kept, 1, map, None),
            None => HostCommands::of_tape(&self.tape, self.left_out, 1, map, None),
        }))
    }

    /// Logical pages that a loop of a recording writes; 0 of a generator, which does not repeat itself.
    pub fn period(&self) -> u64 {
        match &self.tape {
            Tape::Generated { .. } => 0,
            Tape::Recorded(_) | Tape::Joined(_) | Tape::Described { .. } => {
                self.facts.written_bytes / self.footprint.slot_size().0
            }
        }
    }

    /// A generator with the same options and draws and more requests, at their times or all at once; `None`: this is no generator.
    pub fn further(&self, is_timed: bool) -> Option<Tape> {
        use trace::generate::{Arrivals, Workload};
        let Tape::Generated { kind, workload, seed } = &self.tape else { return None };
        let (requests, arrivals) = match workload.arrivals {
            // As many as virtual time lasts for.
            Arrivals::Every(gap) | Arrivals::Poisson(gap) if is_timed => {
                (FURTHER.min(trace::SPAN_LIMIT.0 / gap.0.max(1)), workload.arrivals)
            }
            _ => (FURTHER, Arrivals::AtOnce),
        };
        Some(Tape::Generated { kind, workload: Workload { requests, arrivals, ..workload.clone() }, seed: *seed })
    }

    /// Requests of such a generator after those of this workload.
    pub fn drawn_on<'a>(&self, further: &'a Tape, map: &AddressMap) -> CommandStream<'a> {
        let mut commands = HostCommands::of_tape(further, LeftOut { max_gap: None, ..self.left_out }, 1, map, None);
        let skipped = usize::try_from(self.facts.requests).unwrap_or(usize::MAX);
        let _ = skipped.checked_sub(1).and_then(|last| commands.nth(last));
        CommandStream(commands)
    }
}

fn facts(experiment: &Experiment, scanned: &Scanned) -> TraceFacts {
    let Scanned { footprint, read, clip, .. } = scanned;
    let (counts, spec) = (footprint.counts(), &experiment.trace);
    let short = |source: &String| match Path::new(source).file_name() {
        Some(name) if !is_name(source) => name.to_string_lossy().into(),
        _ => source.clone(),
    };
    let then = spec.then.iter().map(|source| format!(", then {}", short(source)));
    let beside = spec.beside.iter().map(|source| format!(", beside {}", short(source)));
    TraceFacts {
        name: [short(&spec.source)].into_iter().chain(then).chain(beside).collect(),
        format: scanned.format.to_owned(),
        loops: experiment.trace.loops,
        ends_in_time: false,
        requests: counts.requests,
        reads: counts.reads,
        writes: counts.writes,
        fua_writes: counts.fua_writes,
        flushes: counts.flushes,
        discards: counts.discards,
        read_bytes: counts.read_bytes.0,
        written_bytes: counts.written_bytes.0,
        unaligned: counts.unaligned,
        duration_s: counts.duration.as_secs_f64(),
        footprint_bytes: footprint.size().0,
        written_footprint_bytes: footprint.written_slots() * footprint.slot_size().0,
        ignored_lines: read.ignored,
        clamped: read.clamped,
        longest_gap_s: Nanos(clip.longest).as_secs_f64(),
        clipped_gaps: clip.gaps,
        clipped_s: Nanos(clip.cut).as_secs_f64(),
        doubts: Vec::new(),
        digest: scanned.digest,
    }
}

/// Commands up to the first error of the trace, which is kept.
pub struct CommandStream<'a>(HostCommands<'a>);

impl CommandStream<'_> {
    /// The error that ended the commands early, if one did.
    ///
    /// # Errors
    /// That error.
    pub fn finish(self) -> Result<(), Problem> {
        self.0.error().map_or(Ok(()), |error| Err(trace_problem(&error)))
    }
}

impl Iterator for CommandStream<'_> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Overrides;

    fn with(settings: &str) -> Experiment {
        Experiment::parse("test.toml", settings).unwrap_or_else(|e| panic!("{e}"))
    }

    fn generated(settings: &str) -> Experiment {
        with(&format!("[trace]\nsource = \"uniform\"\n[generate]\nrequests = 2000\nrange = \"64MiB\"\n{settings}"))
    }

    #[test]
    fn a_generated_workload_needs_its_whole_range_and_repeats() {
        let experiment = generated("");
        let workload = Workload::open(&experiment, &|_| {}).unwrap();
        assert_eq!((workload.touched(), workload.requests()), (16_384, 2000));
        let map = workload.map(&experiment, 16_384).unwrap();
        let commands = || workload.commands(&map, 1.0).unwrap().collect::<Vec<_>>();
        assert_eq!(commands().len(), 2000);
        assert_eq!(commands(), commands());
    }

    /// A share is one of what the host may store: of the size that is asked for, or of the least drive. Fails if it is taken of raw
    /// flash, or if a drive whose size follows the workload grows with a share of itself.
    #[test]
    fn a_range_in_percent_is_a_share_of_what_the_host_may_store() {
        for (capacity, range) in [("size = \"256MiB\"", "85%"), ("size = \"drive\"", "0.5%"), ("size = \"auto\"", "12.5%")] {
            let settings = format!(
                "[trace]\nsource = \"uniform\"\n[generate]\nrequests = 100\nrange = \"{range}\"\n[capacity]\n{capacity}\n"
            );
            let experiment = with(&settings);
            let touched = Workload::open(&experiment, &|_| {}).unwrap().touched();
            let user = u64::from(crate::capacity::plan(&experiment, touched).unwrap().user_slots);
            let share: f64 = range.trim_end_matches('%').parse().unwrap();
            assert_eq!(touched, (user as f64 * share / 100.0) as u64, "{capacity}, {range}");
        }
    }

    #[test]
    fn loops_and_the_clock_stretch_times_and_nothing_else() {
        let experiment = generated("arrivals = { every = \"100us\" }");
        let trace = crate::experiment::TraceSpec { loops: 3, ..experiment.trace.clone() };
        let experiment = Experiment { trace, ..experiment };
        let workload = Workload::open(&experiment, &|_| {}).unwrap();
        let map = workload.map(&experiment, 16_384).unwrap();
        let plain: Vec<_> = workload.commands(&map, 1.0).unwrap().collect();
        let slow: Vec<_> = workload.commands(&map, 2.5).unwrap().collect();
        assert_eq!(plain.len(), 6000);
        for (a, b) in plain.iter().zip(&slow) {
            assert_eq!((a.op, a.lba, a.sectors), (b.op, b.lba, b.sectors));
            assert_eq!(b.at.0, a.at.0 * 5 / 2);
        }
    }

    /// Fails if reads are left out, writes are kept in a heap, or a loop goes on where the last one was.
    #[test]
    fn a_share_of_writes_stays_spread_evenly_and_all_reads() {
        let experiment = generated("read_fraction = 0.5");
        let requests = |keep_writes: Option<f64>, loops: u32| {
            let trace = crate::experiment::TraceSpec { keep_writes, loops, ..experiment.trace.clone() };
            let experiment = Experiment { trace, ..experiment.clone() };
            let workload = Workload::open(&experiment, &|_| {}).unwrap();
            let map = workload.map(&experiment, 16_384).unwrap();
            workload.commands(&map, 1.0).unwrap().collect::<Vec<_>>()
        };
        let is_write = |command: &&HostCommand| matches!(command.op, vocab::HostOp::Write(_));
        let all = requests(None, 1);
        assert_eq!(requests(Some(1.0), 1), all);
        let writes: Vec<_> = all.iter().filter(is_write).collect();
        let thinned = requests(Some(0.2), 1);
        let kept: Vec<_> = thinned.iter().filter(is_write).collect();
        assert_eq!(kept, writes.iter().skip(4).step_by(5).copied().collect::<Vec<_>>());
        assert_eq!(thinned.len() - kept.len(), all.len() - writes.len());
        assert_eq!(requests(Some(0.0), 1).len(), all.len() - writes.len());
        assert_eq!(requests(Some(0.3), 3).len(), 3 * requests(Some(0.3), 1).len());
    }

    #[test]
    fn no_request_comes_later_than_73_years_after_the_first() {
        let lasting = |gap: &str, loops: u32| {
            let mut experiment = generated(&format!("arrivals = {{ every = \"{gap}\" }}"));
            experiment.trace.loops = loops;
            Workload::open(&experiment, &|_| {}).map(|workload| (workload.map(&experiment, 16_384).unwrap(), workload))
        };
        // 1999 gaps of 10 days are 55 years.
        let problem = lasting("10d", 2).err().expect("110 years").to_string();
        assert_eq!(
            problem,
            "trace.loops: found 2: the last request would come 110 years after the first, valid is up to 73 years"
        );
        let (map, workload) = lasting("10d", 1).expect("55 years");
        assert_eq!(workload.commands(&map, 1.3).expect("71 years").count(), 2000);
        let problem = workload.commands(&map, 1.4).err().expect("77 years");
        assert_eq!(problem.field, "trace.arrival");
        assert!(problem.message.contains("77 years after the first, valid is up to 73 years"), "{problem}");
    }

    #[test]
    fn a_workload_larger_than_the_drive_is_folded_into_it() {
        let experiment = generated("[capacity]\nsize = \"16MiB\"");
        let workload = Workload::open(&experiment, &|_| {}).unwrap();
        assert!(workload.folds(&experiment, 4096));
        let map = workload.map(&experiment, 4096).unwrap();
        let sectors = 4096 * 8;
        assert!(workload.commands(&map, 1.0).unwrap().all(|c| c.lba.0 + u64::from(c.sectors) <= sectors));
    }

    #[test]
    fn a_misspelt_trace_is_guessed() {
        let overrides = Overrides { trace: Some("pgbnech".into()), ..Overrides::default() };
        let problem = Experiment::with(&overrides).unwrap_err();
        assert_eq!(problem.meant.as_deref(), Some("pgbench"), "{problem}");
        assert!(problem.known.contains(&"uniform".to_owned()), "{problem}");
    }
}
