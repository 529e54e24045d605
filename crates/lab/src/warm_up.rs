//! Replay of a workload before it is measured (decision 15).

use crate::bearing::HALVES_APART;
use crate::clock::DEPTH_WITHOUT_TIMES;
use common::Problem;
use experiment::textual::Warmup;
use experiment::{Arrival, CommandStream, Experiment, Workload};
use ssd::WarmUp;
use trace::{AddressMap, Tape};
use vocab::{HostCommand, HostOp, SimTime};

/// A warm-up that has to be done.
pub struct Planned<'a> {
    workload: &'a Workload,
    map: &'a AddressMap,
    warmup: Warmup,
    /// The generator drawn further, where the workload is generated.
    further: Option<Tape>,
    /// Whether reads are replayed, too.
    with_reads: bool,
    /// When it ends.
    pub until: WarmUp,
    /// Requests unanswered at a time.
    pub depth: u32,
}

/// The warm-up of an experiment, if there is one.
///
/// # Errors
/// So much time of a workload that has no times.
pub fn planned<'a>(experiment: &Experiment, workload: &'a Workload, map: &'a AddressMap) -> Result<Option<Planned<'a>>, Problem> {
    let warmup = experiment.warmup;
    if warmup == Warmup::None || warmup == Warmup::Auto && !is_wanted(experiment) || workload.facts().writes == 0 {
        return Ok(None);
    }
    if let Warmup::Time(time) = warmup
        && workload.duration_s() <= 0.0
    {
        let message = format!("found {time}, but the requests of the workload have no times; valid is a number of requests");
        return Err(Problem::new("warmup", message));
    }
    // Loops of a recording differ by chance as halves of a run do, so they are checked against the same bound.
    let within = HALVES_APART;
    let until = if warmup == Warmup::Auto { WarmUp::UntilSteady { within, period: workload.period() } } else { WarmUp::All };
    let depth = match experiment.trace.arrival {
        Arrival::Closed(depth) => depth,
        _ => workload.depth().unwrap_or(DEPTH_WITHOUT_TIMES),
    };
    let further = workload.further(matches!(warmup, Warmup::Time(_)));
    Ok(Some(Planned { workload, map, warmup, further, with_reads: false, until, depth }))
}

/// Whether the drive is to be in a steady state: an experiment that ends preconditioning before wants the state it describes.
fn is_wanted(experiment: &Experiment) -> bool {
    let history = &experiment.precondition;
    history.fill * history.working_set > 0.0 && history.converge_within > 0.0 && history.overwrite_at_most > 0.0
}

/// The workload without an end, reads included: a recording again and again, a generator drawn further.
#[must_use]
pub fn endless<'a>(workload: &'a Workload, map: &'a AddressMap) -> Planned<'a> {
    let (until, depth, further) = (WarmUp::All, DEPTH_WITHOUT_TIMES, workload.further(false));
    Planned { workload, map, warmup: Warmup::Auto, further, with_reads: true, until, depth }
}

impl Planned<'_> {
    /// Requests that change the drive: all but reads. Recordings are repeated.
    ///
    /// # Errors
    /// A trace that cannot be read again.
    pub fn commands(&self) -> Result<Commands<'_>, Problem> {
        let (requests, time) = match self.warmup {
            Warmup::Requests(requests) => (requests, None),
            Warmup::Time(time) => (u64::MAX, Some(time.0)),
            Warmup::Auto | Warmup::None => (u64::MAX, None),
        };
        Ok(Commands { pass: Some(self.pass()?), of: self, requests, time, began: None, before_ns: 0, taken: 0, error: None })
    }

    fn pass(&self) -> Result<CommandStream<'_>, Problem> {
        match &self.further {
            Some(tape) => Ok(self.workload.drawn_on(tape, self.map)),
            None => self.workload.once(self.map),
        }
    }
}

/// Commands of a warm-up, pass by pass.
pub struct Commands<'a> {
    of: &'a Planned<'a>,
    pass: Option<CommandStream<'a>>,
    /// Requests that are left, reads among them.
    requests: u64,
    /// Time of the workload that they may take, in nanoseconds.
    time: Option<u64>,
    /// When the first request of the pass came.
    began: Option<SimTime>,
    /// Time of earlier passes.
    before_ns: u64,
    /// Requests of the pass.
    taken: u64,
    error: Option<Problem>,
}

