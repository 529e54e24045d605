//! Information from reads of a cell: two overlapping Gaussians, cut by one, three or seven reads.
//!
//! A bit 0 gives a voltage about +1, a bit 1 one about -1, with one standard deviation sigma: the read at 0 is wrong with
//! probability RBER = Q(1 / sigma). Soft reads add thresholds at +-t, at equal distances on both sides. They are chosen
//! so that the region of a voltage tells most of the bit (mutual information). A region further out is surer, and its
//! log-likelihood ratio, scaled to small whole numbers, is what the decoder starts from.

use super::Soft;

/// How often cells are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Once: the bit.
    Hard,
    /// Three times: the bit and whether it is a sure one.
    TwoBit,
    /// Seven times: the bit and one of four degrees of sureness.
    ThreeBit,
}

impl Stage {
    /// All stages, in the order in which a drive tries them.
    pub const ALL: [Stage; 3] = [Stage::Hard, Stage::TwoBit, Stage::ThreeBit];

    /// Reads of a cell.
    #[must_use]
    pub fn reads(self) -> u32 {
        [1, 3, 7][self as usize]
    }

    /// Degrees of sureness that the reads tell apart.
    #[must_use]
    pub fn degrees(self) -> usize {
        [1, 2, 4][self as usize]
    }

    /// `hard`, `2-bit` or `3-bit`.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["hard", "2-bit", "3-bit"][self as usize]
    }
}

/// Cells at one raw bit error rate, read in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// How they are read.
    pub stage: Stage,
    /// Share of bits that the read in the middle gets wrong.
    pub rber: f64,
    /// Thresholds above 0, in units of half the distance of the two means, ascending; the others are minus these.
    pub thresholds: Vec<f64>,
    /// Probability that a bit is wrong and has the degree of sureness, and that it is right and has it: by degree,
    /// unsurest first.
    pub odds: Vec<[f64; 2]>,
    /// Log-likelihood ratios by degree as the decoder takes them: 1 to 31.
    pub magnitudes: [i8; 4],
}

/// The magnitude of the surest degree: min-sum knows no scale, so this says how finely ratios are rounded, and how far
/// from it messages are cut off.
const SUREST: f64 = 24.0;

impl Channel {
    /// The channel with a raw bit error rate between 0 and 0.5, both excluded; others are taken as the nearest.
    #[must_use]
    pub fn new(stage: Stage, rber: f64) -> Self {
        let rber = rber.clamp(1e-9, 0.49);
        let sigma = sigma(rber);
        let thresholds = best_thresholds(stage.degrees() - 1, sigma);
        let odds = odds(&thresholds, sigma);
        let ratio = |[wrong, right]: [f64; 2]| (right / wrong.max(1e-300)).ln();
        let surest = odds.iter().map(|odds| ratio(*odds)).fold(1e-9, f64::max);
        let magnitude = |degree: usize| {
            let odds = odds[degree.min(odds.len() - 1)];
            (ratio(odds) / surest * SUREST).round().clamp(1.0, SUREST) as i8
        };
        let magnitudes = std::array::from_fn(magnitude);
        Channel { stage, rber, thresholds, odds, magnitudes }
    }

    /// The same thresholds and magnitudes over cells of another raw bit error rate: what a controller has that knows the rate
    /// of a page only roughly. Far quicker than [`Channel::new`], which looks for the best thresholds.
    #[must_use]
    pub fn over(&self, rber: f64) -> Self {
        let rber = rber.clamp(1e-9, 0.49);
        Channel { rber, odds: odds(&self.thresholds, sigma(rber)), ..self.clone() }
    }

    /// Bits that a reading of the channel tells of a bit.
    #[must_use]
    pub fn information(&self) -> f64 {
        information(&self.odds)
    }

    /// The planes as the decoder takes them; [`Stage`] says how many there are.
    #[must_use]
    pub fn soft<'a>(&self, low: &'a [u8], high: &'a [u8]) -> Soft<'a> {
        match self.stage {
            Stage::Hard => Soft::Hard,
            Stage::TwoBit => Soft::TwoBit { sure: low, magnitudes: [self.magnitudes[0], self.magnitudes[1]] },
            Stage::ThreeBit => Soft::ThreeBit { degree: [low, high], magnitudes: self.magnitudes },
        }
    }

