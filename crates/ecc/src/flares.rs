//! Paper: S. Di Carlo, S. Galfano, M. Indaco, P. Prinetto, D. Bertozzi, P. Olivo, C. Zambelli,
//! "FLARES: an aging aware algorithm to autonomously adapt the error correction capability in
//! NAND Flash memories", ACM TACO 11(3), 2014.
//!
//! Idea: each page has a profile (PPROF). A window of reads gives a measured RBER; mixed with
//! that of a model of the cells and projected to the required retention it asks for a capability
//! p (Eq. 1), and one of five zones decides what the next program of the page uses. A page whose
//! retention nears what its present code bears raises the rewrite alarm.
//!
//! Differs (theory.md section 5, gaps 13 to 16, and what follows from pages being rewritten):
//! - `overc` and `criticalc` belong to the page; `failc` starts again with each window; p stays
//!   within `p_min..=p_max`, and a measured rate below zero counts as zero.
//! - With `floor = "model"`, the default, a window that measured little does not take p below
//!   what the model alone asks for: the noise of 100 reads at the end of life is ten times the
//!   rate that MIX is about, and now and then costs one bit of capability too many.
//! - The window counts reads: a program finds no errors, and would dilute the measure.
//! - RBER_rd is subtracted as it was at each read of the window, not as it is at its end: a page
//!   rewritten in the meantime forgot its retention.
//! - A program enters the fast zone too: p follows the P/E cycles at once, with what the last
//!   window measured. Without that a page seldom read would keep the code of its youth.
//! - The alarm does not keep the window from being evaluated: p_next would go stale.
//! - `flares-as-printed` has neither the floor nor the fast zone at programs, `failc` counts on, and `overc` and `criticalc`
//!   are global, as printed: a page whose wear leaps falls behind for a window.
//! - A failed page is no evidence of its error count beyond p + 1, as in the paper; what becomes
//!   of its contents is the parity scheme's to say, not "invalidate".
//!
//! Invariant: with the floor, what a page is programmed with never corrects less than the model
//! asks for at its age.

use crate::{Advice, CellModel, Codeword, Decoded, EccPolicy, EccShape, FoundProfile, PartialProfile, Profile, longest_hours};
use coding::odds::Per;
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{Capability, Options, PeCycles, Ppn, SchemeError};

/// Options of the policy.
pub(super) const OPTIONS: &[(&str, &str, &str)] = &[
    ("uber", "1e-11", "target uncorrectable bit error rate"),
    ("wsize", "100", "reads of a page in a window"),
    ("mix", "0.5", "share of the measured rate beside the model's (0: model alone)"),
    ("saferange", "0.05", "share of a capability's range below its limit that counts as critical"),
    ("maxfail", "3", "failures in a window beyond which p rises at once"),
    ("maxcritical", "5", "critical windows beyond which p rises"),
    ("maxover", "15", "overcorrecting windows beyond which p falls"),
    ("required_retention", "365d", "retention that every program must bear"),
    (
        "floor",
        "model",
        "what p never falls below: the `model`'s own answer, or `none` as in the paper, where noise of a window may take it lower",
    ),
    ("p_min", "3", "least capability"),
    ("p_max", "50", "greatest capability"),
];

/// Those of the policy as printed, which has no floor.
pub(super) const PRINTED_OPTIONS: &[(&str, &str, &str)] =
    &[OPTIONS[0], OPTIONS[1], OPTIONS[2], OPTIONS[3], OPTIONS[4], OPTIONS[5], OPTIONS[6], OPTIONS[7], OPTIONS[9], OPTIONS[10]];

/// The constants of Alg. 2, with the values of Table Ib as defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlaresSettings {
    /// Target UBER.
    pub uber: f64,
    /// Reads of a page in a window (WSIZE).
    pub wsize: u32,
    /// Share of the measured rate (MIX).
    pub mix: f64,
    /// Share of a range that is critical (SAFERANGE).
    pub saferange: f64,
    /// Failures in a window (MAXFAIL).
    pub maxfail: u32,
    /// Critical windows (MAXCRITICAL).
    pub maxcritical: u32,
    /// Overcorrecting windows (MAXOVER).
    pub maxover: u32,
    /// Required retention in hours (REQ_RET_TIME).
    pub required_hours: f64,
    /// Whether p stays at what the model alone asks for, whatever windows measured.
    pub floor: bool,
    /// Whether p changes only at the end of a window, and counters are kept, as Algs. 1 and 2 are printed.
    pub as_printed: bool,
    /// Least capability.
    pub p_min: u8,
    /// Greatest capability.
    pub p_max: u8,
}

