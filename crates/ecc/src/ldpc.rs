//! LDPC codes of pages: how likely a codeword with this many errors cannot be decoded, and how long decoding takes, by how
//! finely the cells are sensed.
//!
//! Source: the codes of [`coding::ldpc`] and their curves, measured with the decoder itself (`docs/ldpc.md`): words with exactly
//! this many wrong bits, a probit line fitted to their losses, and the floor of what small sets lose. That page says down to which
//! frame error rate they were measured. Time is a model of hardware, and not what the decoder takes in software.
//!
//! A [`Curve`] is what everything above asks. Where pages carry their bytes the decoder itself runs besides.

pub use coding::ldpc::Stage;

use coding::ldpc::Code;
use std::sync::OnceLock;
use vocab::{Capability, Nanos};

/// Iterations after which the decoder gives up.
pub const ITERATIONS_MAX: f64 = 30.0;

/// Time of a decoder for 4 KiB: 0.6 us, and 0.42 us for each iteration. So it takes 1.7 us at 120 errors and 13.2 us when it
/// fails, as a table of decoding times in Xerxes' SimpleSSD has it for codewords of about this size.
const TIME: (f64, f64) = (600.0, 420.0);

/// Whether decoding succeeds, by the bits of a codeword that the read in the middle finds wrong: the measured curve of a code
/// and stage, as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    bits: u32,
    /// Count of an error beyond the mean of its rate, in errors of the rate: among the words of one rate, those with more errors have
    /// cells no less sure than the others, so soft reads tell the decoder as much of the right bits.
    counts: f64,
    /// By errors: probability of failure, and iterations where decoding succeeds. With more errors than these it fails.
    by_errors: Vec<(f64, f64)>,
}

impl Curve {
    /// The curve of a code at a stage.
    #[must_use]
    pub fn of(code: &Code, stage: Stage) -> Self {
        let measured = coding::ldpc::Curve::of(code, stage);
        let bits = code.bits() as u32;
        let point = |errors: u32| (measured.failure(errors.into()), measured.mean_iterations(errors.into()));
        let by_errors = (0..=bits).map(point).take_while(|(failure, _)| *failure < 1.0).collect();
        Self { bits, counts: measured.tail.counts, by_errors }
    }

    /// The errors that a word of this rate is as hard to decode as, in a table where the rate follows from them.
    fn effective(&self, errors: f64, rber: f64) -> f64 {
        let mean = f64::from(self.bits) * rber;
        (mean + self.counts * (errors - mean)).max(0.0)
    }

    /// The table at a place between two numbers of errors; `None`: all fail.
    fn at(&self, errors: f64) -> Option<(f64, f64)> {
        let (least, share) = (errors as usize, errors.fract());
        let low = *self.by_errors.get(least)?;
        let high = self.by_errors.get(least + 1).copied().unwrap_or((1.0, low.1));
        Some((low.0 + share * (high.0 - low.0), low.1 + share * (high.1 - low.1)))
    }

    /// Probability that a codeword with this many errors, read of cells at this raw bit error rate, cannot be decoded.
    #[must_use]
    pub fn failure(&self, errors: u32, rber: f64) -> f64 {
        if errors == 0 {
            return 0.0;
        }
        self.at(self.effective(errors.into(), rber)).map_or(1.0, |(failure, _)| failure)
    }

    /// Iterations that it takes with this many errors, on average.
    #[must_use]
    pub fn iterations(&self, errors: u32, rber: f64, decoded: bool) -> f64 {
        if errors == 0 {
            return 0.0;
        }
        let known = self.at(self.effective(errors.into(), rber)).filter(|_| decoded);
        known.map_or(ITERATIONS_MAX, |(_, iterations)| iterations)
    }

