//! LDPC codes of pages: whether a codeword with so many errors can be decoded, and how long that takes, by how finely the
//! cells are sensed.
//!
//! Source: thresholds measured with a prototype of the codes described here: quasi-cyclic, circulants of data bits / 128, rows
//! of circulants as parity, column weight 4, layered normalised min-sum of up to 30 iterations; a hard read is a binary
//! symmetric channel, soft reads are three and seven sensings at the references that tell most. At least 60 failures a point.
//! For each code and sensing there are two raw bit error rates: that at which one codeword in 100 fails, and one in 1000.
//! Differs: between and beyond them failure is taken as a normal distribution. Error floors were not measured: below one
//! codeword in 10 000 nobody has looked.
//!
//! A [`Curve`] is what everything above asks. One measured from another decoder takes its place without any change above.

use vocab::{Capability, Nanos, normal_below};

/// How finely cells are sensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sensing {
    /// One read: a bit of each cell.
    Hard,
    /// Three reads: two bits.
    Soft2,
    /// Seven reads: three bits.
    Soft3,
}

/// Iterations after which the decoder gives up.
pub const ITERATIONS_MAX: f64 = 30.0;

/// Iterations by errors, as a share of those at which one codeword in 1000 fails: measured over 4 KiB at rate 0.889 with
/// hard reads (2.0 at 2e-3, 2.8 at 4e-3, 3.9 at 6e-3, 6 at 7.7e-3). Beyond, up to [`ITERATIONS_MAX`] at 1.2: assumed.
const ITERATIONS: [(f64, f64); 6] = [(0.0, 1.0), (0.26, 2.0), (0.52, 2.8), (0.78, 3.9), (1.0, 6.0), (1.2, ITERATIONS_MAX)];

/// Time of a decoder for 4 KiB: 0.6 us, and 0.42 us for each iteration. So it takes 1.7 us at 120 errors and 13.2 us when it
/// fails, as a table of decoding times in Xerxes' SimpleSSD has it for codewords of about this size.
const TIME: (f64, f64) = (600.0, 420.0);

/// Whether decoding succeeds, by the bits of a codeword that a hard read finds wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Errors of which every second codeword fails.
    mean: f64,
    /// How far the errors that codewords bear lie from it.
    deviation: f64,
    /// Errors that the rate of one failure in 1000 makes on average.
    one_in_1000: f64,
    bits: f64,
    /// The same distribution over raw bit error rates, with the spread of errors at one rate.
    over_rber: (f64, f64),
}

/// Deviations below the mean of a normal distribution that one in 100, and one in 1000, is.
const ONE_IN_100: f64 = 2.326_348;
const ONE_IN_1000: f64 = 3.090_232;

impl Curve {
    /// A curve through the raw bit error rates at which one codeword in 100, and one in 1000, fails.
    ///
    /// At one rate codewords have more or fewer errors, a binomial number of them. What that does not explain of the spread
    /// between the two points is left to the decoder, a tenth of it at least. Some soft decoders fail over a narrower range of
    /// rates than even errors alone explain, as they see more than what a hard read finds wrong; these get a curve through the
    /// middle of both points, a little flatter than measured.
    #[must_use]
    pub fn from_thresholds(bits: u32, one_in_100: f64, one_in_1000: f64) -> Self {
        let bits = f64::from(bits);
        let middle = (one_in_100 + one_in_1000) / 2.0;
        let of_errors = (middle * (1.0 - middle) / bits).sqrt();
        let seen = (one_in_100 - one_in_1000) / (ONE_IN_1000 - ONE_IN_100);
        let of_decoder = (seen * seen - of_errors * of_errors).max(0.0).sqrt().max(of_errors / 10.0);
        let all = of_decoder.hypot(of_errors);
        let mean = middle + (ONE_IN_100 + ONE_IN_1000) / 2.0 * all;
        let (deviation, one_in_1000) = (bits * of_decoder, bits * one_in_1000);
        Self { mean: bits * mean, deviation, one_in_1000, bits, over_rber: (mean, all) }
    }

    /// Probability that a codeword with so many errors cannot be decoded.
    #[must_use]
    pub fn failure(&self, errors: u32) -> f64 {
        normal_below((f64::from(errors) - self.mean) / self.deviation)
    }

    /// Iterations that it takes with so many errors.
    #[must_use]
    pub fn iterations(&self, errors: u32, decoded: bool) -> f64 {
        if !decoded {
            return ITERATIONS_MAX;
        }
        let share = f64::from(errors) / self.one_in_1000;
        let Some(above) = ITERATIONS.iter().position(|point| share < point.0) else { return ITERATIONS_MAX };
        let ((low, least), (high, most)) = (ITERATIONS[above - 1], ITERATIONS[above]);
        least + (most - least) * (share - low) / (high - low)
    }

    /// The raw bit error rate at which so small a share of codewords fails.
    #[must_use]
    pub fn max_rber(&self, failures: f64) -> f64 {
        let (mean, deviation) = self.over_rber;
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if normal_below(-middle) > failures { low = middle } else { high = middle }
        }
        (mean - high * deviation).max(0.0)
    }

    /// Bits of a codeword.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits as u32
    }
}

/// Rows of circulants that are parity, of the codes there are: rates 128 / (128 + rows). They are the capability of a page.
pub const ROWS: [Capability; 3] = [Capability(10), Capability(14), Capability(16)];

/// Names of the rates of [`ROWS`].
pub const RATES: [&str; 3] = ["0.928", "0.901", "0.889"];

