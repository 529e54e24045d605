//! Knowledge of an ECC policy about pages, and the part of it that reserved pages hold.

use crate::session::{Session, inside};
use ecc::PartialProfile;
use std::collections::BTreeMap;
use vocab::{BlockAddr, Ppn, SimTime};

/// The halves of page profiles that are kept in RAM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageProfiles {
    /// Profiles that the policy has, for each page that was read.
    pub in_ram: BTreeMap<Ppn, PartialProfile>,
    /// The newest whole copy of that in reserved pages.
    pub flushed: BTreeMap<Ppn, PartialProfile>,
    /// When that was flushed; `None`: there is no copy.
    pub at: Option<SimTime>,
    /// Reserved pages that a copy takes.
    pub pages_of_copy: u32,
    /// The reserved blocks.
    pub reserved: Vec<BlockAddr>,
}

impl Session {
    /// Page profiles, on a drive that flushes them.
    #[must_use]
    pub fn page_profiles(&self) -> PageProfiles {
        inside!(self.inner(), prepared => {
            let engine = &prepared.engine;
            let policy = engine.core.device.ecc.as_ref().map(|ecc| &ecc.policy);
            let in_ram = policy.map(|policy| policy.partials().into_iter().collect()).unwrap_or_default();
            let Some(profiles) = &engine.care.profiles else { return PageProfiles { in_ram, ..PageProfiles::default() } };
            let copy = profiles.newest();
            PageProfiles {
                in_ram,
                flushed: copy.map(|copy| copy.partials.clone()).unwrap_or_default(),
                at: copy.map(|copy| copy.at),
                pages_of_copy: profiles.pages(),
                reserved: profiles.blocks().to_vec(),
            }
        })
    }
}
