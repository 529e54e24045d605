//! Which state of a stripe is chosen after a cut.

use super::*;
use crate::config::Power;
use crate::core::journal::Journal;
use crate::write::stripes::mount::{ChosenStripes, Evidence};
use std::collections::BTreeSet;

/// A drive that is to be mounted, with stripe 0 in version 1.
fn mountable(scheme: &str) -> Drive {
    let power = Power { mountable: true, ..Power::default() };
    let mut drive = Drive::with(Setup { power, ..tiny_setup(scheme, BufferKind::Off) });
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive
}

impl Drive {
    /// Completes so many flash commands.
    fn complete_some(&mut self, commands: u32) {
        for _ in 0..commands {
            let (id, _) = self.core.device.next_ready().expect("that many are queued");
            self.complete(id);
        }
    }

    fn rank(&self, strip: u32) -> u64 {
        self.stripes.version_of_strip(&self.core, STRIPE, strip)
    }

    fn page_of(&self, strip: u32) -> Ppn {
        self.core.device.grid.page_of(self.place(STRIPE, strip).expect("a stored strip")).0
    }

    /// What a mount chooses that cannot read the pages `gone`, on dies of which `losing` lost pages. It has the
    /// partial parities of power-safe memory, unless the outage took them.
    fn choose(&self, gone: &[Ppn], losing: &[DieId], lost_partials: bool) -> ChosenStripes {
        let pages = (0..self.core.device.grid.geometry().pages()).map(Ppn);
        let readable = pages.filter(|ppn| self.core.device.is_programmed(*ppn) && !gone.contains(ppn)).collect();
        let partials = if lost_partials { Vec::new() } else { self.stripes.held.remains() };
        let losing_dies = losing.iter().copied().collect();
        let evidence = Evidence { readable, losing_dies, journal: &Journal::default(), partials: &partials, lost_partials };
        self.stripes.choose(&self.core, &evidence, &BTreeSet::new())
    }

    /// Whether each strip's contents are chosen in the rank given, and whether a page has them.
    fn expect(&self, chosen: &ChosenStripes, expected: [(u64, bool); N as usize]) {
        let found = chosen.pages[..N as usize].iter().map(|newest| newest.map(|newest| (newest.update, newest.slot.is_some())));
        assert_eq!(found.collect::<Vec<_>>(), expected.map(Some));
    }
}

/// Catches a mount that takes the new contents of an update of which only a part is in flash.
#[test]
fn a_cut_update_gives_way_to_the_state_before_it() {
    let mut drive = mountable("raid5");
    let (old, parity) = (drive.rank(0), drive.place(STRIPE, N));
    drive.begin(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    drive.complete_some(2);
    let chosen = drive.choose(&[], &[], false);
    drive.expect(&chosen, [(old, true); 4]);
    assert_eq!(chosen.stripes[0].parity_slot(), parity);
}

/// Catches a mount that passes over an update whose parity makes up for a page.
#[test]
fn parity_makes_up_for_one_page_of_the_newest_state() {
    let mut drive = mountable("raid5");
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let new = drive.rank(0);
    let chosen = drive.choose(&[drive.page_of(3)], &[], false);
    drive.expect(&chosen, [(new, true), (new, true), (new, true), (new, false)]);
    assert_eq!(chosen.stripes[0].parity_slot(), drive.place(STRIPE, N));
    assert!(chosen.stripes[0].lost.is_empty(), "the stripe brings it back");
}

/// Catches data that are shown as they were before an acknowledged update, or losses that are not reported.
#[test]
fn a_durable_state_with_losses_is_chosen_where_nothing_older_is_whole() {
    let mut drive = mountable("raid5");
    let before: Vec<Ppn> = (0..=N).map(|strip| drive.page_of(strip)).collect();
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let gone = [drive.page_of(1), drive.page_of(2)];
    let losing = gone.map(|ppn| drive.core.device.grid.die_of(ppn));
    let chosen = drive.choose(&[&before[..], &gone].concat(), &losing, false);
    let new = drive.rank(0);
    drive.expect(&chosen, [(new, true), (new, false), (new, false), (new, true)]);
    assert_eq!(chosen.stripes[0].lost, [(Lpn(1), new), (Lpn(2), new)]);
}

/// Catches a first update that was cut and whose pages are taken for losses; and a part of a stripe that no page
/// names, so that the next mount would not find it.
#[test]
fn the_part_of_a_first_update_that_was_cut_is_a_stripe_without_the_rest() {
    let mut drive = mountable("raid5");
    drive.begin(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    drive.complete_some(2);
    let chosen = drive.choose(&[], &[], false);
    let pages: Vec<bool> = chosen.pages[4..8].iter().map(|newest| newest.is_some_and(|newest| newest.slot.is_some())).collect();
    assert_eq!(pages, [true, true, false, false]);
    assert!(chosen.pages[6].is_none() && chosen.stripes[1].lost.is_empty(), "it never was there");
    assert!(chosen.stripes[1].unnamed.is_some(), "its pages name four strips");
}

/// Catches a partial parity that is not used for the page that it sums, or is used after an outage took it.
#[test]
fn a_partial_parity_makes_up_for_a_page_whose_program_was_cut() {
    let mut drive = mountable("ppc");
    let old = drive.rank(0);
    drive.begin(&[(1, 2)]);
    let new = drive.rank(1);
    let chosen = drive.choose(&[], &[], false);
    drive.expect(&chosen, [(old, true), (new, false), (old, true), (old, true)]);
    assert_eq!(chosen.stripes[0].old_slots().count(), 1, "the old version, which the stored parity sums");
    let chosen = drive.choose(&[], &[], true);
    drive.expect(&chosen, [(old, true); 4]);
}

/// Catches partial parities, parity ranks or pins that a mount forgets.
#[test]
fn stripes_take_over_what_was_chosen() {
    let mut drive = mountable("ppc");
    drive.write(&[(1, 2)]);
    let (old, partials) = (drive.stripes.held.get(STRIPE).expect("held").old.clone(), drive.stripes.held.remains());
    let chosen = drive.choose(&[], &[], false);
    let power = Power { mountable: true, ..Power::default() };
    let mut mounted = Drive::with(Setup { power, ..tiny_setup("ppc", BufferKind::Off) });
    mounted.core.device.array = drive.core.device.array.clone();
    mounted.core.map.mount(|_| Some(0));
    for (lpn, newest) in (0..).map(Lpn).zip(&chosen.pages) {
        let Some(slot) = newest.and_then(|newest| newest.slot) else { continue };
        mounted.core.map.publish(lpn, slot);
    }
    mounted.stripes.take_over(&mut mounted.core, &chosen.stripes, partials);
    let partial = mounted.stripes.held.get(STRIPE).expect("a partial parity");
    assert_eq!((partial.covers, partial.sum, &partial.old), (strips([1]), page(1, 2), &old));
    assert_eq!(mounted.place(STRIPE, N), drive.place(STRIPE, N));
    assert_eq!(mounted.rank(N), drive.rank(N));
    mounted.check();
    assert_eq!(solved(&mounted, STRIPE, 3), Some(page(3, 1)));
}