    /// Draws which of 64 bits are wrong, each on its own.
    pub fn draw_wrong(&self, random: &mut impl FnMut() -> u64) -> u64 {
        choose(u64::MAX, self.rber, random)
    }

    /// Draws the degrees of sureness of 64 bits of which those in `wrong` are wrong: a word for each plane.
    pub fn draw_degrees(&self, wrong: u64, random: &mut impl FnMut() -> u64) -> [u64; 2] {
        let mut planes = [0; 2];
        for (lanes, side) in [(wrong, 0), (!wrong, 1)] {
            let odds = |from: usize, to: usize| self.odds[from..to].iter().map(|odds| odds[side]).sum::<f64>();
            match self.stage {
                Stage::Hard => {}
                Stage::TwoBit => planes[0] |= choose(lanes, odds(1, 2) / odds(0, 2), random),
                Stage::ThreeBit => {
                    let high = choose(lanes, odds(2, 4) / odds(0, 4), random);
                    planes[1] |= high;
                    planes[0] |= choose(lanes & !high, odds(1, 2) / odds(0, 2), random);
                    planes[0] |= choose(high, odds(3, 4) / odds(2, 4), random);
                }
            }
        }
        planes
    }
}

/// Each of the lanes with this probability: random numbers, a bit of all lanes at a time from the highest on, are compared
/// with it until every lane is decided.
fn choose(lanes: u64, probability: f64, random: &mut impl FnMut() -> u64) -> u64 {
    let (mut digits, mut undecided, mut chosen) = ((probability * 2_f64.powi(64)) as u64, lanes, 0);
    while undecided != 0 && digits != 0 {
        let bits = random();
        if digits >> 63 == 1 {
            chosen |= undecided & !bits;
            undecided &= bits;
        } else {
            undecided &= !bits;
        }
        digits <<= 1;
    }
    chosen
}

/// By degree: the probabilities of a wrong and of a right bit between two thresholds.
fn odds(thresholds: &[f64], sigma: f64) -> Vec<[f64; 2]> {
    let edge = |at: usize| if at == 0 { 0.0 } else { thresholds.get(at - 1).copied().unwrap_or(f64::INFINITY) };
    let between = |mean: f64, at: usize| tail((edge(at) - mean) / sigma) - tail((edge(at + 1) - mean) / sigma);
    (0..=thresholds.len()).map(|at| [between(-1.0, at), between(1.0, at)]).collect()
}

fn information(odds: &[[f64; 2]]) -> f64 {
    let part = |p: f64, total: f64| if p > 0.0 { p * (2.0 * p / total).log2() } else { 0.0 };
    odds.iter().map(|[wrong, right]| part(*wrong, wrong + right) + part(*right, wrong + right)).sum()
}

/// The thresholds that tell most: each is moved to its best place between its neighbours, in turns.
fn best_thresholds(count: usize, sigma: f64) -> Vec<f64> {
    let mut thresholds: Vec<f64> = (1..=count).map(|at| 0.5 * at as f64 / count as f64).collect();
    for _ in 0..60 {
        for at in 0..count {
            let low = if at == 0 { 0.0 } else { thresholds[at - 1] };
            let high = thresholds.get(at + 1).copied().unwrap_or(2.0);
            let mut trial = thresholds.clone();
            let mut loss = |place: f64| {
                trial[at] = place;
                -information(&odds(&trial, sigma))
            };
            thresholds[at] = least(low, high, &mut loss);
        }
    }
    thresholds
}

/// Where a function with one minimum between two places is least: golden section.
fn least(mut low: f64, mut high: f64, of: &mut impl FnMut(f64) -> f64) -> f64 {
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..32 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if of(a) < of(b) { high = b } else { low = a }
    }
    f64::midpoint(low, high)
}

/// The standard deviation at which the read in the middle is wrong with this probability.
fn sigma(rber: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > rber { low = middle } else { high = middle }
    }
    1.0 / f64::midpoint(low, high)
}

/// Probability that a normal variable of mean 0 and deviation 1 is above x: a series near 0, a continued fraction
/// in the tail (Abramowitz and Stegun, 26.2.11 and 26.2.14).
pub(super) fn tail(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - tail(-x);
    }
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x > 4.0 {
        let fraction = (1..60).rev().fold(x, |fraction, k| x + f64::from(k) / fraction);
        return density / fraction;
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..80 {
        term *= x * x / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 - density * sum
}
