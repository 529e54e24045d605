//! The algorithms of DA-RAID-5, decision by decision.

use flashkeep_protect::registry::build;
use flashkeep_protect::{Protection, SchemeChoice, Shape, StripePlan, StripeScheme, StripeWrite};
use vocab::{Bytes, PeCycles, StripSet, StripeId};

fn scheme(name: &str, n: u32, options: &[(&str, &str)]) -> Box<dyn StripeScheme> {
    let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let shape = Shape {
        dies: n + 1,
        blocks_per_die: 64,
        pages_per_block: 16,
        page_size: Bytes(4096),
        slots_per_page: 1,
        unit_pages: 1,
        endurance: PeCycles(3000),
    };
    match build(&SchemeChoice { name: name.into(), options }, shape) {
        Ok(Protection::Stripes(scheme)) => scheme,
        Ok(_) => panic!("{name} has static stripes"),
        Err(error) => panic!("{error}"),
    }
}

fn set(strips: impl IntoIterator<Item = u32>) -> StripSet {
    strips.into_iter().collect()
}

/// A write to a full stripe of `n` with parity.
fn write(n: u32, written: StripSet, held: Option<StripSet>) -> StripeWrite {
    let (worn, worn_after, unreadable) = (StripSet::EMPTY, StripSet::EMPTY, StripSet::EMPTY);
    let present = StripSet::first(n);
    let homeless = StripSet::EMPTY;
    StripeWrite {
        stripe: StripeId(0),
        written,
        present,
        has_parity: true,
        held,
        unreadable,
        homeless,
        worn,
        worn_after,
        long: false,
    }
}

fn hold(add: StripSet, keep: bool, covers: StripSet) -> StripePlan {
    StripePlan::Hold { add, keep, covers }
}

#[test]
fn figure_4_is_played_as_drawn() {
    let scheme = scheme("da-raid5", 4, &[("stage", "3"), ("n_update", "2")]);
    let batch = set([1, 2, 3]);
    assert_eq!(scheme.plan(&write(4, batch, None)), hold(StripSet::EMPTY, false, batch), "PP0 = D1 + D2 + D3");
    assert_eq!(scheme.plan(&write(4, batch, Some(batch))), hold(StripSet::EMPTY, false, batch), "PP0' = D1' + D2' + D3'");
}

#[test]
fn a_new_partial_parity_still_covers_what_the_batch_leaves_out() {
    let (held, batch) = (set([0]), set(1..8));
    let plan = scheme("da-raid5", 8, &[("stage", "3")]).plan(&write(8, batch, Some(held)));
    assert_eq!(plan, hold(held, false, StripSet::first(8)), "D0 is read and stays covered");
    // As printed it is forgotten: nothing covers D0 any more.
    let plan = scheme("da-raid5-as-printed", 8, &[]).plan(&write(8, batch, Some(held)));
    assert_eq!(plan, hold(StripSet::EMPTY, false, batch));
}

#[test]
fn up_to_n_update_pages_go_by_the_rule_of_ppc_and_cheaper_takes_what_reads_less() {
    let by = |n_update| scheme("da-raid5", 8, &[("stage", "3"), ("n_update", n_update)]);
    let (held, batch) = (set(0..6), set(0..4));
    // Four previous versions, or the two pages that the batch leaves out.
    assert_eq!(by("4").plan(&write(8, batch, Some(held))), hold(batch, true, held));
    assert_eq!(by("3").plan(&write(8, batch, Some(held))), hold(set([4, 5]), false, held));
    assert_eq!(by("cheaper").plan(&write(8, batch, Some(held))), hold(set([4, 5]), false, held));
    assert_eq!(by("cheaper").plan(&write(8, set([0, 7]), Some(held))), hold(set([0]), true, set([0, 1, 2, 3, 4, 5, 7])));
}

#[test]
fn a_long_request_gets_full_parity_at_once() {
    let scheme = scheme("da-raid5", 8, &[("stage", "3")]);
    let long = |held| scheme.plan(&StripeWrite { long: true, ..write(8, set(0..3), held) });
    assert_eq!(long(None), StripePlan::Parity { add: set([0, 1, 2, 8]) }, "Eq. 1");
    assert_eq!(long(Some(set([0, 3]))), StripePlan::Parity { add: set(3..8) });
}