/// Thresholds by data bits, then by [`ROWS`], then by [`Sensing`]: one failure in 100, and in 1000.
type Thresholds = [[(f64, f64); 3]; 3];
const THRESHOLDS: [(u32, Thresholds); 3] = [
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

/// Parity bits beside so many data bits.
#[must_use]
pub fn parity_bits(data_bits: u32, rows: Capability) -> u32 {
    data_bits / 128 * u32::from(rows.0)
}

/// Whether there are codes of so many data bits.
#[must_use]
pub fn is_known(data_bits: u32) -> bool {
    THRESHOLDS.iter().any(|(bits, _)| *bits == data_bits)
}

/// The curves of one size of codeword.
#[derive(Clone, Debug)]
pub struct LdpcCurves {
    data_bits: u32,
    of_rows: [[Curve; 3]; 3],
}

impl LdpcCurves {
    /// Those measured for so many data bits; `None`: there are none.
    #[must_use]
    pub fn of(data_bits: u32) -> Option<Self> {
        let thresholds = THRESHOLDS.iter().find(|(bits, _)| *bits == data_bits)?.1;
        let of_rows = [0, 1, 2].map(|row| {
            let bits = data_bits + parity_bits(data_bits, ROWS[row]);
            thresholds[row].map(|(one_in_100, one_in_1000)| Curve::from_thresholds(bits, one_in_100, one_in_1000))
        });
        Some(Self { data_bits, of_rows })
    }

    /// The curve of a code. A page whose capability is none of [`ROWS`] has the weakest.
    #[must_use]
    pub fn curve(&self, rows: Capability, sensing: Sensing) -> &Curve {
        let row = ROWS.iter().position(|&known| known == rows).unwrap_or(0);
        &self.of_rows[row][sensing as usize]
    }

    /// Time of a decoder for a codeword after so many iterations.
    #[must_use]
    pub fn decode_time(&self, iterations: f64) -> Nanos {
        let (start, each) = TIME;
        Nanos(((start + each * iterations) * f64::from(self.data_bits) / 32_768.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    /// Codewords drawn as a drive draws them, errors first, then whether the decoder bears them, fail as often as was measured,
    /// at the rates at which it was measured: within a factor of 2, as points of 60 failures and two decimals are.
    #[test]
    fn codewords_fail_as_often_as_was_measured() {
        let mut draws = Streams::new(7).stream("ecc/test/ldpc");
        for (data_bits, thresholds) in THRESHOLDS {
            let curves = LdpcCurves::of(data_bits).unwrap();
            for (row, of_row) in thresholds.into_iter().enumerate() {
                for (sensing, (one_in_100, one_in_1000)) in
                    [Sensing::Hard, Sensing::Soft2, Sensing::Soft3].into_iter().zip(of_row)
                {
                    let curve = curves.curve(ROWS[row], sensing);
                    for (rate, measured) in [(one_in_100, 1e-2), (one_in_1000, 1e-3)] {
                        let mut failed = || curve.failure(draws.binomial(curve.bits(), rate)) / 20_000.0;
                        let found: f64 = (0..20_000).map(|_| failed()).sum();
                        let factor = found / measured;
                        assert!((0.5..2.0).contains(&factor), "{data_bits} bits, {}, {sensing:?}: {found}", RATES[row]);
                    }
                }
            }
        }
    }

    #[test]
    fn more_parity_and_finer_sensing_bear_more() {
        for data_bits in [8192, 16_384, 32_768] {
            let curves = LdpcCurves::of(data_bits).unwrap();
            for pair in ROWS.windows(2) {
                assert!(
                    curves.curve(pair[0], Sensing::Hard).max_rber(1e-3) < curves.curve(pair[1], Sensing::Hard).max_rber(1e-3)
                );
            }
            for rows in ROWS {
                let [hard, two, three] =
                    [Sensing::Hard, Sensing::Soft2, Sensing::Soft3].map(|s| curves.curve(rows, s).max_rber(1e-3));
                assert!(hard < two && two < three, "{data_bits}: {hard}, {two}, {three}");
            }
        }
        assert!(LdpcCurves::of(4096).is_none());
    }

    /// The decoding times of Xerxes' table, of a code of the class of 4 KiB at rate 0.901: 1.72 us at 120 errors, 3.7 us at
    /// 240, 13.2 us at 320, when it fails. Time here is linear in iterations, so a third off in between.
    #[test]
    fn decoding_takes_as_long_as_in_the_table() {
        let curves = LdpcCurves::of(32_768).unwrap();
        let curve = curves.curve(ROWS[1], Sensing::Hard);
        for (errors, decoded, us) in [(120, true, 1.72), (200, true, 2.64), (240, true, 3.7), (320, false, 13.2)] {
            let found = curves.decode_time(curve.iterations(errors, decoded)).as_micros_f64();
            assert!((found / us - 1.0).abs() < 0.34, "{errors} errors: {found} us, table {us}");
        }
    }

    #[test]
    fn half_of_the_codewords_fail_at_the_mean() {
        let curves = LdpcCurves::of(32_768).unwrap();
        let curve = curves.curve(ROWS[2], Sensing::Hard);
        // 8.13e-3 + 2.33 deviations of (8.13 - 7.71)e-3 / 0.764, of 36 864 bits.
        assert!((curve.failure(347) - 0.5).abs() < 0.1, "{}", curve.failure(347));
        assert!(curve.failure(250) < 1e-6 && curve.failure(430) > 1.0 - 1e-6);
        assert!((curve.max_rber(1e-3) / 7.71e-3 - 1.0).abs() < 0.01);
    }
}
