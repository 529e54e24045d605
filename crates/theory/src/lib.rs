//! Write amplification in formulas: flash writes for each host write, in steady state.
//!
//! Conventions: U user pages; T pages that can hold data while garbage collection chooses its
//! victim, so without free reserve and open blocks; spare factor Sf = (T - U) / T; b pages a
//! block. Written from the papers, not from the engine.
//!
//! A crate of its own because its simulation takes four times as long when it is not optimised, as the tests are not.
#![expect(missing_docs, reason = "tests alone use it")]

pub mod greedy_log;

/// The root of an increasing function between `low` and `high`.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    assert!(f(low) <= 0.0 && f(high) >= 0.0, "no root between {low} and {high}");
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}

/// Principal branch of the Lambert W function for -1/e < z < 0. Newton from w = 0: w e^w - z
/// is convex and rises right of -1, so the steps approach the root from one side.
fn lambert_w(z: f64) -> f64 {
    let mut w: f64 = 0.0;
    for _ in 0..100 {
        w -= (w * w.exp() - z) / (w.exp() * (w + 1.0));
    }
    w
}

/// FIFO (= LRU) victims, any block size. Desnoyers, SYSTOR 2012; Xiang and Kurkoski, 2012.
pub fn fifo(spare: f64) -> f64 {
    let a = 1.0 / (1.0 - spare);
    a / (a + lambert_w(-a * (-a).exp()))
}

/// Greedy victims, mean field (number of blocks to infinity). Van Houdt, SIGMETRICS 2013.
///
/// All blocks hold at least i valid pages; for every j > i a share k / j of them holds j.
pub fn greedy(spare: f64, block_pages: u32) -> f64 {
    let (rho, b) = (1.0 - spare, f64::from(block_pages));
    let mut harmonic = 0.0;
    for i in (0..block_pages).rev().map(f64::from) {
        harmonic += 1.0 / (i + 1.0);
        let denominator = (b - i) - i * harmonic;
        if denominator <= 0.0 {
            continue;
        }
        let k = (rho * b - i) / denominator;
        let lowest = 1.0 - harmonic * k;
        if k > 0.0 && lowest > -1e-12 && (i == 0.0 || lowest <= k / i + 1e-12) {
            return k / rho;
        }
    }
    unreachable!("a spare factor of {spare} has a steady state")
}

/// The emptiest of `d` blocks drawn at random with replacement. Van Houdt, SIGMETRICS 2013:
/// i m_i kappa = 1 - M_i^d, where M_i is the share of blocks with at least i valid pages.
pub fn d_choices(spare: f64, block_pages: u32, d: i32) -> f64 {
    let rho = 1.0 - spare;
    let valid_pages = |kappa: f64| {
        let (mut at_least, mut pages) = (0.0, 0.0);
        for i in (1..=block_pages).rev().map(f64::from) {
            let with_i = root(at_least, 1.0, |m: f64| m - at_least - kappa / i * (1.0 - m.powi(d)));
            pages += i * (with_i - at_least);
            at_least = with_i;
        }
        pages
    };
    root(1e-6, 1.0 / spare + 1.0, |kappa| valid_pages(kappa) - rho * f64::from(block_pages)) / rho
}

/// Pages of one class: their share of all pages, and the share of writes they receive.
#[derive(Clone, Copy)]
pub struct Class {
    pub pages: f64,
    pub writes: f64,
}

/// FIFO victims, classes of pages mixed in one log: a page of a class is written again every
/// min(exponential time, one revolution of the log).
pub fn fifo_of_classes(spare: f64, classes: &[Class]) -> f64 {
    let a = 1.0 / (1.0 - spare);
    let written = |wa: f64| classes.iter().map(|c| c.writes / -(-(c.writes / c.pages) * a / wa).exp_m1()).sum::<f64>();
    root(1.0 + 1e-12, 1e4, |wa| wa - written(wa))
}

/// Static RAID-5 over `chips`, N data strips and parity: every page write rewrites parity too,
/// so N + 1 classes' worth of pages live, and parity, 1 / (N + 1) of them, takes half the writes.
pub fn static_raid5(raw_spare: f64, chips: u32) -> f64 {
    let n = f64::from(chips - 1);
    let spare = 1.0 - (1.0 - raw_spare) * (1.0 + 1.0 / n);
    let data = Class { pages: n / (n + 1.0), writes: 0.5 };
    let parity = Class { pages: 1.0 / (n + 1.0), writes: 0.5 };
    2.0 * fifo_of_classes(spare, &[data, parity])
}

/// A log of superblocks with one parity in each row of `chips` pages; `gc` gives the
/// write amplification at the spare factor that parity leaves.
pub fn superblock_log(raw_spare: f64, chips: u32, gc: impl Fn(f64) -> f64) -> f64 {
    let widening = f64::from(chips) / f64::from(chips - 1);
    widening * gc(1.0 - (1.0 - raw_spare) * widening)
}

/// A reference table: comma-separated, one line of names.
pub struct Table {
    names: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

impl Table {
    pub fn new(text: &'static str) -> Self {
        let mut lines = text.lines().map(|line| line.split(',').collect());
        Self { names: lines.next().expect("a line of names"), rows: lines.collect() }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { names: &self.names, cells })
    }
}

/// A row of a reference table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    names: &'a [&'static str],
    cells: &'a [&'static str],
}

impl Row<'_> {
    pub fn text(&self, name: &str) -> &'static str {
        self.cells[self.names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no column {name}"))]
    }

    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_else(|e| panic!("{name} {}: {e}", self.text(name)))
    }

    pub fn count(&self, name: &str) -> u32 {
        self.text(name).parse().unwrap_or_else(|e| panic!("{name} {}: {e}", self.text(name)))
    }

    /// Whether `value`, rounded to `decimals`, is what the table prints. (The table drops
    /// trailing zeros, so its text does not tell how many there are.)
    pub fn prints(&self, name: &str, decimals: i32, value: f64) -> bool {
        (self.number(name) - value).abs() <= 0.5001 * 10f64.powi(-decimals)
    }
}
