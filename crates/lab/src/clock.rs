//! When host requests arrive: one clock for all schemes.

use crate::cautions::late_share;
use crate::outcome::Outcome;
use common::Problem;
use common::quantity::{percent, seconds};
use experiment::{Arrival, Caution, Experiment, Level, TraceFacts, Workload};
use ssd::{Demand, Pace};

/// Share of time in which `none` keeps its dies (or channels) busy at most, under
/// [`Arrival::Auto`] and [`Arrival::HalfBusy`].
const NONE_BUSY: f64 = 0.5;

/// The same for every compared scheme, under [`Arrival::Auto`]: room enough for bursts, so that
/// latencies speak of the drive.
const ANY_BUSY: f64 = 0.6;

/// Queue depth of an automatic clock where the workload has no times.
pub(crate) const DEPTH_WITHOUT_TIMES: u32 = 32;

/// The clock of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// How commands are handed to the drive.
    pub pace: Pace,
    /// Factor of the recorded times.
    pub factor: f64,
    /// The choice in words.
    pub said: String,
    /// True if each flow has a clock of its own.
    pub is_each: bool,
}

/// The factor by which `duration_s` must grow so that a drive that needs `least_s` is busy for
/// `share` of it.
fn stretch(least_s: f64, share: f64, duration_s: f64) -> f64 {
    least_s / (share * duration_s)
}

/// Never hastens; rounded up to two decimals so that it can be quoted.
fn quotable(factor: f64) -> f64 {
    ((factor * 100.0 - 1e-9).ceil() / 100.0).max(1.0)
}

/// Refuses a change of times for a workload that has none, and a load where a flow keeps its queue full whatever the clock.
pub(crate) fn check(arrival: Arrival, workload: &Workload) -> Result<(), Problem> {
    if matches!(arrival, Arrival::Load(_)) && workload.has_queue() && !workload.flows().is_empty() {
        let text = format!(
            "found `{arrival}`, but a flow of the workload keeps a queue of requests, which no clock slows down; valid are `recorded`, \
             `scaled=` for the flows with times, and a smaller queue depth"
        );
        return Err(Problem::new("trace.arrival", text));
    }
    check_times(arrival, workload.duration_s())
}

fn check_times(arrival: Arrival, duration_s: f64) -> Result<(), Problem> {
    if duration_s > 0.0 || !matches!(arrival, Arrival::Load(_) | Arrival::Scaled(_)) {
        return Ok(());
    }
    let text = format!(
        "found `{arrival}`, but the requests of the workload have no times; valid are `--rate` (generators) and `--iodepth`"
    );
    Err(Problem::new("trace.arrival", text))
}

/// A load counts as reached when it is off by this share of itself at most.
const LOAD_REACHED: f64 = 0.02;

/// Runs ahead that find the clock of a load at most.
const RUNS_AHEAD: u32 = 3;

/// The clock under which a scheme is busy for `share` of the time, found by runs ahead from an estimate. `busy` runs the workload by a
/// clock and gives the share of time that dies, or channels, were busy.
pub(crate) fn at_load(
    estimate: Clock,
    share: f64,
    name: &str,
    busy: &mut dyn FnMut(&Clock) -> Result<f64, Problem>,
) -> Result<Clock, Problem> {
    let mut clock = estimate;
    for _ in 0..RUNS_AHEAD {
        let found = busy(&clock)?;
        let is_reached = (found / share - 1.0).abs() <= LOAD_REACHED;
        let is_last = is_reached || found <= 0.0;
        if !is_last {
            clock.factor = format!("{:.2e}", clock.factor * found / share).parse().expect("a number as printed");
        }
        clock.said = format!(
            "at recorded times x {}: `{name}`, the busiest, was {} busy in {} ahead, and {} was asked for",
            clock.factor,
            percent(found),
            if is_last { "a run" } else { "the last run" },
            percent(share)
        );
        if is_last {
            break;
        }
    }
    Ok(clock)
}

/// Whether the clock of this arrival depends on what the workload demands of the drives.
#[must_use]
pub fn needs_demand(arrival: Arrival, duration_s: f64) -> bool {
    matches!(arrival, Arrival::Auto | Arrival::HalfBusy | Arrival::Load(_)) && duration_s > 0.0
}