impl FlaresSettings {
    /// As the paper has them: UBER 1e-11, one year, p from 3 to 50.
    pub const PAPER: Self = Self {
        uber: 1e-11,
        wsize: 100,
        mix: 0.5,
        saferange: 0.05,
        maxfail: 3,
        maxcritical: 5,
        maxover: 15,
        required_hours: 8760.0,
        floor: false,
        as_printed: false,
        p_min: 3,
        p_max: 50,
    };
}

pub(super) fn build(options: &Options<'_>, shape: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    let floor = options.word("floor", &["model", "none"])? == 0;
    Ok(Box::new(Flares::new(FlaresSettings { floor, ..parse(options)? }, shape)))
}

/// Algs. 1 and 2 as printed: a page that ages by leaps keeps a code that is too weak until its window ends.
pub(super) fn build_as_printed(options: &Options<'_>, shape: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    Ok(Box::new(Flares::new(FlaresSettings { as_printed: true, ..parse(options)? }, shape)))
}

fn parse(options: &Options<'_>) -> Result<FlaresSettings, SchemeError> {
    let uber = options.real("uber", 1e-30..=1e-3)?;
    let hours = options.time("required_retention")?.map_or(FlaresSettings::PAPER.required_hours, |t| t.as_secs_f64() / 3600.0);
    let p_max = options.number("p_max", 1..=super::T_MAX)? as u8;
    Ok(FlaresSettings {
        uber,
        wsize: options.number("wsize", 1..=1_000_000)?,
        mix: options.real("mix", 0.0..=1.0)?,
        saferange: options.real("saferange", 0.0..=1.0)?,
        maxfail: options.number("maxfail", 0..=255)?,
        maxcritical: options.number("maxcritical", 0..=255)?,
        maxover: options.number("maxover", 0..=255)?,
        required_hours: hours,
        p_min: options.number("p_min", 1..=u32::from(p_max))? as u8,
        p_max,
        ..FlaresSettings::PAPER
    })
}

/// The volatile half of a page's profile: p_next, errc, failc and the counters of the zones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Window {
    /// Capability of the next program; 0: no window decided yet.
    p_next: u8,
    failc: u8,
    overc: u8,
    criticalc: u8,
    reads: u32,
    codewords: u32,
    errc: u32,
    /// Sum over the window's codewords of the rate that retention gave them.
    retained: f32,
    /// Measurement of the last window, of a page without retention.
    measured: Option<f32>,
}

/// Ranges of RBER for which each capability suffices (the paper's corr_table).
#[derive(Clone, Debug)]
struct CorrTable {
    p_min: u8,
    max_rber: Vec<f64>,
}

impl CorrTable {
    fn new(codeword: &Codeword, settings: &FlaresSettings) -> Self {
        let limit = |p: u8| codeword.code.max_rber(p.into(), settings.uber, Per::CodewordBit);
        Self { p_min: settings.p_min, max_rber: (settings.p_min..=settings.p_max).map(limit).collect() }
    }

    /// Eq. 1 inverted: the least capability for this rate, the greatest there is if none suffices.
    fn search(&self, rber: f64) -> u8 {
        let below = self.max_rber.partition_point(|&limit| limit < rber);
        self.p_min + below.min(self.max_rber.len() - 1) as u8
    }

    fn max_rber(&self, p: u8) -> f64 {
        let at = usize::from(p.saturating_sub(self.p_min)).min(self.max_rber.len() - 1);
        self.max_rber[at]
    }
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Flares {
    settings: FlaresSettings,
    codeword: Codeword,
    cells: Arc<dyn CellModel>,
    table: CorrTable,
    pages_per_block: u32,
    /// Profiles of the pages of each block that was used.
    pages: Vec<Option<Box<[Window]>>>,
    /// `overc` and `criticalc` of all pages together, as printed.
    of_all: (u8, u8),
    /// Maximum retention by capability and P/E cycles, both as they come up.
    max_retention: BTreeMap<(u8, u32), f64>,
}

/// P/E cycles are rounded up to a multiple of this where a table is searched for them.
const PE_STEP: u32 = 16;

impl Flares {
    /// The policy over a drive's pages.
    #[must_use]
    pub fn new(settings: FlaresSettings, shape: &EccShape) -> Self {
        Self {
            table: CorrTable::new(&shape.codeword, &settings),
            codeword: shape.codeword,
            cells: Arc::clone(&shape.cells),
            pages_per_block: shape.pages_per_block,
            pages: Vec::new(),
            of_all: (0, 0),
            max_retention: BTreeMap::new(),
            settings,
        }
    }

    /// The capability that Eq. 1 asks for at a rate, within `p_min..=p_max`.
    #[must_use]
    pub fn required(&self, rber: f64) -> Capability {
        Capability(self.table.search(rber))
    }

    /// Capability that the next program of the page would use, for reports and tests.
    #[must_use]
    pub fn p_next(&self, page: Ppn) -> Option<Capability> {
        self.stored(page).filter(|window| window.p_next > 0).map(|window| Capability(window.p_next))
    }