    /// The share of codewords that cannot be decoded at a raw bit error rate, each bit being wrong on its own.
    #[must_use]
    pub fn failures_at(&self, rber: f64) -> f64 {
        if rber <= 0.0 {
            return 0.0;
        }
        // Binomial terms one from the other; their logarithms, as the first ones are too small for numbers.
        let (bits, odds) = (f64::from(self.bits), (rber / (1.0 - rber)).ln());
        let (mut ln_term, mut below, mut failing) = (bits * (-rber).ln_1p(), 0.0, 0.0);
        for errors in 0..=self.bits {
            let errors = f64::from(errors);
            let Some((failure, _)) = self.at(self.effective(errors, rber)) else { break };
            let term: f64 = ln_term.exp();
            below += term;
            failing += term * failure;
            ln_term += ((bits - errors) / (errors + 1.0)).ln() + odds;
        }
        // With still more errors all fail. What rounding leaves of their share is not taken for one.
        let beyond = 1.0 - below;
        failing + if beyond > 1e-9 { beyond } else { ln_term.exp() }
    }

    /// The raw bit error rate at which so small a share of codewords fails.
    #[must_use]
    pub fn max_rber(&self, failures: f64) -> f64 {
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if self.failures_at(middle) < failures { low = middle } else { high = middle }
        }
        low
    }

    /// Bits of a codeword.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }
}

/// Rows of circulants that are parity, of the codes there are: rates 128 / (128 + rows). They are the capability of a page.
pub const ROWS: [Capability; 3] = [Capability(10), Capability(14), Capability(16)];

/// Names of the rates of [`ROWS`].
pub const RATES: [&str; 3] = ["0.928", "0.901", "0.889"];

/// Sizes of codewords that there are codes of, in data bits.
const DATA_BITS: [u32; 3] = [8192, 16_384, 32_768];

/// Parity bits beside this many data bits.
#[must_use]
pub fn parity_bits(data_bits: u32, rows: Capability) -> u32 {
    data_bits / 128 * u32::from(rows.0)
}

/// Whether there are codes of this many data bits.
#[must_use]
pub fn is_known(data_bits: u32) -> bool {
    DATA_BITS.contains(&data_bits)
}

/// Which of [`ROWS`] the code of a page has. A page whose capability is none of them has the weakest.
fn row_of(rows: Capability) -> usize {
    ROWS.iter().position(|&known| known == rows).unwrap_or(0)
}

/// The code of this many data bits and rows of parity; `None`: there is none of that size.
#[must_use]
pub fn code(data_bits: u32, rows: Capability) -> Option<&'static Code> {
    is_known(data_bits)
        .then(|| format!("ldpc-{}k-{}-2", data_bits / 8192, RATES[row_of(rows)]))
        .and_then(|name| Code::find(&name))
}

/// The curves of one size of codeword.
#[derive(Clone, Debug)]
pub struct LdpcCurves {
    data_bits: u32,
    of_rows: Vec<[Curve; 3]>,
}

