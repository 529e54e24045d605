//! Lives on one screen: when each drive ends and why, how it ages, what it loses.

use super::seeds::geometric;
use super::{End, Epoch, Hazard, Life, Outcome, SchemeLife, Timed, Verified};
use common::Quantity;
use common::quantity::{micros, percent, short};
use common::table::{Row, aligned, wrapped};
use lab::Interval;
use std::fmt::Write as _;

impl SchemeLife {
    /// Expected events of loss after this many years; `None`: the drive did not live so long.
    #[must_use]
    pub fn losses_after(&self, years: f64) -> Option<f64> {
        let after = self.epochs.iter().position(|epoch| epoch.years >= years)?;
        let then = &self.epochs[after];
        let Some(before) = after.checked_sub(1).map(|at| &self.epochs[at]) else { return Some(then.losses * years / then.years) };
        let share = (years - before.years) / (then.years - before.years);
        Some(before.losses + share * (then.losses - before.losses))
    }

    /// The same by cause: in proportion between two ages, and of a life that ended before, until its end.
    pub(super) fn losses_by_cause(&self, years: f64) -> Hazard {
        let Some(after) = self.epochs.iter().position(|epoch| epoch.years >= years) else { return self.last().losses_by_cause };
        let then = &self.epochs[after];
        let Some(before) = after.checked_sub(1).map(|at| &self.epochs[at]) else {
            return then.losses_by_cause.times(years / then.years);
        };
        let share = (years - before.years) / (then.years - before.years);
        before.losses_by_cause.times(1.0 - share).plus(&then.losses_by_cause.times(share))
    }

    /// By how much the drive writes may be off, either way (95 %), because a stretch is a sample of what the host writes: as a share. From
    /// how far write amplification at each age is from the mean of its neighbours; `None` of fewer than five ages, those around a death left out.
    #[must_use]
    pub fn windows_off(&self) -> Option<f64> {
        // A death changes it permanently: that is no sampling error.
        let is_one_drive =
            |three: &&[Epoch]| self.deaths.iter().all(|death| !(three[0].years..three[2].years).contains(&death.years));
        let apart = |three: &[Epoch]| (three[1].waf - f64::midpoint(three[0].waf, three[2].waf)) / three[1].waf;
        let apart: Vec<f64> = self.epochs.windows(3).filter(is_one_drive).map(apart).collect();
        if apart.len() < 3 {
            return None;
        }
        // Of independent values of variance v, one less the mean of two others has variance 1.5 v.
        let variance = apart.iter().map(|one| one * one).sum::<f64>() / apart.len() as f64 / 1.5;
        Some(lab::t_quantile(apart.len() - 1) * (variance / self.epochs.len() as f64).sqrt())
    }

    /// The first and last runs in time.
    fn timed(&self) -> Option<(&Timed, &Timed)> {
        let mut timed = self.epochs.iter().filter_map(|epoch| epoch.timed.as_ref());
        let first = timed.next()?;
        Some((first, timed.next_back().unwrap_or(first)))
    }

    /// The cause of most of the loss in a year, at the end.
    fn gravest(&self) -> String {
        let parts = self.last().hazard.parts();
        let all: f64 = parts.iter().map(|(_, rate)| rate).sum();
        let (name, most) = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are causes");
        match most / all {
            share if share.is_nan() => "-".into(),
            share if share > 0.995 => name.into(),
            share => format!("{name}, {}", percent(share)),
        }
    }
}

/// A probability. It is never 0: below what matters to anyone it is said to be below that.
pub(crate) fn probability(value: f64) -> String {
    match value {
        v if v < 1e-30 => "< 1e-30".into(),
        v if v < 0.001 => format!("{v:.1e}"),
        v => percent(v),
    }
}

/// A latency of reads, if there were any.
fn latency(timed: &Timed, us: f64) -> String {
    if timed.read.count > 0 { micros(us) } else { "-".into() }
}

