//! Paper: J. Guo, W. Wen, Y. Zhang Li, S. Li, H. Li, Y. Chen, "DA-RAID-5: A Disturb Aware Data
//! Protection Technique for NAND Flash Storage Systems", DATE 2013.
//!
//! Idea: a drive needs less protection while it is young. Its life has three stages:
//!
//! 1. *UDL* (unbound-disturb limiting, section III-C): no parity. A block that was read T_read
//!    times, or whose data are T_retention old, is recycled before ECC stops sufficing. Both
//!    limits fall as the block's P/E cycles grow (Fig. 2).
//! 2. *PE-aware RAID-5* (III-D, Algorithm 1), from the first block over T_p on: a stripe has
//!    parity as long as one of its pages lies on a block over T_p. A small buffer groups writes
//!    by stripe, so that Eq. 2 can often replace Eq. 1.
//! 3. *HC* (hybrid caching, III-E, Algorithm 2), once more than L stripes have parity: every
//!    stripe has; a write cache and a partial parity cache keep the cost down.
//!
//! Differs: the PEA counter of Algorithm 1 as printed is wrong, it adds and subtracts by the
//! class of the new page alone; here both classes count, moves by garbage collection too. What
//! Algorithm 2 as printed does with n > N_update forgets pages that the partial parity covered
//! and the batch does not; here they are read and stay covered (`da-raid5-as-printed` is the
//! printed one). In stage 3 a stripe is protected from its next write on, and in idle time.
//! Invariant: PEA is the number of the stripe's pages on blocks over T_p; a stripe with PEA > 0
//! has valid parity once the page that made it so is durable.

use crate::limits::{MARGIN, T_READ, T_RETENTION, YIELD};
use crate::ppc::{PARITY_CACHE, WRITE_BACK, can_hold, cheaper_commit, parity_cache, partial_parity, summed_again, write_back};
use crate::raid5::{DATA_STRIPS, Raid5};
use crate::{
    CommitPlan, DisturbLimits, Options, Protection, SchemeError, Shape, StripeCommit, StripePlan, StripeScheme, StripeWrite,
    WriteBack, WriteCache,
};
use vocab::{Bytes, DieId, PeCycles, StripSet, StripeId};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[
    ("stage", "auto", "stage of life: `auto`, or forced `1` (UDL), `2` (PE-aware RAID-5), `3` (hybrid caching)"),
    ("t_p", "auto", "P/E cycles above which a block counts as worn; `auto`: the drive's endurance"),
    T_READ,
    T_RETENTION,
    YIELD,
    MARGIN,
    ("l", "auto", "stripes with parity above which stage 3 begins; `auto`: an eighth of all, as the paper's 2^14 of 2^17"),
    ("grouping", "auto", "size of the stripe grouping buffer of stage 2; `off`, `auto`: 16 stripes"),
    ("write_cache", "auto", "size of the write cache of stage 3; `auto`: 512KiB, less where the drive is too small for it"),
    ("bypass_over", "8", "requests of more pages pass the write cache by"),
    ("n_update", "auto", "batches of more pages make a new partial parity; `auto`: 3/4 of N, `cheaper`: what reads less"),
    PARITY_CACHE,
    WRITE_BACK,
    DATA_STRIPS,
];

/// Stage 3 begins when one stripe in this many has parity: L = 2^14 of the 8192 * 128 / 8 = 2^17 stripes of the paper's
/// drive (section IV-A, Table II).
const PROTECTED_PART: u32 = 8;

/// Stripes that the pages of the drive make, as the paper counts them: N pages of flash for each.
fn stripes_of(shape: Shape, n: u32) -> u32 {
    let pages = u64::from(shape.dies) * u64::from(shape.blocks_per_die) * u64::from(shape.pages_per_block);
    u32::try_from(pages / u64::from(n)).unwrap_or(u32::MAX)
}

/// The scheme of one stage of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Udl,
    PeAware,
    HybridCaching,
}

/// When a batch makes a new partial parity instead of updating the one there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    /// When it has more pages than N_update.
    Over(u32),
    /// When that reads less.
    Cheaper,
}

#[derive(Clone, Debug)]
struct DaRaid5 {
    stripes: Raid5,
    stage: Stage,
    forced: bool,
    t_p: PeCycles,
    limits: DisturbLimits,
    /// PEA counters by stripe, and how many of them are not zero.
    pea: Vec<u8>,
    worn_stripes: u32,
    l: u32,
    grouping: u32,
    write_cache: u32,
    bypass_over: u32,
    batch: Batch,
    parity_cache: u32,
    write_back: WriteBack,
    as_printed: bool,
    /// Stripes below this have been looked at for lack of parity.
    looked_at: u32,
}

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    Ok(Protection::Stripes(Box::new(DaRaid5::new(options, shape, false)?)))
}

