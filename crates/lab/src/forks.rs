//! Drives prepared once for several runs.
//!
//! Runs of a sweep or of a figure often differ only in what the host asks. Their drives are the same until the first
//! request, so each is built, preconditioned and aged once, and every run works on a fork of it.

use experiment::Experiment;
use ssd::{HistoryProgress, Session, Setup, SetupError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Drives that are kept beside those of the run that asks, for each scheme and seed: the runs of two threads may be of two
/// workloads that need drives of two sizes.
const KEPT_FOR_EACH_SCHEME: usize = 2;

/// Drives that the runs of one group begin with.
#[derive(Default)]
pub struct Drives {
    /// The newest last.
    kept: Mutex<Vec<Arc<Kept>>>,
    most: usize,
}

struct Kept {
    setup: Setup,
    is_begun: AtomicBool,
    drive: OnceLock<Result<Arc<Session>, SetupError>>,
}

impl Drives {
    fn for_runs_of(experiment: &Experiment) -> Self {
        // One more for `none`, which the clock may ask for under the first seed.
        let of_a_run = experiment.schemes.len() * experiment.seeds as usize + 1;
        Self { kept: Mutex::default(), most: KEPT_FOR_EACH_SCHEME * of_a_run }
    }

    /// The drive of this setup, written and not aged. Waits if another thread is preparing it; `hear` is told how
    /// far its history has come where this thread does.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn drive(&self, setup: &Setup, hear: &mut dyn FnMut(HistoryProgress)) -> Result<Arc<Session>, SetupError> {
        let kept = self.keep(setup);
        kept.is_begun.store(true, Ordering::Relaxed);
        kept.drive.get_or_init(|| Session::written(setup, hear).map(Arc::new)).clone()
    }

    /// Whether another thread is preparing the drive of this setup.
    #[must_use]
    pub fn is_being_prepared(&self, setup: &Setup) -> bool {
        let kept = self.kept.lock().expect("no panic while it is held");
        kept.iter().any(|kept| kept.setup == *setup && kept.is_begun.load(Ordering::Relaxed) && kept.drive.get().is_none())
    }

    /// How many drives are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.lock().expect("no panic while it is held").len()
    }

    fn keep(&self, setup: &Setup) -> Arc<Kept> {
        let mut kept = self.kept.lock().expect("no panic while it is held");
        if let Some(found) = kept.iter().find(|kept| kept.setup == *setup) {
            return Arc::clone(found);
        }
        if kept.len() == self.most {
            kept.remove(0);
        }
        let new = Arc::new(Kept { setup: setup.clone(), is_begun: AtomicBool::new(false), drive: OnceLock::new() });
        kept.push(Arc::clone(&new));
        new
    }
}

/// Work, and the drives it shares with other work of its group; `None`: it shares none.
pub type Grouped<T> = (Option<Arc<Drives>>, T);

/// The pieces of [`groups`], one by one; the drives of a group go away with its last piece.
pub fn grouped<T>(work: Vec<T>, experiment_of: impl Fn(&T) -> &Experiment) -> Vec<Grouped<T>> {
    let groups = groups(work, experiment_of).into_iter();
    groups.flat_map(|(drives, pieces)| pieces.into_iter().map(move |piece| (drives.clone(), piece))).collect()
}

/// Brings together the pieces of work whose experiments differ only in what the host asks. Groups stand in the order
/// of their first pieces.
pub fn groups<T>(work: Vec<T>, experiment_of: impl Fn(&T) -> &Experiment) -> Vec<Grouped<Vec<T>>> {
    let mut groups: Vec<(Experiment, Vec<T>)> = Vec::new();
    for piece in work {
        let drive = without_requests(experiment_of(&piece));
        match groups.iter_mut().find(|(of, _)| *of == drive) {
            Some((_, pieces)) => pieces.push(piece),
            None => groups.push((drive, vec![piece])),
        }
    }
    let with_drives = |(experiment, pieces): (Experiment, Vec<T>)| {
        ((pieces.len() > 1).then(|| Arc::new(Drives::for_runs_of(&experiment))), pieces)
    };
    groups.into_iter().map(with_drives).collect()
}

/// The experiment without what the host asks. A recorded trace stays: the size of the drive may follow from it.
fn without_requests(experiment: &Experiment) -> Experiment {
    let mut drive = experiment.clone();
    if experiment::generated::is_generated(experiment) {
        drive.trace = experiment::TraceSpec::default();
    }
    drive.trace.arrival = experiment::Arrival::Auto;
    drive.trace.loops = 1;
    drive.generate = None;
    drive.warmup = experiment::textual::Warmup::Auto;
    drive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Bench, Observe, compare, compare_on};

    /// Three schemes on a small drive; `rest` are settings of the experiment.
    fn reads(fraction: &str, rest: &str) -> Experiment {
        let text = format!(
            "schemes = [\"none\", \"raid5\", \"mds-groups\"]\n{rest}\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 300\n\
             range = \"4MiB\"\nread_fraction = {fraction}\n[drive]\npreset = \"mlc-2014\"\ngeometry.pages_per_block = 32\n"
        );
        Experiment::parse("e.toml", &text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Fails if a fork knows anything of another run, or if each run prepares its own drives.
    #[test]
    fn runs_on_forks_give_what_runs_on_drives_of_their_own_give() {
        let experiments = ["0", "0.5", "0.9"].map(|fraction| reads(fraction, ""));
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        for (drives, experiment) in grouped(experiments.to_vec(), |experiment| experiment) {
            let drives = drives.expect("the three runs share their drives");
            let forked = compare_on(&experiment, &bench, Some(&drives), Observe::Nothing).unwrap_or_else(|e| panic!("{e}"));
            let own = compare(&experiment, &bench).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(forked.rows(), own.rows());
            assert_eq!(drives.kept(), 3, "a drive for each scheme");
        }
    }

    /// Fails if runs whose drives differ are brought together, or if drives are kept for a run that is alone.
    #[test]
    fn only_runs_that_differ_in_their_requests_share_drives() {
        let seeded = |fraction| reads(fraction, "seed = 5");
        let work = vec![(0, reads("0", "")), (1, seeded("0")), (2, reads("0.5", "")), (3, reads("0", "payload = \"none\""))];
        let grouped = grouped(work, |(_, experiment)| experiment);
        let order: Vec<_> = grouped.iter().map(|(drives, (number, _))| (*number, drives.is_some())).collect();
        assert_eq!(order, [(0, true), (2, true), (1, false), (3, false)]);
        let [first, second] = [0, 1].map(|at| grouped[at].0.as_ref().expect("shared"));
        assert!(Arc::ptr_eq(first, second));
    }

    /// Fails if drives of ever more sizes are kept.
    #[test]
    fn drives_of_earlier_sizes_go_away() {
        let mut experiment = reads("0", "");
        experiment.schemes.truncate(1);
        let drives = Drives::for_runs_of(&experiment);
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        for seed in 0..8 {
            experiment.seed = seed;
            compare_on(&experiment, &bench, Some(&drives), Observe::Nothing).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(drives.kept(), 4);
    }
}
