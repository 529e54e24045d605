//! LDPC of one rate, and of a rate that follows age.
//!
//! Idea of `ldpc-adaptive`: that of FLARES over other codes. Wear and retention decide how strong a page's code has to be; so a
//! young page has the highest rate, and a page is programmed with the least parity that its required retention asks for.
//! Differs from FLARES: no windows and no measured rate: a model of the cells alone. With three rates there is little to mix.
//!
//! Invariant: what a page is programmed with bears the rate that the model foresees, or is the strongest code there is.

use crate::ldpc::{self, LdpcCurves, RATES, ROWS, Stage};
use crate::{Advice, CellModel, Decoded, EccPolicy, EccShape, Profile, longest_hours};
use std::sync::Arc;
use vocab::{Capability, Options, PeCycles, Ppn, SchemeError};

/// Options of the fixed rate.
pub(super) const OPTIONS: &[(&str, &str, &str)] = &[("rate", "0.889", "share of a codeword that is data: 0.928, 0.901 or 0.889")];

/// Options of the rate that follows age.
pub(super) const ADAPTIVE_OPTIONS: &[(&str, &str, &str)] = &[
    ("required_retention", "90d", "retention that every program must bear"),
    ("failures", "1e-3", "share of codewords that may fail at the end of it"),
    ("sensing", "hard", "read that must still do then: hard, 2-bit or 3-bit, each with the best references"),
];

fn curves(shape: &EccShape) -> Result<&'static LdpcCurves, SchemeError> {
    let codeword = shape.codeword;
    LdpcCurves::of(codeword.code.data_bits).ok_or_else(|| {
        let known = crate::CODEWORDS.iter().filter(|word| ldpc::is_known(word.code.data_bits)).map(|word| word.name);
        let known: Vec<&str> = known.collect();
        SchemeError {
            kind: "ecc",
            scheme: "ldpc".into(),
            setting: "codeword".into(),
            reason: format!("found {}, LDPC codes there are of {}", codeword.name, known.join(", ")),
        }
    })
}

pub(super) fn build(options: &Options<'_>, shape: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    curves(shape)?;
    Ok(crate::fixed::always(ROWS[options.word("rate", &RATES)?]))
}

#[derive(Clone, Debug)]
struct Adaptive {
    /// The highest raw bit error rate that each of [`ROWS`] bears.
    bears: [f64; 3],
    required_hours: f64,
    cells: Arc<dyn CellModel>,
    /// The answer for the cycles that were asked about last: blocks are written one after the other.
    last: (PeCycles, Capability),
}

pub(super) fn build_adaptive(options: &Options<'_>, shape: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    let curves = curves(shape)?;
    let stage = Stage::ALL[options.word("sensing", &["hard", "2-bit", "3-bit"])?];
    let failures = options.real("failures", 1e-15..=0.5)?;
    let required_hours = options.time("required_retention")?.map_or(90.0 * 24.0, |t| t.as_secs_f64() / 3600.0);
    let bears = ROWS.map(|rows| curves.curve(rows, stage).max_rber(failures));
    let policy = Adaptive { bears, required_hours, cells: shape.cells.clone(), last: (PeCycles(u32::MAX), ROWS[2]) };
    Ok(Box::new(policy))
}

impl EccPolicy for Adaptive {
    fn program(&mut self, _: Ppn, pe: PeCycles) -> Capability {
        if self.last.0 != pe {
            let wanted = self.cells.best_rber(pe.0.into(), self.required_hours);
            let enough = self.bears.iter().position(|&bears| wanted <= bears).unwrap_or(ROWS.len() - 1);
            self.last = (pe, ROWS[enough]);
        }
        self.last.1
    }

    /// A page that its code bears no longer is to be written again, with the code of its age.
    fn read(&mut self, _: Ppn, profile: &Profile, _: Decoded) -> Advice {
        let weaker = profile.capability < ROWS[2];
        let row = ROWS.iter().position(|&rows| rows == profile.capability).unwrap_or(0);
        let late = self.cells.best_rber(profile.pe.0.into(), profile.hours) > self.bears[row];
        if weaker && late { Advice::Rewrite } else { Advice::Keep }
    }

