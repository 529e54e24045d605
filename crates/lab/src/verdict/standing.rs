//! The failures that a scheme survives at the end of its run: its promise, checked against where each page lies.

use crate::outcome::Outcome;
use common::quantity::percent;
use common::table::grouped;
use experiment::Experiment;
use ssd::protect::registry::{SCHEMES, scheme_of};
use ssd::{BufferKind, Life};

/// State of the data after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCuts {
    /// All that was answered.
    Survived,
    /// All that was answered, because memory of the scheme keeps its contents without power.
    WithPlpMemory,
    /// Not what the volatile write buffer held.
    LosesBuffer,
    /// Not all: the scheme loses data on purpose.
    LosesData,
}

impl PowerCuts {
    /// Rank for comparisons: more is better. Memory that must last without power is one part more that may fail.
    pub(crate) fn rank(self) -> u32 {
        match self {
            PowerCuts::Survived => 3,
            PowerCuts::WithPlpMemory => 2,
            PowerCuts::LosesBuffer => 1,
            PowerCuts::LosesData => 0,
        }
    }

    /// For the cell of a table.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            PowerCuts::Survived => "safe",
            PowerCuts::WithPlpMemory => "safe with PLP",
            PowerCuts::LosesBuffer => "loses the buffer",
            PowerCuts::LosesData => "loses data",
        }
    }

    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            PowerCuts::Survived => "yes",
            PowerCuts::WithPlpMemory => "yes, by PLP memory",
            PowerCuts::LosesBuffer => "not what the volatile buffer holds",
            PowerCuts::LosesData => "no",
        }
    }
}

/// The failures that a scheme survives at the end of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Survives {
    /// Dies, or as many blocks or pages, that may be lost next, all at a time, without loss of data.
    pub dies: u32,
    /// Share of the logical pages looked at that would be lost with their die.
    pub exposed_share: f64,
    /// Share of the logical pages looked at that are lost already.
    pub lost_share: f64,
    /// Dies that are dead.
    pub dead_dies: u32,
    /// Where in its life a scheme of stages is; `None` where it has none.
    pub life: Option<Life>,
    /// Mean P/E cycles of a block, and the rated ones.
    pub pe_cycles: (f64, u32),
    /// State of the data after a power cut.
    pub power_cuts: PowerCuts,
    /// Groups of code zones whose code brings lost pages back; it is not promised.
    pub code_groups: u64,
    /// Whether it loses data on purpose, to prove that tests notice.
    pub canary: bool,
}

impl Survives {
    pub(crate) fn of(experiment: &Experiment, outcome: &Outcome) -> Self {
        let (standing, name) = (&outcome.standing, scheme_of(&outcome.choice.name));
        let canary = SCHEMES.iter().any(|entry| entry.name == name && entry.canary);
        let share = |pages: u32| f64::from(pages) / f64::from(standing.looked_at.max(1));
        let cycles = &outcome.result.wear.pe_cycles;
        let mean = cycles.iter().map(|&pe| f64::from(pe)).sum::<f64>() / cycles.len().max(1) as f64;
        // A dead die whose pages were rebuilt onto others counts no more; else it takes its part of what may be lost. That no
        // page is exposed says that one more may go.
        let unbuilt = if outcome.result.redundancy.rebuild_left > 0 { standing.dead_dies } else { 0 };
        let promised = standing.promised_dies;
        let kept = promised.saturating_sub(unbuilt).max(u32::from(promised > 0));
        let dies = if canary || standing.exposed > 0 || outcome.result.oracle.mismatches > 0 { 0 } else { kept };
        Self {
            dies,
            exposed_share: share(standing.exposed),
            lost_share: share(standing.lost),
            dead_dies: standing.dead_dies,
            life: outcome.result.redundancy.life,
            pe_cycles: (mean, experiment.drive.endurance.0),
            power_cuts: match experiment.buffer.kind {
                _ if canary => PowerCuts::LosesData,
                BufferKind::Volatile => PowerCuts::LosesBuffer,
                _ if standing.plp_memory => PowerCuts::WithPlpMemory,
                _ => PowerCuts::Survived,
            },
            code_groups: outcome.result.around.valid_groups,
            canary,
        }
    }

