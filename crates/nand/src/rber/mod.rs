//! Raw bit error rates (RBER): the share of bits that a read finds wrong before any correction,
//! as a function of what the cells have been through.
//!
//! Pure formulas of the literature: no state, no randomness, no clock. Each gives the mean rate
//! of a page; errors of real pages are over-dispersed around it. Some also know where a page lies
//! and how far the references are moved that it is read with.

mod fast19;
mod flares;
mod gauss;
mod tlc_set;

pub use fast19::Fast19;
pub use flares::{Flares, ReadDisturb};
pub use gauss::{Gauss, State, best_reference};
pub use tlc_set::{Stages, TlcSet};

/// Stress that the cells of a page have had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stress {
    /// Program/erase cycles of the block.
    pub pe: f64,
    /// Time since the page was programmed, in hours at the temperature at which the model was
    /// fitted; see [`acceleration`] for other temperatures.
    pub retention_hours: f64,
    /// Reads since the block was erased, counted as the model wants them: [`ReadCount`].
    pub reads: f64,
}

/// Where a page lies in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSite {
    /// Its number in the block.
    pub page: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
}

impl PageSite {
    /// Which of the `bits` pages of its word line it is: as kinds of page are repeated over a block, so are these.
    #[must_use]
    pub fn kind(self, bits: u32) -> usize {
        (self.page % bits) as usize
    }
}

/// Number that a model takes for reads of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadCount {
    /// All reads of its block: a read stresses every page of the block.
    Block,
    /// Reads of its block, divided by the pages of the block.
    PerPage,
}

impl ReadCount {
    /// [`Stress::reads`] of a page whose block has `pages` pages and was read `reads` times.
    #[must_use]
    pub fn of_block(self, reads: u64, pages: u32) -> f64 {
        match self {
            ReadCount::Block => reads as f64,
            ReadCount::PerPage => reads as f64 / f64::from(pages),
        }
    }
}

/// An RBER model with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RberModel {
    /// No errors.
    None,
    /// Exponential in wear, power law of wear and retention, and reads.
    Flares(Flares),
    /// A sum of power laws.
    Fast19(Fast19),
    /// A TLC part with page types, layers and a retry table.
    TlcSet(TlcSet),
    /// Voltages of cell states, normally distributed.
    Gauss(Gauss),
}

impl RberModel {
    /// The raw bit error rate of a mean page with the default references, in [0, 0.5]: a bit that is wrong half of the
    /// time tells nothing.
    ///
    /// # Panics
    /// If a stress is negative or not a number.
    #[must_use]
    pub fn rber(&self, stress: &Stress) -> f64 {
        let Stress { pe, retention_hours, reads } = *stress;
        assert!(pe >= 0.0 && retention_hours >= 0.0 && reads >= 0.0, "{stress:?} is below zero");
        let rate = match self {
            RberModel::None => 0.0,
            RberModel::Flares(law) => law.rber(stress),
            RberModel::Fast19(law) => law.rber(stress),
            RberModel::TlcSet(set) => set.rber(stress),
            RberModel::Gauss(part) => part.rber(stress, false),
        };
        rate.clamp(0.0, 0.5)
    }

    /// The rate of a page at this place of its block, read with references moved by `offset` from the default (0), where a
    /// change of temperature has moved the optimum by `extra`. Units are the model's own: see [`Self::entry`]. A model
    /// without references has one rate for all pages and all of them.
    ///
    /// # Panics
    /// As [`Self::rber`].
    #[must_use]
    pub fn rber_at(&self, stress: &Stress, site: PageSite, offset: f64, extra: f64) -> f64 {
        match self {
            RberModel::None | RberModel::Flares(_) | RberModel::Fast19(_) => self.rber(stress),
            RberModel::TlcSet(set) => set.at(stress, site, offset, extra).clamp(0.0, 0.5),
            RberModel::Gauss(part) => part.at(stress, site, offset - extra).clamp(0.0, 0.5),
        }
    }