/// The clock for a workload of `duration_s` (at recorded times; where it has none, with a queue depth of its own if it has one)
/// that demands `none` of a drive
/// without redundancy and `schemes` (name, demand) of those compared.
#[must_use]
pub fn clock(
    arrival: Arrival,
    (duration_s, own_depth): (f64, Option<u32>),
    none: Option<Demand>,
    schemes: &[(String, Demand)],
) -> Clock {
    let open = |factor, said: String| Clock { pace: Pace::Open, factor, said, is_each: false };
    let closed = |depth, said: String| Clock { pace: Pace::Closed { depth }, factor: 1.0, said, is_each: false };
    let busiest = schemes.iter().max_by(|a, b| a.1.least_s().total_cmp(&b.1.least_s()));
    match arrival {
        Arrival::Recorded => open(1.0, "at recorded times".into()),
        Arrival::Scaled(factor) => open(factor, format!("at recorded times x {factor}")),
        Arrival::Closed(depth) => closed(depth, format!("closed loop, queue depth {depth}; recorded times are ignored")),
        Arrival::Auto | Arrival::HalfBusy | Arrival::Load(_) if duration_s <= 0.0 => match own_depth {
            Some(depth) => closed(depth, format!("closed loop, queue depth {depth}, as the workload says")),
            None => {
                let depth = DEPTH_WITHOUT_TIMES;
                closed(depth, format!("closed loop, queue depth {depth}, because the workload has no times"))
            }
        },
        Arrival::Load(share) => {
            let Some((name, demand)) = busiest.filter(|(_, demand)| demand.least_s() > 0.0) else {
                return open(1.0, "at recorded times".into());
            };
            let factor: f64 =
                format!("{:.2e}", stretch(demand.least_s(), share, duration_s)).parse().expect("a number as printed");
            open(
                factor,
                format!(
                    "at recorded times x {factor}: so that `{name}`, the busiest, would be {} busy on average, by an estimate",
                    percent(share)
                ),
            )
        }
        Arrival::Auto | Arrival::HalfBusy => {
            let for_none = quotable(none.map_or(0.0, |d| stretch(d.least_s(), NONE_BUSY, duration_s)));
            match busiest {
                Some((name, demand)) if arrival == Arrival::Auto => {
                    let factor = quotable(stretch(demand.least_s(), ANY_BUSY, duration_s));
                    if factor > for_none {
                        let share = ANY_BUSY * 100.0;
                        return open(
                            factor,
                            format!(
                                "at recorded times x {factor}: so slow that `{name}`, the busiest, would be {share} % busy on average"
                            ),
                        );
                    }
                }
                _ => {}
            }
            open(for_none, half_busy(for_none))
        }
    }
}

/// The clock of a workload of several flows: that of one, where all have times, else each its own.
#[must_use]
pub fn of_flows(workload: &Workload, arrival: Arrival, one: Clock) -> Clock {
    if workload.flows().is_empty() {
        return one;
    }
    let (pace, factor) = match arrival {
        Arrival::Scaled(factor) => (one.pace, factor),
        _ if workload.has_queue() => (Pace::Closed { depth: workload.depth().unwrap_or(1) }, 1.0),
        _ => (one.pace, one.factor),
    };
    Clock { pace, factor, said: experiment::flow::said(workload.flows(), arrival, factor), is_each: true }
}

fn half_busy(factor: f64) -> String {
    if factor > 1.0 {
        format!("at recorded times x {factor}: so slow that `none` would be half busy on average")
    } else {
        "at recorded times: `none` would be at most half busy on average".into()
    }
}

