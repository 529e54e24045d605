//! Block groups after a cut. The sums of codewords whose parity is not in flash lie in the
//! power-safe cache (I19), and so do pages that are summed and on their way: those that did not get
//! to flash are taken out of the sums. Groups that were being written take nothing more; their sums
//! stay, beside what new groups need, until they have been collected.

use crate::core::rules::SafetyRule;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::Choice;
use crate::power::mount::looks::Looks;
use crate::write::groups::{GroupRemains, row_of_group};
use device::contents::HostPayload;
use ftl::UnitId;
use nand::{Member, PageRole, Scan};
use std::collections::BTreeSet;
use vocab::{Cause, Ppn, SuperblockId};

/// Copies are ranked by the losses that their codeword survives, up to so many.
const LOSSES_RANKED: u64 = 15;

impl<P: HostPayload, A: Scan<P>> Engine<P, A> {
    /// Takes over the table of groups and the sums.
    pub(crate) fn mount_groups(&mut self, remains: &mut Remains<P>, looks: &Looks) {
        let Some(kept) = remains.groups.take() else { return };
        let GroupRemains { codes, first_code, now, asked, info, held, blocks, redo } = kept;
        let groups = &mut self.writer.groups;
        (groups.codes, groups.first_code, groups.now, groups.asked) = (codes, first_code, now, asked);
        (groups.info, groups.held, groups.blocks) = (info, held, blocks);
        for held in self.writer.groups.held.values_mut() {
            held.parities = None;
        }
        let (there, torn): (Vec<_>, Vec<_>) = redo.into_iter().partition(|redo| looks.is_valid(redo.ppn));
        if !self.core.breaks(SafetyRule::Sums) {
            torn.iter().for_each(|redo| self.writer.groups.take_out_of_sums(&self.core.device.grid, redo));
        }
        self.writer.groups.redo = there;
        self.note_erased_members(looks, remains);
        if remains.outage.memory.sums {
            self.writer.groups.without_parity = self.groups_without_parity(looks);
        }
    }

    /// A cut met the erase of a group: its sums are of pages that are gone.
    fn note_erased_members(&mut self, looks: &Looks, remains: &Remains<P>) {
        let of_rows = self.writer.groups.held.values().flat_map(|held| &held.members);
        let members = of_rows.chain(self.writer.groups.blocks.values().flat_map(|blocks| &blocks.members));
        let pages = members.map(|member| self.core.device.grid.page_of(member.slot).0);
        let erased: Vec<Ppn> = pages.filter(|&ppn| self.met_its_erase(ppn, looks, remains)).collect();
        for ppn in erased {
            self.unreadable(ppn);
        }
    }

    /// Groups with data in flash whose parity is not, all of it.
    fn groups_without_parity(&self, looks: &Looks) -> BTreeSet<UnitId> {
        let lacks = |group: SuperblockId| {
            let Some(info) = self.writer.groups.info[group.index()] else { return false };
            let code = self.writer.groups.codes[info.code].0;
            let stripe = self.writer.groups.stripe_of(group, &info);
            let is_there = |row: u32, strip: &protect::Strip| looks.is_valid(self.core.map.rows().page(row, strip.die));
            (0..self.core.device.grid.pages_per_block()).map(|page| row_of_group(&self.core.device.grid, group, page)).any(
                |row| {
                    let (data, parity): (Vec<_>, Vec<_>) = stripe.strips.iter().partition(|strip| strip.symbol < code.data);
                    data.iter().any(|strip| is_there(row, strip)) && !parity.iter().all(|strip| is_there(row, strip))
                },
            )
        };
        (0..self.core.device.grid.blocks_per_die()).filter(|&group| lacks(SuperblockId(group))).collect()
    }

    /// Whether a cut came into the erase of the page's group. Else it looks erased because its program failed.
    fn met_its_erase(&self, ppn: Ppn, looks: &Looks, remains: &Remains<P>) -> bool {
        let erases_known = !remains.outage.memory.reads;
        remains.erasing.contains(&self.core.device.grid.split(ppn).0) || (!erases_known && looks.is_erased(ppn))
    }

