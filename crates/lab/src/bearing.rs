//! Whether a run is long enough for what is said of flash: write amplification, and with it life and energy, come from GC, which takes
//! whole blocks and needs many of them before it is a mean.

use crate::interval::Interval;
use crate::interval::t_quantile;
use crate::outcome::Outcome;
use common::quantity::percent;
use common::table::{grouped, listed};
use experiment::{Caution, Experiment, Level, Workload};
use ssd::{Mark, RunResult};
use vocab::Cause;

/// This many blocks of each die have to be programmed for the host. With fewer, the pages that fill the last ones are a good part of all.
const PROGRAMMED_BLOCKS: u64 = 3;

/// This many blocks of each die have to be erased: GC that is a victim ahead or behind is then an eighth of all at most.
const ERASED_BLOCKS: u64 = 8;

/// So much may the write amplification of one half of a run be off that of the other.
pub(crate) const HALVES_APART: f64 = 0.05;

/// Writing is as good as free below this share of all energy: then energy is borne by reads.
const ENERGY_OF_WRITING: f64 = 0.05;

/// The kind of the caution.
pub(crate) const KIND: &str = "unborne";

/// A caution where what is written does not bear a figure of flash; `user_slots` are what the host may use. Where nothing is written there is
/// none: no figure is made of it.
pub(crate) fn caution(outcome: &Outcome, user_slots: u32, remedy: &str) -> Option<Caution> {
    let run = &outcome.result;
    if run.host.write_pages == 0 || energy_of_writing(run) < ENERGY_OF_WRITING {
        return None;
    }
    let lacking = lacking(outcome, user_slots);
    let text = format!("`{}` {TOO_LITTLE}: {}{remedy}", outcome.label, lacking.join("; "));
    let scheme = Some(outcome.label.clone());
    (!lacking.is_empty()).then_some(Caution { level: Level::Warning, scheme, not_comparable: None, kind: KIND, text })
}

/// A run that is too short, in words.
const TOO_LITTLE: &str = "wrote too little to judge its write amplification, endurance and energy";

/// How to get a run that is long enough: of a generator; of a recording; of flows that end in time; of generators as flows; of another
/// description.
const REMEDIES: [&str; 5] = [
    ". These figures are marked with ! and not ranked; more `generate.requests` make the run long enough",
    ". These figures are marked with ! and not ranked; a longer recording makes the run long enough, or `--loops 10`, which repeats this one",
    ". These figures are marked with ! and not ranked; a later end of the flows makes the run long enough (`runtime` of fio, `until` of a `[[flow]]`, \
     Stop_Time of MQSim)",
    ". These figures are marked with ! and not ranked; more `generate.requests` of its flows make the run long enough",
    ". These figures are marked with ! and not ranked; more requests make the run long enough (`io_size` or `loops` of fio, Total_Requests_To_Generate \
     of MQSim)",
];

/// How to get a longer run of a workload.
pub(crate) fn remedy(experiment: &Experiment, workload: &Workload) -> &'static str {
    let kind = match () {
        () if experiment::generated::is_generated(experiment) => 0,
        () if workload.ends_in_time() => 2,
        () if !experiment.flow.is_empty() => 3,
        () if experiment::described::is_described(experiment) => 4,
        () => 1,
    };
    REMEDIES[kind]
}

/// The cautions as sentences. Of several runs that are too short the last sentence alone says how to get longer ones.
pub(crate) fn told(cautions: &[Caution]) -> Vec<String> {
    let last = cautions.iter().rposition(|caution| caution.kind == KIND);
    let told = |(at, caution): (usize, &Caution)| {
        let remedy = REMEDIES.iter().find(|remedy| caution.kind == KIND && Some(at) != last && caution.text.ends_with(*remedy));
        remedy.map_or(&*caution.text, |remedy| &caution.text[..caution.text.len() - remedy.len()]).to_owned()
    };
    cautions.iter().enumerate().map(told).collect()
}

/// The same for a screen: several runs that are too short are one sentence, without their reasons.
#[must_use]
pub fn told_on_screen(cautions: &[Caution]) -> Vec<String> {
    let short: Vec<&Caution> = cautions.iter().filter(|caution| caution.kind == KIND).collect();
    let (Some(last), true) = (short.last(), short.len() > 1) else { return told(cautions) };
    let labels: Vec<String> = short.iter().filter_map(|caution| Some(format!("`{}`", caution.scheme.as_ref()?))).collect();
    let remedy = REMEDIES.iter().find(|remedy| last.text.ends_with(*remedy)).copied().unwrap_or_default();
    let one = format!(
        "{} wrote too little to judge their write amplification, endurance and energy (`--full` has the reasons){remedy}",
        listed(&labels)
    );
    let others = cautions.iter().filter(|caution| caution.kind != KIND).map(|caution| caution.text.clone());
    others.chain([one]).collect()
}

