//! Paper: S. Im, D. Shin, "Flash-Aware RAID Techniques for Dependable and High-Performance Flash
//! Memory SSD", IEEE TC 60(1), 2011 (partial parity cache), as far as Guo et al., "DA-RAID-5",
//! DATE 2013, section II-B and Fig. 1(b) describe it; its full text was not at hand.
//!
//! Idea: parity is not written with every page. A PLP cache holds, for each stripe
//! updated of late, a *partial parity*: the sum of the pages updated since the stripe's parity
//! was last written. A page that joins it costs no read. Full parity is written when the cache
//! needs room, by whichever of two ways reads less:
//!
//! * (a) add the pages that the partial parity does not cover;
//! * (b) add the old parity and the old versions of the pages that it covers.
//!
//! While a partial parity is held, the old versions of what it covers must stay in flash: with
//! the old parity they are what brings back a page outside it.
//!
//! Differs: a full stripe's parity needs no cache and goes to flash at once. A stripe without
//! valid parity gets full parity first. A host flush commits nothing, because the cache is
//! PLP; `on_flush = "commit"` does it.
//! Invariant: the partial parity is the sum of the current pages that its bitmap names.

use crate::raid5::{DATA_STRIPS, Raid5};
use crate::{
    CommitPlan, Options, Protection, SchemeError, Shape, StripeCommit, StripePlan, StripeScheme, StripeWrite, WriteBack,
};
use vocab::{Bytes, DieId, StripSet, StripeId};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[DATA_STRIPS, PARITY_CACHE, ON_FLUSH, WRITE_BACK];

/// When caches are written back, for every scheme that has one.
pub(crate) const WRITE_BACK: (&str, &str, &str) = (
    "write_back",
    "watermark",
    "when caches go to flash: `watermark`, above three quarters of their size; `on-demand`, when room is needed",
);

/// The option as chosen.
pub(crate) fn write_back(options: &Options<'_>) -> Result<WriteBack, SchemeError> {
    Ok([WriteBack::Watermark, WriteBack::OnDemand][options.word("write_back", &["watermark", "on-demand"])?])
}

/// Size of the parity cache, for every scheme that has one.
pub(crate) const PARITY_CACHE: (&str, &str, &str) = (
    "parity_cache",
    "auto",
    "size of the PLP parity cache; `auto`: 512KiB, 8 pages for each die on drives of more, less where the drive is too small for it",
);

const ON_FLUSH: (&str, &str, &str) = ("on_flush", "keep", "effect of a host flush on partial parities: `keep` or `commit`");

/// The paper's cache, in bytes (DA-RAID-5, section IV-A, gives it to both PPC and HC).
const USUAL_CACHE: Bytes = Bytes(512 << 10);

/// Partial parities for each die in a cache of no size that is asked for. Updates wait for room in it while others are committed,
/// so a drive of many dies needs more of them than the paper's for its dies to be at work.
const USUAL_PER_DIE: u32 = 8;

#[derive(Clone, Debug)]
struct Ppc {
    stripes: Raid5,
    cache: u32,
    commits_on_flush: bool,
    write_back: WriteBack,
}

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    let stripes = Raid5::new(options, shape)?;
    let cache = parity_cache(options, shape)?;
    let commits_on_flush = options.word("on_flush", &["keep", "commit"])? == 1;
    let write_back = write_back(options)?;
    Ok(Protection::Stripes(Box::new(Ppc { stripes, cache, commits_on_flush, write_back })))
}

/// Partial parities that the cache holds. Committing them while space is short must not fail
/// for lack of space, so the region logs keep room for that many pages: no more than a
/// sixteenth of a die.
pub(crate) fn parity_cache(options: &Options<'_>, shape: Shape) -> Result<u32, SchemeError> {
    let most = shape.pages_per_block * (shape.blocks_per_die / 16).max(1);
    let page = shape.page_size.0;
    match options.size("parity_cache")? {
        None => Ok(((USUAL_CACHE.0 / page) as u32).max(USUAL_PER_DIE * shape.dies).clamp(1, most)),
        Some(size) if (page..=u64::from(most) * page).contains(&size.0) => Ok((size.0 / page) as u32),
        Some(size) => {
            let (least, most) = (Bytes(page), Bytes(u64::from(most) * page));
            Err(options
                .error("parity_cache", format!("found {size}, valid are {least} (a page) to {most} (a sixteenth of a die)")))
        }
    }
}

impl StripeScheme for Ppc {
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
        match write.held {
            _ if write.written == StripSet::first(self.data_strips()) => StripePlan::Parity { add: StripSet::EMPTY },
            Some(held) => partial_parity(write, held),
            None if can_hold(write) => StripePlan::Hold { add: StripSet::EMPTY, keep: false, covers: write.written },
            None => self.stripes.plan(write),
        }
    }

    fn parity_cache(&self) -> u32 {
        self.cache
    }

    fn write_back(&self) -> WriteBack {
        self.write_back
    }

    fn commits_on_flush(&self) -> bool {
        self.commits_on_flush
    }

    fn commit(&self, commit: &StripeCommit) -> CommitPlan {
        cheaper_commit(commit)
    }

    fn boxed_clone(&self) -> Box<dyn StripeScheme> {
        Box::new(self.clone())
    }
}

