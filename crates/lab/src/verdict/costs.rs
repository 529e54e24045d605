//! Costs of a scheme, as figures that can be compared with those of another.

use crate::interval::Interval;
use crate::outcome::Outcome;
use common::Quantity;
use common::quantity::{YEAR_S, mib};
use experiment::Experiment;
use vocab::{Bytes, Cause};

/// Days that DWPD is over: five years.
const DWPD_DAYS: f64 = 5.0 * 365.0;

/// Costs of a scheme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Mean latency of reads and writes in microseconds; `None` without any.
    pub latency_us_mean: Option<f64>,
    /// Latency that one read in a hundred exceeds, in microseconds; `None` without reads.
    pub read_latency_us_p99: Option<f64>,
    /// The same of writes.
    pub write_latency_us_p99: Option<f64>,
    /// By how much of itself the mean latency may be off within one run; 0 where its batches do not tell, and of several runs.
    pub latency_off: f64,
    /// The same of write amplification.
    pub waf_off: f64,
    /// Requests answered in a second of virtual time.
    pub requests_per_s: Option<f64>,
    /// Data read and written by the host in a second of virtual time, in MB (10^6 bytes).
    pub mb_per_s: Option<f64>,
    /// Write amplification.
    pub waf: Option<f64>,
    /// Data that the host can still write until the mean block has its rated P/E cycles, in TB (10^12 bytes), at this
    /// write amplification, wear even over the blocks; `None` without writes, or where some failed.
    pub tbw_tb: Option<f64>,
    /// How long that lasts at this load, in years.
    pub endurance_years: Option<f64>,
    /// Drive writes per day over five years that it amounts to.
    pub dwpd: Option<f64>,
    /// Bytes of flash that were replayed on: TBW is theirs.
    pub flash_bytes: u64,
    /// Share of raw flash that redundancy takes.
    pub capacity_overhead: f64,
    /// Energy of flash and codecs in joules.
    pub energy_j: f64,
    /// Causes of page programs with their share, greatest first.
    pub programs_for: Vec<(String, f64)>,
    /// How a dead die was rebuilt; `None` where none died, or not all of it is rebuilt.
    pub rebuild: Option<Rebuild>,
    /// Whether the run is too short for what it says of its flash: nothing is concluded from that then.
    pub unborne: bool,
}

/// A rebuild of dead dies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rebuild {
    /// Virtual time from the death of the die until all it held was on others.
    pub seconds: f64,
    /// Pages programmed for it.
    pub programs: u64,
    /// Their contents, as a multiple of the user capacity of a die.
    pub of_a_die: f64,
}

impl Rebuild {
    fn of(outcome: &Outcome) -> Option<Self> {
        let (r, geometry) = (&outcome.result, &outcome.planned.drive.geometry);
        let programs = r.flash.programs.get(Cause::Rebuild.name()).copied().unwrap_or(0);
        let user_slots_of_a_die = f64::from(geometry.slots()) * (1.0 - outcome.planned.op_of_raw) / f64::from(geometry.dies());
        let slots = programs as f64 * f64::from(geometry.slots_per_page());
        Some(Self { seconds: r.redundancy.rebuild_s?, programs, of_a_die: slots / user_slots_of_a_die })
    }
}

impl Costs {
    pub(crate) fn of(experiment: &Experiment, outcome: &Outcome, unborne: bool) -> Self {
        let (r, slot) = (&outcome.result, experiment.drive.geometry.slot_size.0 as f64);
        let answered = r.host.latency_us.count > 0;
        let (requests_per_s, mb_per_s) = outcome.throughput(experiment.drive.geometry.slot_size.0);
        let cycles = f64::from(experiment.drive.endurance.0);
        let used = r.wear.pe_cycles.iter().map(|&pe| f64::from(pe)).sum::<f64>() / r.wear.pe_cycles.len().max(1) as f64;
        let flash_bytes = outcome.planned.drive.geometry.raw_size().0;
        let dead = f64::from(outcome.standing.dead_dies) / f64::from(experiment.drive.geometry.dies());
        let good = flash_bytes as f64 * (1.0 - experiment.age.bad_blocks) * (1.0 - dead);
        // Pages that were not written cost nothing: what others cost is not known.
        let all_written = r.host.write_errors == 0 && r.host.read_only_s.is_none();
        let life = r.flash.waf.filter(|waf| *waf > 0.0 && all_written).map(|waf| good * (cycles - used).max(0.0) / waf);
        let user_bytes = flash_bytes as f64 * (1.0 - outcome.planned.op_of_raw);
        let written_per_s = r.host.write_pages as f64 * slot / r.replay.simulated_s;
        Self {
            latency_us_mean: answered.then_some(r.host.latency_us.mean),
            read_latency_us_p99: (r.host.read_latency_us.count > 0).then_some(r.host.read_latency_us.p99),
            write_latency_us_p99: (r.host.write_latency_us.count > 0).then_some(r.host.write_latency_us.p99),
            latency_off: off(crate::bearing::latency_us(r)),
            waf_off: off(crate::bearing::waf(r)),
            requests_per_s,
            mb_per_s,
            waf: r.flash.waf,
            tbw_tb: life.map(|bytes| bytes / 1e12),
            endurance_years: life.map(|bytes| bytes / written_per_s / YEAR_S).filter(|years| years.is_finite()),
            dwpd: life.map(|bytes| bytes / user_bytes / DWPD_DAYS),
            flash_bytes,
            capacity_overhead: outcome.planned.capacity_overhead,
            energy_j: outcome.energy_j(),
            programs_for: programs_for(outcome),
            rebuild: Rebuild::of(outcome),
            unborne,
        }
    }

