//! Odds of a page code by formula, over the pages of a block.

use common::Problem;
use experiment::Experiment;
use ssd::coding::odds::binomial::ln_mixed;
use ssd::coding::odds::stripes::ln_page_loss;
use ssd::ecc::ldpc::{LdpcCurves, Stage};
use ssd::ecc::{CellModel, CodeKind, Codeword, EccShape, Layout};
use ssd::nand::ProgramUnit;
use ssd::nand::rber::{PageSite, RberModel, Stress, find};
use ssd::protect::SchemeChoice;
use ssd::{Ecc, ReadRetry};
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::Capability;

/// The error model, as a policy may ask it.
#[derive(Debug)]
struct Cells(RberModel);

impl CellModel for Cells {
    fn rber(&self, pe: f64, hours: f64) -> f64 {
        self.0.rber(&Stress { pe, retention_hours: hours, reads: 0.0 })
    }

    fn best_rber(&self, pe: f64, hours: f64) -> f64 {
        self.0.best_rber(&Stress { pe, retention_hours: hours, reads: 0.0 })
    }
}

/// Points of the table of losses by rate, for each factor of ten, and the least rate in it: no code fails there.
const POINTS_A_DECADE: f64 = 50.0;
const LEAST_RATE: f64 = 1e-6;

/// The page code of a design at its strongest, with what was asked of it.
#[derive(Debug)]
pub(super) struct PageCode {
    model: RberModel,
    layout: Layout,
    strongest: Capability,
    stage: Stage,
    /// Whether read retry moves the read reference voltages.
    moves_references: bool,
    pages: u32,
    odds: BTreeMap<(u64, u64), (f64, f64)>,
    likely: BTreeMap<(u64, u64, u64), f64>,
    /// `ln` of the probability that a logical page cannot be read, by rate; once it was asked for.
    losses: Option<Vec<f64>>,
}

impl PageCode {
    /// That of an experiment.
    ///
    /// # Errors
    /// A code that is not known, or does not fit beside a page.
    pub fn of(experiment: &Experiment, ecc: &Ecc) -> Result<Self, Problem> {
        let fail = |message: String| Problem::new("ecc", message);
        let entry = ssd::ecc::find(&ecc.policy).map_err(|e| fail(e.to_string()))?;
        let codeword = Codeword { kind: entry.kind, ..Codeword::find(&ecc.codeword).map_err(fail)? };
        let model = find(&experiment.errors.model).map_err(|e| fail(e.to_string()))?.model;
        let geometry = &experiment.drive.geometry;
        let (pages_per_block, cells) = (geometry.pages_per_block, Arc::new(Cells(model)));
        let choice = SchemeChoice { name: ecc.policy.clone(), options: ecc.options.clone() };
        let policy = ssd::ecc::build(&choice, &EccShape { codeword, pages_per_block, cells }).map_err(|e| fail(e.to_string()))?;
        let strongest = policy.strongest();
        let layout = Layout::new(codeword, geometry, strongest).map_err(fail)?;
        let sensed = experiment.drive.timing.unit.as_ref().map_or(1, ProgramUnit::sensed);
        let moves_references = ecc.read_retry != ReadRetry::None;
        let stage = match if moves_references { ecc.soft_bits } else { 1 } {
            1 => Stage::Hard,
            2 => Stage::TwoBit,
            _ => Stage::ThreeBit,
        };
        let pages = (pages_per_block / sensed).max(1);
        let (odds, likely) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { model, layout, strongest, stage, moves_references, pages, odds, likely, losses: None })
    }

    /// `ln` of the probability that a logical page cannot be read at a rate.
    fn ln_loss(&self, rber: f64) -> f64 {
        let word = match self.layout.codeword.kind {
            CodeKind::Bch => self.layout.codeword.code.ln_failure(self.strongest.0.into(), rber),
            CodeKind::Ldpc => {
                let curves = LdpcCurves::of(self.layout.codeword.code.data_bits).expect("the policy was built");
                curves.curve(self.strongest, self.stage).failures_at(rber).min(1.0).ln()
            }
        };
        ln_page_loss(word.min(0.0), self.layout.per_slot)
    }

    /// [`Self::ln_loss`] by rate, [`POINTS_A_DECADE`] from [`LEAST_RATE`] on.
    fn table(&self) -> Vec<f64> {
        let points = ((0.5 / LEAST_RATE).log10() * POINTS_A_DECADE).ceil() as u32;
        let rate = |at: u32| (LEAST_RATE * 10f64.powf(f64::from(at) / POINTS_A_DECADE)).min(0.5);
        (0..=points).map(|at| self.ln_loss(rate(at))).collect()
    }

    /// The rate of each page of a block with its best references.
    fn rates(&self, pe: f64, hours: f64) -> Vec<f64> {
        let stress = Stress { pe, retention_hours: hours, reads: 0.0 };
        let rate = |page: u32| {
            let site = PageSite { page, pages_per_block: self.pages };
            let offset = if self.moves_references { self.model.optimum(&stress, site) } else { 0.0 };
            self.model.rber_at(&stress, site, offset, 0.0)
        };
        (0..self.pages).map(rate).collect()
    }

    /// Probability that a page of a block cannot be read which does not vary from what the model says: mean and least of its pages.
    pub fn odds(&mut self, pe: f64, hours: f64) -> (f64, f64) {
        if let Some(known) = self.odds.get(&(pe.to_bits(), hours.to_bits())) {
            return *known;
        }
        let odds: Vec<f64> = self.rates(pe, hours).into_iter().map(|rber| self.ln_loss(rber).exp()).collect();
        let found = (odds.iter().sum::<f64>() / odds.len() as f64, odds.iter().copied().fold(1.0, f64::min));
        self.odds.insert((pe.to_bits(), hours.to_bits()), found);
        found
    }

    /// The same of pages that vary by sigma, roughly: the worst page of a block stands for a quarter of them.
    pub fn likely(&mut self, pe: f64, hours: f64, sigma: f64) -> f64 {
        // In classes of a twentieth, which is enough to rank designs.
        let class = |value: f64| (value.max(1.0).ln() * 20.0).round();
        let key = (class(pe).to_bits(), class(hours).to_bits(), sigma.to_bits());
        if let Some(known) = self.likely.get(&key) {
            return *known;
        }
        let worst = self.rates((class(pe) / 20.0).exp(), (class(hours) / 20.0).exp()).into_iter().fold(0.0, f64::max);
        // A mixture asks for thousands of rates, and a code takes its time.
        let losses = self.losses.take().unwrap_or_else(|| self.table());
        let found = if worst == 0.0 { 0.0 } else { 0.25 * ln_mixed(worst, sigma, |rber| ln_at(&losses, rber)).exp() };
        self.losses = Some(losses);
        self.likely.insert(key, found);
        found
    }
}

/// The value of a table of [`PageCode::table`] at a rate: a line between its points.
fn ln_at(losses: &[f64], rber: f64) -> f64 {
    if rber <= LEAST_RATE {
        return f64::NEG_INFINITY;
    }
    let (at, last) = ((rber / LEAST_RATE).log10() * POINTS_A_DECADE, losses.len() - 1);
    let (low, high) = (losses[(at as usize).min(last)], losses[(at as usize + 1).min(last)]);
    if low == f64::NEG_INFINITY { low } else { low + at.fract() * (high - low) }
}