/// Measured load under the clock: how busy dies were, and how many requests waited for long.
pub(crate) fn measured(clock: &Clock, outcomes: &[Outcome]) -> String {
    let busy: Vec<String> =
        outcomes.iter().map(|o| format!("`{}` {}", o.label, percent(o.result.flash.die_utilisation))).collect();
    let busy = format!("dies busy {}", busy.join(", "));
    let late = outcomes.iter().max_by(|one, other| late_share(&one.result).total_cmp(&late_share(&other.result)));
    match late {
        Some(worst) if clock.pace == Pace::Open => {
            let share = late_share(&worst.result);
            if share > 0.0 {
                let share = percent(share);
                format!(
                    "{busy}; {share} of the requests of `{}`, the most, waited behind a backlog of more than a second",
                    worst.label
                )
            } else {
                format!("{busy}; no request waited behind a backlog of more than a second")
            }
        }
        _ => busy,
    }
}

/// A gap counts as one that makes a mean load meaningless from this share of the whole duration on.
const GAP_SHARE: f64 = 0.25;

/// So long, in seconds, may any gap be: a workload that is as short says by itself how it comes.
const GAP_S: f64 = 60.0;

/// A caution where one gap of the workload is a good part of its duration: the mean load then says how long nothing came.
pub(crate) fn gap(experiment: &Experiment, facts: &TraceFacts) -> Option<Caution> {
    let share = facts.longest_gap_s / facts.duration_s.max(f64::MIN_POSITIVE);
    let is_timed = !matches!(experiment.trace.arrival, Arrival::Closed(_)) && facts.duration_s > 0.0;
    if !is_timed || facts.longest_gap_s < GAP_S || share < GAP_SHARE {
        return None;
    }
    let text = format!(
        "one gap between two requests of the workload lasts {}, {} of its duration: its mean load, and a clock chosen by it, say \
         little of the load while requests come. `--set trace.max_gap=10s` clips gaps",
        seconds(facts.longest_gap_s),
        percent(share)
    );
    Some(Caution { level: Level::Warning, scheme: None, not_comparable: None, kind: "gap", text })
}

/// Kind of the caution that the clock is not that of the workload.
pub(crate) const RESCALED: &str = "rescaled";