    /// The page's window, if it was ever read.
    fn stored(&self, page: Ppn) -> Option<Window> {
        let (block, at) = self.place(page);
        Some(self.pages.get(block)?.as_ref()?[at])
    }

    fn place(&self, page: Ppn) -> (usize, usize) {
        ((page.0 / self.pages_per_block) as usize, (page.0 % self.pages_per_block) as usize)
    }

    fn window(&mut self, page: Ppn) -> &mut Window {
        let (block, at) = self.place(page);
        if self.pages.len() <= block {
            self.pages.resize(block + 1, None);
        }
        let pages = self.pages_per_block as usize;
        &mut self.pages[block].get_or_insert_with(|| vec![Window::default(); pages].into())[at]
    }

    fn rber_wr(&self, pe: PeCycles) -> f64 {
        self.cells.rber(pe.0.into(), 0.0)
    }

    fn rber_rd(&self, pe: PeCycles, hours: f64) -> f64 {
        (self.cells.rber(pe.0.into(), hours) - self.rber_wr(pe)).max(0.0)
    }

    /// Rows 6 to 8 of Alg. 2: the rate expected of the page at the end of the required retention.
    fn projected(&self, measured: Option<f32>, pe: PeCycles) -> f64 {
        let model = self.rber_wr(pe);
        let average = match measured {
            Some(measured) => self.settings.mix * f64::from(measured) + (1.0 - self.settings.mix) * model,
            None => model,
        };
        average + self.rber_rd(pe, self.settings.required_hours)
    }

    /// Alg. 1, the read: what the decoder found is added to the page's profile. True at the end
    /// of a window.
    fn up_page(&mut self, page: Ppn, profile: &Profile, decoded: Decoded) -> bool {
        let retained = self.rber_rd(profile.pe, profile.hours) * f64::from(decoded.codewords);
        let wsize = self.settings.wsize;
        let window = self.window(page);
        window.reads += 1;
        window.codewords += decoded.codewords;
        window.errc += decoded.errors + decoded.failed * (u32::from(profile.capability.0) + 1);
        window.failc = window.failc.saturating_add(decoded.failed.min(255) as u8);
        window.retained += retained as f32;
        window.reads >= wsize
    }

    /// Alg. 2, rows 5 to 31, at the end of a window.
    fn adapt(&mut self, page: Ppn, profile: &Profile) {
        let mut window = *self.window(page);
        let as_printed = self.settings.as_printed;
        if as_printed {
            (window.overc, window.criticalc) = self.of_all;
        }
        let bits = f64::from(window.codewords) * f64::from(self.codeword.bits(profile.capability));
        let retained = f64::from(window.retained) / f64::from(window.codewords.max(1));
        let measured = (f64::from(window.errc) / bits.max(1.0) - retained).max(0.0) as f32;
        let projected = self.projected(Some(measured), profile.pe);
        let p_next = self.zone(&mut window, profile.capability.0, projected);
        let Window { overc, criticalc, .. } = window;
        if as_printed {
            self.of_all = (overc, criticalc);
        }
        // As printed, failures of one window count on in the next, until they raise p.
        let failc = if as_printed && !self.fails(&window) { window.failc } else { 0 };
        *self.window(page) = Window { p_next, overc, criticalc, failc, measured: Some(measured), ..Window::default() };
    }

    /// Part of a window that is worth a place in flash: overc and criticalc, which the paper does not keep with the
    /// page, start again.
    fn kept(&self, window: &Window) -> PartialProfile {
        let Window { p_next, failc, errc, reads, codewords, .. } = *window;
        let failc = u32::from(failc).min(self.settings.maxfail + 1) as u8;
        PartialProfile { p_next: Capability(p_next), errc, failc, reads, codewords }
    }

    /// Whether a page has failed too often for its code.
    fn fails(&self, window: &Window) -> bool {
        u32::from(window.failc) > self.settings.maxfail
    }

    /// Alg. 2, rows 10 to 30: p_next, by the zone that the projected rate puts a page in.
    fn zone(&self, window: &mut Window, p_cur: u8, projected: f64) -> u8 {
        let p = self.table.search(projected);
        let settings = self.settings;
        let limit = self.table.max_rber(p);
        let mut settled = false;
        let p_next = if self.fails(window) {
            // Failure zone.
            p.max(p_cur.saturating_add(1))
        } else if p > p_cur {
            // Fast zone.
            p
        } else if p < p_cur {
            // Overcorrection zone.
            window.overc = window.overc.saturating_add(1);
            settled = u32::from(window.overc) > settings.maxover;
            // A fall that waits for the next program stands.
            if settled {
                p_cur - 1
            } else if window.p_next == 0 {
                p_cur
            } else {
                window.p_next
            }
        } else if projected > limit * (1.0 - settings.saferange) {
            // Critical zone.
            window.criticalc = window.criticalc.saturating_add(1);
            settled = u32::from(window.criticalc) > settings.maxcritical;
            if settled { p_cur.saturating_add(1) } else { window.p_next.max(p_cur) }
        } else {
            // Safe zone.
            p_cur
        };
        if settled {
            (window.overc, window.criticalc) = (0, 0);
        }
        p_next.clamp(settings.p_min, settings.p_max)
    }

