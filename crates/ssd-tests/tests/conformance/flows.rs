//! Several flows of requests at one drive: when each sends, against a host that is simulated tick by tick over a device that takes the
//! same time for everything; and against the replay of one flow, or of one order, where both mean the same.

use crate::common::{MIX, Mix, drive, run, setup, ssd, workload};
use ssd::{AnsweredRequest, Buffer, FlowClock, HostFlow, Pace, RunResult, Session, Setup, Think};
use vocab::{HostCommand, HostOp, Lba, Nanos, SimTime, Stream, StreamId, Streams};

/// A tick, and how many of them an answer takes.
const TICK: u64 = 1_000;
const LATENCY: u64 = 7;

/// Nothing was ever written to it: a read needs no flash and takes the latency of the controller.
fn steady_device() -> Setup {
    let buffer = Buffer { latency: Nanos(LATENCY * TICK), ..Buffer::OFF };
    Setup { buffer, ..setup("none", drive(5, 12, 4, 1), 0.5) }
}

fn read(at: u64) -> HostCommand {
    HostCommand { at: SimTime(at), op: HostOp::Read, lba: Lba(0), sectors: 8, stream: StreamId::default() }
}

/// A flow of the naive host: all in ticks.
#[derive(Clone, Debug)]
struct Naive {
    stage: u32,
    /// Times of its requests; of a queue only their number counts.
    times: Vec<u64>,
    queue: Option<Queue>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    depth: u64,
    delay: u64,
    until: Option<u64>,
    think: Option<(u64, u64)>,
}

/// When each flow sends its requests: looks at every tick what may be sent.
fn naive(flows: &[Naive]) -> Vec<Vec<u64>> {
    let mut sent: Vec<Vec<u64>> = vec![Vec::new(); flows.len()];
    let mut since_pause = vec![0; flows.len()];
    let mut sleeps_until = vec![0; flows.len()];
    let (mut stage, mut begin) = (0, 0);
    for tick in 0.. {
        let unanswered = |sent: &[u64]| sent.iter().filter(|&&at| at + LATENCY > tick).count() as u64;
        for (index, flow) in flows.iter().enumerate() {
            if flow.queue.is_some_and(|queue| queue.think.is_some()) {
                since_pause[index] += sent[index].iter().filter(|&&at| at + LATENCY == tick).count() as u64;
            }
        }
        let is_done = |flow: &Naive, sent: &[u64], begin: u64| {
            let ends = flow.queue.and_then(|queue| Some(begin + queue.delay + queue.until?));
            (sent.len() == flow.times.len() || ends.is_some_and(|end| tick >= end)) && unanswered(sent) == 0
        };
        while flows.iter().zip(&sent).filter(|(flow, _)| flow.stage == stage).all(|(flow, sent)| is_done(flow, sent, begin)) {
            stage += 1;
            begin = tick;
            if flows.iter().all(|flow| flow.stage < stage) {
                return sent;
            }
        }
        for (index, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.stage == stage) {
            while let Some(time) = flow.times.get(sent[index].len()) {
                let open = unanswered(&sent[index]);
                let may = match flow.queue {
                    None => begin + time <= tick,
                    Some(Queue { depth, delay, until, think }) => {
                        if let Some((pause, every)) = think
                            && since_pause[index] >= every
                            && open == 0
                        {
                            (since_pause[index], sleeps_until[index]) = (0, tick + pause);
                        }
                        let waits = think.is_some_and(|(_, every)| since_pause[index] >= every) || tick < sleeps_until[index];
                        let is_over = until.is_some_and(|until| tick >= begin + delay + until);
                        tick >= begin + delay && !is_over && !waits && open < depth
                    }
                };
                if !may {
                    break;
                }
                sent[index].push(tick);
            }
        }
    }
    unreachable!("it ends with its last stage")
}

fn played(setup: &Setup, flows: &[Naive]) -> (Vec<Vec<u64>>, RunResult) {
    let mut session = Session::new(setup).expect("a valid drive");
    let flow = |one: &Naive| HostFlow {
        commands: Box::new(one.times.clone().into_iter().map(|time| read(time * TICK))),
        clock: one.queue.map_or(FlowClock::Times, |queue| FlowClock::Queue {
            depth: queue.depth as u32,
            delay: Nanos(queue.delay * TICK),
            until: queue.until.map(|until| Nanos(until * TICK)),
            think: queue.think.map(|(pause, every)| Think { pause: Nanos(pause * TICK), every }),
        }),
        stage: one.stage,
    };
    let mut rows: Vec<AnsweredRequest> = Vec::new();
    let mut log = |some: &[AnsweredRequest]| rows.extend_from_slice(some);
    let result = session.run_flows(flows.iter().map(flow).collect(), true, &mut |_| {}, Some(&mut log));
    let mut sent = vec![Vec::new(); flows.len()];
    for row in &rows {
        assert_eq!(row.answer.since(row.arrival), Nanos(LATENCY * TICK), "the device takes the same time for all");
        sent[usize::from(row.flow)].push(row.arrival.0 / TICK);
    }
    sent.iter_mut().for_each(|times| times.sort_unstable());
    (sent, result)
}

fn drawn(draws: &mut Stream) -> Naive {
    let count = draws.below(30);
    let mut at = 0;
    let times = (0..count)
        .map(|_| {
            at += draws.below(12);
            at
        })
        .collect();
    let mut maybe = |share: f64, most: u64| draws.chance(share).then(|| 1 + draws.below(most));
    let queue = maybe(0.7, 5).map(|depth| Queue {
        depth,
        delay: maybe(0.3, 20).unwrap_or(0),
        until: maybe(0.4, 60),
        think: maybe(0.4, 25).map(|pause| (pause, maybe(1.0, 6).unwrap_or(1))),
    });
    Naive { stage: draws.below(3) as u32, times, queue }
}

