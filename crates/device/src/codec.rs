//! The real codec behind page ECC, for pages that carry their bytes.

use crate::ldpc::LdpcCodec;
use crate::ldpc::WordRead;
use coding::bch::BchFamily;
use coding::crc32c;
use coding::ldpc::Stage;
use ecc::Codeword;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{Capability, Stream};

/// Outcome of decoding a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is as it was stored.
    Corrected,
    /// The decoder gave up.
    Failed,
    /// The decoder took it for corrected; its checksum does not.
    Miscorrected,
    /// It is wrong and no one noticed: one miscorrection in 2^32.
    Undetected,
}

/// The codes of one drive, made when they are first used.
#[derive(Clone)]
pub struct Codec {
    codeword: Codeword,
    strongest: Capability,
    /// The codes, where pages carry bytes.
    family: Option<Arc<BchFamily>>,
    miscorrects: BTreeMap<Capability, f64>,
    ldpc: LdpcCodec,
}

impl Codec {
    /// A codec for these codewords, with codes up to the strongest.
    pub fn new(codeword: Codeword, strongest: Capability) -> Self {
        Self { codeword, strongest, family: None, miscorrects: BTreeMap::new(), ldpc: LdpcCodec::default() }
    }

    /// Probability that a codeword with more than t errors looks as if it had t or fewer: the
    /// share of all words that lie within t of a codeword, sum of C(n, i) for i up to t over
    /// 2^(m t) (theory.md section 4.2).
    pub fn miscorrects(&mut self, t: Capability) -> f64 {
        let code = self.codeword.code;
        *self.miscorrects.entry(t).or_insert_with(|| {
            let n = f64::from(self.codeword.bits(t));
            let ln_words = f64::from(code.parity_per_error * u32::from(t.0)) * std::f64::consts::LN_2;
            let mut ln_choose = 0.0;
            let mut sum = (-ln_words).exp();
            for i in 0..u32::from(t.0) {
                ln_choose += ((n - f64::from(i)) / f64::from(i + 1)).ln();
                sum += (ln_choose - ln_words).exp();
            }
            sum.min(1.0)
        })
    }

    /// Encodes codeword `word` of a stored page, flips the bits at `positions` and decodes it.
    ///
    /// # Panics
    /// If t or fewer errors are not corrected, or more are: the codec is broken.
    pub fn decode(&mut self, t: Capability, stored: Option<&[u8]>, word: u32, positions: &[u32]) -> Word {
        let within = positions.len() <= usize::from(t.0);
        if t.0 == 0 {
            return if within { Word::Corrected } else { Word::Failed };
        }
        if positions.is_empty() {
            // Encoded and not changed, it is a codeword.
            return Word::Corrected;
        }
        let data = self.data(stored, word);
        let length = data.len();
        let code = self.family(t).code(t.0.into());
        let mut parity = vec![0; code.parity_bytes()];
        code.encode(&data, &mut parity);
        let (checksum, mut read) = (crc32c(&data), data.to_vec());
        for &position in positions {
            let (byte, bit) = (position as usize / 8, 0x80 >> (position % 8));
            match byte.checked_sub(length) {
                None => read[byte] ^= bit,
                Some(byte) => parity[byte] ^= bit,
            }
        }
        let decoded = code.decode(&mut read, &mut parity);
        let whole = decoded == Ok(positions.len() as u32) && read == *data;
        assert!(whole == within, "t = {}: errors at {positions:?} gave {decoded:?}", t.0);
        match decoded {
            Ok(_) if whole => Word::Corrected,
            Ok(_) if crc32c(&read) == checksum => Word::Undetected,
            Ok(_) => Word::Miscorrected,
            Err(_) => Word::Failed,
        }
    }

    /// Encodes codeword `word` of a stored page with its LDPC code, flips the bits at `positions`, draws how sure a soft read is of
    /// each bit, and decodes it: whether it is as it was stored.
    pub(crate) fn corrects(
        &mut self,
        read: &WordRead,
        stored: Option<&[u8]>,
        word: u32,
        positions: &[u32],
        random: &mut Stream,
    ) -> bool {
        if positions.is_empty() && read.stage == Stage::Hard {
            return true;
        }
        let data = self.data(stored, word);
        let code = ecc::ldpc::code(self.codeword.code.data_bits, read.t).expect("pages are programmed with codes there are");
        self.ldpc.corrects(code, read, &data, positions, random)
    }

    /// Data of a codeword of a stored page; a page that carries none has zeros.
    fn data<'a>(&self, stored: Option<&'a [u8]>, word: u32) -> Cow<'a, [u8]> {
        let length = self.codeword.bytes() as usize;
        let first = word as usize * length;
        stored.map_or_else(|| vec![0; length].into(), |bytes| bytes[first..first + length].into())
    }

    fn family(&mut self, t: Capability) -> &BchFamily {
        let (code, most) = (self.codeword.code, self.strongest.max(t));
        self.family.get_or_insert_with(|| {
            let family = BchFamily::new(code.parity_per_error, most.0.into(), code.data_bits as usize);
            Arc::new(family.expect("codewords fit their fields"))
        })
    }
}
