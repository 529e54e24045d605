//! Settings of a study: options as typed, checked, with defaults of each study.

use super::schemes::Scheme;
use common::{Problem, printable};
use report::study::{DAY, YEAR};
use ssd::coding::gf2::Decoder;
use ssd::coding::odds::{BchSize, Per};
use ssd::ecc::{CODEWORDS, Codeword};
use ssd::nand::rber::{self, RBER_MODELS, RberEntry, Stress};
use std::ops::RangeInclusive;

/// An option of studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyOption {
    /// Name, typed after `--`.
    pub name: &'static str,
    /// Placeholder of the value in help.
    pub value: &'static str,
    /// Help.
    pub help: &'static str,
}

const fn option(name: &'static str, value: &'static str, help: &'static str) -> StudyOption {
    StudyOption { name, value, help }
}

/// All options. A study takes those it depends on.
pub const OPTIONS: &[StudyOption] = &[
    option("model", "NAME", "Model of raw bit errors"),
    option("uber", "RATE,..", "Uncorrectable bit error rate to keep, such as 1e-15"),
    option("per", "BITS", "Denominator of the UBER: codeword (its bits, FLARES Eq. 1) or data (its data bits)"),
    option("code", "NAME", "Size of a codeword: 4KiB, 2KiB, 1KiB, 512B, or with -data to leave parity bits out"),
    option("codewords", "N", "Codewords of a page"),
    option("t", "N,..", "Bit errors that a codeword corrects"),
    option("pe", "CYCLES,..", "Program/erase cycles"),
    option("retention", "TIME,..", "Time since programming: 12h, 1d, 1w, 1mo (730 h), 1y"),
    option("reads", "N", "Reads since erase: of the block; per page for models of FAST 2019"),
    option("rber", "RATE,..", "Raw bit error rates"),
    option("yield", "SHARE", "Share of codewords that can be corrected"),
    option("schemes", "SHAPE,..", "Stripes as data+parity (7+1, 6+2), product codes as rows x columns (8x64)"),
    option("codeword", "NAME", "Codeword of page ECC: 512B, 1KiB, 2KiB, 4KiB"),
    option("operations", "N", "Operations at each operating point"),
    option("wsize", "N,..", "Reads in a window of FLARES"),
    option("mix", "SHARE,..", "Weight of the measured rate against the model's in FLARES"),
    option("policy", "NAMES", "Policies, separated by commas: flares, flares-as-printed"),
    option("floor", "NAME", "Least capability of FLARES: model or none"),
    option("p-max", "N", "Greatest capability"),
    option("seed", "N", "Seed of random draws"),
    option("noise", "N,..", "Noise of points that are fitted: deviation of the logarithm"),
    option("sigma", "N", "Spread of error rates between pages: deviation of the logarithm"),
    option("n", "N,..", "Data blocks of a code, and as many code blocks"),
    option("m", "N,..", "Data blocks in the sum of a code block"),
    option("decoder", "NAME,..", "Decoder: elimination, peeling"),
    option("search", "GRAPHS", "Graphs to try in a search for the best; 0: no search"),
];

/// A code by name.
pub(super) struct CodeEntry {
    pub name: &'static str,
    pub code: BchSize,
}

const fn data_only(code: BchSize) -> BchSize {
    BchSize { parity_per_error: 0, ..code }
}

pub(super) const CODES: &[CodeEntry] = &[
    CodeEntry { name: "4KiB", code: BchSize::KIB_4 },
    CodeEntry { name: "2KiB", code: BchSize::KIB_2 },
    CodeEntry { name: "1KiB", code: BchSize::KIB_1 },
    CodeEntry { name: "512B", code: BchSize::BYTES_512 },
    CodeEntry { name: "4KiB-data", code: data_only(BchSize::KIB_4) },
    CodeEntry { name: "2KiB-data", code: data_only(BchSize::KIB_2) },
    CodeEntry { name: "1KiB-data", code: data_only(BchSize::KIB_1) },
    CodeEntry { name: "512B-data", code: data_only(BchSize::BYTES_512) },
];

