//! The answer on one screen.

use super::needs::{Limit, Need, Values};
use super::plp::{self, PlpUse};
use super::{Advice, Corner, Design, Key, Level, Out, Space};
use crate::life::probability;
use common::quantity::{micros, percent, short};
use common::table::{Row, aligned, wrapped};
use std::collections::BTreeMap;

/// Cheaper designs and dearer ones that are shown.
const SHOWN: (usize, usize) = (5, 3);
/// A need binds if its figure is within this factor of the limit.
const BINDS: f64 = 10.0;

/// The 95 % interval of a share of which `met` of `all` draws were met (Wilson 1927).
#[must_use]
pub fn wilson(met: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_985;
    let (n, p) = (all as f64, met as f64 / all as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

/// Broken limits in words: by how much.
pub(super) fn failures(broken: &[(Limit, f64)]) -> String {
    let one = |(limit, value): &(Limit, f64)| {
        let need = limit.need;
        match need {
            Need::Plp => PlpUse::of_value(*value).lost(),
            Need::Dies => format!("{} of {} dies may die", value, limit.value),
            Need::Capacity => format!("holds {} of the user capacity", percent(*value)),
            Need::Years => format!("read-only after {} years", short(*value)),
            Need::Pe => format!("P/E cycles {} of rated", percent(*value)),
            _ => format!("{} {}", need.words(), need.show(*value)),
        }
    };
    broken.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Advice {
    /// The design to take: it lived in full and met every hard need under the first seed; `None`: no design did.
    #[must_use]
    pub fn chosen(&self) -> Option<usize> {
        let best = *self.finalists.first()?;
        self.needs.are_met(&self.designs[best].looked.values).then_some(best)
    }

    /// The design that comes nearest to the needs, where none meets them: by index, or where formulas let none pass, its name and what it breaks.
    #[must_use]
    pub fn nearest(&self) -> Option<usize> {
        let level = |design: &Design| std::cmp::Reverse(design.looked.level);
        let violation = |design: &Design| self.needs.violation(&design.looked.values).0;
        let by = |a: &&Design, b: &&Design| level(a).cmp(&level(b)).then(violation(a).total_cmp(&violation(b)));
        self.designs.iter().min_by(by).map(|design| design.looked.index)
    }

    /// The first screen; `command` repeats the life of the chosen design.
    #[must_use]
    pub fn to_screen(&self, command: Option<&str>) -> String {
        let mut out = self.head();
        out.push('\n');
        match self.chosen() {
            Some(chosen) => out.push_str(&self.take(chosen)),
            None => out.push_str(&self.no_answer()),
        }
        out.push('\n');
        out.push_str(&self.rivals());
        out.push_str(&wrapped(&self.would_change()));
        out.push_str(&wrapped(
            "Not in here: controller, firmware, PLP capacitors (data sheets: 0.44 % of drives a year), time and energy of scrubs, what \
             wears out after its years.",
        ));
        out.push_str(&wrapped(&self.looked_at()));
        if let Some(command) = command {
            out.push_str(&format!("Repeat: {command}\n"));
        }
        out
    }

    fn head(&self) -> String {
        let base = &self.space.base;
        let needs: Vec<String> =
            self.needs.limits.iter().filter(|l| !matches!(l.need, Need::Capacity | Need::Years)).map(Limit::words).collect();
        let off = (self.needs.class.off_hours / 24.0).round();
        wrapped(&format!(
            "{} on {}: {} for the host, {} years at {} drive writes a day, {} rated P/E cycles, {} C, seed {}",
            self.workload,
            base.drive.name,
            base.capacity.size,
            short(self.needs.years),
            short(self.needs.dwpd),
            base.drive.endurance.0,
            self.settings.celsius.0,
            base.seed
        )) + &wrapped(&format!(
            "needs ({} class): {}; without power: {off} days at {} C",
            self.needs.class.name,
            needs.join(" | "),
            self.needs.class.off_celsius
        ))
    }

    fn take(&self, chosen: usize) -> String {
        let design = &self.designs[chosen];
        let looked = &design.looked;
        let met = looked.lives.iter().filter(|(_, values)| self.needs.are_met(values)).count();
        let (low, high) = wilson(met, looked.lives.len());
        let corners = looked.corners.iter().filter(|(_, values)| self.needs.are_met(values)).count();
        let hard = if self.needs.limits.iter().all(|limit| limit.is_hard) { "" } else { "hard " };
        let corners = match looked.corners.len() {
            0 => "; corners of the model were not looked at".into(),
            all => format!(" and in {corners} of {all} corners of the model"),
        };
        let mut out =
            wrapped(&format!("Take  {}: {} raw bytes for each user byte", design.name, short(design.bound.raw_by_user)));
        out.push_str(&wrapped(&format!(
            "  It meets every {hard}need in {met} of {} seeds (95 % interval of that share: {} to {}){corners}",
            looked.lives.len(),
            percent(low),
            percent(high)
        )));
        out.push_str(&wrapped(&format!("  {}", self.new_and_end(design))));
        out.push_str(&wrapped(&format!("  What binds: {}", self.binds(&looked.values))));
        out.push_str(&wrapped(&format!("  {}", self.cuts_and_scrubs(design))));
        out.push_str(&wrapped(&format!("  {}", self.second(chosen))));
        let soft = self.needs.broken(&looked.values);
        if !soft.is_empty() {
            out.push_str(&wrapped(&format!("  Soft needs that it breaks: {}", failures(&soft))));
        }
        out
    }

    /// The next best of the designs that lived in full and meet every hard need.
    #[must_use]
    pub fn runner_up(&self) -> Option<usize> {
        let chosen = self.chosen()?;
        let meets = |index: &usize| self.needs.are_met(&self.designs[*index].looked.values);
        self.finalists.iter().copied().filter(|&index| index != chosen).find(meets)
    }

    /// The runner-up, and its figures by those of the chosen design.
    fn second(&self, chosen: usize) -> String {
        let Some(second) = self.runner_up().map(|index| &self.designs[index]) else {
            return "Second: none; no other design that lived in full meets every hard need".into();
        };
        let first = &self.designs[chosen];
        let needs = [(Need::Pe, "P/E cycles"), (Need::ReadP99, "p99 of reads"), (Need::Loss, "loss"), (Need::Energy, "energy")];
        let ratio = |(need, name): (Need, &str)| {
            let (a, b) = second.looked.values.get(need).zip(first.looked.values.get(need))?;
            (b > 0.0).then(|| format!("{} times the {name}", short(a / b)))
        };
        let flash = format!("{} times the raw flash", short(second.bound.raw_by_user / first.bound.raw_by_user));
        let figures: Vec<String> = std::iter::once(flash).chain(needs.into_iter().filter_map(ratio)).collect();
        format!("Second: {}: {}", second.name, figures.join(", "))
    }

    fn new_and_end(&self, design: &Design) -> String {
        let Some(life) = &design.looked.life else { return String::new() };
        let (new, last) = (&life.epochs[0], life.last());
        let rated = self.space.rated(&design.at);
        let timed: Vec<_> = life.epochs.iter().filter_map(|epoch| epoch.timed).filter(|timed| timed.read.count > 0).collect();
        let reads = match (timed.first(), timed.last()) {
            (Some(new), Some(end)) => format!(", reads p99 {} -> {}", micros(new.read.p99), micros(end.read.p99)),
            _ => String::new(),
        };
        let hazards = last.hazard.parts();
        let gravest = hazards.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("-", |(name, _)| name);
        format!(
            "New -> after {} years: P/E {} -> {} of {rated}, write amplification {} -> {}{reads}; worn-out blocks {}, loss so far {}, mostly by \
             {gravest}",
            short(last.years),
            short(new.pe[0].round()),
            short(last.pe[0].round()),
            short(new.waf),
            short(last.waf),
            percent(f64::from(last.worn_blocks) / f64::from(life.blocks)),
            probability(last.loss_probability()),
        )
    }

    /// The parts of the design that need power-loss protection, and its reads by scrubs.
    fn cuts_and_scrubs(&self, design: &Design) -> String {
        let buffer = self.space.experiment(&design.at).map_or(self.space.base.buffer.kind, |experiment| experiment.buffer.kind);
        let cuts = plp::said(design.bound.plp, buffer);
        match self.scrub_reads(design) {
            reads if reads > 0.0 => format!("{cuts}. Scrubs read {} of the user capacity a day", percent(reads)),
            _ => cuts,
        }
    }

    /// Data that scrubs read a day, by the user capacity: all of it and its redundancy, once in each interval.
    pub(super) fn scrub_reads(&self, design: &Design) -> f64 {
        self.space.scrub_days(&design.at).map_or(0.0, |days| 1.0 / (days * (1.0 - design.bound.overhead)))
    }

    /// The needs whose figures are nearest to their limits.
    fn binds(&self, values: &Values) -> String {
        let margin = |limit: &Limit| {
            let value = values.get(limit.need)?;
            let ratio = if limit.need.is_least() { value / limit.value } else { limit.value / value };
            (!matches!(limit.need, Need::Dies | Need::Years | Need::Plp) && ratio < BINDS).then_some((ratio, *limit, value))
        };
        let mut near: Vec<_> = self.needs.limits.iter().filter_map(margin).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let said: Vec<String> = near
            .iter()
            .take(3)
            .map(|(_, limit, value)| format!("{} ({})", limit.need.words(), limit.need.show(*value)))
            .collect();
        if said.is_empty() { "no figure is within a factor of ten of its limit".into() } else { said.join(", then ") }
    }

    fn no_answer(&self) -> String {
        let mut out = wrapped("No design of the space that was looked at meets every hard need.");
        match self.nearest() {
            Some(index) => {
                let design = &self.designs[index];
                let broken = self.needs.broken(&design.looked.values);
                let said = if broken.is_empty() { "nothing that was looked at".into() } else { failures(&broken) };
                let seen = if design.looked.level == Level::Full { "in full" } else { design.looked.level.word() };
                out.push_str(&wrapped(&format!("  The nearest, looked at by {seen}: {}. It breaks: {said}", design.name)));
            }
            None => {
                // Formulas let none pass.
                let by = |out: &&Out| out.need.map_or(f64::INFINITY, |(limit, value)| limit.excess(value));
                if let Some(nearest) = self.out.iter().min_by(|a, b| by(a).total_cmp(&by(b))) {
                    out.push_str(&wrapped(&format!(
                        "  The nearest by formula: {}. It breaks, at the least: {}",
                        self.space.name(&nearest.at),
                        nearest.need.map_or_else(|| nearest.reason.clone(), |need| failures(&[need]))
                    )));
                }
            }
        }
        out
    }

    /// Cheaper designs with what they break, and dearer ones that are better in something.
    fn rivals(&self) -> String {
        let heads = ["raw/user", "P/E of rated", "reads p99", "loss", "seen by", ""].map(String::from).to_vec();
        let row = |design: &Design, last: String| {
            let values = &design.looked.values;
            let shown = |need: Need, show: &dyn Fn(f64) -> String| values.get(need).map_or_else(|| "-".into(), show);
            let p99 = if design.looked.level == Level::Full { shown(Need::ReadP99, &micros) } else { "-".into() };
            let bound = if design.looked.level == Level::None { ">= " } else { "" };
            Row {
                label: format!("  {}", design.name),
                cells: vec![
                    format!("{:.2}", design.bound.raw_by_user),
                    format!("{bound}{}", shown(Need::Pe, &percent)),
                    p99,
                    format!("{bound}{}", shown(Need::Loss, &probability)),
                    design.looked.level.word().into(),
                    last,
                ],
            }
        };
        let mut rows = Vec::new();
        let cheaper = self.cheaper();
        if !cheaper.is_empty() {
            let label = if self.chosen().is_some() { "cheaper, but" } else { "also" };
            rows.push(Row { label: label.into(), cells: heads.clone() });
            rows.extend(cheaper.into_iter().map(|design| row(design, failures(&self.needs.broken(&design.looked.values)))));
        }
        let better = self.better();
        if !better.is_empty() {
            let cells = if rows.is_empty() { heads } else { Vec::new() };
            rows.push(Row { label: "better for as much or more".into(), cells });
            rows.extend(better.into_iter().map(|(design, in_what)| row(design, in_what)));
        }
        left_aligned_last(rows)
    }

    /// Designs that cost less than the chosen one and break a need: from each family the one that comes closest to the needs. Designs that were
    /// looked at most closely come first.
    fn cheaper(&self) -> Vec<&Design> {
        let chosen = self.chosen();
        let most = chosen.map_or(f64::INFINITY, |index| self.designs[index].bound.raw_by_user);
        let shown = if chosen.is_none() { self.nearest() } else { None };
        let key = |design: &Design| {
            let (hard, soft) = self.needs.violation(&design.looked.values);
            (std::cmp::Reverse(design.looked.level), hard, soft, design.bound.raw_by_user)
        };
        let before = |a: &Design, b: &Design| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.total_cmp(&b.3))
        };
        let mut families: BTreeMap<_, &Design> = BTreeMap::new();
        let is_known = |design: &&Design| design.looked.level > Level::None && design.bound.raw_by_user < most;
        let breaks = |design: &&Design| !self.needs.broken(&design.looked.values).is_empty();
        for design in self.designs.iter().filter(is_known).filter(breaks).filter(|design| shown != Some(design.looked.index)) {
            let best = families.entry(self.space.family(&design.at)).or_insert(design);
            if before(design, best).is_lt() {
                *best = design;
            }
        }
        let mut found: Vec<&Design> = families.into_values().collect();
        found.sort_by(|a, b| before(a, b));
        found.truncate(SHOWN.0);
        found
    }

    /// Designs that meet every hard need in full, cost as much as the chosen one or more, and are better in p99, cycles or loss.
    fn better(&self) -> Vec<(&Design, String)> {
        let Some(chosen) = self.chosen() else { return Vec::new() };
        let own = &self.designs[chosen];
        let is_better = |design: &&Design| {
            let needs = [(Need::ReadP99, "reads p99"), (Need::Pe, "cycles"), (Need::Loss, "loss")];
            let less = |need: Need| {
                let pair = design.looked.values.get(need).zip(own.looked.values.get(need));
                // Less by a twentieth at least: what is nearer is as good.
                pair.is_some_and(|(a, b)| a < 0.95 * b)
            };
            let what: Vec<&str> = needs.into_iter().filter(|(need, _)| less(*need)).map(|(_, what)| what).collect();
            what.join(", ")
        };
        let others = self.finalists.iter().map(|&index| &self.designs[index]).filter(|design| design.looked.index != chosen);
        let meets = others.filter(|design| self.needs.are_met(&design.looked.values));
        let found = meets.map(|design| (design, is_better(&design))).filter(|(_, what)| !what.is_empty());
        found.take(SHOWN.1).collect()
    }

    fn would_change(&self) -> String {
        let Some(chosen) = self.chosen() else {
            return "Would change the answer: a need that is softer (--soft), a wider space (--vary), another drive.".into();
        };
        let own = &self.designs[chosen].looked.corners;
        if own.is_empty() {
            return "Would change the answer: corners of the model were not looked at, the lives of the budget were used up."
                .into();
        }
        let second =
            self.finalists.iter().copied().filter(|&index| index != chosen).find(|&i| !self.designs[i].looked.corners.is_empty());
        let said = |(corner, values): &(Corner, Values)| {
            let broken: Vec<_> = self.needs.broken(values).into_iter().filter(|(limit, _)| limit.is_hard).collect();
            let other = second.and_then(|index| {
                let known = self.designs[index].looked.corners.iter().find(|(other, _)| other == corner)?;
                Some((self.designs[index].name.as_str(), self.needs.are_met(&known.1)))
            });
            let runner_up = match other {
                Some((name, true)) => format!("; {name} does"),
                Some((_, false)) => "; nor does the runner-up".into(),
                None => String::new(),
            };
            (!broken.is_empty()).then(|| format!("{} ({}{runner_up})", corner.words(&self.settings), failures(&broken)))
        };
        let changes: Vec<String> = own.iter().filter_map(said).collect();
        let rest: Vec<String> =
            own.iter().filter(|(_, values)| self.needs.are_met(values)).map(|(corner, _)| corner.words(&self.settings)).collect();
        let of_time = Need::OF_TIME.iter().any(|need| self.needs.limit(*need).is_some());
        let apart = if of_time { " Latency was not looked at again there." } else { "" };
        match (changes.is_empty(), rest.is_empty()) {
            (true, _) => format!("Would change the answer: none of {}.{apart}", rest.join(", ")),
            (false, true) => format!("Would change the answer: {}.{apart}", changes.join("; ")),
            (false, false) => {
                format!("Would change the answer: {}. Changes nothing: {}.{apart}", changes.join("; "), rest.join(", "))
            }
        }
    }

    /// How many designs were looked at, and how.
    #[must_use]
    pub fn looked_at(&self) -> String {
        let at = |level: Level| self.designs.iter().filter(|design| design.looked.level == level).count();
        let (full, wear, new, none) = (at(Level::Full), at(Level::Wear), at(Level::New), at(Level::None));
        let late = if self.is_late { ". Minutes ran out: the same question may get another answer" } else { "" };
        let unseen = if none > 0 { format!(", {none} no further than their bounds") } else { String::new() };
        format!(
            "Looked at {} designs ({}): {} out by formula or not built, {new} by estimate from new drives, {wear} by wear, {full} in full{unseen}; {} lives{late}.",
            self.points,
            self.space.words(),
            self.out.len(),
            self.lives
        )
    }
}

/// Reasons for which designs are out, with how many and one of them.
pub(super) fn reasons(space: &Space, out: &[Out]) -> Vec<(String, usize, String)> {
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for out in out {
        let scheme = experiment::label::shown(space.value(&out.at, &Key::Scheme)).to_owned();
        let reason = match &out.need {
            Some((limit, _)) => format!("{scheme}: {}", limit.need.words()),
            None => format!("{scheme}: {}", out.reason.split(". Valid").next().unwrap_or_default()),
        };
        let said = || out.need.map_or_else(String::new, |need| format!(": {}", failures(&[need])));
        let example = || format!("{}{}", space.name(&out.at), said());
        reasons.entry(reason).or_insert_with(|| (0, example())).0 += 1;
    }
    reasons.into_iter().map(|(reason, (count, example))| (reason, count, example)).collect()
}

/// Rows with their last cell flush left.
fn left_aligned_last(mut rows: Vec<Row>) -> String {
    let width = rows.iter().filter_map(|row| row.cells.last()).map(String::len).max().unwrap_or(0);
    for row in &mut rows {
        if let Some(last) = row.cells.last_mut() {
            *last = format!("{last:<width$}");
        }
    }
    aligned(&rows)
}