    /// As [`Self::rber`], of pages that are read with the references that are best for each.
    ///
    /// # Panics
    /// As [`Self::rber`].
    #[must_use]
    pub fn best_rber(&self, stress: &Stress) -> f64 {
        match self {
            RberModel::None | RberModel::Flares(_) | RberModel::Fast19(_) => self.rber(stress),
            RberModel::TlcSet(set) => set.best_rber(stress).clamp(0.0, 0.5),
            RberModel::Gauss(part) => part.rber(stress, true).clamp(0.0, 0.5),
        }
    }

    /// How far the best references of a page are from the default ones.
    #[must_use]
    pub fn optimum(&self, stress: &Stress, site: PageSite) -> f64 {
        match self {
            RberModel::None | RberModel::Flares(_) | RberModel::Fast19(_) => 0.0,
            RberModel::TlcSet(set) => set.optimum(stress, site),
            RberModel::Gauss(part) => part.optimum(stress, site),
        }
    }

    /// Entries of the part's retry table, without the default; 0: the model knows no references.
    #[must_use]
    pub fn retry_entries(&self) -> u32 {
        match self {
            RberModel::None | RberModel::Flares(_) | RberModel::Fast19(_) => 0,
            RberModel::TlcSet(_) => tlc_set::RETRY_ENTRIES,
            RberModel::Gauss(_) => gauss::ENTRIES,
        }
    }

    /// By how much an entry of the retry table moves references; 0 is the default.
    #[must_use]
    pub fn entry(&self, entry: u32) -> f64 {
        match self {
            RberModel::None | RberModel::Flares(_) | RberModel::Fast19(_) => 0.0,
            RberModel::TlcSet(_) => TlcSet::entry(entry),
            RberModel::Gauss(_) => Gauss::entry(entry),
        }
    }

    /// Meaning of [`Stress::reads`].
    #[must_use]
    pub fn read_count(&self) -> ReadCount {
        match self {
            RberModel::None | RberModel::Flares(_) => ReadCount::Block,
            RberModel::Fast19(_) | RberModel::TlcSet(_) | RberModel::Gauss(_) => ReadCount::PerPage,
        }
    }

    /// Whether reads add errors.
    #[must_use]
    pub fn knows_reads(&self) -> bool {
        match self {
            RberModel::None => false,
            RberModel::Flares(law) => law.reads.coefficient > 0.0,
            RberModel::Fast19(_) | RberModel::TlcSet(_) | RberModel::Gauss(_) => true,
        }
    }
}

impl RberModel {
    /// How many entries of the retry table, in its order, a page is read with after the default references, until its rate is
    /// at most `limit`; `None`: no entry is good enough.
    #[must_use]
    pub fn retries(&self, stress: &Stress, site: PageSite, limit: f64) -> Option<u32> {
        (0..=self.retry_entries()).find(|&entry| self.rber_at(stress, site, self.entry(entry), 0.0) <= limit)
    }
}

/// A model by name.
#[derive(Debug)]
pub struct RberEntry {
    /// Its name in experiments and on the command line.
    pub name: &'static str,
    /// Where formula and constants come from.
    pub paper: &'static str,
    /// Description, in one line.
    pub summary: &'static str,
    /// The formula.
    pub model: RberModel,
}

