//! All drives that a row may be about: which, under which conditions, with which cuts.

use flashkeep_ssd as ssd;
use ssd::nand::Pairing;
use ssd::protect::SchemeChoice;
use ssd::protect::registry::SCHEMES;
use ssd::{BufferKind, MemoryLoss, Outage, PayloadKind, Scheduler};

/// Option sets beside those of the registry, each for code that the others do not reach.
const MORE: &[(&str, &[(&str, &str)])] = &[
    ("raid5", &[("read_around", "1")]),
    ("raid5", &[("data_strips", "2")]),
    ("raid5", &[("data_strips", "3"), ("read_around", "0"), ("extra_reads", "1")]),
    ("ppc", &[("data_strips", "2"), ("parity_cache", "16KiB")]),
    ("da-raid5", &[("stage", "1"), ("t_read", "64"), ("t_retention", "2s"), ("margin", "50")]),
    ("da-raid5", &[("stage", "2"), ("t_p", "1"), ("t_read", "64"), ("t_retention", "20s"), ("grouping", "off")]),
    ("da-raid5", &[("t_p", "4"), ("l", "5")]),
    ("da-raid5", &[("stage", "3"), ("write_cache", "16KiB"), ("bypass_over", "2"), ("data_strips", "2")]),
    ("ds-raid", &[("read_around", "1"), ("sub_stripe", "defer")]),
    ("ds-raid", &[("read_around", "2"), ("scrub_rows_per_s", "1000")]),
    ("mds-groups", &[("m", "2"), ("block_parity", "yes")]),
    ("mds-groups", &[("k", "2"), ("m", "1"), ("rotate", "none"), ("stride", "1")]),
    ("mds-groups", &[("k", "5"), ("then", "4+2"), ("change_after_groups", "3"), ("sum_ns_per_page", "500")]),
    ("code-zones", &[("read_ahead_over", "16"), ("read_ahead_threads", "8"), ("offline_after", "50us")]),
    ("code-zones", &[("group", "3"), ("offline", "1ms,20ms,60ms"), ("read_around", "1"), ("counters", "restart")]),
];

/// Condition of a drive: a name, whether cuts are combined with it, and whether time matters so much that requests must
/// come at their own times.
pub struct Condition {
    pub name: &'static str,
    pub with_cuts: bool,
    pub timed: bool,
}

const fn condition(name: &'static str, with_cuts: bool, timed: bool) -> Condition {
    Condition { name, with_cuts, timed }
}

pub const CONDITIONS: &[Condition] = &[
    condition("none", true, false),
    condition("die-at-request", false, false),
    condition("die", true, false),
    condition("die-no-rebuild", true, false),
    condition("two-dies", true, false),
    condition("block", true, false),
    condition("page", true, false),
    condition("plane", true, false),
    condition("worn-blocks", true, false),
    condition("uncorrectable", true, false),
    condition("silent", true, false),
    condition("wear-out", true, false),
    condition("end-of-life", true, false),
    condition("bad-blocks", true, false),
    condition("ecc-fixed", true, false),
    condition("ecc-flares", true, true),
    condition("ecc-rewrite", true, true),
    condition("ecc-recharge", true, true),
    condition("ecc-scattered", false, false),
    condition("aged", true, false),
    condition("gc-shared-write-pointer", true, false),
    condition("gc-idle", true, true),
    condition("gc-fifo-static-wear", false, false),
    condition("slots-2", true, false),
    condition("slots-4", false, false),
    condition("planes", false, false),
    condition("ganged-planes", false, false),
    condition("five-dies", true, false),
    condition("full", true, false),
    condition("reads", false, true),
];

/// A cut, or several, as one row has them.
#[derive(Clone, Copy)]
pub struct Cut {
    pub name: &'static str,
    pub checkpoint: bool,
    pub pairing: Pairing,
    pub hold_up: bool,
    /// How many cuts; those after the first meet the drive while it recovers.
    pub times: u32,
    pub outage: Outage,
}

const NOTHING_MORE: Outage =
    Outage { memory: MemoryLoss { buffer: false, sums: false, reads: false, checkpoint: false }, clock_jump: 0 };

const PLAIN: Cut =
    Cut { name: "cut", checkpoint: false, pairing: Pairing::Alone, hold_up: false, times: 1, outage: NOTHING_MORE };

const ONE_DAY: i64 = 86_400_000_000_000;