/// Whether a partial parity of the written pages leaves every other page protected: the old
/// parity is there, or there is nothing else.
pub(crate) fn can_hold(write: &StripeWrite) -> bool {
    write.has_parity || write.present.minus(write.written).is_empty()
}

/// The rule of the paper: PP' = PP + new pages + the previous versions of those that PP covers
/// already. Where one of these cannot be read, the pages that PP covers are summed again.
pub(crate) fn partial_parity(write: &StripeWrite, held: StripSet) -> StripePlan {
    let covers = held.or(write.written);
    let previous = held.and(write.written);
    if previous.and(write.unreadable).is_empty() {
        StripePlan::Hold { add: previous, keep: true, covers }
    } else {
        summed_again(write, held)
    }
}

/// PP' = new pages + the current versions of what PP covers beside them.
pub(crate) fn summed_again(write: &StripeWrite, held: StripSet) -> StripePlan {
    let add = held.minus(write.written);
    if add.and(write.unreadable).is_empty() {
        StripePlan::Hold { add, keep: false, covers: held.or(write.written) }
    } else {
        StripePlan::NoParity
    }
}

/// The way that reads less: N - c pages not covered, or c old versions and the old parity.
pub(crate) fn cheaper_commit(commit: &StripeCommit) -> CommitPlan {
    let rest = commit.present.minus(commit.held);
    let current = rest.and(commit.unreadable).is_empty();
    let old = commit.has_parity && commit.unreadable_old.is_empty();
    match (current, old) {
        (true, true) if commit.old.len() + 1 < rest.len() => CommitPlan::Old(commit.old),
        (true, _) => CommitPlan::Current(rest),
        (false, true) => CommitPlan::Old(commit.old),
        (false, false) => CommitPlan::NoParity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(strips: &[u32]) -> StripSet {
        strips.iter().copied().collect()
    }

    fn write(written: &[u32], held: Option<&[u32]>, unreadable: &[u32]) -> StripeWrite {
        StripeWrite {
            stripe: StripeId(0),
            written: set(written),
            present: StripSet::first(4),
            has_parity: true,
            held: held.map(set),
            unreadable: set(unreadable),
            homeless: StripSet::EMPTY,
            worn: StripSet::EMPTY,
            worn_after: StripSet::EMPTY,
            long: false,
        }
    }

    fn ppc() -> Ppc {
        Ppc { stripes: Raid5::over(5), cache: 8, commits_on_flush: false, write_back: WriteBack::Watermark }
    }

    fn hold(add: &[u32], keep: bool, covers: &[u32]) -> StripePlan {
        StripePlan::Hold { add: set(add), keep, covers: set(covers) }
    }

    #[test]
    fn only_a_page_updated_again_costs_a_read() {
        assert_eq!(ppc().plan(&write(&[1], None, &[])), hold(&[], false, &[1]));
        assert_eq!(ppc().plan(&write(&[2], Some(&[1]), &[])), hold(&[], true, &[1, 2]));
        // Fig. 1(b): D1 to D3 again, each previous version is read.
        assert_eq!(ppc().plan(&write(&[1, 2, 3], Some(&[1, 2, 3]), &[])), hold(&[1, 2, 3], true, &[1, 2, 3]));
        assert_eq!(ppc().plan(&write(&[0, 1, 2, 3], Some(&[1]), &[])), StripePlan::Parity { add: StripSet::EMPTY });
    }

    #[test]
    fn a_lost_previous_version_is_written_around() {
        assert_eq!(ppc().plan(&write(&[1], Some(&[1, 2]), &[1])), hold(&[2], false, &[1, 2]));
        assert_eq!(ppc().plan(&write(&[1], Some(&[1, 2]), &[1, 2])), StripePlan::NoParity);
    }

    #[test]
    fn the_commit_that_reads_less_is_taken() {
        let commit = |held: &[u32], unreadable: &[u32], unreadable_old: &[u32]| {
            cheaper_commit(&StripeCommit {
                held: set(held),
                present: StripSet::first(8),
                has_parity: true,
                unreadable: set(unreadable),
                unreadable_old: set(unreadable_old),
                old: set(held),
            })
        };
        // N = 8: c = 3 reads min(5, 4), c = 4 min(4, 5).
        assert_eq!(commit(&[0, 1, 2], &[], &[]), CommitPlan::Old(set(&[0, 1, 2])));
        assert_eq!(commit(&[0, 1, 2, 3], &[], &[]), CommitPlan::Current(set(&[4, 5, 6, 7])));
        // Die 5 lost: its page is outside, so the old versions serve; die 2 lost: the others do.
        assert_eq!(commit(&[0, 1, 2, 3], &[5], &[]), CommitPlan::Old(set(&[0, 1, 2, 3])));
        assert_eq!(commit(&[0, 1, 2], &[2], &[2]), CommitPlan::Current(set(&[3, 4, 5, 6, 7])));
        assert_eq!(commit(&[0, 1], &[2], &[1]), CommitPlan::NoParity);
    }
}
