//! Page ECC: how strong the code of each page is. A policy decides capabilities and nothing
//! else; encoding, decoding, errors and time are the engine's.

mod fixed;
mod flares;
mod layout;
pub mod ldpc;
mod ldpc_policies;

pub use flares::{Flares, FlaresSettings};
pub use layout::{CODEWORDS, CodeKind, Codeword, Layout, OOB_WORD};

use std::fmt::Debug;
use std::sync::Arc;
use vocab::{Capability, Options, PeCycles, Ppn, SchemeChoice, SchemeError, find_named};

/// View of the cells that a policy has.
pub trait CellModel: Debug + Send + Sync {
    /// Raw bit error rate after `pe` cycles and `hours` of retention.
    fn rber(&self, pe: f64, hours: f64) -> f64;

    /// The same for a page that is read with the references that are best for it.
    fn best_rber(&self, pe: f64, hours: f64) -> f64 {
        self.rber(pe, hours)
    }
}

/// Largest choice of a policy: the strongest code that the codec has.
const T_MAX: u32 = coding::bch::MAX_T as u32;

/// A century: no data are asked to last longer.
const FOREVER_HOURS: f64 = 876_000.0;

/// How long something holds that ends at some time, to a relative precision: 0 if it never held,
/// infinite if it holds for a century.
#[must_use]
pub fn longest_hours(precision: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if !holds(0.0) {
        return 0.0;
    }
    if holds(FOREVER_HOURS) {
        return f64::INFINITY;
    }
    let (mut short, mut long) = (0.0, FOREVER_HOURS);
    while long - short > precision * long && long > 1e-6 {
        let middle = (short + long) / 2.0;
        if holds(middle) { short = middle } else { long = middle }
    }
    short
}

/// The durable half of a page's profile (FLARES section 4.2): what is programmed with the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// How the page is encoded (p_cur).
    pub capability: Capability,
    /// P/E cycles of its block (pecycles).
    pub pe: PeCycles,
    /// Time since the program (from writestamp), in hours.
    pub hours: f64,
}

/// The other half (FLARES section 4.2): it changes with every read, is kept in RAM, and flushed to reserved pages. All zeros: the
/// page was never read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialProfile {
    /// Capability of the next program (p_next); 0: no window has decided it yet.
    pub p_next: Capability,
    /// Errors of the window so far (errc).
    pub errc: u32,
    /// Failures of the window so far (failc), up to where more make no difference.
    pub failc: u8,
    /// Reads of the window so far. The paper does not say where it counts them.
    pub reads: u32,
    /// Codewords that these decoded.
    pub codewords: u32,
}

/// Knowledge of a mount about a page's profile after power took RAM.
#[derive(Clone, Copy, Debug)]
pub struct FoundProfile {
    /// Part of it in reserved pages.
    pub flushed: PartialProfile,
    /// The profile in the OOB bytes of the page, aged to the time of the flush; `None`: the page is erased or cannot be read.
    pub beside: Option<Profile>,
    /// Whether the page was programmed since.
    pub is_newer: bool,
}

/// Report of the decoder on the codewords of a page that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Codewords decoded.
    pub codewords: u32,
    /// Errors corrected in those that could be decoded.
    pub errors: u32,
    /// Codewords that could not.
    pub failed: u32,
}

/// Treatment of a page that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It stays.
    Keep,
    /// It must be written again before it is lost (FLARES' alarm).
    Rewrite,
}

/// A policy of page ECC.
pub trait EccPolicy: Debug + Send + Sync {
    /// The capability that the page is programmed with, now.
    fn program(&mut self, page: Ppn, pe: PeCycles) -> Capability;

    /// The page was read and decoded.
    fn read(&mut self, page: Ppn, profile: &Profile, decoded: Decoded) -> Advice;

    /// How long a page keeps within the policy's target; infinite where it has none.
    fn max_retention_hours(&mut self, capability: Capability, pe: PeCycles) -> f64;

    /// The strongest code the policy may choose: it must fit beside the page.
    fn strongest(&self) -> Capability;

    /// Power was cut: what is kept in RAM alone is gone.
    fn power_cut(&mut self) {}

    /// Bits that the half kept in RAM takes, of a page of this many codewords; `None`: the policy keeps nothing there.
    fn partial_bits(&self, _codewords: u32) -> Option<u32> {
        None
    }