fn energy_of_writing(run: &RunResult) -> f64 {
    let joules = &run.flash.energy_j;
    let all: f64 = joules.values().fold(0.0, |all, part| all + part);
    let writing: f64 = ["program", "erase"].iter().filter_map(|name| joules.get(*name)).fold(0.0, |all, part| all + part);
    // A run that programmed nothing, everything being in the write buffer, says nothing of what its writes take.
    if writing == 0.0 || all == 0.0 { 1.0 } else { writing / all }
}

/// Missing redundancy, each kind in a few words.
fn lacking(outcome: &Outcome, user_slots: u32) -> Vec<String> {
    let (run, geometry) = (&outcome.result, &outcome.planned.drive.geometry);
    let mut lacking = Vec::new();
    let programs = run.flash.programs.get(Cause::Host.name()).copied().unwrap_or(0);
    let few = PROGRAMMED_BLOCKS * u64::from(geometry.dies()) * u64::from(geometry.pages_per_block);
    if programs < few {
        lacking.push(format!(
            "{} programmed for the host, fewer than {PROGRAMMED_BLOCKS} blocks of each die have",
            counted(programs, "page was", "pages were")
        ));
    }
    let (erases, few): (u64, u64) = (run.flash.erases.values().sum(), ERASED_BLOCKS * u64::from(geometry.dies()));
    if erases < few {
        lacking.push(format!("{} erased, fewer than {ERASED_BLOCKS} of each die", counted(erases, "block was", "blocks were")));
    }
    let spare = u64::from(geometry.slots()).saturating_sub(u64::from(user_slots));
    if run.warm_up.steady != Some(true) && run.host.write_pages < spare {
        lacking.push(format!(
            "{} written, and over-provisioning has {}",
            counted(run.host.write_pages, "page was", "pages were"),
            grouped(spare)
        ));
    }
    lacking.extend(drift(run));
    if run.warm_up.steady == Some(false) {
        let waf = run.warm_up.waf.unwrap_or_default();
        lacking.push(format!(
            "write amplification was still moving, at {waf:.2}, when the workload had written {} of over-provisioning before it was measured",
            percent(run.warm_up.pages as f64 / spare.max(1) as f64)
        ));
    }
    lacking
}

/// A number with a word that fits it.
fn counted(count: u64, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {several}", grouped(count)) }
}

/// That write amplification is not one figure: of the halves of the run. A recording whose loops were found to be alike has phases instead.
fn drift(run: &RunResult) -> Option<String> {
    if run.warm_up.is_phased && run.warm_up.steady == Some(true) {
        return None;
    }
    let (one, other) = halves(&run.batches)?;
    let is_apart = (one - other).abs() > HALVES_APART * one.min(other);
    is_apart.then(|| format!("write amplification is {one:.2} in its first half and {other:.2} in its second, without what the write buffer held at the end"))
}

/// Write amplification of the halves of a run; `None` where one of them wrote nothing.
fn halves(batches: &[Mark]) -> Option<(f64, f64)> {
    let waf = |half: &[Mark]| {
        let (slots, pages) = half.iter().fold((0, 0), |(slots, pages), batch| (slots + batch.slots, pages + batch.pages));
        (pages > 0).then(|| slots as f64 / pages as f64)
    };
    let (first, second) = batches.split_at(batches.len() / 2);
    waf(first).zip(waf(second))
}

/// Batches that an interval is made of: at first, and at least.
const BATCHES: (usize, usize) = (16, 8);

/// How far the mean latency of a run may be off, in microseconds; `None` where its batches do not tell.
pub(crate) fn latency_us(run: &RunResult) -> Option<Interval> {
    batch_means(run.batches.iter().map(|batch| (batch.latency_ns as f64 / 1e3, batch.answers as f64)).collect())
}

/// The same of its write amplification.
pub(crate) fn waf(run: &RunResult) -> Option<Interval> {
    batch_means(run.batches.iter().map(|batch| (batch.slots as f64, batch.pages as f64)).collect())
}

