//! Paper: the RAID-5 that all five papers start from; Kim et al., "DS-RAID", 2011, Fig. 1;
//! Li et al., "DA-RAID-5", section II-B.
//!
//! Idea: N logical pages and one parity page form a stripe, each on a die of its own; the die
//! of the parity rotates with the stripe. An update is written out of place on the same die,
//! and the parity with it. The new parity comes about by whichever of three ways reads least:
//!
//! * full stripe: all N pages are new, nothing is read;
//! * read-modify-write: the old versions of the written pages and the old parity are read;
//! * reconstruct-write: the present pages that are not written are read.
//!
//! Pages that a request writes to one stripe share an update and its parity, or, as option `parity_rule` has it, get one
//! each.
//!
//! Differs: pages never written count as zeros and are not read (the papers assume a full
//! drive). With a strip lost, the way that avoids it is taken whatever it reads.
//! Invariant: parity is the sum of all data strips, or the stripe has none.

use crate::lazy::{READ_AROUND, ReadAround};
use crate::{Options, ParityRule, Protection, SchemeError, Shape, StripePlan, StripeScheme, StripeWrite};
use vocab::{DieId, Divider, StripSet, StripeId};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[
    DATA_STRIPS,
    (
        "parity_rule",
        "request",
        "what gets a parity of its own within a stripe: each `request`, each `page`, or each page of a stripe that the request \
         does not wholly write, `page-unless-full`",
    ),
    READ_AROUND[0],
    READ_AROUND[1],
];

/// Width of a stripe, for every scheme of static stripes.
pub(crate) const DATA_STRIPS: (&str, &str, &str) = (
    "data_strips",
    "auto",
    "data strips of a stripe, N; `auto`: dies - 1, at most 31; with fewer a stripe leaves dies to rebuild on",
);

/// Data strips that a stripe has at most where their number is not asked for.
const MOST_AUTO: u32 = 31;

/// RAID-5: stripes of N + 1 strips, spread over all dies.
#[derive(Clone, Debug)]
pub(crate) struct Raid5 {
    dies: u32,
    by_dies: Divider,
    /// Stripes of a round: as many as it takes until the next stripe begins on the die that the first began on.
    by_round: Divider,
    n: u32,
    parity_rule: ParityRule,
    read_around: Option<ReadAround>,
}

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    let read_around = ReadAround::new(options, shape.dies)?;
    let parity_rule = match options.word("parity_rule", &["request", "page", "page-unless-full"])? {
        0 => ParityRule::Request,
        1 => ParityRule::Page,
        _ => ParityRule::PageUnlessFull,
    };
    Ok(Protection::Stripes(Box::new(Raid5 { parity_rule, read_around, ..Raid5::new(options, shape)? })))
}

impl Raid5 {
    pub(crate) fn new(options: &Options<'_>, shape: Shape) -> Result<Self, SchemeError> {
        shape.need_dies_of_a_set(options)?;
        shape.need_one_slot_per_page(options)?;
        let most = shape.dies - 1;
        let n = options.number_or_auto("data_strips", 1..=most)?.unwrap_or(most.min(MOST_AUTO));
        Ok(Self::narrow(shape.dies, n))
    }

    /// Stripes of `n` data strips on `dies` dies.
    pub(crate) fn narrow(dies: u32, n: u32) -> Self {
        let by_round = Divider::new(dies / common_divisor(dies, n + 1));
        Self { dies, by_dies: Divider::new(dies), by_round, n, parity_rule: ParityRule::Request, read_around: None }
    }
}

/// The greatest common divisor of two numbers of which one is not 0.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
impl Raid5 {
    pub(crate) fn over(dies: u32) -> Self {
        Self::narrow(dies, dies - 1)
    }
}

impl StripeScheme for Raid5 {
    fn data_strips(&self) -> u32 {
        self.n
    }