pub const CUTS: &[Cut] = &[
    PLAIN,
    Cut { name: "cut-checkpoint", checkpoint: true, ..PLAIN },
    Cut { name: "cut-3", times: 3, ..PLAIN },
    Cut { name: "cut-3-checkpoint-held-up", times: 3, checkpoint: true, hold_up: true, ..PLAIN },
    Cut { name: "cut-paired-held-up", pairing: Pairing::Adjacent { bits: 2 }, hold_up: true, times: 2, ..PLAIN },
    Cut { name: "cut-paired", pairing: Pairing::Shared { side_by_side: 1 }, checkpoint: true, ..PLAIN },
    Cut { name: "cut-memory", checkpoint: true, outage: Outage { memory: MemoryLoss::ALL, clock_jump: -ONE_DAY }, ..PLAIN },
    Cut {
        name: "cut-sums",
        times: 2,
        outage: Outage { memory: MemoryLoss { sums: true, ..NOTHING_MORE.memory }, clock_jump: ONE_DAY },
        ..PLAIN
    },
];

pub const BUFFERS: &[(&str, BufferKind)] =
    &[("off", BufferKind::Off), ("volatile", BufferKind::Volatile), ("plp", BufferKind::Plp)];
pub const SCHEDULERS: &[(&str, Scheduler)] = &[("fifo", Scheduler::Fifo), ("read-first", Scheduler::ReadFirst)];
pub const PAYLOADS: &[(&str, PayloadKind)] =
    &[("none", PayloadKind::None), ("tag", PayloadKind::Tag), ("page", PayloadKind::Page)];

/// One row.
pub struct Case {
    pub scheme: SchemeChoice,
    pub buffer: (&'static str, BufferKind),
    pub scheduler: (&'static str, Scheduler),
    pub payload: (&'static str, PayloadKind),
    pub condition: &'static Condition,
    pub cut: Option<Cut>,
}

impl Case {
    /// Its factors: the scheme and the scheme with its options, then the other columns of the key.
    pub fn factors(&self) -> [String; 7] {
        let cut = self.cut.map_or("none", |cut| cut.name);
        let [buffer, scheduler, payload] = [self.buffer.0, self.scheduler.0, self.payload.0];
        let scheme = self.scheme.name.clone();
        [scheme, self.scheme.to_string(), buffer.into(), scheduler.into(), payload.into(), self.condition.name.into(), cut.into()]
    }

    /// The key columns, as they are in the table.
    pub fn key(&self) -> String {
        let cut = self.cut.map_or("none", |cut| cut.name);
        // Some options are lists with commas.
        let scheme = self.scheme.to_string().replace(',', "+");
        format!("{scheme},{},{},{},{},{cut}", self.buffer.0, self.scheduler.0, self.payload.0, self.condition.name)
    }
}

fn choices() -> Vec<SchemeChoice> {
    let more = MORE.iter().map(|(name, options)| SchemeChoice {
        name: (*name).into(),
        options: options.iter().map(|&(key, value)| (key.into(), value.into())).collect(),
    });
    SCHEMES.iter().flat_map(|entry| entry.choices()).chain(more).collect()
}

/// All drives, in the order of the table. Not the full product, which would take hours: without cuts, each condition with every
/// buffer and scheduler, and payloads taking turns (the condition `none` has all three). With cuts, the condition `none` has every
/// cut with every buffer; else each condition has every other cut, and cuts, buffers, schedulers and payloads take turns over schemes.
pub fn cases() -> Vec<Case> {
    choices().iter().enumerate().flat_map(|(number, scheme)| of_scheme(number, scheme)).collect()
}

fn of_scheme(nth: usize, scheme: &SchemeChoice) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |ways: (usize, usize, usize), condition, cut| {
        let (buffer, scheduler, payload) = (BUFFERS[ways.0 % 3], SCHEDULERS[ways.1 % 2], PAYLOADS[ways.2 % 3]);
        cases.push(Case { scheme: scheme.clone(), buffer, scheduler, payload, condition, cut });
    };
    // Without cuts: all payloads where nothing happens; else they take turns.
    for (number, condition) in CONDITIONS.iter().enumerate() {
        for way in 0..6 {
            let (buffer, scheduler) = (way % 3, way / 3);
            let payloads = if condition.name == "none" { 0..3 } else { number + way..number + way + 1 };
            payloads.for_each(|payload| add((buffer, scheduler, payload), condition, None));
        }
    }
    // Every cut with every buffer where nothing else happens; else every other cut, those left out being the turn of
    // the next scheme, and the ways take turns.
    for (number, condition) in CONDITIONS.iter().enumerate().filter(|(_, condition)| condition.with_cuts) {
        for (turn, cut) in CUTS.iter().enumerate() {
            let ways = match condition.name {
                "none" => 3,
                _ if (nth + number + turn).is_multiple_of(2) => 1,
                _ => 0,
            };
            for way in 0..ways {
                // A payload of nothing cannot be told from another after a cut: tags mostly.
                let payload = if (nth + turn / 2 + way) % 4 == 3 { 2 } else { 1 };
                add((nth + number + turn / 2 + way, nth / 3 + number + turn / 4 + way, payload), condition, Some(*cut));
            }
        }
    }
    cases
}