/// Algorithm 2 as printed: it loses data, and the test suites must see it.
pub(crate) fn build_as_printed(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    let mut scheme = DaRaid5::new(options, shape, true)?;
    (scheme.stage, scheme.forced, scheme.batch) = (Stage::HybridCaching, true, Batch::Over(1));
    Ok(Protection::Stripes(Box::new(scheme)))
}

/// A page that is lost, or waits in the controller for room, lies on no block: only parity brings it back. So it is with one
/// that is written and that no die takes.
fn leans_on_parity(write: &StripeWrite) -> bool {
    !write.present.and(write.unreadable).is_empty() || !write.homeless.is_empty()
}

impl DaRaid5 {
    fn new(options: &Options<'_>, shape: Shape, as_printed: bool) -> Result<Self, SchemeError> {
        let stripes = Raid5::new(options, shape)?;
        let n = stripes.data_strips();
        let stage = options.word("stage", &["auto", "1", "2", "3"])?;
        let t_p = options.number_or_auto("t_p", 0..=shape.endurance.0)?.unwrap_or(shape.endurance.0);
        // Caches of a size not asked for leave a small drive its room.
        let most = (shape.pages_per_block * (shape.blocks_per_die / 16).max(1)).max(2 * n);
        let pages = |name, auto: u32| cache_pages(options, name, shape.page_size, n, auto.min(most).max(n));
        let batch = if options.is("n_update", "cheaper") {
            Batch::Cheaper
        } else {
            Batch::Over(options.number_or_auto("n_update", 1..=n)?.unwrap_or(n * 3 / 4))
        };
        Ok(Self {
            stage: [Stage::Udl, Stage::Udl, Stage::PeAware, Stage::HybridCaching][stage],
            forced: stage > 0,
            t_p: PeCycles(t_p),
            limits: DisturbLimits::new(options)?,
            pea: Vec::new(),
            worn_stripes: 0,
            l: options.number_or_auto("l", 0..=u32::MAX)?.unwrap_or(stripes_of(shape, n) / PROTECTED_PART),
            grouping: if options.is("grouping", "off") { 0 } else { pages("grouping", 16 * n)? },
            // The paper's size, and a program unit for each die at least.
            write_cache: pages("write_cache", (((512 << 10) / shape.page_size.0) as u32).max(shape.dies * shape.unit_pages))?,
            bypass_over: options.number("bypass_over", 1..=u32::MAX)?,
            batch,
            parity_cache: parity_cache(options, shape)?,
            write_back: write_back(options)?,
            as_printed,
            looked_at: 0,
            stripes,
        })
    }

    fn pea(&self, stripe: StripeId) -> u32 {
        self.pea.get(stripe.index()).copied().unwrap_or(0).into()
    }

    /// Sets a PEA counter; the life stage follows.
    fn set_pea(&mut self, stripe: StripeId, pea: u32) {
        if self.pea.len() <= stripe.index() {
            self.pea.resize(stripe.index() + 1, 0);
        }
        let before = std::mem::replace(&mut self.pea[stripe.index()], pea as u8);
        self.worn_stripes = self.worn_stripes + u32::from(pea > 0) - u32::from(before > 0);
        if !self.forced && self.stage == Stage::PeAware && self.worn_stripes > self.l {
            (self.stage, self.looked_at) = (Stage::HybridCaching, 0);
        }
    }

    /// Algorithm 1, with the counter corrected.
    fn pe_aware_raid5(&self, write: &StripeWrite) -> StripePlan {
        debug_assert_eq!(self.pea(write.stripe), write.worn.len(), "PEA counter of {:?}", write.stripe);
        let pea = self.pea(write.stripe) - write.worn.and(write.written).len() + write.worn_after.len();
        if pea == 0 && !leans_on_parity(write) {
            return StripePlan::NoParity;
        }
        // Where PEA was 0 there is no parity, and the only way is to read the other pages (the
        // first branch of Algorithm 1). Otherwise Eq. 1 or Eq. 2, whichever reads less.
        self.stripes.plan(write)
    }

    /// Algorithm 2, with coverage kept (theory: I1).
    fn hybrid_caching(&self, write: &StripeWrite) -> StripePlan {
        let through = write.long || write.written == StripSet::first(self.data_strips());
        match write.held {
            None if through || !can_hold(write) => self.stripes.plan(write),
            None => StripePlan::Hold { add: StripSet::EMPTY, keep: false, covers: write.written },
            Some(held) => {
                let rest = write.present.minus(write.written);
                if through && rest.and(write.unreadable).is_empty() {
                    StripePlan::Parity { add: rest }
                } else {
                    self.merge_batch(write, held)
                }
            }
        }
    }

