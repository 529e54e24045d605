//! Which state of a stripe is chosen after a cut.

use super::*;
use crate::config::Power;
use crate::core::journal::Journal;
use crate::core::oob_covering;
use crate::write::stripes::mount::{ChosenStripes, Evidence};
use crate::write::stripes::partial::PartialParityRemains;
use crate::write::{KeptMembers, Writer};
use device::image::Contents;
use nand::PageRole;
use std::collections::{BTreeMap, BTreeSet};

/// No page is known to be lost.
static NONE_LOST: BTreeMap<Lpn, u64> = BTreeMap::new();

/// A journal with these durable ranks of stripe 0.
fn journal(durable: [u64; N as usize]) -> Journal {
    let mut journal = Journal::new(64);
    (0..).map(Lpn).zip(durable).for_each(|(lpn, rank)| journal.durable(lpn, rank));
    journal
}

/// A drive that is to be mounted, with stripe 0 in version 1.
fn mountable(scheme: &str) -> Drive {
    let power = Power { mountable: true, ..Power::default() };
    let mut drive = Drive::with(Setup { power, ..tiny_setup(scheme, BufferKind::Off) });
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive
}

impl Drive {
    /// Completes this many flash commands.
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

    /// Programmed pages but those `gone`.
    fn readable(&self, gone: &[Ppn]) -> Vec<Ppn> {
        let pages = (0..self.core.device.grid.geometry().pages()).map(Ppn);
        pages.filter(|ppn| self.core.device.is_programmed(*ppn) && !gone.contains(ppn)).collect()
    }

    /// Choice of a mount that cannot read the pages `gone`, on dies of which `losing` lost pages. It has the partial
    /// parities of PLP memory, unless the outage took them.
    fn choose(&self, gone: &[Ppn], losing: &[DieId], lost_partials: bool) -> ChosenStripes {
        let partials = if lost_partials { Vec::new() } else { self.stripes.held.remains() };
        let losing_dies = losing.iter().copied().collect();
        self.choose_from(&Evidence { losing_dies, lost_partials, ..self.evidence(gone, &Journal::default(), &partials) }, &[])
    }

    /// Choice of a mount that cannot read the pages `gone` and whose journal has the ranks `durable` for stripe 0.
    fn choose_by(&self, durable: [u64; N as usize], gone: &[Ppn]) -> ChosenStripes {
        self.choose_from(&self.evidence(gone, &journal(durable), &[]), &[])
    }

    /// Choice of a mount where the `suspects` may not last.
    fn choose_from(&self, evidence: &Evidence<'_, Tag>, suspects: &[Ppn]) -> ChosenStripes {
        self.stripes.choose(&self.core, evidence, &suspects.iter().copied().collect())
    }

    /// Knowledge of a mount that cannot read the pages `gone`, of which no die is known to have lost any.
    fn evidence<'a>(&self, gone: &[Ppn], journal: &'a Journal, partials: &'a [PartialParityRemains<Tag>]) -> Evidence<'a, Tag> {
        let (readable, losing_dies) = (self.readable(gone), BTreeSet::new());
        Evidence { readable, losing_dies, journal, lost: &NONE_LOST, partials, lost_partials: false }
    }

    /// Writes a data strip of stripe 0 once more, in the last block of die 4, and leaves the map as it is.
    fn copy(&mut self, strip: u32) {
        let ppn = self.core.device.grid.ppn(self.core.device.grid.block(DieId(4), self.core.device.grid.blocks_per_die() - 1), 0);
        let image = self.core.device.images.open(ppn, oob_covering(vocab::StripSet::EMPTY));
        let (tag, update) = (OobTag::data(Lpn(strip)), self.rank(strip));
        self.core.device.images.fill(image, Contents { tag, payload: page(strip, 2), update }, None, None);
        self.stripes.tell_strips(&mut self.core, image, STRIPE, StripSet::EMPTY, 0);
        let sequence = self.core.device.next_rank();
        self.core.device.images.seal(image, sequence);
        assert!(self.core.device.program(&Command { ppn, image, verb: Verb::Program, ..Command::default() }).is_done());
    }