impl CodeEntry {
    fn describe(&self) -> String {
        let BchSize { data_bits, parity_per_error } = self.code;
        match parity_per_error {
            0 => format!("{data_bits} bits, parity not counted"),
            m => format!("{data_bits} data bits over GF(2^{m}), {m} parity bits for each error, at most {}", self.code.t_max()),
        }
    }
}

/// A time as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hours(pub f64);

/// The options of one study, defaults filled in.
pub(super) struct Settings {
    values: Vec<(&'static str, String)>,
}

/// Most values of one option.
const LIST_MAX: usize = 64;
/// Most combinations of all lists.
const COMBINATIONS_MAX: usize = 4096;
/// Most schemes.
const SCHEMES_MAX: usize = 16;

impl Settings {
    /// Takes the options `given` to `study`, of those it takes: `(name, default)`.
    pub(super) fn new(
        study: &str,
        taken: &'static [(&'static str, &'static str)],
        given: &[(String, String)],
    ) -> Result<Self, Problem> {
        let mut values: Vec<(&str, String)> = taken.iter().map(|(name, default)| (*name, (*default).into())).collect();
        for (name, value) in given {
            match values.iter_mut().find(|(known, _)| known == name) {
                Some((_, at)) => at.clone_from(value),
                None => {
                    let known: Vec<String> = taken.iter().map(|(name, _)| format!("--{name}")).collect();
                    return Err(Problem::unknown(format!("reliability {study}"), "option", &format!("--{name}"), &known));
                }
            }
        }
        let combinations: usize = values.iter().map(|(_, value)| value.split(',').count()).fold(1, usize::saturating_mul);
        if combinations > COMBINATIONS_MAX {
            let found = format!("the lists have {combinations} combinations, at most {COMBINATIONS_MAX}");
            return Err(Problem::new(format!("reliability {study}"), found));
        }
        Ok(Self { values })
    }

    /// All options with their values.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        self.values.clone()
    }

    /// The same for readers.
    pub(super) fn facts(&self) -> Result<Vec<String>, Problem> {
        let fact = |(name, value): &(&'static str, String)| match *name {
            "model" => self.model().map(|model| format!("model: {value}, {} [{}]", model.summary, model.paper)),
            "code" => self.code_entry().map(|code| format!("code: {value}, {}", code.describe())),
            _ => Ok(format!("{name}: {value}")),
        };
        self.values.iter().map(fact).collect()
    }

    /// # Panics
    /// If the study does not take the option: a defect.
    fn text(&self, name: &str) -> &str {
        let value = self.values.iter().find(|(known, _)| *known == name);
        &value.unwrap_or_else(|| panic!("the study takes no --{name}")).1
    }

    fn list<T>(&self, name: &str, wanted: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Problem> {
        let text = self.text(name);
        let field = format!("--{name}");
        if text.split(',').count() > LIST_MAX {
            return Err(Problem::new(field, format!("found more than {LIST_MAX} values")));
        }
        let value = |item: &str| {
            let problem = || Problem::new(&field, format!("found `{}`, wanted {wanted}", printable(item)));
            parse(item.trim()).ok_or_else(problem)
        };
        text.split(',').map(value).collect()
    }

    fn one<T>(&self, name: &str, wanted: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Problem> {
        let problem = || Problem::new(format!("--{name}"), format!("found `{}`, wanted {wanted}", printable(self.text(name))));
        parse(self.text(name).trim()).ok_or_else(problem)
    }

    pub(super) fn model(&self) -> Result<&'static RberEntry, Problem> {
        let known: Vec<&str> = RBER_MODELS.iter().map(|entry| entry.name).collect();
        rber::find(self.text("model")).map_err(|error| Problem::unknown("--model", "error model", &error.name, &known))
    }

    fn code_entry(&self) -> Result<&'static CodeEntry, Problem> {
        let known: Vec<&str> = CODES.iter().map(|entry| entry.name).collect();
        let text = self.text("code");
        CODES.iter().find(|entry| entry.name == text).ok_or_else(|| Problem::unknown("--code", "code", text, &known))
    }

