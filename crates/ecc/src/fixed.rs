//! One capability for every page: the worst case that adaptive policies are measured against.

use crate::{Advice, Decoded, EccPolicy, EccShape, Profile};
use vocab::{Capability, Options, PeCycles, Ppn, SchemeError};

/// Options of the policy.
pub(super) const OPTIONS: &[(&str, &str, &str)] = &[("t", "50", "bits that each codeword corrects")];

#[derive(Clone, Debug)]
struct Fixed(Capability);

/// This capability for every page.
pub(super) fn always(t: Capability) -> Box<dyn EccPolicy> {
    Box::new(Fixed(t))
}

/// No code at all.
pub(super) fn none() -> Box<dyn EccPolicy> {
    always(Capability(0))
}

pub(super) fn build(options: &Options<'_>, _: &EccShape) -> Result<Box<dyn EccPolicy>, SchemeError> {
    Ok(always(Capability(options.number("t", 1..=super::T_MAX)? as u8)))
}

impl EccPolicy for Fixed {
    fn program(&mut self, _: Ppn, _: PeCycles) -> Capability {
        self.0
    }

    fn read(&mut self, _: Ppn, _: &Profile, _: Decoded) -> Advice {
        Advice::Keep
    }

    fn max_retention_hours(&mut self, _: Capability, _: PeCycles) -> f64 {
        f64::INFINITY
    }

    fn strongest(&self) -> Capability {
        self.0
    }

    fn boxed_clone(&self) -> Box<dyn EccPolicy> {
        Box::new(self.clone())
    }
}