    /// Left-symmetric rotation: with N + 1 = D the parity of stripe s sits on die (D-1-s) mod D, data follow it.
    ///
    /// A narrower stripe begins on the die after the last one of the stripe before, so that consecutive stripes keep all dies busy.
    /// Each round (the stripes after which a stripe would begin where the first did) moves by one die to the left. D stripes,
    /// counted from 0, put N + 1 strips on each die, and one parity.
    fn die_of(&self, stripe: StripeId, strip: u32) -> DieId {
        let (round, in_round) = self.by_round.split(stripe.0);
        let left = self.by_dies.split(round).1;
        let parity = self.by_dies.split(in_round * (self.n + 1) + 2 * self.dies - 1 - left).1;
        let place = if strip == self.n { parity } else { parity + 1 + strip };
        DieId(if place < self.dies { place } else { place - self.dies } as u16)
    }

    /// A strip whose die died moves to the next die, in order of rotation, that lives and holds
    /// no strip of the stripe. Deaths are taken one after the other, so that a later one moves
    /// only the strips that it strikes.
    fn home(&self, stripe: StripeId, strip: u32, dead: &[DieId]) -> Option<DieId> {
        let mut homes: Vec<Option<DieId>> = (0..=self.n).map(|strip| Some(self.die_of(stripe, strip))).collect();
        for (deaths, die) in dead.iter().enumerate() {
            let Some(struck) = homes.iter().position(|home| *home == Some(*die)) else { continue };
            let next = (1..self.dies).map(|step| DieId(((u32::from(die.0) + step) % self.dies) as u16));
            homes[struck] = next.into_iter().find(|next| !homes.contains(&Some(*next)) && !dead[..deaths].contains(next));
        }
        homes[strip as usize]
    }

    fn parity_rule(&self) -> ParityRule {
        self.parity_rule
    }

    fn plan(&self, write: &StripeWrite) -> StripePlan {
        let parity = StripSet::one(self.data_strips());
        let reconstruct = write.present.minus(write.written);
        let modify = write.present.and(write.written).or(if write.present.is_empty() { StripSet::EMPTY } else { parity });
        let readable = |reads: StripSet| reads.and(write.unreadable).is_empty();
        let can_modify = readable(modify) && (write.has_parity || write.present.is_empty());
        let can_reconstruct = readable(reconstruct);
        match (can_modify, can_reconstruct) {
            (true, true) if modify.len() < reconstruct.len() => StripePlan::Parity { add: modify },
            (_, true) => StripePlan::Parity { add: reconstruct },
            (true, false) => StripePlan::Parity { add: modify },
            (false, false) => StripePlan::NoParity,
        }
    }

    fn read_around(&self) -> Option<ReadAround> {
        self.read_around
    }

    fn boxed_clone(&self) -> Box<dyn StripeScheme> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(strips: &[u32]) -> StripSet {
        strips.iter().copied().collect()
    }

    fn plan(written: &[u32], unreadable: &[u32]) -> StripePlan {
        Raid5::over(5).plan(&StripeWrite {
            stripe: StripeId(0),
            written: set(written),
            present: StripSet::first(4),
            has_parity: true,
            held: None,
            unreadable: set(unreadable),
            homeless: StripSet::EMPTY,
            worn: StripSet::EMPTY,
            worn_after: StripSet::EMPTY,
            long: false,
        })
    }

    #[test]
    fn strips_of_a_stripe_sit_on_different_dies_and_parity_visits_all() {
        let scheme = Raid5::over(5);
        let mut parity_dies = StripSet::EMPTY;
        for stripe in (0..5).map(StripeId) {
            let dies: StripSet = (0..5).map(|strip| u32::from(scheme.die_of(stripe, strip).0)).collect();
            assert_eq!(dies, StripSet::first(5));
            parity_dies.insert(u32::from(scheme.die_of(stripe, 4).0));
        }
        assert_eq!(parity_dies, StripSet::first(5));
    }