    pub(crate) fn choose_in_groups(&self, looks: &Looks, remains: &Remains<P>, but: &BTreeSet<Ppn>, solve: bool) -> Choice {
        let mut choice = Choice::new(self.core.map.user_slots());
        let is_there = |ppn: Ppn| looks.is_valid(ppn) && !but.contains(&ppn);
        for group in (0..self.core.device.grid.blocks_per_die()).map(SuperblockId) {
            self.offer_group(&mut choice, group, &is_there);
        }
        if !solve {
            return choice;
        }
        // Of what is being erased everything needed lies elsewhere.
        let page = |member: &Member| self.core.device.grid.page_of(member.slot).0;
        let still_held = |lost: Vec<Member>| {
            let any_erased = lost.iter().any(|member| self.met_its_erase(page(member), looks, remains));
            if any_erased { Vec::new() } else { lost }
        };
        // Of a suspect that was on its way at a cut only its own page tells.
        let redone: BTreeSet<Ppn> = self.writer.groups.redo.iter().map(|redo| redo.ppn).collect();
        for held in self.writer.groups.held.values() {
            let sums = held.sums.len() as u32 / self.core.device.grid.slots_per_page();
            let lost = self.lost_members(&held.members, |ppn| is_there(ppn) || redone.contains(&ppn), sums);
            self.offer_solved(&mut choice, still_held(lost));
        }
        for ppn in looks.valid().filter(|&ppn| is_there(ppn) && !self.core.device.array.members(ppn).is_empty()) {
            if let PageRole::Parity(_) = self.core.device.array.page(ppn).tags[0].role() {
                let members = self.core.device.array.members(ppn).to_vec();
                let lost = self.lost_members(&members, is_there, self.parities_beside(ppn, &is_there));
                self.offer_solved(&mut choice, still_held(lost));
            }
        }
        choice
    }

    /// Offers the readable data of a group. A group that was being erased may have lost part of its
    /// codewords: of equal copies those count first that can do with most losses more.
    fn offer_group(&self, choice: &mut Choice, group: SuperblockId, is_there: &impl Fn(Ppn) -> bool) {
        let Some(info) = self.writer.groups.info[group.index()] else { return };
        let code = self.writer.groups.codes[info.code].0;
        let stripe = self.writer.groups.stripe_of(group, &info);
        for page in 0..self.core.device.grid.pages_per_block() {
            let row = row_of_group(&self.core.device.grid, group, page);
            let ppn = |strip: &protect::Strip| self.core.map.rows().page(row, strip.die);
            for codeword in 0..stripe.codewords {
                let strips = || stripe.strips.iter().filter(move |strip| strip.codeword == codeword);
                let parities: Vec<Ppn> =
                    strips().filter(|strip| strip.symbol >= code.data).map(ppn).filter(|&ppn| is_there(ppn)).collect();
                let of_parity = |&parity: &Ppn| {
                    self.core.device.array.members(parity).iter().map(|member| self.core.device.grid.page_of(member.slot).0)
                };
                let missing: BTreeSet<Ppn> = parities.iter().flat_map(of_parity).filter(|&ppn| !is_there(ppn)).collect();
                let in_flash = parities.len().saturating_sub(missing.len());
                let is_held = self.writer.groups.held.contains_key(&(row, codeword));
                let survives = if is_held { LOSSES_RANKED } else { (in_flash as u64).min(LOSSES_RANKED) };
                for ppn in strips().map(ppn).filter(|&ppn| is_there(ppn)) {
                    self.data_in(ppn).for_each(|(lpn, mut found)| {
                        found.sequence |= (LOSSES_RANKED - survives) << 60;
                        choice.offer(lpn, found);
                    });
                }
            }
        }
    }

    /// Readable parities of the codeword that a parity page belongs to, itself included.
    fn parities_beside(&self, ppn: Ppn, is_there: &impl Fn(Ppn) -> bool) -> u32 {
        let (row, _) = self.core.map.rows().row_of(ppn);
        let members = self.core.device.array.members(ppn);
        let page = |die: u32| self.core.map.rows().page(row, vocab::DieId(die as u16));
        let same = |&other: &Ppn| is_there(other) && self.core.device.array.members(other) == members;
        (0..self.core.device.grid.dies()).map(page).filter(same).count() as u32
    }

    /// Members that cannot be read, if the codeword brings so many pages back.
    fn lost_members(&self, members: &[Member], is_there: impl Fn(Ppn) -> bool, at_most: u32) -> Vec<Member> {
        let page = |member: &Member| self.core.device.grid.page_of(member.slot).0;
        let lost: Vec<Member> = members.iter().filter(|member| !is_there(page(member))).copied().collect();
        let pages: BTreeSet<Ppn> = lost.iter().map(page).collect();
        if pages.len() as u32 <= at_most { lost } else { Vec::new() }
    }

    /// Whether two pages of block groups may be in one codeword: of their row, or of their block.
    pub(crate) fn shares_codeword(&self, ppn: Ppn, other: Ppn) -> bool {
        let row = |ppn| self.core.map.rows().row_of(ppn).0;
        row(ppn) == row(other) || self.core.device.grid.split(ppn).0 == self.core.device.grid.split(other).0
    }

    /// Groups whose parity is not all in flash: to be collected soon.
    pub(crate) fn want_unsettled_groups(&mut self) {
        let pages = self.core.device.grid.pages_per_block();
        let of_rows = self.writer.groups.held.keys().map(|(row, _)| row / pages);
        let mut unsettled: BTreeSet<u32> = of_rows.chain(self.writer.groups.blocks.keys().copied()).collect();
        unsettled.append(&mut self.writer.groups.without_parity);
        unsettled.into_iter().for_each(|unit| self.want(unit, Cause::Rebuild));
    }
}