/// A caution where a generator, or flows, say when requests arrive, and the clock makes something else of it: points of a load axis fall
/// together.
pub(crate) fn rescaled(experiment: &Experiment, clock: &Clock) -> Option<Caution> {
    // Whoever asks for a load knows that the clock follows it.
    let is_asked = matches!(experiment.trace.arrival, Arrival::Load(_));
    let asks_for_times = experiment::generated::is_generated(experiment) || clock.is_each;
    if is_asked || !asks_for_times || !needs_demand(experiment.trace.arrival, 1.0) || clock.factor == 1.0 {
        return None;
    }
    let asking = if clock.is_each { "the flows ask" } else { "`generate.arrivals` asks" };
    let text = format!(
        "the clock makes the load less than {asking} for: times between requests are multiplied by {}, so that no scheme is overloaded. `--arrival recorded` keeps the load",
        clock.factor
    );
    Some(Caution { level: Level::Warning, scheme: None, not_comparable: None, kind: RESCALED, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Nanos;

    /// Demand of this many seconds on each of 8 dies; channels hardly used.
    fn demand(least_s: f64) -> Demand {
        Demand { dies: Nanos((least_s * 8e9) as u64), channels: Nanos(1), decoders: Nanos(0), of_dies: 8, of_channels: 2 }
    }

    fn factor(arrival: Arrival, none: f64, worst: f64) -> f64 {
        let schemes = [("raid5".to_string(), demand(worst)), ("none".to_string(), demand(none))];
        clock(arrival, (10.0, None), Some(demand(none)), &schemes).factor
    }

    /// Fails if a load is reached for another scheme than the busiest, or a clock is not hastened for it.
    #[test]
    fn a_load_is_that_of_the_busiest_scheme_and_may_hasten_the_clock() {
        // The busiest works 3 s: for 30 % of the time, it must last 10 s; for 60 %, half as long.
        assert_eq!(factor(Arrival::Load(0.3), 1.0, 3.0), 1.0);
        assert_eq!(factor(Arrival::Load(0.6), 1.0, 3.0), 0.5);
        assert_eq!(factor(Arrival::Load(0.1), 1.0, 3.0), 3.0);
        assert_eq!(clock(Arrival::Load(0.3), (10.0, None), None, &[]).factor, 1.0);
    }

    /// A drive whose busy share is not quite inverse to the clock's factor, as with a write buffer that merges more the slower it drains.
    #[test]
    fn runs_ahead_find_the_clock_of_a_load() {
        let estimate = Clock { pace: Pace::Open, factor: 1.0, said: String::new(), is_each: false };
        let mut busy = |clock: &Clock| Ok(0.2 / clock.factor.powf(0.9));
        let found = at_load(estimate, 0.3, "raid5", &mut busy).expect("a clock");
        let reached = busy(&found).expect("a share");
        assert!((reached / 0.3 - 1.0).abs() < LOAD_REACHED, "{reached}");
    }

    #[test]
    fn times_that_are_not_there_cannot_be_changed() {
        let said = check_times(Arrival::Load(0.3), 0.0).expect_err("no times").to_string();
        assert!(said.contains("`--rate`"), "{said}");
        assert!(check_times(Arrival::Load(0.3), 1.0).is_ok() && check_times(Arrival::Auto, 0.0).is_ok());
    }

    #[test]
    fn none_is_half_busy_at_most_and_no_clock_is_hastened() {
        // 15 s of work in 10 s: to be half of the time, it must last 30 s.
        assert_eq!(factor(Arrival::HalfBusy, 15.0, 99.0), 3.0);
        assert_eq!(factor(Arrival::HalfBusy, 5.0, 99.0), 1.0);
        assert_eq!(factor(Arrival::HalfBusy, 0.1, 99.0), 1.0);
        // 15.125 / 5 = 3.025, rounded up.
        assert_eq!(factor(Arrival::HalfBusy, 15.125, 99.0), 3.03);
    }

    #[test]
    fn auto_leaves_no_scheme_overloaded() {
        // raid5 needs 36 s: 60 % of 60 s.
        assert_eq!(factor(Arrival::Auto, 15.0, 36.0), 6.0);
        // 16 s are 60 % of 26.7 s: the rule for `none` is stricter.
        assert_eq!(factor(Arrival::Auto, 15.0, 16.0), 3.0);
    }

    #[test]
    fn a_busy_channel_or_decoder_counts_like_busy_dies() {
        for (channels, decoders) in [(30, 0), (1, 30)] {
            let [channels, decoders] = [channels, decoders].map(|seconds| Nanos(seconds * 1_000_000_000));
            let busy = Demand { dies: Nanos(8_000_000_000), channels, decoders, of_dies: 8, of_channels: 2 };
            assert_eq!(clock(Arrival::HalfBusy, (10.0, None), Some(busy), &[]).factor, 3.0);
        }
    }

    #[test]
    fn a_load_that_was_asked_for_and_is_not_kept_is_said() {
        let with = |arrival: &str, source: &str| {
            let generate = if source == "pgbench" { "" } else { "[generate]\narrivals = { poisson = \"2us\" }\n" };
            let text = format!("[trace]\nsource = \"{source}\"\narrival = \"{arrival}\"\n{generate}");
            Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"))
        };
        let slowed = |factor| Clock { pace: Pace::Open, factor, said: String::new(), is_each: false };
        let said = rescaled(&with("auto", "uniform"), &slowed(4.07)).expect("a flat load axis").text;
        assert!(said.contains("multiplied by 4.07"), "{said}");
        assert!(rescaled(&with("auto", "uniform"), &slowed(1.0)).is_none());
        assert!(rescaled(&with("scaled=4.07", "uniform"), &slowed(4.07)).is_none(), "it was asked for");
        assert!(rescaled(&with("auto", "pgbench"), &slowed(4.07)).is_none(), "of a recording the fairness says it");
    }

    #[test]
    fn a_workload_without_times_is_replayed_in_a_closed_loop() {
        assert_eq!(clock(Arrival::Auto, (0.0, None), None, &[]).pace, Pace::Closed { depth: 32 });
        assert_eq!(clock(Arrival::Auto, (0.0, Some(5)), None, &[]).pace, Pace::Closed { depth: 5 });
        assert_eq!(clock(Arrival::Closed(7), (0.0, Some(5)), None, &[]).pace, Pace::Closed { depth: 7 });
    }
}