/// The interval of a ratio of sums over batches (Student's t over batch means). What follows each other in a run is alike, so neighbours are
/// joined until batches tell little of the next one, and what they still tell widens the interval; where the fewest tell more, there is none.
fn batch_means(mut batches: Vec<(f64, f64)>) -> Option<Interval> {
    let sum = |batches: &[(f64, f64)]| batches.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    while batches.len() >= BATCHES.1 {
        let (above, below) = sum(&batches);
        if below <= 0.0 {
            return None;
        }
        let (count, ratio) = (batches.len() as f64, above / below);
        let off: Vec<f64> = batches.iter().map(|(above, below)| above - ratio * below).collect();
        let squares: f64 = off.iter().map(|off| off * off).sum();
        let neighbours: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // One in ten of independent samples has more.
        let is_told = batches.len() < 2 * BATCHES.0 && neighbours <= 1.28 / count.sqrt() * squares;
        if is_told {
            // The correlation of a sample is one in its size too low.
            let shared = 1.0 + 2.0 * (neighbours / squares.max(f64::MIN_POSITIVE) + 1.0 / count).max(0.0);
            let error = (shared * squares / (count * (count - 1.0))).sqrt() / (below / count);
            return Some(Interval { mean: ratio, half_width: t_quantile(batches.len() - 1) * error });
        }
        batches = batches.chunks_exact(2).map(sum).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Stream, Streams};

    fn normal(draws: &mut Stream) -> f64 {
        let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * draws.unit()).cos()
    }

    /// Runs of 63 batches of a process with mean 5 whose neighbours are alike to this degree.
    fn covered(alike: f64, runs: u32, interval: impl Fn(Vec<(f64, f64)>) -> Option<Interval>) -> (u32, u32) {
        let mut draws = Streams::new(23).stream("batches");
        let (mut covered, mut told) = (0, 0);
        for _ in 0..runs {
            let mut state = normal(&mut draws);
            let mut next = || {
                state = alike * state + (1.0 - alike * alike).sqrt() * normal(&mut draws);
                (5.0 + state, 1.0)
            };
            let Some(interval) = interval((0..63).map(|_| next()).collect()) else { continue };
            told += 1;
            covered += u32::from(interval.low() <= 5.0 && 5.0 <= interval.high());
        }
        (covered, told)
    }

    /// Fails if neighbours are taken as independent: their interval covers the mean in little more than half of all runs. Bounds fixed
    /// before any was run.
    #[test]
    fn an_interval_of_batches_knows_that_neighbours_are_alike() {
        let naive = |batches: Vec<(f64, f64)>| Interval::of(&batches.iter().map(|one| one.0).collect::<Vec<_>>());
        let (found, of) = covered(0.6, 2000, naive);
        assert!(found < of * 3 / 4, "taken as independent: {found} of {of}");
        let (found, of) = covered(0.6, 2000, batch_means);
        assert!(found > of * 88 / 100 && of > 1500, "{found} of {of}");
        let (found, of) = covered(0.0, 2000, batch_means);
        assert!(found > of * 92 / 100 && of > 1800, "independent: {found} of {of}");
    }

    #[test]
    fn what_hangs_together_to_the_end_has_no_interval() {
        let drift = (0..63).map(|at| (f64::from(at), 1.0)).collect();
        assert_eq!(batch_means(drift), None);
        assert_eq!(batch_means(vec![(1.0, 1.0); 7]), None, "too few");
        assert_eq!(batch_means(vec![(0.0, 0.0); 40]), None, "nothing was written");
        assert_eq!(batch_means(vec![(3.0, 2.0); 40]), Some(Interval { mean: 1.5, half_width: 0.0 }));
    }

    #[test]
    fn the_remedy_of_runs_that_are_too_short_is_told_once() {
        let caution = |scheme: &str, kind, text: String| Caution {
            level: Level::Warning,
            scheme: Some(scheme.into()),
            not_comparable: None,
            kind,
            text,
        };
        let short =
            |scheme: &str| caution(scheme, KIND, format!("`{scheme}` {TOO_LITTLE}: {}{}", "1 block was erased", REMEDIES[1]));
        let told = told(&[short("a"), caution("b", "late", "late.".into()), short("b")]);
        assert_eq!(told[0], format!("`a` {TOO_LITTLE}: 1 block was erased"));
        assert!(told[1] == "late." && told[2].ends_with(REMEDIES[1]), "{told:?}");
        let screen = told_on_screen(&[short("a"), caution("b", "late", "late.".into()), short("b")]);
        assert_eq!(screen.len(), 2, "{screen:?}");
        assert!(
            screen[0] == "late." && screen[1].starts_with("`a` and `b` wrote") && screen[1].ends_with(REMEDIES[1]),
            "{screen:?}"
        );
        assert_eq!(told_on_screen(&[short("a")]), super::told(&[short("a")]), "one keeps its reason");
    }

    #[test]
    fn halves_are_those_of_the_answers() {
        let batch = |slots| Mark { answers: 10, latency_ns: 0, slots, pages: 4 };
        assert_eq!(halves(&[batch(4), batch(4), batch(8), batch(8)]), Some((1.0, 2.0)));
        assert_eq!(halves(&[]), None);
    }
}