    /// The means of costs, two or more; of a figure that one of them lacks there is none.
    pub(crate) fn mean(all: &[&Self]) -> Self {
        let mean = |of: fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = all.iter().map(|costs| of(costs)).collect();
            Some(Interval::of(&values?)?.mean)
        };
        let mut programs_for: Vec<(String, f64)> = Vec::new();
        for (cause, share) in all.iter().flat_map(|costs| &costs.programs_for) {
            let share = share / all.len() as f64;
            match programs_for.iter_mut().find(|(known, _)| known == cause) {
                Some((_, sum)) => *sum += share,
                None => programs_for.push((cause.clone(), share)),
            }
        }
        programs_for.sort_by(|one, other| other.1.total_cmp(&one.1));
        Self {
            latency_us_mean: mean(|costs| costs.latency_us_mean),
            read_latency_us_p99: mean(|costs| costs.read_latency_us_p99),
            write_latency_us_p99: mean(|costs| costs.write_latency_us_p99),
            latency_off: 0.0,
            waf_off: 0.0,
            requests_per_s: mean(|costs| costs.requests_per_s),
            mb_per_s: mean(|costs| costs.mb_per_s),
            waf: mean(|costs| costs.waf),
            tbw_tb: mean(|costs| costs.tbw_tb),
            endurance_years: mean(|costs| costs.endurance_years),
            dwpd: mean(|costs| costs.dwpd),
            flash_bytes: all.first().map_or(0, |costs| costs.flash_bytes),
            capacity_overhead: mean(|costs| Some(costs.capacity_overhead)).unwrap_or_default(),
            energy_j: mean(|costs| Some(costs.energy_j)).unwrap_or_default(),
            programs_for,
            rebuild: None,
            unborne: all.iter().any(|costs| costs.unborne),
        }
    }
}

/// By how much of itself a figure may be off, as the batches of its run tell; 0 where they do not.
fn off(interval: Option<Interval>) -> f64 {
    interval.filter(|interval| interval.mean > 0.0).map_or(0.0, |interval| interval.half_width / interval.mean)
}

fn programs_for(outcome: &Outcome) -> Vec<(String, f64)> {
    let programs = &outcome.result.flash.programs;
    let all = programs.values().sum::<u64>() as f64;
    let share = |cause: Cause| (cause.name().to_owned(), programs.get(cause.name()).map_or(0.0, |&n| n as f64 / all.max(1.0)));
    let mut shares: Vec<(String, f64)> = Cause::ALL.into_iter().map(share).filter(|(_, share)| *share > 0.0).collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    shares
}

impl Outcome {
    /// Energy of flash and codecs in joules.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.result.flash.energy_j.values().fold(0.0, |all, joules| all + joules)
    }

    /// Requests, and MB of reads and writes, answered in a second of virtual time; `None` where no time passed. `slot` bytes are
    /// one logical page.
    #[must_use]
    pub fn throughput(&self, slot: u64) -> (Option<f64>, Option<f64>) {
        let (host, seconds) = (&self.result.host, self.result.replay.simulated_s);
        let per_second = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
        let pages = (host.read_pages + host.write_pages) as f64;
        (per_second(host.all_requests() as f64), per_second(pages * slot as f64 / 1e6))
    }
}