impl Commands<'_> {
    /// The error that ended the commands early, if one did.
    ///
    /// # Errors
    /// That error.
    pub fn finish(self) -> Result<(), Problem> {
        self.error.map_or(Ok(()), Err)
    }

    /// Why commands ended that have no end.
    pub fn ended(&mut self) -> Problem {
        self.error.take().unwrap_or_else(|| Problem::new("trace", "has no more writes"))
    }

    /// The next request of any kind, in this pass or in one more.
    fn request(&mut self) -> Option<HostCommand> {
        loop {
            if let Some(command) = self.pass.as_mut()?.next() {
                self.taken += 1;
                return Some(command);
            }
            let ended = self.pass.take()?.finish();
            // A pass without a request would be followed by others for ever.
            let again = ended.and_then(|()| if self.taken > 0 { self.of.pass().map(Some) } else { Ok(None) });
            match again {
                Ok(pass) => self.pass = pass,
                Err(problem) => self.error = Some(problem),
            }
            (self.taken, self.began) = (0, None);
            self.before_ns = self.before_ns.saturating_add((self.of.workload.facts().duration_s * 1e9) as u64);
        }
    }
}

impl Iterator for Commands<'_> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        while self.requests > 0 {
            self.requests -= 1;
            let command = self.request()?;
            let began = *self.began.get_or_insert(command.at);
            let at = self.before_ns.saturating_add(command.at.0.saturating_sub(began.0));
            if self.time.is_some_and(|time| at > time) {
                self.requests = 0;
            } else if self.of.with_reads || command.op != HostOp::Read {
                return Some(command);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(settings: &str) -> Result<Vec<HostCommand>, Problem> {
        let text = format!("[trace]\nsource = \"uniform\"\n[generate]\nrequests = 200\nrange = \"4MiB\"\n{settings}");
        let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        let workload = Workload::open(&experiment, &|_| {})?;
        let map = workload.map(&experiment, 1024)?;
        let Some(planned) = planned(&experiment, &workload, &map)? else { return Ok(Vec::new()) };
        let found = planned.commands()?.take(5000).collect();
        Ok(found)
    }

    /// Fails if more requests than come in virtual time are asked of a generator at its own times.
    #[test]
    fn a_slow_load_is_drawn_further_too() {
        assert_eq!(commands("read_fraction = 0.0\narrivals = { poisson = \"16ms\" }").map(|found| found.len()), Ok(5000));
    }

    /// Fails if a warm-up repeats the requests that are measured, draws others than such a workload has, or reads.
    #[test]
    fn a_generator_is_drawn_further_without_its_reads() {
        let warm = commands("read_fraction = 0.5").expect("valid");
        assert_eq!(warm.len(), 5000, "it does not end");
        let text = "[trace]\nsource = \"uniform\"\n[generate]\nrequests = 20000\nrange = \"4MiB\"\nread_fraction = 0.5";
        let experiment = Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let longer = Workload::open(&experiment, &|_| {}).expect("valid");
        let map = longer.map(&experiment, 1024).expect("it fits");
        let further = longer.once(&map).expect("valid").skip(200).filter(|command| command.op != HostOp::Read);
        let places = |command: HostCommand| (command.op, command.lba, command.sectors);
        assert!(warm.into_iter().map(places).eq(further.take(5000).map(places)));
    }

    #[test]
    fn a_number_of_requests_counts_reads_and_a_time_is_that_of_the_workload() {
        let count = |settings: &str| commands(settings).map(|found| found.len());
        assert_eq!(count("read_fraction = 0.0\n[precondition]\nfill = 1.0"), Ok(5000));
        let with = |warmup: &str, rest: &str| {
            let text =
                format!("warmup = {warmup}\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 200\nrange = \"4MiB\"\n{rest}");
            let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
            let workload = Workload::open(&experiment, &|_| {}).expect("valid");
            let map = workload.map(&experiment, 1024).expect("it fits");
            planned(&experiment, &workload, &map)
                .map(|planned| planned.map_or(0, |one| one.commands().expect("it opens").count()))
        };
        assert_eq!(with("300", "read_fraction = 0.0"), Ok(300));
        let halved = with("\"300\"", "read_fraction = 0.5").expect("valid");
        assert!((100..200).contains(&halved), "{halved} of 300 are no reads");
        // From 0 to 50 ms, one each millisecond.
        assert_eq!(with("\"50ms\"", "read_fraction = 0.0\narrivals = { every = \"1ms\" }"), Ok(51));
        let problem = with("\"50ms\"", "read_fraction = 0.0").expect_err("at once");
        assert!(problem.field == "warmup" && problem.message.contains("no times"), "{problem}");
        assert_eq!(with("\"none\"", "read_fraction = 0.0"), Ok(0));
        assert_eq!(with("\"auto\"", "read_fraction = 1.0"), Ok(0), "reads leave a drive as it is");
        assert_eq!(with("\"auto\"", "read_fraction = 0.0\n[precondition]\nconverge_within = 0.0"), Ok(0));
    }
}