    /// Catches a rotation of narrow stripes by one die for each stripe, under which 64 strips in a row use 33 of 64 dies; and one
    /// that leaves parities on few dies.
    #[test]
    fn consecutive_narrow_stripes_use_all_dies_and_parity_visits_all() {
        for (dies, n) in [(64, 31), (5, 4), (12, 7), (7, 2), (9, 5), (33, 31), (6, 1)] {
            let (scheme, width) = (Raid5::narrow(dies, n), n + 1);
            let strips = |stripe| (0..width).map(move |strip| (StripeId(stripe), strip));
            for first in 0..2 * dies {
                let side_by_side = dies / width;
                let used: std::collections::BTreeSet<u32> = (first..first + side_by_side)
                    .flat_map(strips)
                    .map(|(stripe, strip)| scheme.die_of(stripe, strip).0.into())
                    .collect();
                let overlap = u32::from(side_by_side > 1);
                assert!(
                    used.len() as u32 >= side_by_side * width - overlap,
                    "{dies} dies, {n} data strips, stripe {first}: {used:?}"
                );
            }
            let (mut all, mut parities) = (vec![0; dies as usize], vec![0; dies as usize]);
            for (stripe, strip) in (0..dies).flat_map(strips) {
                all[scheme.die_of(stripe, strip).index()] += 1;
                parities[scheme.die_of(stripe, strip).index()] += u32::from(strip == n);
            }
            assert_eq!((all, parities), (vec![width; dies as usize], vec![1; dies as usize]), "{dies} dies, {n} data strips");
        }
    }

    #[test]
    fn narrow_stripes_use_all_dies_alike_and_move_to_dies_they_do_not_use() {
        let scheme = Raid5::narrow(7, 3);
        let mut strips_on = [0; 7];
        for (stripe, strip) in (0..7).flat_map(|stripe| (0..4).map(move |strip| (StripeId(stripe), strip))) {
            strips_on[scheme.die_of(stripe, strip).index()] += 1;
        }
        assert_eq!(strips_on, [4; 7]);
        let homes = |stripe, dead: &[DieId]| (0..4).map(|strip| scheme.home(StripeId(stripe), strip, dead)).collect::<Vec<_>>();
        let order = [3, 4, 6, 0].map(DieId);
        for stripe in 0..7 {
            for deaths in 0..order.len() {
                let (before, after) = (homes(stripe, &order[..deaths]), homes(stripe, &order[..=deaths]));
                let used: StripSet = after.iter().flatten().map(|die| u32::from(die.0)).collect();
                assert_eq!(used.len() as usize, after.iter().flatten().count(), "two strips on a die");
                assert!(order[..=deaths].iter().all(|die| !used.contains(u32::from(die.0))), "a strip on a dead die");
                // Seven dies less three deaths leave room for four strips, less four deaths for three.
                assert_eq!(used.len(), if deaths < 3 { 4 } else { 3 });
                let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
                assert!(moved.into_iter().all(|(before, _)| *before == Some(order[deaths])), "a strip left a living die");
            }
        }
        assert!(
            (0..4).all(|strip| Raid5::over(4).home(StripeId(0), strip, &[Raid5::over(4).die_of(StripeId(0), strip)]).is_none())
        );
    }

    #[test]
    fn the_way_that_reads_least_is_taken() {
        // N = 4: one page written reads 2 by modify, 3 by reconstruct; two pages 3 against 2.
        assert_eq!(plan(&[1], &[]), StripePlan::Parity { add: set(&[1, 4]) });
        assert_eq!(plan(&[1, 2], &[]), StripePlan::Parity { add: set(&[0, 3]) });
        assert_eq!(plan(&[0, 1, 2, 3], &[]), StripePlan::Parity { add: StripSet::EMPTY });
    }

    #[test]
    fn a_lost_strip_is_written_around() {
        assert_eq!(plan(&[1], &[1]), StripePlan::Parity { add: set(&[0, 2, 3]) });
        assert_eq!(plan(&[1], &[4]), StripePlan::Parity { add: set(&[0, 2, 3]) });
        assert_eq!(plan(&[0, 1, 2], &[3]), StripePlan::Parity { add: set(&[0, 1, 2, 4]) });
        assert_eq!(plan(&[1], &[2, 4]), StripePlan::NoParity);
    }
}