    fn max_retention_hours(&mut self, capability: Capability, pe: PeCycles) -> f64 {
        let row = ROWS.iter().position(|&rows| rows == capability).unwrap_or(0);
        longest_hours(1e-6, |hours| self.cells.best_rber(pe.0.into(), hours) <= self.bears[row])
    }

    fn strongest(&self) -> Capability {
        ROWS[2]
    }

    fn boxed_clone(&self) -> Box<dyn EccPolicy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codeword, find};
    use std::collections::BTreeMap;
    use vocab::SchemeChoice;

    /// A rate that is one millionth of cycles, and as much again after each 1000 hours; halved by the best references.
    #[derive(Debug)]
    struct Line;

    impl CellModel for Line {
        fn rber(&self, pe: f64, hours: f64) -> f64 {
            pe * 1e-6 * (1.0 + hours / 1000.0)
        }

        fn best_rber(&self, pe: f64, hours: f64) -> f64 {
            self.rber(pe, hours) / 2.0
        }
    }

    fn policy(name: &str, options: &[(&str, &str)], codeword: &str) -> Result<Box<dyn EccPolicy>, SchemeError> {
        let options: BTreeMap<String, String> = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let codeword = Codeword { kind: find(name).unwrap().kind, ..Codeword::find(codeword).unwrap() };
        let shape = EccShape { codeword, pages_per_block: 64, cells: Arc::new(Line) };
        super::super::build(&SchemeChoice { name: name.into(), options }, &shape)
    }

    /// 4 KiB bear 4.10e-3, 6.43e-3 and 7.70e-3 at one failure in 1000 (`docs/ldpc.md`, known to some 1 %): with best references twice the cycles in millionths.
    #[test]
    fn the_rate_follows_age() {
        let mut adaptive = policy("ldpc-adaptive", &[("required_retention", "1000h"), ("failures", "1e-3")], "4KiB").unwrap();
        let rows = |adaptive: &mut Box<dyn EccPolicy>, pe| adaptive.program(Ppn(0), PeCycles(pe)).0;
        let chosen = [0, 4000, 4200, 6300, 6600, 7500, 100_000].map(|pe| rows(&mut adaptive, pe));
        assert_eq!(chosen, [10, 10, 14, 14, 16, 16, 16]);
        let hours = adaptive.max_retention_hours(ROWS[0], PeCycles(4100));
        assert!((hours / 1000.0 - 1.0).abs() < 0.05, "{hours}");
    }

    #[test]
    fn a_page_that_outlives_its_code_is_written_again() {
        let mut adaptive = policy("ldpc-adaptive", &[], "4KiB").unwrap();
        let decoded = Decoded { codewords: 4, errors: 100, failed: 0 };
        let mut advice = |capability, hours| adaptive.read(Ppn(1), &Profile { capability, pe: PeCycles(4150), hours }, decoded);
        assert_eq!(advice(ROWS[0], 900.0), Advice::Keep);
        assert_eq!(advice(ROWS[0], 1100.0), Advice::Rewrite);
        assert_eq!(advice(ROWS[2], 1e6), Advice::Keep, "there is no stronger code");
    }

    #[test]
    fn a_codeword_without_codes_is_refused_with_those_there_are() {
        let said = policy("ldpc", &[], "512B").unwrap_err().to_string();
        assert!(said.contains("found 512B") && said.contains("1KiB, 2KiB, 4KiB"), "{said}");
        let said = policy("ldpc", &[("rate", "0.95")], "4KiB").unwrap_err().to_string();
        assert!(said.contains("0.928"), "{said}");
        assert_eq!(policy("ldpc", &[("rate", "0.901")], "4KiB").unwrap().strongest().0, 14);
    }
}