    /// Whether each strip's contents are chosen in the rank given, and whether a page has them.
    fn expect(&self, chosen: &ChosenStripes, expected: [(u64, bool); N as usize]) {
        assert_eq!(pages_of(chosen), expected.map(Some));
    }
}

/// The rank of the contents that are chosen for each strip of stripe 0, if any are, and whether a page has them.
fn pages_of(chosen: &ChosenStripes) -> Vec<Option<(u64, bool)>> {
    let pages = chosen.pages[..N as usize].iter();
    pages.map(|newest| newest.map(|newest| (newest.update, newest.slot.is_some()))).collect()
}

impl Drive {
    /// The pages that a mount would look at although all of them have summaries, if nothing of stripe 0 can be read
    /// that is `gone` and the cut may have come into the `suspects`.
    fn doubted(&self, gone: &[Ppn], suspects: &[Ppn], is_believed: impl Fn(Ppn) -> bool) -> Vec<Ppn> {
        let (partials, journal) = (self.stripes.held.remains(), Journal::default());
        let evidence = self.evidence(gone, &journal, &partials);
        self.stripes.doubted(&self.core, &evidence, &suspects.iter().copied().collect(), is_believed)
    }

    /// A drive with this flash, mounted: the chosen pages are in the map, parities and partial parities are taken over.
    fn mounted(&self, scheme: &str, chosen: &ChosenStripes, partials: Vec<PartialParityRemains<Tag>>) -> Drive {
        let power = Power { mountable: true, ..Power::default() };
        let mut mounted = Drive::with(Setup { power, ..tiny_setup(scheme, BufferKind::Off) });
        mounted.core.device.array = self.core.device.array.clone();
        mounted.core.device.sequence = self.core.device.sequence;
        mounted.core.map.mount(|_| Some(0));
        for (lpn, newest) in (0..).map(Lpn).zip(&chosen.pages) {
            let Some(newest) = newest else { continue };
            mounted.stripes.note_version(PageRole::Data(lpn), newest.update);
            let _ = match newest.slot {
                Some(slot) => mounted.core.map.publish(lpn, slot),
                None => mounted.core.map.publish_missing(lpn),
            };
        }
        mounted.stripes.take_over(&mut mounted.core, &chosen.stripes, partials);
        mounted
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
    let losing_dies = gone.iter().map(|&ppn| drive.core.device.grid.die_of(ppn)).collect();
    let (new, gone) = (drive.rank(0), [&before[..], &gone].concat());
    let durable = journal([new; N as usize]);
    let chosen = drive.choose_from(&Evidence { losing_dies, ..drive.evidence(&gone, &durable, &[]) }, &[]);
    drive.expect(&chosen, [(new, true), (new, false), (new, false), (new, true)]);
    assert_eq!(chosen.stripes[0].lost, [(Lpn(1), new), (Lpn(2), new)]);
}

/// The journal says that two strips were durable, and flash has neither, though no other page of their dies is known to be lost. Catches an update that is
/// taken for one that the cut met, so that its parity is given up.
#[test]
fn durable_strips_that_are_missing_were_lost_whatever_their_dies_have_lost() {
    let mut drive = mountable("raid5");
    let old = drive.rank(0);
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let (new, gone) = (drive.rank(0), [drive.page_of(1), drive.page_of(2)]);
    let chosen = drive.choose_by([new; N as usize], &gone);
    drive.expect(&chosen, [(new, true), (new, false), (new, false), (new, true)]);
    assert_eq!(chosen.stripes[0].lost, [(Lpn(1), new), (Lpn(2), new)]);
    assert_eq!(chosen.stripes[0].parity_slot(), drive.place(STRIPE, N), "it brings back one if the other is found");
    // Of these the older contents were durable: the update was cut.
    let chosen = drive.choose_by([old; N as usize], &gone);
    drive.expect(&chosen, [(old, true); 4]);
}

/// The first update of a drive wrote a stripe. Two of its dies died, and a later update of the others was cut. Catches a mount for which contents of
/// the lowest rank were never durable, so that it takes the update that was cut.
#[test]
fn the_first_update_of_all_counts_as_durable() {
    let mut drive = mountable("raid5");
    assert_eq!(drive.rank(0), 1);
    let first: Vec<Ppn> = (0..N).map(|strip| drive.page_of(strip)).collect();
    drive.write(&[(2, 2), (3, 2)]);
    let cut = [drive.page_of(3), drive.page_of(N)];
    let die_of = |ppn: &Ppn| drive.core.device.grid.die_of(*ppn);
    let (dead, losing) = ([die_of(&first[0]), die_of(&first[1])], [die_of(&cut[0]), die_of(&cut[1])]);
    dead.iter().for_each(|&die| drive.core.device.losses.die_died(die));
    let (gone, durable) = ([&first[..2], &cut].concat(), journal([1; N as usize]));
    let evidence = drive.evidence(&gone, &durable, &[]);
    let chosen = drive.choose_from(&Evidence { losing_dies: losing.into(), ..evidence }, &[]);
    drive.expect(&chosen, [(1, false), (1, false), (1, true), (1, true)]);
    assert_eq!(chosen.stripes[0].lost, [(Lpn(0), 1), (Lpn(1), 1)]);
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

/// Catches pages of a first update that was cut and that are taken for losses because their dies lost others: they would answer with
/// media errors though the host never had an answer, and no parity could be built for the rest of the stripe.
#[test]
fn a_first_update_that_was_cut_lost_nothing_whatever_its_dies_have_lost() {
    let mut drive = mountable("raid5");
    drive.begin(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    drive.complete_some(2);
    let all: Vec<DieId> = (0..drive.core.device.grid.dies()).map(|die| DieId(die as u16)).collect();
    for lost_partials in [false, true] {
        let chosen = drive.choose(&[], &all, lost_partials);
        let found: Vec<bool> = chosen.pages[4..8].iter().map(Option::is_some).collect();
        assert_eq!((found, &chosen.stripes[1].lost), (vec![true, true, false, false], &vec![]));
        assert!(chosen.stripes[1].unnamed.is_some(), "its pages name four strips");
    }
}

/// A cut update is undone in part: the mount goes back to the old contents of two strips, and names that part. Catches a
/// durable page that is given up although flash has it, and a parity of other contents that is taken for that part's.
#[test]
fn a_part_with_an_older_strip_has_a_parity_of_its_own() {
    let mut drive = mountable("raid5");
    let (old, first) = (drive.rank(0), drive.page_of(0));
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    // Two pages are missing, so that no parity makes up for them.
    let (new, gone) = (drive.rank(0), [drive.page_of(0), drive.page_of(1)]);
    let durable = [old, old, new, new];
    let chosen = drive.choose_by(durable, &gone);
    drive.expect(&chosen, [(old, true), (old, true), (new, true), (new, true)]);
    assert_eq!(chosen.pages[0].unwrap().slot, Some(drive.core.device.grid.slot(first, 0)));
    assert_eq!(chosen.stripes[0].parity_slot(), None, "the parity in flash sums newer contents of strips 0 and 1");
    assert!(chosen.stripes[0].unnamed.is_some() && chosen.stripes[0].lost.is_empty());
    // One page of that part is written again and names it; then the power goes again.
    let mut mounted = drive.mounted("raid5", &chosen, Vec::new());
    mounted.copy(1);
    let chosen = mounted.choose_by(durable, &gone);
    mounted.expect(&chosen, [(old, true), (old, true), (new, true), (new, true)]);
    assert_eq!(chosen.stripes[0].parity_slot(), None, "that is still the parity of other contents");
}

/// A die of the stripe is dead, and what it held is on another one: a page that a living die lost is solved for. Catches one that is
/// held for torn, so that the mount goes back to older contents (torture, seed 610002, 27367).
#[test]
fn a_page_lost_beside_a_dead_die_is_solved_for() {
    let mut drive = mountable("raid5");
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let (new, lost) = (drive.rank(0), drive.page_of(0));
    drive.core.device.losses.die_died(drive.core.device.grid.die_of(drive.page_of(1)));
    let chosen = drive.choose_by([new; N as usize], &[lost]);
    drive.expect(&chosen, [(new, false), (new, true), (new, true), (new, true)]);
    assert_eq!(chosen.stripes[0].parity_slot(), drive.place(STRIPE, N));
    assert!(chosen.stripes[0].lost.is_empty());
}

/// The host discards two strips and writes the others; a cut undoes both, and a page is lost later. Catches a durable page
/// that is given up because the cut update did not have it.
#[test]
fn an_update_that_was_cut_gives_up_no_page_that_it_found_discarded() {
    let mut drive = mountable("raid5");
    let (old, lost, parity) = (drive.rank(0), drive.page_of(3), drive.place(STRIPE, N));
    for lpn in [2, 3] {
        let _ = drive.core.map.forget(Lpn(lpn));
    }
    drive.write(&[(0, 2), (1, 2)]);
    let of_cut = [drive.page_of(0), drive.page_of(1)];
    let chosen = drive.choose_by([old; 4], &[of_cut[0], of_cut[1], lost]);
    drive.expect(&chosen, [(old, true), (old, true), (old, true), (old, false)]);
    assert_eq!((chosen.stripes[0].parity_slot(), chosen.stripes[0].lost.len()), (parity, 0), "the parity gives it");
}

/// A partial parity has newer contents of strip 0, whose older ones are lost. Catches a stored parity that is written again and
/// names the newer ones as what it sums: after a cut it would be taken for the parity of these.
#[test]
fn a_stored_parity_never_names_what_only_the_partial_one_sums() {
    let mut drive = mountable("ppc");
    drive.write(&[(0, 2)]);
    let Drive { stripes, core, .. } = &mut drive;
    let partial = stripes.held.take(STRIPE, |slot| core.map.unit_of(slot)).expect("a partial parity of strip 0");
    let mut sums = partial.sums();
    sums.old = vec![(0, Place::Missing)];
    stripes.held.restore(STRIPE, sums, None, |slot| core.map.unit_of(slot));
    let image = core.device.images.open(Ppn(0), oob_covering(vocab::StripSet::EMPTY));
    stripes.tell_strips_of_stored_parity(core, image, STRIPE);
    let program = core.device.images.program(image, Ppn(0), oob_covering(vocab::StripSet::EMPTY), SimTime::ZERO);
    let named: Vec<u64> = program.members.iter().map(|member| member.update).collect();
    let rank = |strip| stripes.version_of_strip(core, STRIPE, strip);
    assert!(named[0] > 0 && named[0] != rank(0), "{named:?}");
    assert_eq!(named[1..], [rank(1), rank(2), rank(3)]);
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
    let mounted = drive.mounted("ppc", &chosen, partials);
    let partial = mounted.stripes.held.get(STRIPE).expect("a partial parity");
    assert_eq!((partial.covers, partial.sum, &partial.old), (strips([1]), page(1, 2), &old));
    assert_eq!(mounted.place(STRIPE, N), drive.place(STRIPE, N));
    assert_eq!(mounted.rank(N), drive.rank(N));
    mounted.check();
    assert_eq!(solved(&mounted, STRIPE, 3), Some(page(3, 1)));
}

/// Catches pages that are looked at although their summaries can be believed, and a stripe that is believed though the cut
/// left its newest state in parts: a page of it that was lost since may be one too many.
#[test]
fn summaries_are_doubted_in_stripes_that_the_cut_left_in_parts() {
    let mut drive = mountable("raid5");
    drive.write(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    let before = drive.page_of(0);
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let all = |_| true;
    let of_stripe: BTreeSet<Ppn> = (0..=N).map(|strip| drive.page_of(strip)).collect();
    assert_eq!(drive.doubted(&[], &[], all), []);
    assert_eq!(drive.doubted(&[before], &[before], all), [], "the state before is not needed");
    for strip in 0..=N {
        let page = drive.page_of(strip);
        let suspected: BTreeSet<Ppn> = drive.doubted(&[], &[page], all).into_iter().collect();
        assert!(suspected.is_superset(&of_stripe), "strip {strip} may not last");
        assert!(!suspected.contains(&drive.core.device.grid.page_of(drive.place(StripeId(1), 0).expect("stored")).0));
        let missing: BTreeSet<Ppn> = drive.doubted(&[page], &[], all).into_iter().collect();
        let rest: BTreeSet<Ppn> = of_stripe.iter().copied().filter(|ppn| *ppn != page).collect();
        assert!(missing.is_superset(&rest) && !missing.contains(&page), "strip {strip} is missing");
    }
    let believed = drive.page_of(2);
    assert_eq!(drive.doubted(&[drive.page_of(0)], &[], |ppn| ppn == believed), [believed], "others were looked at");
}

/// Catches a stripe that is doubted although a partial parity in the cache makes up for its stored one.
#[test]
fn a_partial_parity_is_as_good_as_a_stored_one() {
    let mut drive = mountable("ppc");
    drive.write(&[(1, 2)]);
    assert_eq!(drive.doubted(&[drive.page_of(N)], &[], |_| true), []);
    assert_ne!(drive.doubted(&[drive.page_of(2)], &[], |_| true), []);
}

/// Catches looks at pages of a drive whose stripes bring nothing back: more of them could not help.
#[test]
fn nothing_is_doubted_where_stripes_have_no_redundancy() {
    let drive = mountable("da-raid5");
    assert_eq!(drive.doubted(&[drive.page_of(0)], &[drive.page_of(1)], |_| true), []);
}

/// The stored parity is of the newest state, and the page may turn out to be torn: then the partial parity is what makes
/// the state before whole. Catches one that is forgotten at the mount, and one that is used, or kept permanently.
#[test]
fn a_partial_parity_of_an_older_state_is_kept_until_the_mount_is_over() {
    let mut drive = mountable("ppc");
    drive.write(&[(1, 2)]);
    let partials = drive.stripes.held.remains();
    let sum = partials[0].sums.sum;
    drive.write(&[(0, 3), (1, 3), (2, 3), (3, 3)]);
    assert!(drive.stripes.held.remains().is_empty(), "the whole stripe was written");
    let mut mounted = drive.mounted("ppc", &drive.choose(&[], &[], false), partials);
    assert!(mounted.stripes.held.get(STRIPE).is_none());
    let kept: Vec<(StripeId, Tag)> = mounted.stripes.held.remains().iter().map(|kept| (kept.stripe, kept.sums.sum)).collect();
    assert_eq!(kept, [(STRIPE, sum)], "another cut before the page is written again finds it");
    mounted.stripes.held.all_settled();
    assert!(mounted.stripes.held.remains().is_empty());
}

/// Catches a rank that is noted for a parity which is not stored: partial parities would lean on it after the next cut.
#[test]
fn a_parity_has_a_rank_where_it_is_stored_and_nowhere_else() {
    let mut drive = mountable("ppc");
    drive.write(&[(4, 1)]);
    assert!(drive.place(StripeId(1), N).is_none(), "the partial parity is all there is");
    let chosen = drive.choose(&[], &[], false);
    let mounted = drive.mounted("ppc", &chosen, drive.stripes.held.remains());
    let rank = |of: &Drive, stripe| of.stripes.version_of_strip(&of.core, stripe, N);
    assert_eq!((rank(&mounted, STRIPE), rank(&mounted, StripeId(1))), (drive.rank(N), 0));
    assert_eq!(mounted.stripes.place_of_strip(&mounted.core, StripeId(1), N), Place::Unmapped);
    assert_eq!(solved(&mounted, StripeId(1), 0), Some(page(4, 1)));
    mounted.check();
    let nothing = ChosenStripes { pages: vec![None; 64], stripes: chosen.stripes };
    let mounted = drive.mounted("ppc", &nothing, Vec::new());
    assert_eq!(rank(&mounted, STRIPE), 0, "no page of the stripe is there");
}

/// Stripe 1 never had a stored parity. Catches a partial parity that leans on one nonetheless, one that is wrong after an
/// overwrite or an update beside a lost strip, and a mount that reports a page lost which it brings back.
#[test]
fn a_partial_parity_without_a_stored_one_brings_a_strip_back_before_and_after_a_cut() {
    const NEW: StripeId = StripeId(1);
    let mut drive = mountable("ppc");
    for write in [(4, 1), (5, 1), (5, 2)] {
        drive.write(&[write]);
    }
    assert!(drive.place(NEW, N).is_none() && drive.stripes.is_protected(&drive.core, NEW));
    assert!(!drive.stripes.is_protected(&drive.core, StripeId(2)));
    assert_eq!([0, 1].map(|strip| solved(&drive, NEW, strip)), [Some(page(4, 1)), Some(page(5, 2))]);
    let gone = drive.core.device.grid.page_of(drive.place(NEW, 1).expect("stored")).0;
    let chosen = drive.choose(&[gone], &[drive.core.device.grid.die_of(gone)], false);
    assert_eq!((chosen.stripes[1].lost.len(), chosen.pages[5].map(|newest| newest.slot.is_some())), (0, Some(false)));
    let mounted = drive.mounted("ppc", &chosen, drive.stripes.held.remains());
    assert_eq!(solved(&mounted, NEW, 1), Some(page(5, 2)));
    drive.lose(NEW, 0);
    drive.write(&[(6, 1)]);
    assert_eq!([0, 2].map(|strip| solved(&drive, NEW, strip)), [Some(page(4, 1)), None]);
    drive.lose(NEW, 1);
    assert_eq!(solved(&drive, NEW, 0), None, "two strips are lost");
    drive.check();
}

/// Catches a parity that was lost and takes no part in what the stripe is made of once it is built.
#[test]
fn a_parity_that_is_to_be_built_has_the_rank_of_its_data() {
    let mut drive = mountable("raid5");
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let parity = drive.page_of(N);
    let losing = [drive.core.device.grid.die_of(parity)];
    let chosen = drive.choose(&[parity], &losing, false);
    let mounted = drive.mounted("raid5", &chosen, Vec::new());
    assert_eq!(mounted.stripes.place_of_strip(&mounted.core, STRIPE, N), Place::Missing);
    assert_eq!(mounted.rank(N), drive.rank(0));
}

/// Catches a page that moves with names of strips which a mount dropped: the mount after would look for them; and one
/// whose names are taken from the map though it is older than what is there.
#[test]
fn a_page_that_moves_keeps_its_names_unless_a_mount_dropped_some() {
    let power = Power { mountable: true, ..Power::default() };
    let setup = Setup { power, ..tiny_setup("raid5", BufferKind::Off) };
    let drive = mountable("raid5");
    let (grid, logs) = (&drive.core.device.grid, drive.core.map.logs());
    let mut writer = Writer::new(&setup, tiny_scheme(&setup), grid, logs).expect("a tiny drive has room");
    *writer.stripes_if_any_mut().expect("static stripes") = drive.stripes.clone();
    let (data, parity) = (OobTag::data(Lpn(2)), OobTag::parity(STRIPE));
    let place = |strip| drive.place(STRIPE, strip).expect("stored");
    let names = |writer: &Writer<Tag>, tag, from| match writer.members_to_keep(&drive.core, tag, from) {
        KeptMembers::These(members) => members.iter().map(|member| member.tag).collect::<Vec<_>>(),
        KeptMembers::OfStripeNow(stripe) => vec![OobTag::parity(stripe)],
        KeptMembers::None => vec![],
    };
    let (whole, now) = ((0..N).map(|lpn| OobTag::data(Lpn(lpn))).collect::<Vec<_>>(), vec![OobTag::parity(STRIPE)]);
    assert_eq!(names(&writer, data, place(2)), whole);
    assert_eq!(names(&writer, parity, place(N)), whole);
    let unwritten = Slot(place(2).0 + 1);
    assert_eq!(names(&writer, data, unwritten), now, "its program failed");
    assert_eq!(writer.members_to_keep(&drive.core, OobTag::FILLER, unwritten), KeptMembers::None);
    writer.stripes_if_any_mut().expect("static stripes").unnamed.insert(STRIPE);
    assert_eq!(names(&writer, data, place(2)), now);
    assert_eq!(names(&writer, parity, place(N)), whole, "a parity is of the strips that it sums");
    assert_eq!(names(&writer, OobTag::data(Lpn(5)), place(2)), whole, "another stripe");
}

/// Catches slots that are kept for a page that may turn out to be torn although no page of the stripe may, and none that are kept
/// where one may.
#[test]
fn slots_of_newer_states_are_kept_where_a_page_may_not_last() {
    let mut drive = mountable("raid5");
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let of_stripe: BTreeSet<Slot> = (0..=N).filter_map(|strip| drive.place(STRIPE, strip)).collect();
    let journal = Journal::default();
    let evidence = drive.evidence(&[], &journal, &[]);
    let newer =
        |suspects: &[Ppn]| -> BTreeSet<Slot> { drive.choose_from(&evidence, suspects).stripes[0].newer_slots().collect() };
    assert_eq!((newer(&[]), newer(&[drive.page_of(1)])), (BTreeSet::new(), of_stripe));
}

/// The host discards two strips and writes the others; a cut undoes both, and the pages of those discarded are gone by then. Nothing
/// says that they were durable. Catches a state that is passed over because it lacks what a newer one does not have.
#[test]
fn a_state_stands_without_the_strips_that_a_newer_one_does_not_have() {
    let mut drive = mountable("raid5");
    let (old, gone) = (drive.rank(0), [drive.page_of(2), drive.page_of(3)]);
    for lpn in [2, 3] {
        let _ = drive.core.map.forget(Lpn(lpn));
    }
    drive.write(&[(0, 2), (1, 2)]);
    let of_cut = [drive.page_of(0), drive.page_of(1)];
    let chosen = drive.choose(&[of_cut, gone].concat(), &[], false);
    assert_eq!(pages_of(&chosen), [Some((old, true)), Some((old, true)), None, None]);
}

/// Catches a page that moves without what its OOB bytes say of its stripe, where a mount reads that.
#[test]
fn a_page_that_moves_keeps_its_coverage_where_a_mount_reads_it() {
    use crate::write::{Way, coverage_to_keep};
    let drive = mountable("raid5");
    let (slot, all) = (drive.place(STRIPE, 1).expect("stored"), StripSet::first(N + 1));
    assert_eq!(coverage_to_keep(Way::Stripes, &drive.core, slot), all);
    assert_eq!(coverage_to_keep(Way::Pages, &drive.core, slot), StripSet::EMPTY);
    assert_eq!(coverage_to_keep(Way::Stripes, &drive.core, Slot(slot.0 + 1)), StripSet::EMPTY, "it is not programmed");
    let mut unmounted = Drive::new("raid5", &[]);
    unmounted.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let slot = unmounted.place(STRIPE, 1).expect("stored");
    assert_eq!(coverage_to_keep(Way::Stripes, &unmounted.core, slot), StripSet::EMPTY, "no one mounts it");
}