    pub(super) fn code(&self) -> Result<BchSize, Problem> {
        Ok(self.code_entry()?.code)
    }

    pub(super) fn codewords(&self) -> Result<u32, Problem> {
        self.one("codewords", "1 to 1024", |text| text.parse().ok().filter(|n| (1..=1024).contains(n)))
    }

    pub(super) fn codeword(&self) -> Result<Codeword, Problem> {
        let known: Vec<&str> = CODEWORDS.iter().map(|word| word.name).collect();
        let text = self.text("codeword");
        Codeword::find(text).map_err(|_| Problem::unknown("--codeword", "codeword", text, &known))
    }

    pub(super) fn operations(&self) -> Result<u32, Problem> {
        self.one("operations", "1 to 100000", |text| text.parse().ok().filter(|n| (1..=100_000).contains(n)))
    }

    pub(super) fn wsizes(&self) -> Result<Vec<u32>, Problem> {
        self.list("wsize", "1 to 1000000 reads", |text| text.parse().ok().filter(|n| (1..=1_000_000).contains(n)))
    }

    pub(super) fn mixes(&self) -> Result<Vec<f64>, Problem> {
        self.list("mix", "shares from 0 to 1", |text| number(text, 0.0, 1.0))
    }

    pub(super) fn floor(&self) -> Result<bool, Problem> {
        match self.text("floor") {
            "model" => Ok(true),
            "none" => Ok(false),
            other => Err(Problem::unknown("--floor", "floor", other, &["model", "none"])),
        }
    }

    /// FLARES with its corrections, or as printed.
    pub(super) fn policies(&self) -> Result<Vec<bool>, Problem> {
        self.list("policy", "flares or flares-as-printed", |text| match text {
            "flares" => Some(false),
            "flares-as-printed" => Some(true),
            _ => None,
        })
    }

    pub(super) fn p_max(&self, codeword: Codeword) -> Result<u8, Problem> {
        let most = codeword.code.t_max().min(255);
        let wanted = format!("3 to {most} bits");
        self.one("p-max", &wanted, |text| text.parse().ok().filter(|&p: &u8| p >= 3 && u32::from(p) <= most))
    }

    pub(super) fn seed(&self) -> Result<u64, Problem> {
        self.one("seed", "a whole number", |text| text.parse().ok())
    }

    pub(super) fn per(&self) -> Result<Per, Problem> {
        match self.text("per") {
            "codeword" => Ok(Per::CodewordBit),
            "data" => Ok(Per::DataBit),
            other => Err(Problem::unknown("--per", "base", other, &["codeword", "data"])),
        }
    }

    pub(super) fn ubers(&self) -> Result<Vec<f64>, Problem> {
        self.list("uber", "rates from 1e-100 to 0.01", |text| number(text, 1e-100, 0.01))
    }

    pub(super) fn uber(&self) -> Result<f64, Problem> {
        self.one("uber", "one rate from 1e-100 to 0.01", |text| number(text, 1e-100, 0.01))
    }

    pub(super) fn capabilities(&self) -> Result<Vec<u32>, Problem> {
        let most = self.code()?.t_max();
        let wanted = format!("0 to {most} errors, the most that the code can correct");
        self.list("t", &wanted, |text| text.parse().ok().filter(|t| *t <= most))
    }

    pub(super) fn cycles(&self) -> Result<Vec<f64>, Problem> {
        self.list("pe", "whole cycles up to 10000000", |text| text.parse().ok().filter(|n: &u32| *n <= 10_000_000).map(f64::from))
    }

    pub(super) fn retention(&self) -> Result<Hours, Problem> {
        self.one("retention", "one time up to 1000y such as 0, 12h, 1d, 1w, 1mo or 1y", hours)
    }

    pub(super) fn retentions(&self) -> Result<Vec<Hours>, Problem> {
        self.list("retention", "times up to 1000y such as 0, 12h, 1d, 1w, 1mo or 1y", hours)
    }

    pub(super) fn reads(&self) -> Result<f64, Problem> {
        self.one("reads", "a number up to 1e12", |text| number(text, 0.0, 1e12))
    }