#[test]
fn flows_send_when_a_naive_host_does() {
    let mut draws = Streams::new(7).stream("test/flows");
    let setup = steady_device();
    for round in 0..150 {
        let flows: Vec<Naive> = (0..1 + draws.below(5)).map(|_| drawn(&mut draws)).collect();
        let (sent, result) = played(&setup, &flows);
        assert_eq!(sent, naive(&flows), "round {round}: {flows:#?}");
        for (flow, sent) in result.flows.iter().zip(&sent) {
            assert_eq!(flow.all_requests(), sent.len() as u64);
            assert_eq!(flow.latency_us.mean, if sent.is_empty() { 0.0 } else { LATENCY as f64 });
        }
    }
}

fn random(seed: u64, setup: &Setup) -> Vec<HostCommand> {
    workload(seed, setup.user_slots, 400, Mix { every: 120_000, ..MIX })
}

fn flow(commands: &[HostCommand], clock: FlowClock) -> HostFlow<'_> {
    HostFlow { commands: Box::new(commands.iter().copied()), clock, stage: 0 }
}

/// Fails if the flows of a run change what one clock means: every event and every answer, by their digest.
#[test]
fn one_flow_and_flows_with_times_are_what_one_order_is() {
    for scheme in ["none", "raid5", "ds-raid"] {
        let setup = Setup { seed: 3, ..setup(scheme, drive(5, 12, 4, 1), 0.5) };
        let (one, other) = (random(1, &setup), random(2, &setup));
        let of_flows =
            |flows: Vec<HostFlow<'_>>| Session::new(&setup).expect("a valid drive").run_flows(flows, false, &mut |_| {}, None);
        let of_one = |commands: &[HostCommand], pace| run(&mut Session::new(&setup).expect("a valid drive"), commands, pace);
        let same = |flows: RunResult, one: RunResult, what: &str| {
            assert_eq!(RunResult { flows: Vec::new(), ..flows }, one, "{scheme}: {what}");
        };
        let queue = FlowClock::Queue { depth: 5, delay: Nanos(0), until: None, think: None };
        same(of_flows(vec![flow(&one, queue)]), of_one(&one, Pace::Closed { depth: 5 }), "a queue");
        same(of_flows(vec![flow(&one, FlowClock::Times)]), of_one(&one, Pace::Open), "times");
        let mut merged: Vec<(SimTime, u8, HostCommand)> = one.iter().map(|command| (command.at, 0, *command)).collect();
        merged.extend(other.iter().map(|command| (command.at, 1, *command)));
        merged.sort_by_key(|(at, flow, _)| (*at, *flow));
        let merged: Vec<HostCommand> = merged.into_iter().map(|(.., command)| command).collect();
        let both = of_flows(vec![flow(&one, FlowClock::Times), flow(&other, FlowClock::Times)]);
        same(both, of_one(&merged, Pace::Open), "two with times");
    }
}

/// Fails if the results of flows leave out or count twice, or know less of latencies than those of all requests.
#[test]
fn results_of_flows_add_up() {
    let setup = Setup { buffer: Buffer::default(), seed: 5, ..setup("raid5", drive(5, 12, 4, 1), 0.5) };
    let (one, other) = (random(1, &setup), random(2, &setup));
    let queue = FlowClock::Queue { depth: 3, delay: Nanos(0), until: None, think: None };
    let mut session = Session::new(&setup).expect("a valid drive");
    session.begin_series();
    let flows = vec![flow(&one, queue), flow(&other, FlowClock::Times)];
    let result = session.run_flows(flows, true, &mut |_| {}, None);
    let series = session.end_series().expect("it was begun").result();
    let sum = |kind: &str| result.flows.iter().map(|flow| flow.requests[kind]).sum::<u64>();
    for (kind, all) in &result.host.requests {
        assert_eq!(sum(kind), *all, "{kind}");
    }
    let of_kind = |commands: &[HostCommand], op: HostOp| {
        commands.iter().filter(|command| command.op == op).map(|command| u64::from(command.sectors) * 512).sum::<u64>()
    };
    for (flow, commands) in result.flows.iter().zip([&one, &other]) {
        assert_eq!(flow.all_requests(), commands.len() as u64);
        assert_eq!(flow.read_bytes, of_kind(commands, HostOp::Read));
        let waits = flow.waits.as_ref().expect("they were asked for");
        let all: f64 = waits.reads.mean_us.values().sum();
        assert!((all - flow.read_latency_us.mean).abs() < 1e-6 * all, "waits add up: {all} {}", flow.read_latency_us.mean);
    }
    let mean: f64 = result.flows.iter().map(|flow| flow.latency_us.mean * flow.latency_us.count as f64).sum();
    let all = result.host.latency_us;
    assert!((mean - all.mean * all.count as f64).abs() < 1e-9 * mean);
    assert_eq!(result.flows.iter().map(|flow| flow.latency_us.max).fold(0.0, f64::max), all.max);
    for (index, flow) in result.flows.iter().enumerate() {
        let answers = series.column(&format!("flow_{index}_answers_per_s")).expect("a column for each flow");
        let answered: f64 = answers.iter().flatten().sum::<f64>() * series.bin_s;
        assert!((answered - flow.latency_us.count as f64).abs() < 1e-6 * answered, "{answered}");
    }
}
