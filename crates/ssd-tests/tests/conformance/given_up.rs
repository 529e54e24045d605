//! Pages that are lost permanently: GC gives them up, and no cut brings an older version back.

use crate::common::{MIX, Mix, schemes, seeds, setup_with_spare, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::nand::PageRole;
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, Failure, Inventory, Pace, Power, SafetyRule, Session, StoredPage};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Lpn, Ppn};

const WRITES: Mix = Mix { reads: 0.1, discards: 0.0, max_pages: 2, every: 100_000, partial: 0.0, ..MIX };
const PACE: Pace = Pace::Closed { depth: 4 };

/// Logical pages that the map has no place for though they were written.
fn given_up(found: &Inventory) -> BTreeSet<Lpn> {
    let places = (0..).map(Lpn).zip(&found.places);
    places.filter(|(_, place)| **place == Place::Missing).map(|(lpn, _)| lpn).collect()
}

/// Of these, pages of which flash still has a version that can be read.
fn with_older_version(found: &Inventory) -> BTreeSet<Lpn> {
    let missing = given_up(found);
    let slots = found.pages.iter().filter(|page| !page.lost).flat_map(|page| &page.slots);
    let stored = slots.filter_map(|(role, _)| if let PageRole::Data(lpn) = role { Some(*lpn) } else { None });
    stored.filter(|lpn| missing.contains(lpn)).collect()
}

/// Pages that GC had given up, after a cut.
struct AfterCut {
    /// How many of them had a readable older version in flash.
    older: usize,
    /// Those that the map has a place for again.
    back: Vec<Lpn>,
    /// The first wrong read of any page.
    wrong: Option<String>,
}

/// Loses one page in `share` of those that count, and works on until GC has given pages up of which flash has
/// older versions; then the power goes.
fn cut_after_giving_up(scheme: &SchemeChoice, share: usize, without: Option<SafetyRule>, seed: u64) -> AfterCut {
    let power = Power { mountable: true, without, ..Power::default() };
    let setup = setup_with_spare(scheme, BufferKind::Off, 0.6, power, seed);
    let mut session = Session::new(&setup).expect("a small drive");
    session.run(&mut workload(seed, setup.user_slots, 200, WRITES).into_iter(), PACE, &mut |_| {});
    let current = |page: &&StoredPage| page.slots.iter().any(|(_, is_current)| *is_current);
    let counting: Vec<Ppn> = session.inventory().pages.iter().filter(current).map(|page| page.ppn).collect();
    counting.iter().step_by(share).for_each(|&ppn| session.fail(Failure::Page(ppn)));
    for round in 0..20 {
        session.run(&mut workload(seed + 100 + round, setup.user_slots, 15, WRITES).into_iter(), PACE, &mut |_| {});
        if !with_older_version(&session.inventory()).is_empty() {
            break;
        }
    }
    let before = session.inventory();
    session.cut_power(&[]);
    session.drain();
    session.check_counts();
    let wrong = session.take_stock().wrong;
    let after = given_up(&session.inventory());
    let back = given_up(&before).difference(&after).copied().collect();
    AfterCut { older: with_older_version(&before).len(), back, wrong }
}

/// Pages were lost, and GC gave them up. Fails if a cut brings an older version back: what GC noted says
/// that the page is lost, and the journal says so of pages that no one has given up yet.
#[test]
fn what_gc_gave_up_does_not_come_back_older_after_a_cut() {
    let (mut tried, mut noticed) = (0, 0);
    for seed in seeds(12) {
        let with_journal = cut_after_giving_up(&SchemeChoice::named("none"), 4, None, seed);
        assert_eq!((with_journal.wrong, with_journal.back), (None, vec![]), "seed {seed}");
        let without = cut_after_giving_up(&SchemeChoice::named("none"), 4, Some(SafetyRule::Journal), seed);
        assert_eq!(without.back, [], "seed {seed}: it was noted when GC gave it up");
        tried += without.older;
        noticed += u32::from(without.wrong.is_some());
    }
    assert!(tried > 0, "no page that was given up had an older version in flash");
    assert!(noticed > 0, "no one kept a journal, and no one noticed");
}

/// The same of every scheme, when each second page is lost and codewords bring some of them back. Fails if a page that nothing
/// brings back reads as an older version after a cut, or as if it had never been written.
#[test]
fn what_no_codeword_brought_back_does_not_come_back_older_after_a_cut() {
    let mut older = BTreeMap::<String, usize>::new();
    for scheme in schemes() {
        for seed in seeds(4) {
            let tried = cut_after_giving_up(&scheme, 2, None, seed);
            assert_eq!(tried.wrong, None, "{scheme}, seed {seed}");
            *older.entry(scheme.name.clone()).or_default() += tried.older;
        }
    }
    // Segments are small: of 40 seeds none had an older version left when GC took what was lost.
    older.remove("code-zones");
    assert!(older.values().all(|&pages| pages > 0), "no page was lost that had an older version in flash: {older:?}");
}