    pub(super) fn rates(&self) -> Result<Vec<f64>, Problem> {
        self.list("rber", "rates above 0, up to 0.5", |text| number(text, f64::MIN_POSITIVE, 0.5))
    }

    pub(super) fn target_yield(&self) -> Result<f64, Problem> {
        self.one("yield", "a share from 0.001 to 0.999999999", |text| number(text, 0.001, 0.999_999_999))
    }

    pub(super) fn sigma(&self) -> Result<f64, Problem> {
        self.one("sigma", "a number from 0 to 3", |text| number(text, 0.0, 3.0))
    }

    pub(super) fn noises(&self) -> Result<Vec<f64>, Problem> {
        self.list("noise", "numbers from 0 to 1", |text| number(text, 0.0, 1.0))
    }

    /// A list of whole numbers in a range.
    pub(super) fn counts(&self, name: &str, valid: RangeInclusive<usize>) -> Result<Vec<usize>, Problem> {
        let wanted = format!("whole numbers from {} to {}", valid.start(), valid.end());
        self.list(name, &wanted, |text| text.parse().ok().filter(|n| valid.contains(n)))
    }

    /// A whole number up to `most`.
    pub(super) fn count(&self, name: &str, most: u64) -> Result<u64, Problem> {
        let wanted = format!("a whole number up to {most}");
        self.one(name, &wanted, |text| text.parse().ok().filter(|n| *n <= most))
    }

    pub(super) fn decoders(&self) -> Result<Vec<Decoder>, Problem> {
        let wanted = Decoder::ALL.map(Decoder::name).join(" or ");
        self.list("decoder", &wanted, |text| Decoder::ALL.into_iter().find(|decoder| decoder.name() == text))
    }

    pub(super) fn schemes(&self) -> Result<Vec<Scheme>, Problem> {
        let wanted = format!("{} or {}", Scheme::STRIPE, Scheme::product_help());
        if self.text("schemes").split(',').count() > SCHEMES_MAX {
            return Err(Problem::new("--schemes", format!("found more than {SCHEMES_MAX} schemes")));
        }
        self.list("schemes", &wanted, Scheme::parse)
    }
}

fn number(text: &str, low: f64, high: f64) -> Option<f64> {
    text.parse().ok().filter(|value| (low..=high).contains(value))
}

fn hours(text: &str) -> Option<Hours> {
    if text == "0" {
        return Some(Hours(0.0));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "h" => 1.0,
        "d" => DAY,
        "w" => 7.0 * DAY,
        "mo" => YEAR / 12.0,
        "y" => YEAR,
        _ => return None,
    };
    number(digits, 0.0, 1e9).map(|n| Hours(n * unit)).filter(|hours| hours.0 <= 1000.0 * YEAR)
}

/// Rates of a model, with the reads of the study.
pub(super) struct Ageing {
    pub model: &'static RberEntry,
    pub reads: f64,
}

impl Ageing {
    pub(super) fn of(settings: &Settings) -> Result<Self, Problem> {
        Ok(Self { model: settings.model()?, reads: settings.reads()? })
    }

    pub(super) fn rber(&self, pe: f64, hours: f64) -> f64 {
        self.model.model.rber(&Stress { pe, retention_hours: hours, reads: self.reads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let all = ["0", "12h", "1d", "1w", "1mo", "0.5y"].map(|text| hours(text).map(|h| h.0));
        assert_eq!(all, [0.0, 12.0, 24.0, 168.0, 730.0, 4380.0].map(Some));
        for wrong in ["", "h", "1", "-1d", "1 month", "2000y", "nand", "NaNh", "1e400y", "infd"] {
            assert_eq!(hours(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_option_of_a_study_is_known() {
        for study in super::super::STUDIES {
            for (name, _) in study.options {
                assert!(OPTIONS.iter().any(|option| option.name == *name), "{} takes --{name}", study.name);
            }
        }
        for option in OPTIONS {
            assert!(super::super::STUDIES.iter().any(|study| study.takes(option.name)), "no study takes --{}", option.name);
        }
    }
}
