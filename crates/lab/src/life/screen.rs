//! Lives on one screen: when each drive ends and why, how it ages, what it loses.

use super::{End, Epoch, Life, SchemeLife, Timed};
use crate::quantity::{Quantity, micros, percent, short};
use crate::table::{Row, aligned, wrapped};
use std::fmt::Write as _;

/// Years over which loss is told: what drives are sold for.
const SOLD_FOR: f64 = 5.0;

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

/// Two values of a drive, new and at its end.
fn from_to(new: String, end: String) -> String {
    if new == end { new } else { format!("{new} -> {end}") }
}

impl Life {
    /// The first screen.
    #[must_use]
    pub fn to_screen(&self) -> String {
        let (experiment, settings) = (&self.experiment, &self.settings);
        let (class, rated) = (&settings.class, experiment.drive.endurance.0);
        let user = crate::quantity::bytes(self.user_bytes as f64);
        let mut out = String::new();
        let years = settings.years.map_or(String::new(), |years| format!(" for {} years", short(years)));
        let refresh =
            settings.refresh_days.map_or("no refresh".into(), |days| format!("data refreshed after {} days", short(days)));
        let head = format!(
            "{} repeated at {} drive writes a day{years}, on drive {}: {user} for the host, {rated} rated P/E cycles, {refresh}, {} C, seed {}",
            self.workload,
            short(settings.dwpd),
            experiment.drive.name,
            settings.celsius.0,
            experiment.seed
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
        let retention = self.schemes.iter().any(|one| matches!(one.end, End::Uber | End::Retention));
        if retention && settings.sigma == super::SIGMA {
            let text = "Bit errors decide the end here. They depend on how much pages and blocks vary (--page-sigma, --block-sigma). No data \
                        sheet states this: try other values.";
            out.push_str(&wrapped(text));
        }
        for note in &self.notes {
            out.push_str(&wrapped(&format!("note: {note}")));
        }
        let mismatches: u64 =
            self.schemes.iter().flat_map(|one| &one.epochs).filter_map(|e| e.timed).map(|timed| timed.mismatches).sum();
        let runs = self.schemes.iter().flat_map(|one| &one.epochs).filter(|epoch| epoch.timed.is_some()).count();
        let _ = writeln!(out, "verified: every read of {runs} timed runs, {mismatches} mismatches; one seed");
        out
    }

    /// Whether every read gave what was written.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.schemes.iter().flat_map(|one| &one.epochs).filter_map(|epoch| epoch.timed).all(|timed| timed.mismatches == 0)
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
        row(&mut rows, "ends after", &|one| {
            let years = Quantity::Years.show(one.last().years);
            if one.end == End::Years { format!("> {years}") } else { years }
        });
        row(&mut rows, "ended by", &|one| one.end.words().into());
        row(&mut rows, "drive writes", &|one| {
            let last = one.last();
            format!("{} +- {}", short(last.drive_writes), percent(last.drive_writes_off / last.drive_writes))
        });
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
        heading(&mut rows, "probability of loss");
        row(&mut rows, "within 5 years", &|one| {
            one.losses_after(SOLD_FOR).map_or_else(|| "-".into(), |losses| probability(-(-losses).exp_m1()))
        });
        row(&mut rows, "a year, at the age of the end", &|one| probability(-(-one.last().hazard.all()).exp_m1()));
        row(&mut rows, "  mostly by", &SchemeLife::gravest);
        rows
    }
}
