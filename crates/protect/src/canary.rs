//! A scheme that loses data on purpose: RAID-5 whose read-modify-write forgets to take the old
//! version of the written page out of the parity. Nothing shows until a die is lost; a test
//! suite that lets it pass is broken.

use crate::raid5::{DATA_STRIPS, Raid5};
use crate::{Options, Protection, SchemeError, Shape, StripePlan, StripeScheme, StripeWrite};
use vocab::{DieId, StripSet, StripeId};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[DATA_STRIPS];

#[derive(Clone, Debug)]
struct Canary(Raid5);

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    Ok(Protection::Stripes(Box::new(Canary(Raid5::new(options, shape)?))))
}

impl StripeScheme for Canary {
    fn data_strips(&self) -> u32 {
        self.0.data_strips()
    }

    fn die_of(&self, stripe: StripeId, strip: u32) -> DieId {
        self.0.die_of(stripe, strip)
    }

    fn plan(&self, write: &StripeWrite) -> StripePlan {
        let parity = StripSet::one(self.data_strips());
        match self.0.plan(write) {
            StripePlan::Parity { add } if !add.and(parity).is_empty() => StripePlan::Parity { add: parity },
            plan => plan,
        }
    }

    fn boxed_clone(&self) -> Box<dyn StripeScheme> {
        Box::new(self.clone())
    }
}