    /// PP exists in the parity cache.
    fn merge_batch(&self, write: &StripeWrite, held: StripSet) -> StripePlan {
        let again = match self.batch {
            Batch::Over(n_update) => write.written.len() > n_update,
            Batch::Cheaper => held.minus(write.written).len() < held.and(write.written).len(),
        };
        match (again, summed_again(write, held)) {
            (true, _) if self.as_printed => StripePlan::Hold { add: StripSet::EMPTY, keep: false, covers: write.written },
            (true, plan @ StripePlan::Hold { .. }) => plan,
            _ => partial_parity(write, held),
        }
    }
}

/// Pages of a cache that must hold at least one stripe.
fn cache_pages(options: &Options<'_>, name: &str, page: Bytes, n: u32, auto: u32) -> Result<u32, SchemeError> {
    match options.size(name)? {
        None => Ok(auto),
        Some(size) if (u64::from(n)..=1 << 24).contains(&(size.0 / page.0)) => Ok((size.0 / page.0) as u32),
        Some(size) => {
            let least = Bytes(u64::from(n) * page.0);
            Err(options.error(name, format!("found {size}, at least {least} (the {n} pages of a stripe), at most 2^24 pages")))
        }
    }
}

impl StripeScheme for DaRaid5 {
    fn data_strips(&self) -> u32 {
        self.stripes.data_strips()
    }

    fn die_of(&self, stripe: StripeId, strip: u32) -> DieId {
        self.stripes.die_of(stripe, strip)
    }

    fn home(&self, stripe: StripeId, strip: u32, dead: &[DieId]) -> Option<DieId> {
        self.stripes.home(stripe, strip, dead)
    }

    fn plan(&self, write: &StripeWrite) -> StripePlan {
        match self.stage {
            Stage::Udl => StripePlan::NoParity,
            // A mount that finds fewer worn blocks than there were takes stage 3 for over, and partial parities are still held:
            // the stored parity is that of old versions.
            Stage::PeAware if write.held.is_some() => self.hybrid_caching(write),
            Stage::PeAware => self.pe_aware_raid5(write),
            Stage::HybridCaching => self.hybrid_caching(write),
        }
    }

    fn survives_dies(&self) -> u32 {
        u32::from(self.stage == Stage::HybridCaching)
    }

    fn life_stage(&self) -> Option<u8> {
        Some(1 + self.stage as u8)
    }

    fn parity_cache(&self) -> u32 {
        self.parity_cache
    }

    fn write_back(&self) -> WriteBack {
        self.write_back
    }

    fn commit(&self, commit: &StripeCommit) -> CommitPlan {
        cheaper_commit(commit)
    }

    fn has_write_cache(&self) -> bool {
        true
    }

    fn write_cache(&self) -> Option<WriteCache> {
        let pages = match self.stage {
            Stage::Udl => 0,
            Stage::PeAware => self.grouping,
            Stage::HybridCaching => self.write_cache,
        };
        Some(WriteCache { pages, bypass_over: self.bypass_over })
    }

    fn worn_above(&self) -> Option<PeCycles> {
        Some(self.t_p)
    }

    fn moved(&mut self, stripe: StripeId, from: Option<bool>, to: Option<bool>) {
        let pea = self.pea(stripe) + u32::from(to == Some(true)) - u32::from(from == Some(true));
        self.set_pea(stripe, pea);
    }

    fn aged(&mut self, stripe: StripeId, worn: u32) {
        self.set_pea(stripe, worn);
    }

    fn worn_strips(&self, stripe: StripeId) -> Option<u32> {
        Some(self.pea(stripe))
    }

    fn block_wore_out(&mut self) {
        if !self.forced && self.stage == Stage::Udl {
            (self.stage, self.looked_at) = (Stage::PeAware, 0);
        }
    }

    fn look_again(&mut self) {
        self.looked_at = 0;
    }

    fn wants_parity(&self, stripe: StripeId, one_more: bool) -> bool {
        match self.stage {
            Stage::Udl => false,
            Stage::PeAware => one_more || self.pea(stripe) > 0,
            Stage::HybridCaching => true,
        }
    }

    fn next_unprotected(&mut self, stripes: u32) -> Option<StripeId> {
        let found = (self.looked_at..stripes).map(StripeId).find(|&stripe| self.wants_parity(stripe, false));
        self.looked_at = found.map_or(stripes, |stripe| stripe.0 + 1);
        found
    }

    fn limits(&self) -> Option<DisturbLimits> {
        (self.stage < Stage::HybridCaching).then_some(self.limits)
    }

    fn boxed_clone(&self) -> Box<dyn StripeScheme> {
        Box::new(self.clone())
    }
}