/// Two values of a drive at two ages.
pub(super) fn from_to(new: String, end: String) -> String {
    if new == end { new } else { format!("{new} -> {end}") }
}

impl Life {
    /// The first screen.
    #[must_use]
    pub fn to_screen(&self) -> String {
        let (experiment, settings) = (&self.experiment, &self.settings);
        let (class, rated) = (&settings.class, experiment.drive.endurance.0);
        let user = common::quantity::bytes(self.user_bytes as f64);
        let mut out = String::new();
        let years = settings.years.map_or(String::new(), |years| format!(" for {} years", short(years)));
        let refresh =
            settings.refresh_days.map_or("no refresh".into(), |days| format!("data refreshed after {} days", short(days)));
        // Phases are in the notes.
        let (pace, celsius) = match settings.calendar_words() {
            Some(_) => ("in phases".into(), String::new()),
            None => {
                let phase = settings.calendar()[0];
                (
                    format!("at {} drive writes a day", short(phase.dwpd())),
                    format!("{} C{}, ", phase.celsius(), phase.hours_words()),
                )
            }
        };
        let head = format!(
            "{} repeated {pace}{years}, on drive {}: {user} for the host, {rated} rated P/E cycles, {refresh}, {celsius}{}",
            self.workload,
            experiment.drive.name,
            self.named_seeds()
        );
        let needs = format!(
            "A life ends when the drive is read-only, when UBER is above {:e}, or would be after {} days at {} C without power ({} class of \
             JESD218){}.",
            class.uber,
            (class.off_hours / 24.0).round(),
            class.off_celsius,
            class.name,
            settings.read_p99_us.map_or(String::new(), |limit| format!(", or when p99 of reads is above {}", micros(limit)))
        );
        for text in [head, needs] {
            out.push_str(&wrapped(&text));
        }
        out.push('\n');
        out.push_str(&aligned(&self.rows()));
        out.push('\n');
        out.push_str(&self.tornadoes());
        let of_bits = self.schemes.iter().filter(|one| matches!(one.end, End::Uber | End::Retention));
        let of_bits: Vec<&str> = of_bits.map(|one| one.label.as_str()).collect();
        if !of_bits.is_empty() && settings.sigma == super::SIGMA {
            out.push_str(&wrapped(&format!(
                "Bit errors end the life of {}. They depend on how much pages and blocks vary (--page-sigma, --block-sigma). No data sheet \
                 states this: try other values.",
                of_bits.join(", ")
            )));
        }
        for note in &self.notes {
            out.push_str(&wrapped(&format!("note: {note}")));
        }
        if let Some(note) = self.note_of_seeds() {
            out.push_str(&wrapped(&note));
        }
        let Verified { runs, mismatches } = self.verified;
        let _ = writeln!(out, "verified: every read of {runs} timed runs, {mismatches} mismatches; {}", self.named_seeds());
        out
    }

