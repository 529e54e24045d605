//! Progress bars on stderr, one for each scheme, or one for all runs under several seeds; nothing where stderr is no terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use ssd::HistoryProgress;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The bars of one comparison.
pub struct Bars {
    reading: ProgressBar,
    schemes: Vec<ProgressBar>,
    /// Where it is repeated, instead of a bar for each scheme: one for all runs.
    all: Option<AllRuns>,
    reached: Arc<Reached>,
}

/// How far each run got, for someone who stops them.
pub struct Reached {
    names: Vec<String>,
    runs: Mutex<Vec<State>>,
}

#[derive(Clone, Copy)]
enum State {
    Waiting,
    Preparing,
    Running(u64, u64),
    Done,
}

impl Reached {
    fn note(&self, progress: Progress) {
        let (run, state) = match progress {
            Progress::Reading(_) => return,
            Progress::Preparing { run, .. } => (run, State::Preparing),
            Progress::Running { run, done, total } => (run, State::Running(done, total)),
            Progress::Finished(run) => (run, State::Done),
        };
        self.runs.lock().expect("nothing panics while it is held")[run] = state;
    }

    /// In words: each scheme, or where it is repeated how many runs.
    pub fn words(&self) -> String {
        let runs = self.runs.lock().expect("nothing panics while it is held");
        if runs.len() > self.names.len() {
            let done = runs.iter().filter(|state| matches!(state, State::Done)).count();
            return format!("{done} of {} runs are done", runs.len());
        }
        if runs.iter().all(|state| matches!(state, State::Waiting)) {
            return "the workload was being read".into();
        }
        let word = |(name, state): (&String, &State)| match state {
            State::Waiting => format!("`{name}` was not begun"),
            State::Preparing => format!("`{name}` was being prepared"),
            State::Running(done, total) => format!("`{name}` has answered {} % of its requests", done * 100 / (*total).max(1)),
            State::Done => format!("`{name}` is done"),
        };
        self.names.iter().zip(runs.iter()).map(word).collect::<Vec<_>>().join(", ")
    }
}

/// One bar for all runs of all seeds.
struct AllRuns {
    bar: ProgressBar,
    /// Requests answered in each run, and of how many runs all are.
    done: Mutex<(Vec<u64>, usize)>,
}

impl AllRuns {
    fn note(&self, run: usize, done: u64, total: Option<u64>) {
        let mut noted = self.done.lock().expect("nothing panics while it is held");
        let (answered, finished) = &mut *noted;
        let runs = answered.len();
        if let Some(total) = total {
            answered[run] = done;
            let all = total * runs as u64;
            if self.bar.length() != Some(all) {
                self.bar.set_length(all);
                self.bar.set_style(style("{prefix} {bar:30} {human_pos}/{human_len} requests, {eta} left"));
            }
        } else {
            *finished += 1;
        }
        self.bar.set_prefix(format!("{finished}/{runs} runs"));
        self.bar.set_position(answered.iter().sum());
    }
}

impl Bars {
    /// Bars for these schemes under this many seeds, shown once there is something to show.
    #[must_use]
    pub fn new(schemes: &[String], seeds: usize) -> Self {
        let runs = Mutex::new(vec![State::Waiting; schemes.len() * seeds.max(1)]);
        let reached = Arc::new(Reached { names: schemes.to_vec(), runs });
        // MultiProgress draws on stderr and is silent where that is no terminal.
        let all = MultiProgress::with_draw_target(target());
        let spinner = style("{spinner} {msg}");
        let reading = all.add(ProgressBar::new_spinner().with_style(spinner.clone()));
        reading.enable_steady_tick(Duration::from_millis(200));
        let width = schemes.iter().map(String::len).max().unwrap_or(0);
        let bar = |name: &String| {
            let bar = all.add(ProgressBar::new(0).with_style(spinner.clone()));
            bar.set_prefix(format!("{name:<width$}"));
            bar
        };
        if seeds > 1 {
            let one = all.add(ProgressBar::new(0).with_style(style("{spinner} preconditioning")));
            let done = Mutex::new((vec![0; schemes.len() * seeds], 0));
            return Self { reading, schemes: Vec::new(), all: Some(AllRuns { bar: one, done }), reached };
        }
        Self { reading, schemes: schemes.iter().map(bar).collect(), all: None, reached }
    }