/// All models: one line adds one.
pub const RBER_MODELS: &[RberEntry] = &[
    RberEntry { name: "none", paper: "-", summary: "no bit errors", model: RberModel::None },
    RberEntry {
        name: "flares",
        paper: "Indaco et al., FLARES, Eq. 5 and Table III",
        summary: "MLC: errors of wear and of retention; reads add none",
        model: RberModel::Flares(Flares::PAPER),
    },
    RberEntry {
        name: "flares-disturb",
        paper: "FLARES, Eq. 5; read disturb after Cai et al., DSN 2015",
        summary: "flares, and errors of reads: linear in reads, slope a power law of wear",
        model: RberModel::Flares(Flares { reads: ReadDisturb::DSN15, ..Flares::PAPER }),
    },
    RberEntry {
        name: "fast19-3x-mlc",
        paper: "Kim, Choi and Min, FAST 2019; constants from memory, unverified",
        summary: "3x-nm MLC: power laws of wear, retention and reads",
        model: RberModel::Fast19(Fast19::MLC_3X),
    },
    RberEntry {
        name: "fast19-2y-mlc",
        paper: "Kim, Choi and Min, FAST 2019; constants as two public simulators have them",
        summary: "2y-nm MLC: power laws of wear, retention and reads",
        model: RberModel::Fast19(Fast19::MLC_2Y),
    },
    RberEntry {
        name: "fast19-72l-tlc",
        paper: "Kim, Choi and Min, FAST 2019; constants as three public simulators have them",
        summary: "72-layer TLC: power laws of wear, retention and reads",
        model: RberModel::Fast19(Fast19::TLC_72L),
    },
    RberEntry {
        name: "tlc-128l",
        paper: "a 128-layer TLC set with its retry table, published with Xerxes' SimpleSSD; fits of ours",
        summary: "TLC: page types, layers, early retention loss, references of a retry table; times of stages assumed",
        model: RberModel::TlcSet(TlcSet::DEFAULT),
    },
    RberEntry {
        name: "tlc-gauss",
        paper: "Cai et al., Proc. IEEE 2017, Table 5, by a public transcription; growth with cycles assumed",
        summary: "TLC: normally distributed voltages of eight states, references that move; page types",
        model: RberModel::Gauss(Gauss::TLC),
    },
    RberEntry {
        name: "qlc-gauss",
        paper: "none: states of tlc-gauss, twice as many and narrower",
        summary: "QLC: the same with sixteen states",
        model: RberModel::Gauss(Gauss::QLC),
    },
    RberEntry {
        name: "da-raid5",
        paper: "Guo et al., DA-RAID-5, limits of section IV",
        summary: "flares-disturb scaled so that 15 000 cycles bear 381 days or 46 000 reads at a yield of 99.9 %",
        model: RberModel::Flares(Flares::DA_RAID5),
    },
];

/// No model has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown error model `{}`; known are {}", .name.escape_default(), RBER_MODELS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownRber {
    /// The unknown name.
    pub name: String,
}

/// The entry called `name`.
///
/// # Errors
/// Lists the known models.
pub fn find(name: &str) -> Result<&'static RberEntry, UnknownRber> {
    RBER_MODELS.iter().find(|entry| entry.name == name).ok_or_else(|| UnknownRber { name: name.into() })
}

/// Shift of the best references by 10 K between program and read, in units of the models that have any: of the order of a tenth
/// of what a year of retention moves them. Threshold voltages fall as cells get hotter, so a page that is read hotter than it
/// was programmed looks as if it had lost charge. Read circuits make up for the mean of it, and what is left depends on the
/// part; no public table of it was found, so the number is an assumption and a setting.
pub const CROSS_SHIFT: f64 = 0.15;

/// Boltzmann's constant in eV/K.
const BOLTZMANN: f64 = 8.617_333e-5;
const ZERO_CELSIUS: f64 = 273.15;

/// The activation energy of charge loss that JESD218 assumes, in eV.
pub const JESD218_EV: f64 = 1.1;

