//! Statements on all repetitions together beside the verdict: cautions, what was held equal, notes.

use crate::comparison::Comparison;
use experiment::{Caution, Experiment, seed_of, workload};

/// Seeds as text: `1 to 5`.
#[must_use]
pub fn range(experiment: &Experiment) -> String {
    let last = seed_of(experiment.seed, experiment.seeds as usize - 1).unwrap_or(u64::MAX);
    format!("{} to {last}", experiment.seed)
}

/// A caution as it was under the first seed that it is about.
struct Known {
    caution: Caution,
    seed: u64,
    /// Seeds that it is about.
    times: usize,
    /// Whether it says the same under each of them.
    is_same: bool,
}

/// The cautions of all repetitions, each kind once; where seeds differ, with how many of them it is about.
pub(crate) fn cautions(repetitions: &[Comparison]) -> Vec<Caution> {
    let mut joined: Vec<Known> = Vec::new();
    for repetition in repetitions {
        for caution in &repetition.cautions {
            let is_it = |known: &&mut Known| (known.caution.kind, &known.caution.scheme) == (caution.kind, &caution.scheme);
            match joined.iter_mut().find(is_it) {
                Some(known) => {
                    known.times += 1;
                    known.is_same &= known.caution.text == caution.text;
                }
                None => {
                    let seed = repetition.experiment.seed;
                    joined.push(Known { caution: caution.clone(), seed, times: 1, is_same: true });
                }
            }
        }
    }
    joined.sort_by_key(|known| known.caution.level);
    let all = repetitions.len();
    // The clock of the first repetition is that of all.
    let is_of_all = |known: &Known| known.is_same && (known.times == all || known.caution.kind == crate::clock::RESCALED);
    let said = |known: Known| {
        if is_of_all(&known) {
            return known.caution;
        }
        let Known { caution, seed, times, .. } = known;
        let text = format!("{} (under {times} of {all} seeds; these figures are of seed {seed})", caution.text);
        Caution { text, ..caution }
    };
    joined.into_iter().map(said).collect()
}

/// How the comparison was made fair: what the first repetition says, with the seeds.
pub(crate) fn fairness(experiment: &Experiment, first: &[String]) -> Vec<String> {
    let line = |line: &String| match line.starts_with("history: ") {
        true => format!(
            "history: one seed and one preconditioning rule for every scheme, in each of {} repetitions (seeds {})",
            experiment.seeds,
            range(experiment)
        ),
        false => line.clone(),
    };
    first.iter().map(line).collect()
}

/// Notes of the first repetition, after what repetitions are.
pub(crate) fn notes(experiment: &Experiment, first: &[String]) -> Vec<String> {
    let varied = if workload::is_drawn(experiment) {
        "bad blocks, write history, victims, errors and the requests that are drawn"
    } else {
        "bad blocks, write history, victims and errors; the recorded requests stay the same"
    };
    let about = format!(
        "seeds: {} repetitions, seeds {}, at one clock; a seed decides {varied}. `a +- b`: mean and half-width of its 95 % \
         confidence interval (Student's t); ratios and percentages between schemes are paired by seed, of geometric means; \
         curves of latency and wear are those of seed {}",
        experiment.seeds,
        range(experiment),
        experiment.seed
    );
    std::iter::once(about).chain(first.iter().cloned()).collect()
}