    /// Whether it survives no less than another, and whether it survives more.
    pub(crate) fn against(&self, other: &Self) -> (bool, bool) {
        let (cuts, others) = (self.power_cuts.rank(), other.power_cuts.rank());
        (self.dies >= other.dies && cuts >= others, self.dies > other.dies || cuts > others)
    }

    /// Which of two survives less.
    pub(crate) fn least(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |one: &Self| (one.dies, one.power_cuts.rank());
        rank(self).cmp(&rank(other)).then(other.exposed_share.total_cmp(&self.exposed_share))
    }

    /// Losses that it survives, for the cell of a table.
    #[must_use]
    pub fn losses(&self) -> String {
        match self.dies {
            0 => "nothing".into(),
            1 => "1 die".into(),
            dies => format!("{dies} dies"),
        }
    }

    /// Losses that the scheme survives, as the end of a sentence that begins with its name.
    #[must_use]
    pub fn words(&self) -> String {
        if self.canary {
            return "loses data on purpose: it survives nothing".into();
        }
        let losses = match (self.dies, self.life, self.dead_dies) {
            (0, Some(life @ Life { stage: 1, .. }), 0) => {
                format!("survives no loss now, not even of a page: {}, it keeps no parity", self.age(&life))
            }
            (0, Some(life), 0) => format!(
                "survives no die failure now: {}, {} of its stripes have parity and {} of its pages would be lost with their die",
                self.age(&life),
                percent(life.parity_share()),
                percent(self.exposed_share)
            ),
            (0, _, dead) if dead > 0 => format!("survives no further loss: {}", self.after_loss(dead)),
            (0, ..) if self.exposed_share < 1.0 => {
                format!("survives no die failure now: {} of its pages would be lost with their die", percent(self.exposed_share))
            }
            (0, ..) if self.code_groups > 0 => {
                format!(
                    "promises to survive no loss; its code gives lost pages of {} code groups only",
                    grouped(self.code_groups)
                )
            }
            (0, ..) => "survives no loss, not even of a page".into(),
            (1, life, _) => {
                let age = life.map(|life| format!(" ({})", self.age(&life))).unwrap_or_default();
                format!("survives the failure of any one die, block or page{age}")
            }
            (dies, ..) => format!("survives the failure of any {dies} dies, blocks or pages at a time"),
        };
        let after = match (self.dies, self.dead_dies) {
            (1.., 1..) => format!(", after the loss of {}", dead_dies(self.dead_dies)),
            _ => String::new(),
        };
        let cuts = match self.power_cuts {
            PowerCuts::Survived => "; power cuts lose nothing",
            PowerCuts::WithPlpMemory => "; power cuts lose nothing, if its PLP memory holds",
            PowerCuts::LosesBuffer => "; a power cut loses what the volatile write buffer holds",
            PowerCuts::LosesData => "",
        };
        format!("{losses}{after}{cuts}")
    }

    /// The stage of life, since when, and how worn the drive is.
    fn age(&self, life: &Life) -> String {
        let began = usize::from(life.stage).checked_sub(2).and_then(|stage| life.began_s[stage]);
        let since = began.map(|after| format!(" (since {after:.1} s after the first request)")).unwrap_or_default();
        format!("in life stage {} of 3{since}, at {:.0} of {} P/E cycles", life.stage, self.pe_cycles.0, self.pe_cycles.1)
    }

    /// Redundancy after a loss.
    fn after_loss(&self, dead: u32) -> String {
        let exposed = (self.exposed_share - self.lost_share).max(0.0);
        let is = if dead == 1 { "is" } else { "are" };
        let gone =
            if self.lost_share > 0.0 { format!("{} of its pages are lost, ", percent(self.lost_share)) } else { String::new() };
        format!("{} {is} dead, {gone}{} of its pages would be lost with one more", dead_dies(dead), percent(exposed))
    }
}

fn dead_dies(dead: u32) -> String {
    if dead == 1 { "one die".into() } else { format!("{dead} dies") }
}
