//! What is said of all repetitions together beside the verdict: cautions, what was held equal, notes.

use crate::caution::Caution;
use crate::compare::Comparison;
use crate::experiment::Experiment;
use crate::workload;

/// Seeds as text: `1 to 5`.
fn said(experiment: &Experiment) -> String {
    let last = super::seed_of(experiment.seed, experiment.seeds as usize - 1).unwrap_or(u64::MAX);
    format!("{} to {last}", experiment.seed)
}

/// The cautions of all repetitions, each kind once, with how many seeds it is about.
pub(crate) fn cautions(repetitions: &[Comparison]) -> Vec<Caution> {
    let mut joined: Vec<(Caution, u64, usize)> = Vec::new();
    for repetition in repetitions {
        for caution in &repetition.cautions {
            let is_same = |(known, ..): &(Caution, u64, usize)| (known.kind, &known.scheme) == (caution.kind, &caution.scheme);
            match joined.iter_mut().find(|known| is_same(known)) {
                Some((.., times)) => *times += 1,
                None => joined.push((caution.clone(), repetition.experiment.seed, 1)),
            }
        }
    }
    joined.sort_by_key(|(caution, ..)| caution.level);
    let all = repetitions.len();
    let with_count = |(caution, seed, times): (Caution, u64, usize)| {
        let text = format!("{}. So under {times} of {all} seeds; figures of this sentence are of seed {seed}", caution.text);
        Caution { text, ..caution }
    };
    joined.into_iter().map(with_count).collect()
}

/// How the comparison was made fair: what the first repetition says, with the seeds.
pub(crate) fn fairness(experiment: &Experiment, first: &[String]) -> Vec<String> {
    let line = |line: &String| match line.starts_with("history: ") {
        true => format!(
            "history: one seed and one preconditioning rule for every scheme, in each of {} repetitions (seeds {})",
            experiment.seeds,
            said(experiment)
        ),
        false => line.clone(),
    };
    first.iter().map(line).collect()
}

/// Notes of the first repetition, after what repetitions are.
pub(crate) fn notes(experiment: &Experiment, first: &[String]) -> Vec<String> {
    let varied = if workload::is_generated(experiment) {
        "bad blocks, write history, victims, errors and the requests of the generator"
    } else {
        "bad blocks, write history, victims and errors; the recorded requests stay the same"
    };
    let about = format!(
        "seeds: {} repetitions, seeds {}, at one clock; a seed decides {varied}. `a +- b`: mean and half-width of its 95 % \
         confidence interval (Student's t); ratios and percentages between schemes are paired by seed, of geometric means; \
         curves of response and wear are those of seed {}",
        experiment.seeds,
        said(experiment),
        experiment.seed
    );
    std::iter::once(about).chain(first.iter().cloned()).collect()
}