    /// How far each run got.
    pub fn reached(&self) -> Arc<Reached> {
        Arc::clone(&self.reached)
    }

    /// Shows the progress.
    pub fn show(&self, progress: Progress) {
        self.reached.note(progress);
        match progress {
            Progress::Reading(done) => self.reading.set_message(format!("reading the workload: {done} requests")),
            Progress::Preparing { run, history } => self.prepare(run, history),
            Progress::Running { run, done, total } => match &self.all {
                Some(all) => all.note(run, done, Some(total)),
                None => self.run(&self.schemes[run], done, total),
            },
            Progress::Finished(run) => match &self.all {
                Some(all) => all.note(run, 0, None),
                None => self.schemes[run].finish(),
            },
        }
    }

    fn prepare(&self, run: usize, history: HistoryProgress) {
        self.reading.finish_and_clear();
        // Of several seeds one bar shows the runs that are answered.
        let Some(bar) = self.schemes.get(run) else { return };
        if history == HistoryProgress::default() {
            bar.set_style(style("{prefix} {spinner} preparing the drive{msg}"));
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        bar.set_message(history_in_words(history));
    }

    fn run(&self, bar: &ProgressBar, done: u64, total: u64) {
        if bar.length() != Some(total) {
            bar.disable_steady_tick();
            bar.set_length(total);
            // Preparation says nothing about how fast requests are answered.
            bar.reset_eta();
            bar.set_style(style("{prefix} {bar:30} {human_pos}/{human_len} requests, {eta} left"));
        }
        bar.set_position(done);
    }

    /// Removes the bars.
    pub fn clear(&self) {
        self.reading.finish_and_clear();
        self.schemes.iter().chain(self.all.as_ref().map(|all| &all.bar)).for_each(ProgressBar::finish_and_clear);
    }
}

/// How much of a drive is written and overwritten. When overwriting ends is not known before, so no time is promised.
fn history_in_words(history: HistoryProgress) -> String {
    let HistoryProgress { filled, to_fill, overwritten, overwritten_at_most, warmed, warmed_at_most } = history;
    match (to_fill, overwritten) {
        _ if warmed > 0 && warmed_at_most == u64::MAX => format!(": warmed up by {warmed} pages of the workload"),
        _ if warmed > 0 => {
            format!(": warmed up by {warmed} pages of the workload, until write amplification settles, at most {warmed_at_most}")
        }
        (0, _) => String::new(),
        (_, 0) => format!(": {} % filled", filled * 100 / to_fill),
        _ => format!(
            ": overwritten {:.2} times, until write amplification settles, at most {:.0}",
            overwritten as f64 / to_fill as f64,
            overwritten_at_most as f64 / to_fill as f64
        ),
    }
}

/// One bar that counts, on stderr; nothing where stderr is no terminal.
pub struct Count(ProgressBar);

impl Count {
    /// A bar of this many `things`, shown once there is something to show.
    #[must_use]
    pub fn new(things: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target())
            .with_style(style("{bar:30} {human_pos}/{human_len} {prefix}, {eta} left"));
        bar.set_prefix(things.to_owned());
        Self(bar)
    }

    /// Shows how many of how many. Those that are done at first took no time.
    pub fn show(&self, done: u64, total: u64) {
        if self.0.length() != Some(total) {
            self.0.set_length(total);
            self.0.set_position(done);
            self.0.reset_eta();
        }
        self.0.set_position(done);
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// How long something goes on, and how often it happened; nothing where stderr is no terminal.
pub struct Ticker(ProgressBar);

impl Ticker {
    /// A line for this many `things`.
    #[must_use]
    pub fn new(things: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target()).with_style(style("{spinner} {human_pos} {prefix}, {elapsed}"));
        bar.set_prefix(things.to_owned());
        Self(bar)
    }

    /// This many.
    pub fn set(&self, count: u64) {
        self.0.set_position(count);
    }

    /// One more.
    pub fn tick(&self) {
        self.0.inc(1);
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Where progress is drawn: standard error, unless it is to be quiet.
fn target() -> ProgressDrawTarget {
    if crate::is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is constant and valid")
}