/// Which way a cost is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// A cost as reports show it.
pub struct Measure {
    /// Its name, and the key of its ratio in JSON.
    pub key: &'static str,
    /// Title in reports.
    pub title: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// Whether it counts where schemes are compared on all sides: what follows from another cost, or from the clock, does
    /// not.
    pub decides: bool,
    /// Its value.
    pub of: fn(&Costs) -> Option<f64>,
    /// Quantity of the measure.
    pub quantity: Quantity,
}

impl Measure {
    /// Whether it is made of what was programmed and erased.
    fn is_of_flash(&self) -> bool {
        ["waf", "tbw_tb", "dwpd", "endurance_years", "energy_j"].contains(&self.key)
    }

    /// Its value where something may be concluded from it.
    #[must_use]
    pub fn judged(&self, costs: &Costs) -> Option<f64> {
        (self.of)(costs).filter(|_| self.may_judge(costs))
    }

    /// By how much of itself it may be off, as the batches of its run tell.
    pub(crate) fn off(&self, costs: &Costs) -> f64 {
        match self.key {
            "latency_us_mean" => costs.latency_off,
            "waf" | "tbw_tb" | "dwpd" | "endurance_years" => costs.waf_off,
            _ => 0.0,
        }
    }

    /// Whether something may be concluded from it.
    #[must_use]
    pub fn may_judge(&self, costs: &Costs) -> bool {
        !(costs.unborne && self.is_of_flash())
    }

    /// Title in reports of schemes on so much flash, in bytes: endurance is that of a small drive, and the title says
    /// so.
    #[must_use]
    pub fn title_of(&self, least: u64, most: u64) -> String {
        let Some(what) = self.title.strip_prefix("endurance of the flash, ") else { return self.title.into() };
        let most = mib(Bytes(most));
        let sizes = if mib(Bytes(least)) == most { most } else { format!("{:.0} to {most}", least as f64 / f64::from(1 << 20)) };
        format!("endurance of {sizes}, {what}")
    }
}

/// All costs, in the order of reports.
pub const MEASURES: &[Measure] = &[
    Measure {
        key: "latency_us_mean",
        title: "mean latency",
        better: Better::Less,
        decides: true,
        of: |costs| costs.latency_us_mean,
        quantity: Quantity::Micros,
    },
    Measure {
        key: "read_latency_us_p99",
        title: "p99 read latency",
        better: Better::Less,
        decides: true,
        of: |costs| costs.read_latency_us_p99,
        quantity: Quantity::Micros,
    },
    Measure {
        key: "write_latency_us_p99",
        title: "p99 write latency",
        better: Better::Less,
        decides: true,
        of: |costs| costs.write_latency_us_p99,
        quantity: Quantity::Micros,
    },
    Measure {
        key: "requests_per_s",
        title: "requests/s",
        better: Better::More,
        decides: false,
        of: |costs| costs.requests_per_s,
        quantity: Quantity::Plain,
    },
    Measure {
        key: "mb_per_s",
        title: "MB/s",
        better: Better::More,
        decides: false,
        of: |costs| costs.mb_per_s,
        quantity: Quantity::Plain,
    },
    Measure {
        key: "waf",
        title: "write amplification",
        better: Better::Less,
        decides: false,
        of: |costs| costs.waf,
        quantity: Quantity::Plain,
    },
    Measure {
        key: "tbw_tb",
        title: "endurance of the flash, TBW",
        better: Better::More,
        decides: true,
        of: |costs| costs.tbw_tb,
        quantity: Quantity::Terabytes,
    },
    Measure {
        key: "dwpd",
        title: "endurance, DWPD over 5 years",
        better: Better::More,
        decides: false,
        of: |costs| costs.dwpd,
        quantity: Quantity::Plain,
    },
    Measure {
        key: "endurance_years",
        title: "endurance of the flash, at this load",
        better: Better::More,
        decides: false,
        of: |costs| costs.endurance_years,
        quantity: Quantity::Years,
    },
    Measure {
        key: "capacity_overhead",
        title: "capacity overhead",
        better: Better::Less,
        decides: true,
        of: |costs| Some(costs.capacity_overhead),
        quantity: Quantity::Tenths,
    },
    Measure {
        key: "energy_j",
        title: "energy",
        better: Better::Less,
        decides: true,
        of: |costs| Some(costs.energy_j),
        quantity: Quantity::Joules,
    },
];

/// The measure called `key`.
///
/// # Panics
/// If there is none.
pub(crate) fn measure(key: &str) -> (usize, &'static Measure) {
    MEASURES.iter().enumerate().find(|(_, measure)| measure.key == key).expect("a key of the table above")
}