impl LdpcCurves {
    /// Those measured for this many data bits; `None`: there are none.
    #[must_use]
    pub fn of(data_bits: u32) -> Option<&'static Self> {
        static CURVES: [OnceLock<Option<LdpcCurves>>; DATA_BITS.len()] = [const { OnceLock::new() }; DATA_BITS.len()];
        let at = DATA_BITS.iter().position(|&known| known == data_bits)?;
        CURVES[at].get_or_init(|| Self::measured(data_bits)).as_ref()
    }

    fn measured(data_bits: u32) -> Option<Self> {
        let of_row = |&rows: &Capability| code(data_bits, rows).map(|code| Stage::ALL.map(|stage| Curve::of(code, stage)));
        Some(Self { data_bits, of_rows: ROWS.iter().map(of_row).collect::<Option<_>>()? })
    }

    /// The curve of a code. A page whose capability is none of [`ROWS`] has the weakest.
    #[must_use]
    pub fn curve(&self, rows: Capability, stage: Stage) -> &Curve {
        &self.of_rows[row_of(rows)][stage as usize]
    }

    /// Time of a decoder for a codeword after this many iterations.
    #[must_use]
    pub fn decode_time(&self, iterations: f64) -> Nanos {
        let (start, each) = TIME;
        Nanos(((start + each * iterations) * f64::from(self.data_bits) / 32_768.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates of one failure in 100, and in 1000, that a prototype in floating point of the same construction, with other
    /// matrices, has: by data bits, [`ROWS`] and [`Stage`]. Its points have 60 failures, ours 20 to 60, each about 1 % in rate.
    type Thresholds = [[(f64, f64); 3]; 3];
    const PROTOTYPE: [(u32, Thresholds); 3] = [
        (
            8192,
            [
                [(3.60e-3, 3.07e-3), (9.25e-3, 8.46e-3), (1.10e-2, 1.02e-2)],
                [(5.84e-3, 5.18e-3), (1.35e-2, 1.27e-2), (1.58e-2, 1.49e-2)],
                [(7.04e-3, 6.32e-3), (1.56e-2, 1.47e-2), (1.80e-2, 1.72e-2)],
            ],
        ),
        (
            16_384,
            [
                [(4.07e-3, 3.65e-3), (9.96e-3, 9.45e-3), (1.18e-2, 1.12e-2)],
                [(6.43e-3, 5.95e-3), (1.44e-2, 1.37e-2), (1.67e-2, 1.59e-2)],
                [(7.60e-3, 7.19e-3), (1.65e-2, 1.59e-2), (1.90e-2, 1.84e-2)],
            ],
        ),
        (
            32_768,
            [
                [(4.43e-3, 4.15e-3), (1.06e-2, 1.01e-2), (1.23e-2, 1.19e-2)],
                [(6.87e-3, 6.54e-3), (1.50e-2, 1.45e-2), (1.73e-2, 1.67e-2)],
                [(8.13e-3, 7.71e-3), (1.73e-2, 1.68e-2), (1.97e-2, 1.93e-2)],
            ],
        ),
    ];

    #[test]
    fn as_many_codewords_fail_as_of_the_prototype() {
        for (data_bits, thresholds) in PROTOTYPE {
            let curves = LdpcCurves::of(data_bits).unwrap();
            for (rows, of_row) in ROWS.into_iter().zip(thresholds) {
                for (stage, (one_in_100, one_in_1000)) in Stage::ALL.into_iter().zip(of_row) {
                    for (failures, expected) in [(1e-2, one_in_100), (1e-3, one_in_1000)] {
                        let found = curves.curve(rows, stage).max_rber(failures);
                        assert!((found / expected - 1.0).abs() < 0.05, "{data_bits} bits, {rows:?}, {stage:?}: {found}");
                    }
                }
            }
        }
    }

    /// The curve of a code and stage by their names.
    fn curve_of(code: &str, stage: &str) -> (&'static Curve, Stage) {
        let bits = 8 * coding::ldpc::Code::find(code).expect("a code").data_bytes() as u32;
        let rate = RATES.iter().position(|rate| code.contains(rate)).expect("a rate");
        let stage = Stage::ALL.into_iter().find(|known| known.name() == stage).expect("a stage");
        (LdpcCurves::of(bits).unwrap().curve(ROWS[rate], stage), stage)
    }

    /// Words at raw bit error rates, with the 95 % interval of the share that was lost.
    const AT_RATES: &str = include_str!("../../../experiments/ldpc/rates.csv");

    /// Curves were measured at numbers of errors, these rows at raw bit error rates, each bit being wrong on its own. Catches a curve that is
    /// another code's, and counts of errors that do not hold. An interval of 95 % misses what is true once in twenty times: were curves exact,
    /// more than one of eight would be outside for some 25 rows three times in a hundred.
    #[test]
    fn curves_are_within_what_was_measured_at_rates() {
        let rows: Vec<&str> = AT_RATES.lines().skip(1).collect();
        let is_outside = |row: &&&str| {
            let fields: Vec<&str> = row.split(',').collect();
            let [rber, low, high] = [2, 7, 8].map(|at| fields[at].parse::<f64>().expect("a number"));
            !(low..high).contains(&curve_of(fields[0], fields[1]).0.failures_at(rber))
        };
        let outside: Vec<&&str> = rows.iter().filter(is_outside).collect();
        assert!(rows.len() > 20 && 8 * outside.len() <= rows.len(), "{} of {}: {outside:#?}", outside.len(), rows.len());
    }

    /// Independent of any decoder: what a wrong bit takes of the information beyond a right one, in errors of a higher rate. Catches counts
    /// of another stage, and counts that are not of this channel: min-sum loses some of the information, but less than a tenth.
    #[test]
    fn an_error_counts_less_than_it_takes_of_the_information() {
        for stage in [Stage::TwoBit, Stage::ThreeBit] {
            let (rber, step) = (1e-2, 1e-4);
            let [channel, higher] = [rber, rber + step].map(|rber| coding::ldpc::Channel::new(stage, rber));
            let bits = |side: usize| {
                let all: f64 = channel.odds.iter().map(|odds| odds[side]).sum();
                let lost = channel.odds.iter().map(|odds| -(odds[side] / (odds[0] + odds[1])).log2() * odds[side]);
                lost.sum::<f64>() / all
            };
            let of_rate = (channel.information() - higher.information()) / step;
            let of_information = (bits(0) - bits(1)) / of_rate;
            for code in coding::ldpc::Code::names().filter_map(coding::ldpc::Code::find) {
                let counts = Curve::of(code, stage).counts;
                assert!((0.85..1.0).contains(&(counts / of_information)), "{code:?}, {stage:?}: {counts}, {of_information}");
            }
        }
    }

    #[test]
    fn more_parity_and_finer_sensing_bear_more() {
        for data_bits in DATA_BITS {
            let curves = LdpcCurves::of(data_bits).unwrap();
            for failures in [1e-3, 1e-9] {
                let bears = |rows| Stage::ALL.map(|stage| curves.curve(rows, stage).max_rber(failures));
                for pair in ROWS.windows(2) {
                    assert!(bears(pair[0])[0] < bears(pair[1])[0], "{data_bits}, {failures}");
                }
                for rows in ROWS {
                    let [hard, two, three] = bears(rows);
                    assert!(hard < two && two < three, "{data_bits}, {failures}: {hard}, {two}, {three}");
                }
            }
        }
        assert!(LdpcCurves::of(4096).is_none());
    }

    /// The decoding times of Xerxes' table, of a code of the class of 4 KiB at rate 0.901: 1.72 us at 120 errors, 3.7 us at
    /// 240, 13.2 us at 320, when it fails. Time here is linear in iterations, so a third off in between.
    #[test]
    fn decoding_takes_as_long_as_in_the_table() {
        let curves = LdpcCurves::of(32_768).unwrap();
        let curve = curves.curve(ROWS[1], Stage::Hard);
        for (errors, decoded, us) in [(120, true, 1.72), (200, true, 2.64), (240, true, 3.7), (320, false, 13.2)] {
            let rber = f64::from(errors) / f64::from(curve.bits());
            let found = curves.decode_time(curve.iterations(errors, rber, decoded)).as_micros_f64();
            assert!((found / us - 1.0).abs() < 0.34, "{errors} errors: {found} us, table {us}");
        }
    }

    #[test]
    fn failures_are_those_of_the_binomial_distribution() {
        // A code that bears 3 errors of 100: fails with 1 - sum of C(100, k) p^k (1-p)^(100-k) for k up to 3.
        let curve = Curve { bits: 100, counts: 1.0, by_errors: vec![(0.0, 1.0); 4] };
        assert!((curve.failures_at(0.01) - 1.837_4e-2).abs() < 1e-5, "{}", curve.failures_at(0.01));
        assert!((curve.failures_at(curve.max_rber(1e-4)) / 1e-4 - 1.0).abs() < 1e-6);
        assert_eq!((curve.failures_at(0.0), curve.failure(4, 0.01), curve.iterations(9, 0.01, true)), (0.0, 1.0, ITERATIONS_MAX));
    }
}