/// How many times faster charge leaks at `celsius_use` than at `celsius_reference`, after
/// Arrhenius: `exp(Ea/k (1/T_reference - 1/T_use))`. So an hour of use is as many hours of
/// [`Stress::retention_hours`].
///
/// Not all retention is activated: JESD218 itself names a second mechanism that heat hardly
/// speeds up, and baked 3D flash was seen to have fewer errors than one that lay for a year.
/// So `ea_ev` is a parameter, and 0 means no acceleration.
///
/// See [`aged`] for both mechanisms together.
///
/// # Panics
/// If a temperature is not above absolute zero.
#[must_use]
pub fn acceleration(ea_ev: f64, celsius_use: f64, celsius_reference: f64) -> f64 {
    let kelvin = |celsius: f64| {
        assert!(celsius > -ZERO_CELSIUS, "{celsius} C is below absolute zero");
        celsius + ZERO_CELSIUS
    };
    (ea_ev / BOLTZMANN * (1.0 / kelvin(celsius_reference) - 1.0 / kelvin(celsius_use))).exp()
}

/// Hours of retention that an hour of use is: a share of charge loss goes on at one pace whatever the temperature, the rest
/// after Arrhenius.
///
/// Hetzler measured 13 times where Arrhenius with 1.1 eV says 702 (40 to 100 C): a share of 0.983, if both mechanisms simply add
/// up. HotStorage 2021 found that bakes underestimate the errors of a year in 3D flash, which is the same in the other direction.
///
/// # Panics
/// As [`acceleration`].
#[must_use]
pub fn aged(acceleration: f64, unaccelerated: f64) -> f64 {
    acceleration * (1.0 - unaccelerated) + unaccelerated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_heat_does_not_speed_up_explains_less_ageing_in_heat() {
        let arrhenius = acceleration(JESD218_EV, 100.0, 40.0);
        assert!((arrhenius / 702.0 - 1.0).abs() < 0.01, "{arrhenius}");
        assert!((aged(arrhenius, 0.983) / 13.0 - 1.0).abs() < 0.03);
        assert_eq!([aged(702.0, 0.0), aged(702.0, 1.0), aged(1.0, 0.4)], [702.0, 1.0, 1.0]);
    }

    #[test]
    fn arrhenius_gives_the_factors_of_jesd218() {
        // (reference, use, factor): 1 year at 30 C is 507 h at 52 C and 100 h at 66 C.
        for (reference, used, factor) in
            [(30.0, 52.0, 17.27), (30.0, 66.0, 87.3), (25.0, 40.0, 7.77), (25.0, 55.0, 50.1), (40.0, 55.0, 6.45)]
        {
            let found = acceleration(JESD218_EV, used, reference);
            assert!((found / factor - 1.0).abs() < 1e-3, "{reference} to {used}: {found}, expected {factor}");
        }
        assert_eq!(acceleration(JESD218_EV, 30.0, 30.0), 1.0);
        assert_eq!(acceleration(0.0, 90.0, 30.0), 1.0);
    }

    #[test]
    fn a_rate_is_a_probability_and_never_falls_with_stress() {
        let steps = [0.0, 1.0, 30.0, 1e3, 1e4, 1e6, 1e12, 1e300];
        for entry in RBER_MODELS {
            for (pe, retention_hours, reads) in steps.iter().flat_map(|&a| steps.map(|b| (a, b, 100.0))) {
                let stress = Stress { pe, retention_hours, reads };
                let rate = entry.model.rber(&stress);
                assert!((0.0..=0.5).contains(&rate), "{}: {stress:?} gives {rate}", entry.name);
                let more = [
                    Stress { pe: pe * 2.0, ..stress },
                    Stress { retention_hours: retention_hours * 2.0, ..stress },
                    Stress { reads: reads * 2.0, ..stress },
                ];
                for worse in more {
                    assert!(entry.model.rber(&worse) >= rate, "{}: {worse:?} is better than {stress:?}", entry.name);
                }
            }
        }
    }

    #[test]
    fn names_are_found_and_an_unknown_one_lists_them() {
        for entry in RBER_MODELS {
            assert_eq!(find(entry.name).unwrap().summary, entry.summary);
        }
        let said = find("flare").unwrap_err().to_string();
        assert!(said.starts_with("unknown error model `flare`; known are none, flares, flares-disturb"), "{said}");
    }
}