#[test]
fn algorithm_1_counts_the_class_of_the_old_page_too() {
    let mut scheme = scheme("da-raid5", 4, &[("stage", "2")]);
    let (stripe, strip) = (StripeId(0), set([1]));
    let bare = StripeWrite { has_parity: false, ..write(4, strip, None) };
    assert_eq!(scheme.plan(&bare), StripePlan::NoParity);
    // To a worn block, PEA = 0: the other pages are read.
    assert_eq!(scheme.plan(&StripeWrite { worn_after: strip, ..bare }), StripePlan::Parity { add: set([0, 2, 3]) });
    scheme.moved(stripe, Some(false), Some(true));
    // From a worn block to a worn block PEA stays 1, where Algorithm 1 as printed counts 2.
    let again = StripeWrite { worn: strip, worn_after: strip, ..write(4, strip, None) };
    assert_eq!(scheme.plan(&again), StripePlan::Parity { add: set([1, 4]) }, "Eq. 1");
    scheme.moved(stripe, Some(true), Some(true));
    assert_eq!(scheme.worn_strips(stripe), Some(1));
    // Another page to a sound block: PEA stays 1, where Algorithm 1 as printed drops the parity.
    let other = StripeWrite { worn: strip, ..write(4, set([2]), None) };
    assert_eq!(scheme.plan(&other), StripePlan::Parity { add: set([2, 4]) });
    scheme.moved(stripe, Some(false), Some(false));
    // The worn page to a sound block.
    assert_eq!(scheme.plan(&StripeWrite { worn: strip, ..write(4, strip, None) }), StripePlan::NoParity);
    scheme.moved(stripe, Some(true), Some(false));
    assert_eq!(scheme.worn_strips(stripe), Some(0));
}

/// Catches an update of stored parity by what a partial parity has newer versions of.
#[test]
fn in_stage_2_a_partial_parity_of_stage_3_goes_on() {
    let scheme = scheme("da-raid5", 4, &[("stage", "2")]);
    assert_eq!(scheme.plan(&write(4, set([1]), Some(set([1])))), hold(set([1]), true, set([1])));
}

/// Catches parity that is dropped while a page has no place at all: then nothing brings that page back.
#[test]
fn in_stage_2_a_stripe_with_a_lost_page_keeps_its_parity() {
    let scheme = scheme("da-raid5", 4, &[("stage", "2")]);
    let lacks = |strip| StripeWrite { unreadable: set([strip]), ..write(4, set([1]), None) };
    assert_eq!(scheme.plan(&write(4, set([1]), None)), StripePlan::NoParity, "no page lies on a worn block");
    assert_eq!(scheme.plan(&lacks(0)), StripePlan::Parity { add: set([1, 4]) });
    assert_eq!(scheme.plan(&lacks(1)), StripePlan::Parity { add: set([0, 2, 3]) });
    // Of a discarded stripe nothing is there, and its page has no die: the parity is all that is stored of it (torture, seed
    // 701, 759081).
    let empty = StripeWrite { present: StripSet::EMPTY, has_parity: false, ..write(4, set([1]), None) };
    assert_eq!(scheme.plan(&empty), StripePlan::NoParity, "a die takes the page");
    assert_eq!(scheme.plan(&StripeWrite { homeless: set([1]), ..empty }), StripePlan::Parity { add: StripSet::EMPTY });
}

/// L = 2^14 (section IV-A) of the drive of Table II, 8192 blocks of 128 pages, N = 8: 2^17 stripes. Catches an L that is
/// the same on a drive of a thousandth of that.
#[test]
fn a_drive_of_the_papers_size_has_its_threshold() {
    for (blocks_per_die, l) in [(1024, 16_384), (8, 128)] {
        let (dies, page_size) = (8 + 1, Bytes(8192));
        let shape = Shape {
            dies,
            blocks_per_die,
            pages_per_block: 128,
            page_size,
            slots_per_page: 1,
            unit_pages: 1,
            endurance: PeCycles(15_000),
        };
        let choice = SchemeChoice::named("da-raid5");
        // Nine chips where the paper's 8192 blocks are those of eight: an eighth more stripes.
        let l = l + l / 8;
        let Protection::Stripes(mut scheme) = build(&choice, shape).expect("valid") else { panic!("static stripes") };
        scheme.block_wore_out();
        for stripe in 0..=l {
            assert_eq!(scheme.life_stage(), Some(2), "{stripe} of {l} stripes have parity");
            scheme.moved(StripeId(stripe), None, Some(true));
        }
        assert_eq!(scheme.life_stage(), Some(3));
    }
}

#[test]
fn the_first_worn_block_begins_stage_2_and_more_than_l_stripes_stage_3() {
    let mut scheme = scheme("da-raid5", 4, &[("l", "1")]);
    let cache = |scheme: &dyn StripeScheme| scheme.write_cache().expect("it has one").pages;
    assert_eq!((cache(&*scheme), scheme.wants_parity(StripeId(0), true), scheme.survives_dies()), (0, false, 0));
    scheme.block_wore_out();
    assert_eq!((cache(&*scheme), scheme.wants_parity(StripeId(0), true), scheme.survives_dies()), (64, true, 0));
    scheme.moved(StripeId(7), None, Some(true));
    assert_eq!((scheme.next_unprotected(100), scheme.next_unprotected(100)), (Some(StripeId(7)), None));
    assert!(scheme.limits().is_some());
    scheme.moved(StripeId(9), None, Some(true));
    assert_eq!((scheme.survives_dies(), scheme.next_unprotected(100)), (1, Some(StripeId(0))), "all stripes are looked at");
    assert!(scheme.limits().is_none());
}
