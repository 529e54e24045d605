//! Where the codewords of a page lie, and what has to fit beside it.

use crate::ldpc::{self, LdpcCurves, Stage};
use coding::odds::{BchSize, Per};
use vocab::{Bytes, Capability, Geometry};

/// Which codes the codewords of pages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// BCH: the capability of a page is t, the bits that each codeword corrects.
    Bch,
    /// LDPC: the capability of a page is how many rows of circulants are parity ([`ldpc::ROWS`]).
    Ldpc,
}

/// A codeword by its name in experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codeword {
    /// Name: its data bytes.
    pub name: &'static str,
    /// The family of BCH codes that it is of: one for each t.
    pub code: BchSize,
    /// Which codes are used.
    pub kind: CodeKind,
}

const fn of_bch(name: &'static str, code: BchSize) -> Codeword {
    Codeword { name, code, kind: CodeKind::Bch }
}

/// The codewords to choose from. FLARES' 4 KiB needs GF(2^16): 2^15 - 1 is one bit short of the
/// data alone, and its GF(2^13) holds some 940 bytes (theory.md section 4.2).
pub const CODEWORDS: &[Codeword] = &[
    of_bch("512B", BchSize::BYTES_512),
    of_bch("1KiB", BchSize::KIB_1),
    of_bch("2KiB", BchSize::KIB_2),
    of_bch("4KiB", BchSize::KIB_4),
];

/// Data bits of a word of the out-of-band bytes' own code, its parity bits, and what it
/// corrects: BCH(87, 52, t = 5) over GF(2^7), as FLARES protects its page profile (section 4.2).
pub const OOB_WORD: (u32, u32, u32) = (52, 35, 5);

/// Bytes of a page's fixed out-of-band fields and of each slot's (`docs/spec/oob.md`).
const OOB_FIELDS: (u32, u32) = (32, 16);

impl Codeword {
    /// The codeword called `name`.
    ///
    /// # Errors
    /// Lists the known ones.
    pub fn find(name: &str) -> Result<Self, String> {
        CODEWORDS.iter().copied().find(|word| word.name == name).ok_or_else(|| {
            let known: Vec<_> = CODEWORDS.iter().map(|word| word.name).collect();
            format!("found `{name}`, known are {}", known.join(", "))
        })
    }

    /// Data bytes.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.code.data_bits / 8
    }

    /// Length in bits of a codeword of this capability.
    #[must_use]
    pub fn bits(&self, t: Capability) -> u32 {
        match self.kind {
            CodeKind::Bch => self.code.length(t.0.into()) as u32,
            CodeKind::Ldpc => self.code.data_bits + ldpc::parity_bits(self.code.data_bits, t),
        }
    }

    /// Parity bytes of a codeword of this capability.
    #[must_use]
    pub fn parity_bytes(&self, t: Capability) -> u32 {
        match self.kind {
            CodeKind::Bch => (self.code.parity_per_error * u32::from(t.0)).div_ceil(8),
            CodeKind::Ldpc => ldpc::parity_bits(self.code.data_bits, t).div_ceil(8),
        }
    }

    /// Capabilities up to the strongest, ascending.
    fn capabilities(&self, strongest: Capability) -> Vec<u8> {
        match self.kind {
            CodeKind::Bch => (0..=strongest.0).collect(),
            CodeKind::Ldpc => ldpc::ROWS.iter().map(|rows| rows.0).filter(|&rows| rows <= strongest.0).collect(),
        }
    }

    /// The highest raw bit error rate at which the uncorrectable bit error rate is still `uber`, of LDPC with hard reads.
    #[must_use]
    pub fn max_rber(&self, t: Capability, uber: f64) -> f64 {
        match self.kind {
            CodeKind::Bch => self.code.max_rber(t.0.into(), uber, Per::CodewordBit),
            CodeKind::Ldpc => self.hard_max_rber(t, uber * f64::from(self.bits(t))),
        }
    }

    /// The highest raw bit error rate at which this share of codewords can be read, of LDPC with hard reads.
    #[must_use]
    pub fn max_rber_for_yield(&self, t: Capability, target_yield: f64) -> f64 {
        match self.kind {
            CodeKind::Bch => self.code.max_rber_for_yield(t.0.into(), target_yield, 1),
            CodeKind::Ldpc => self.hard_max_rber(t, 1.0 - target_yield),
        }
    }

    fn hard_max_rber(&self, rows: Capability, failures: f64) -> f64 {
        LdpcCurves::of(self.code.data_bits).map_or(0.0, |curves| curves.curve(rows, Stage::Hard).max_rber(failures))
    }
}

/// The codewords of one drive's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The codeword.
    pub codeword: Codeword,
    /// Codewords in one logical page.
    pub per_slot: u32,
    /// Codewords of the out-of-band bytes of a page.
    pub oob_words: u32,
}

impl Layout {
    /// Codewords laid over the pages of a drive; `strongest` must fit beside the page.
    ///
    /// # Errors
    /// Says what does not fit and what would.
    pub fn new(codeword: Codeword, geometry: &Geometry, strongest: Capability) -> Result<Self, String> {
        let slot = geometry.slot_size.0;
        if !slot.is_multiple_of(u64::from(codeword.bytes())) {
            let fitting = CODEWORDS.iter().filter(|word| slot.is_multiple_of(u64::from(word.bytes())));
            let fitting: Vec<_> = fitting.map(|word| word.name).collect();
            let name = codeword.name;
            return Err(format!("codeword: found {name}, logical pages are {}; valid are {}", Bytes(slot), fitting.join(", ")));
        }
        let per_slot = (slot / u64::from(codeword.bytes())) as u32;
        let (page_fields, slot_fields) = OOB_FIELDS;
        // Ganged planes: the fields are in the OOB bytes of the first plane's page.
        let fields = page_fields + slot_fields * geometry.slots_per_page();
        let oob_words = (fields * 8).div_ceil(OOB_WORD.0);
        let fixed = fields + (oob_words * OOB_WORD.1).div_ceil(8);
        let per_page = (geometry.page_size.0 / u64::from(codeword.bytes())) as u32;
        let room = (geometry.oob_size.0 as u32).saturating_sub(fixed);
        let needed = per_page * codeword.parity_bytes(strongest);
        if strongest.0 > 0 && needed > room {
            let fits = |&t: &u8| per_page * codeword.parity_bytes(Capability(t)) <= room;
            let t = codeword.capabilities(strongest).into_iter().rev().find(fits).unwrap_or(0);
            let strength = if codeword.kind == CodeKind::Bch { "t" } else { "rows of parity" };
            return Err(format!(
                "{strength} = {}: {per_page} codewords of {} need {needed} parity bytes beside a page; {} are out of band, \
                 {fixed} of them taken by metadata and their code; {strength} up to {t} fits",
                strongest.0, codeword.name, geometry.oob_size,
            ));
        }
        Ok(Self { codeword, per_slot, oob_words })
    }
}