    /// The seeds in a few words.
    fn named_seeds(&self) -> String {
        let seeds = self.all_seeds();
        match seeds.as_slice() {
            [one] => format!("seed {one}"),
            [first, .., last] if last - first + 1 == seeds.len() as u64 => format!("seeds {first} to {last}"),
            seeds => format!("seeds {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    fn note_of_seeds(&self) -> Option<String> {
        let asked = self.experiment.seeds as usize;
        if asked == 1 {
            return None;
        }
        let left_out = if self.all_seeds().len() < asked { ", those that were stopped left out" } else { "" };
        Some(format!(
            "note: seeds: `a +- b` is the mean with its 95 % confidence interval (Student's t); a loss is the geometric mean with its \
             interval; below `new -> end` the life under seed {}{left_out}",
            self.experiment.seed
        ))
    }

    /// Whether every read gave what was written.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verified.mismatches == 0
    }

    fn rows(&self) -> Vec<Row> {
        let head = self.schemes.iter().map(|one| one.label.clone()).collect();
        let mut rows = vec![Row { label: String::new(), cells: head }];
        let heading = |rows: &mut Vec<Row>, label: &str| rows.push(Row { label: label.into(), cells: Vec::new() });
        let row = |rows: &mut Vec<Row>, label: &str, cell: &dyn Fn(&SchemeLife) -> String| {
            rows.push(Row { label: format!("  {label}"), cells: self.schemes.iter().map(cell).collect() });
        };
        let both = |of: &dyn Fn(&Epoch) -> String, one: &SchemeLife| from_to(of(&one.epochs[0]), of(one.last()));
        heading(&mut rows, "life");
        let of_seeds = |rows: &mut Vec<Row>, label: &str, cell: &dyn Fn(usize) -> String| {
            rows.push(Row { label: format!("  {label}"), cells: (0..self.schemes.len()).map(cell).collect() });
        };
        of_seeds(&mut rows, "ends after", &|scheme| self.shown_years(scheme));
        of_seeds(&mut rows, "ended by", &|scheme| self.shown_ends(scheme));
        if self.seeds.is_empty() {
            row(&mut rows, "drive writes", &|one| short(one.last().drive_writes));
        } else {
            of_seeds(&mut rows, "drive writes", &|scheme| self.shown_writes(scheme));
        }
        row(&mut rows, "  error of leaps", &|one| {
            let last = one.last();
            format!("+- {}", percent(last.drive_writes_off / last.drive_writes))
        });
        if self.schemes.iter().any(|one| one.windows_off().is_some()) {
            row(&mut rows, "  of samples between them", &|one| {
                one.windows_off().map_or_else(|| "-".into(), |off| format!("+- {}", percent(off)))
            });
        }
        row(&mut rows, "  by a straight line to rated P/E", &|one| short(one.straight_line));
        heading(&mut rows, "new -> end");
        row(&mut rows, "P/E cycles, mean", &|one| both(&|epoch| short(epoch.pe[0].round()), one));
        row(&mut rows, "write amplification", &|one| both(&|epoch| short(epoch.waf), one));
        row(&mut rows, "worn-out blocks", &|one| percent(f64::from(one.last().worn_blocks) / f64::from(one.blocks)));
        row(&mut rows, "over-provisioning, of good blocks", &|one| both(&|epoch| percent(epoch.over_provisioning), one));
        if self.experiment.errors.model != "none" {
            row(&mut rows, "RBER, best references", &|one| both(&|epoch| format!("{:.1e}", epoch.rber[1]), one));
            row(&mut rows, "UBER in use", &|one| both(&|epoch| probability(epoch.uber), one));
            row(&mut rows, "UBER after time without power", &|one| both(&|epoch| probability(epoch.uber_off), one));
        }
        if self.schemes.iter().all(|one| one.timed().is_some()) {
            let timed = |of: fn(&Timed) -> String| {
                move |one: &SchemeLife| one.timed().map_or_else(|| "-".into(), |(new, end)| from_to(of(new), of(end)))
            };
            row(&mut rows, "reads p99", &timed(|timed| latency(timed, timed.read.p99)));
            row(&mut rows, "reads p99.9", &timed(|timed| latency(timed, timed.read.p999)));
            row(&mut rows, "retries a page read", &timed(|timed| short(timed.retries)));
        }
        rows.extend(self.rows_of_deaths());
        heading(&mut rows, "probability of loss");
        let years = self.settings.told_years();
        let label = format!("within {}", Quantity::Years.show(years));
        rows.push(Row {
            label: format!("  {label}"),
            cells: (0..self.schemes.len()).map(|one| self.shown_loss(one, years)).collect(),
        });
        row(&mut rows, "a year, at the age of the end", &|one| probability(-(-one.last().hazard.all()).exp_m1()));
        row(&mut rows, "  mostly by", &SchemeLife::gravest);
        rows
    }
}

/// Figures of several seeds together.
impl Life {
    fn shown_years(&self, scheme: usize) -> String {
        let years = self.over_seeds(scheme, |one| one.last().years);
        let show = |years: f64| Quantity::Years.show(years);
        let least = years.iter().copied().fold(f64::INFINITY, f64::min);
        let most = years.iter().copied().fold(0.0, f64::max);
        let alive = self.of_all_seeds(scheme).filter(|one| one.end.is_alive()).count();
        match Interval::of(&years) {
            _ if alive == years.len() => format!("> {}", show(least)),
            _ if alive > 0 => format!("{} to > {}", short(least), show(most)),
            Some(of) => format!("{} +- {}", short(of.mean), show(of.half_width)),
            None => show(least),
        }
    }