    /// The table of maximum retention times, filled as it is searched: Eq. 5 in Eq. 1, inverted.
    fn search_max_retention(&mut self, p: u8, pe: PeCycles) -> f64 {
        let step = pe.0.div_ceil(PE_STEP);
        if let Some(&hours) = self.max_retention.get(&(p, step)) {
            return hours;
        }
        let pe = f64::from(step * PE_STEP);
        let limit = self.table.max_rber(p);
        let hours = longest_hours(1e-6, |hours| self.cells.rber(pe, hours) <= limit);
        self.max_retention.insert((p, step), hours);
        hours
    }
}

impl EccPolicy for Flares {
    fn program(&mut self, page: Ppn, pe: PeCycles) -> Capability {
        let window = self.stored(page).unwrap_or_default();
        if self.settings.as_printed && window.p_next > 0 {
            return Capability(window.p_next);
        }
        let mut p = self.table.search(self.projected(window.measured, pe)).max(window.p_next);
        if self.settings.floor {
            p = p.max(self.table.search(self.projected(None, pe)));
        }
        if window.p_next > 0 && p > window.p_next {
            self.window(page).p_next = p;
        }
        Capability(p)
    }

    fn read(&mut self, page: Ppn, profile: &Profile, decoded: Decoded) -> Advice {
        if self.up_page(page, profile, decoded) {
            self.adapt(page, profile);
        }
        let too_old = profile.hours > self.search_max_retention(profile.capability.0, profile.pe);
        if too_old { Advice::Rewrite } else { Advice::Keep }
    }

    fn max_retention_hours(&mut self, capability: Capability, pe: PeCycles) -> f64 {
        self.search_max_retention(capability.0, pe)
    }

    fn strongest(&self) -> Capability {
        Capability(self.settings.p_max)
    }

    fn power_cut(&mut self) {
        self.pages.clear();
        self.of_all = (0, 0);
    }

    /// Table II: 6 bits of p_next, 13 of errc; failc takes 3, not 2, to say that a page failed more often than MAXFAIL. What
    /// counts reads is added.
    fn partial_bits(&self, codewords: u32) -> Option<u32> {
        let bits = |most: u32| u32::BITS - most.leading_zeros();
        let FlaresSettings { wsize, maxfail, p_max, .. } = self.settings;
        let most = wsize.saturating_mul(codewords);
        // Where a page is one codeword, their count is that of the reads.
        let counted = if codewords == 1 { 0 } else { bits(most) };
        let errc = bits(most.saturating_mul(u32::from(p_max) + 1));
        Some(bits(p_max.into()) + errc + bits(maxfail + 1) + bits(wsize - 1) + counted)
    }

    fn partials(&self) -> Vec<(Ppn, PartialProfile)> {
        let firsts = (0..).step_by(self.pages_per_block as usize);
        let blocks = firsts.zip(&self.pages).filter_map(|(first, block)| Some((first, block.as_ref()?)));
        let pages = blocks.flat_map(|(first, block)| (first..).map(Ppn).zip(block));
        let kept = pages.map(|(page, window)| (page, self.kept(window)));
        kept.filter(|(_, partial)| *partial != PartialProfile::default()).collect()
    }

    /// Reads of the window until the flush count as made at its time: RBER_rd of them is at most that. The paper says that windows
    /// make good what is lost. Until they have, a page programmed since the flush keeps at least the code that it has: what asked
    /// for that may be what was lost.
    fn restore(&mut self, page: Ppn, found: &FoundProfile) {
        let PartialProfile { p_next, errc, failc, reads, codewords } = found.flushed;
        let written = found.beside.filter(|_| found.is_newer).map_or(0, |beside| beside.capability.0);
        let p_next = p_next.0.max(written).min(self.settings.p_max);
        let retained = match &found.beside {
            Some(beside) => (self.rber_rd(beside.pe, beside.hours) * f64::from(codewords)) as f32,
            None => 0.0,
        };
        let window = Window { p_next, failc, reads, codewords, errc, retained, ..Window::default() };
        if window != Window::default() {
            *self.window(page) = window;
        }
    }

    fn boxed_clone(&self) -> Box<dyn EccPolicy> {
        Box::new(self.clone())
    }
}
