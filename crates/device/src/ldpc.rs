//! The real LDPC codec behind page ECC, for pages that carry their bytes.

use coding::ldpc::{Channel, Code, Limits, Stage, Workspace};
use std::collections::BTreeMap;
use vocab::{Capability, Stream};

/// How a codeword is coded and read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRead {
    /// Capability of its code.
    pub t: Capability,
    /// Raw bit error rate of its cells.
    pub rber: f64,
    /// How finely they are sensed.
    pub stage: Stage,
}

/// Thresholds of soft reads are those that are best within so small a part of a doubling of the raw bit error rate.
const STEPS: f64 = 4.0;

/// Memory and channels of a decoder.
#[derive(Default)]
pub struct LdpcCodec {
    workspace: Workspace,
    /// By stage and step of the raw bit error rate: made when first needed, as the best thresholds take some 10 ms to find.
    channels: BTreeMap<(Stage, i32), Channel>,
    /// The word as it is read: data and parity, and planes of sureness.
    read: Vec<u8>,
    planes: [Vec<u8>; 2],
}

/// A copy starts with nothing: what a decoder has follows from what it is asked.
impl Clone for LdpcCodec {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl LdpcCodec {
    /// Encodes data, flips the bits at `positions`, draws how sure the read is of each bit, and decodes: whether the data
    /// are back. A decoder that ends at another codeword has not corrected.
    pub(crate) fn corrects(&mut self, code: &Code, read: &WordRead, data: &[u8], positions: &[u32], random: &mut Stream) -> bool {
        self.read.clear();
        self.read.extend_from_slice(data);
        self.read.resize(code.bits() / 8, 0);
        let (word, parity) = self.read.split_at_mut(code.data_bytes());
        code.encode(word, parity, &mut self.workspace);
        for &position in positions {
            self.read[position as usize / 8] ^= 1 << (position % 8);
        }
        let channel = self.channel(read);
        self.draw_sureness(&channel, code.bits(), positions, random);
        let soft = channel.soft(&self.planes[0], &self.planes[1]);
        let (word, parity) = self.read.split_at_mut(code.data_bytes());
        code.decode(word, parity, soft, &Limits::default(), &mut self.workspace).is_ok() && word == data
    }

    /// The cells at their rate, and the thresholds and magnitudes of a controller that knows the rate roughly.
    fn channel(&mut self, read: &WordRead) -> Channel {
        let rber = read.rber.max(1e-9);
        let step = (rber.log2() * STEPS).round();
        let make = || Channel::new(read.stage, (step / STEPS).exp2());
        self.channels.entry((read.stage, step as i32)).or_insert_with(make).over(rber)
    }

    /// Degrees of sureness of all bits, wrong ones at `positions`.
    fn draw_sureness(&mut self, channel: &Channel, bits: usize, positions: &[u32], random: &mut Stream) {
        if channel.stage == Stage::Hard {
            return;
        }
        self.planes.iter_mut().for_each(|plane| plane.resize(bits / 8, 0));
        let mut positions = positions.iter().peekable();
        for first in (0..bits).step_by(64) {
            let mut wrong = 0_u64;
            while let Some(position) = positions.next_if(|&&position| (position as usize) < first + 64) {
                wrong |= 1 << (position % 64);
            }
            let degrees = channel.draw_degrees(wrong, &mut || random.bits());
            for (plane, degrees) in self.planes.iter_mut().zip(degrees) {
                plane[first / 8..][..8].copy_from_slice(&degrees.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ecc::ldpc::{Curve, LdpcCurves, ROWS};
    use vocab::Streams;

    /// Words of one rate, errors drawn as a drive draws them, of which the decoder corrects this share.
    fn corrected(code: &Code, read: &WordRead, words: u32, seed: u64) -> u32 {
        let mut draws = Streams::new(seed).stream("device/test/ldpc");
        let mut codec = LdpcCodec::default();
        let mut data = vec![0; code.data_bytes()];
        let mut one = |_| {
            data.fill_with(|| draws.bits() as u8);
            let errors = draws.binomial(code.bits() as u32, read.rber);
            let positions = draws.distinct(errors, code.bits() as u32);
            u32::from(codec.corrects(code, read, &data, &positions, &mut draws))
        };
        (0..words).map(&mut one).sum()
    }

    fn curve(data_bits: u32, read: &WordRead) -> &'static Curve {
        LdpcCurves::of(data_bits).unwrap().curve(read.t, read.stage)
    }

    /// At the rate at which the curve says that one word in four fails, as many fail: within four deviations of the sample, and
    /// what 2 % of the rate make, as the points of the curve are known no better.
    #[test]
    fn curves_of_the_engine_are_those_of_its_decoder() {
        for (data_bits, words) in [(8192, 600), (32_768, 300)] {
            for t in ROWS {
                for stage in Stage::ALL {
                    let read = WordRead { t, rber: 0.0, stage };
                    let (curve, code) = (curve(data_bits, &read), ecc::ldpc::code(data_bits, t).unwrap());
                    let read = WordRead { rber: curve.max_rber(0.25), ..read };
                    let [low, high] = [0.98, 1.02].map(|factor| curve.failures_at(factor * read.rber));
                    let spread = (0.25 * 0.75 / f64::from(words)).sqrt();
                    let failed = 1.0 - f64::from(corrected(code, &read, words, 3)) / f64::from(words);
                    let fits = failed > low - 4.0 * spread && failed < high + 4.0 * spread;
                    assert!(fits, "{code:?}, {stage:?} at {}: {failed} failed, 0.25 expected", read.rber);
                }
            }
        }
    }

    /// Where the curve says that less than one word in 1000 fails, real flipped bits are corrected.
    #[test]
    fn flipped_bits_are_corrected_where_the_curve_says_so() {
        for data_bits in [8192, 16_384, 32_768] {
            for t in ROWS {
                for stage in Stage::ALL {
                    let read = WordRead { t, rber: 0.0, stage };
                    let read = WordRead { rber: curve(data_bits, &read).max_rber(5e-4), ..read };
                    let words = 400;
                    let found = corrected(ecc::ldpc::code(data_bits, t).unwrap(), &read, words, 5);
                    // 0.2 expected: more than 4 once in a million times.
                    assert!(found + 4 >= words, "{data_bits}, {t:?}, {stage:?} at {}: {found} of {words}", read.rber);
                }
            }
        }
    }

    /// Far beyond what a code bears nothing is taken for corrected.
    #[test]
    fn what_is_too_much_for_the_code_is_not_corrected() {
        for stage in Stage::ALL {
            let read = WordRead { t: ROWS[0], rber: 0.03, stage };
            assert_eq!(corrected(ecc::ldpc::code(8192, ROWS[0]).unwrap(), &read, 50, 7), 0, "{stage:?}");
        }
    }
}