    /// That half of each page of which it is not all zeros, in order of pages.
    fn partials(&self) -> Vec<(Ppn, PartialProfile)> {
        Vec::new()
    }

    /// A mount found this of a page.
    fn restore(&mut self, _page: Ppn, _found: &FoundProfile) {}

    /// A copy, for forks.
    fn boxed_clone(&self) -> Box<dyn EccPolicy>;
}

impl Clone for Box<dyn EccPolicy> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// A policy that is in no registry: the program that runs the experiment brings it. Its codes are BCH codes; each drive
/// gets a copy.
#[derive(Clone, Debug)]
pub struct OwnPolicy(Arc<dyn EccPolicy>);

impl OwnPolicy {
    /// This policy.
    #[must_use]
    pub fn new(policy: impl EccPolicy + 'static) -> Self {
        Self(Arc::new(policy))
    }

    /// A copy for a drive.
    #[must_use]
    pub fn build(&self) -> Box<dyn EccPolicy> {
        self.0.boxed_clone()
    }
}

impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Facts of the drive that a policy may know.
#[derive(Clone, Debug)]
pub struct EccShape {
    /// The codeword.
    pub codeword: Codeword,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Model of the cells.
    pub cells: Arc<dyn CellModel>,
}

type Build = fn(&Options<'_>, &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError>;

/// One policy.
pub struct EccEntry {
    /// Its name in experiments and on the command line.
    pub name: &'static str,
    /// Where it is published.
    pub paper: &'static str,
    /// Effect, in one line.
    pub summary: &'static str,
    /// Options: `(name, default, help)`.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Whether it chooses codes that are too weak on purpose: torture leaves it out.
    pub canary: bool,
    /// Which codes it chooses from.
    pub kind: CodeKind,
    build: Build,
}

/// All policies: one line adds one.
pub const ECC_POLICIES: &[EccEntry] = &[
    EccEntry {
        name: "none",
        paper: "-",
        summary: "no code: one bit error makes a page unreadable, its checksum says so",
        options: &[],
        canary: false,
        kind: CodeKind::Bch,
        build: |_, _| Ok(fixed::none()),
    },
    EccEntry {
        name: "fixed",
        paper: "the papers' common baseline",
        summary: "every codeword corrects t bits",
        options: fixed::OPTIONS,
        canary: false,
        kind: CodeKind::Bch,
        build: fixed::build,
    },
    EccEntry {
        name: "flares",
        paper: "Di Carlo et al., FLARES, 2014",
        summary: "the code of each page follows its age: a model of the cells mixed with the errors counted",
        options: flares::OPTIONS,
        canary: false,
        kind: CodeKind::Bch,
        build: flares::build,
    },
    EccEntry {
        name: "flares-as-printed",
        paper: "Di Carlo et al., FLARES, 2014",
        summary: "FLARES as its algorithms are printed: the code of a page that ages by leaps is too weak for a window",
        options: flares::PRINTED_OPTIONS,
        canary: true,
        kind: CodeKind::Bch,
        build: flares::build_as_printed,
    },
    EccEntry {
        name: "ldpc",
        paper: "-",
        summary: "LDPC codes of one rate, hard and soft decoding by measured curves",
        options: ldpc_policies::OPTIONS,
        canary: false,
        kind: CodeKind::Ldpc,
        build: ldpc_policies::build,
    },
    EccEntry {
        name: "ldpc-adaptive",
        paper: "the idea of Di Carlo et al., FLARES, 2014, over LDPC",
        summary: "LDPC codes whose rate follows the age of each page: 0.928, 0.901, 0.889",
        options: ldpc_policies::ADAPTIVE_OPTIONS,
        canary: false,
        kind: CodeKind::Ldpc,
        build: ldpc_policies::build_adaptive,
    },
];

/// The policy called `name`.
///
/// # Errors
/// Lists the known policies.
pub fn find(name: &str) -> Result<&'static EccEntry, SchemeError> {
    find_named("ecc", "policy", ECC_POLICIES, |entry| entry.name, name)
}

/// Builds a policy for a drive.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn build(choice: &SchemeChoice, shape: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    let entry = find(&choice.name)?;
    let options = Options::new("ecc", entry.name, &choice.options, entry.options)?;
    (entry.build)(&options, shape)
}