    fn shown_ends(&self, scheme: usize) -> String {
        let ends = self.ends_of(scheme);
        match ends.as_slice() {
            [(end, _)] => end.words().into(),
            ends => ends.iter().map(|(end, times)| format!("{times} {}", end.words())).collect::<Vec<_>>().join(", "),
        }
    }

    fn shown_writes(&self, scheme: usize) -> String {
        let writes = self.over_seeds(scheme, |one| one.last().drive_writes);
        match Interval::of(&writes) {
            Some(of) => format!("{} +- {}", short(of.mean), percent(of.half_width / of.mean)),
            None => short(writes[0]),
        }
    }

    /// The probability of loss within these years; nothing where a drive did not reach them.
    fn shown_loss(&self, scheme: usize, years: f64) -> String {
        let losses: Option<Vec<f64>> = self.of_all_seeds(scheme).map(|one| one.losses_after(years)).collect();
        let Some(losses) = losses else { return "-".into() };
        let of = |losses: f64| probability(-(-losses).exp_m1());
        match geometric(&losses) {
            Some(ratio) if ratio.high / ratio.low > 1.05 => {
                format!("{} ({} to {})", of(ratio.ratio), of(ratio.low), of(ratio.high))
            }
            Some(ratio) => of(ratio.ratio),
            None => of(losses.iter().sum::<f64>() / losses.len() as f64),
        }
    }

    /// A table for each scheme: lives with each parameter at both of its ends.
    fn tornadoes(&self) -> String {
        let mut out = String::new();
        let years = self.settings.told_years();
        for (scheme, one) in self.schemes.iter().enumerate() {
            let swings: Vec<_> = self.swings.iter().filter(|swing| swing.scheme == scheme).collect();
            if swings.is_empty() {
                continue;
            }
            let lost = format!("loss within {}", Quantity::Years.show(years));
            let head = vec!["from, to".to_owned(), "ends after, years".into(), "ended by".into(), lost];
            let mut rows = vec![Row { label: format!("what {} depends on", one.label), cells: head }];
            let ends = |[low, high]: [String; 2]| if low == high { low } else { format!("{low}, {high}") };
            for swing in swings {
                let lived = |at: &Outcome| format!("{}{}", if at.end.is_alive() { "> " } else { "" }, short(at.years));
                let lost = |at: &Outcome| {
                    let text = probability(-(-at.losses).exp_m1());
                    if at.years < years * 0.999 { format!("{text} *") } else { text }
                };
                let of = |text: &dyn Fn(&Outcome) -> String| ends([text(&swing.ends[0]), text(&swing.ends[1])]);
                let values = swing.parameter.ends.map(short);
                let cells = vec![ends(values), of(&lived), of(&|at| at.end.words().into()), of(&lost)];
                rows.push(Row { label: format!("  {}: {}", swing.parameter.name, short(swing.usual)), cells });
            }
            out.push_str(&aligned(&rows));
            out.push('\n');
        }
        if !out.is_empty() {
            let text = format!(
                "Each parameter is varied alone, under seed {}, from the value after its name; the widest swing of loss comes first. *: \
                 until the end, which comes before.",
                self.experiment.seed
            );
            out.push_str(&wrapped(&text));
        }
        out
    }
}
