//! Block groups after a cut. The sums of codewords whose parity is not in flash lie in the
//! PLP cache (I19), and so do pages that are summed and on their way: those that did not get
//! to flash are taken out of the sums. Groups that were being written take nothing more; their sums
//! stay, beside what new groups need, until they have been collected.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::newest::Newest;
use crate::rules::SafetyRule;
use crate::write::found::{Found, Lost, Newests, PagesSeen, data_in, unreadable};
use crate::write::groups::{CodewordKey, GroupRemains, Groups, row_of_group};
use ftl::UnitId;
use nand::{FlashArray, Member, PageRole};
use protect::Strip;
use std::collections::BTreeSet;
use vocab::{BlockAddr, DieId, Grid, Ppn, SuperblockId};

/// Knowledge of a mount about the pages of block groups.
#[derive(Clone, Copy)]
pub(crate) struct GroupsSeen<'a> {
    pub seen: &'a dyn PagesSeen,
    /// Blocks whose erase was asked for and had not ended.
    pub erasing: &'a BTreeSet<BlockAddr>,
    /// True if `erasing` is complete; false if the outage took the list of erases from PLP memory.
    pub erases_known: bool,
}

impl GroupsSeen<'_> {
    /// Whether the cut came into the erase of the page's group. Otherwise a page that looks erased does so because
    /// its program failed.
    fn met_its_erase(&self, grid: &Grid, ppn: Ppn) -> bool {
        self.erasing.contains(&grid.split(ppn).0) || (!self.erases_known && self.seen.is_erased(ppn))
    }
}

impl<P: FlashPayload> Groups<P> {
    /// Takes over the table of groups and the sums.
    pub fn mount(&mut self, core: &mut Core<P>, kept: GroupRemains<P>, view: GroupsSeen<'_>) {
        let GroupRemains { codes, first_code, now, asked, info, held, blocks, redo } = kept;
        (self.codes, self.first_code, self.now, self.asked) = (codes, first_code, now, asked);
        (self.info, self.held, self.blocks) = (info, held, blocks);
        self.held.values_mut().for_each(|held| held.parities = None);
        let (there, torn): (Vec<_>, Vec<_>) = redo.into_iter().partition(|redo| view.seen.is_valid(redo.ppn));
        if !core.breaks(SafetyRule::Sums) {
            torn.iter().for_each(|redo| self.take_out_of_sums(&core.device.grid, redo));
        }
        self.redo = there;
        self.note_erased_members(core, view);
    }

    /// The cut met the erase of a group: its sums are of pages that are gone.
    fn note_erased_members(&self, core: &mut Core<P>, view: GroupsSeen<'_>) {
        let of_rows = self.held.values().flat_map(|held| &held.members);
        let members = of_rows.chain(self.blocks.values().flat_map(|blocks| &blocks.members));
        for member in members {
            let ppn = core.device.grid.page_of(member.slot).0;
            if view.met_its_erase(&core.device.grid, ppn) {
                unreadable(core, ppn);
            }
        }
    }

    /// Notes groups with data in flash whose parity is neither there nor held, or may not last, or sums a page that is not
    /// there. An outage took the sums, or what was known of erases, of this cut or of one before it whose recovery the next cut
    /// ended. What a dead die held is rebuilt anyway. `suspects`: parities that may not last and whose sums may be gone.
    pub fn note_groups_without_parity(&mut self, core: &Core<P>, seen: &dyn PagesSeen, suspects: &BTreeSet<Ppn>) {
        let groups = 0..core.device.grid.blocks_per_die();
        self.without_parity = groups.filter(|&group| self.lacks_parity(core, seen, suspects, SuperblockId(group))).collect();
    }

    fn lacks_parity(&self, core: &Core<P>, seen: &dyn PagesSeen, suspects: &BTreeSet<Ppn>, group: SuperblockId) -> bool {
        let Some(info) = self.info[group.index()] else { return false };
        let (data, stripe) = (self.codes[info.code].0.data, self.stripe_of(group, &info));
        let mut rows = (0..core.device.grid.pages_per_block()).map(|page| row_of_group(&core.device.grid, group, page));
        let is_gone = |ppn: Ppn| !seen.is_valid(ppn) && !core.device.is_dead(core.device.grid.die_of(ppn));
        let sums_what_is_gone = |parity: Ppn| {
            let members = core.device.array.members(parity).iter();
            seen.is_valid(parity) && members.into_iter().any(|member| is_gone(core.device.grid.page_of(member.slot).0))
        };
        let lacks = |key: CodewordKey| {
            let pages = |is: fn(u32, u32) -> bool| {
                let strips = stripe.strips.iter().filter(move |strip| strip.codeword == key.1 && is(strip.symbol, data));
                strips.map(|strip: &Strip| core.map.rows().page(key.0, strip.die))
            };
            let any_data = pages(|symbol, data| symbol < data).any(|ppn| seen.is_valid(ppn));
            let is_no_parity = |parity: Ppn| is_gone(parity) || suspects.contains(&parity) || sums_what_is_gone(parity);
            any_data && pages(|symbol, data| symbol >= data).any(is_no_parity)
        };
        rows.any(|row| (0..stripe.codewords).any(|codeword| !self.held.contains_key(&(row, codeword)) && lacks((row, codeword))))
    }

    /// The newest contents of logical pages, without the pages `but`.
    pub fn choose(&self, core: &Core<P>, view: GroupsSeen<'_>, but: &BTreeSet<Ppn>, lost: Lost) -> Found {
        let mut choice = Found::new(Newests::of_all(core.map.user_slots()));
        let is_there = |ppn: Ppn| view.seen.is_valid(ppn) && !but.contains(&ppn);
        for group in (0..core.device.grid.blocks_per_die()).map(SuperblockId) {
            self.offer_group(core, &mut choice, group, &is_there);
        }
        if lost == Lost::AreSolvedFor {
            self.offer_what_codewords_bring_back(core, &mut choice, view, &is_there);
        }
        choice
    }

    fn offer_what_codewords_bring_back(
        &self,
        core: &Core<P>,
        choice: &mut Found,
        view: GroupsSeen<'_>,
        is_there: &dyn Fn(Ppn) -> bool,
    ) {
        let grid = &core.device.grid;
        // Where a block was being erased, everything needed has another place.
        let still_held = |lost: Vec<Member>| {
            let any_erased = lost.iter().any(|member| view.met_its_erase(grid, grid.page_of(member.slot).0));
            if any_erased { Vec::new() } else { lost }
        };
        // Of a suspect that was on its way at a cut only its own page tells.
        let redone: BTreeSet<Ppn> = self.redo.iter().map(|redo| redo.ppn).collect();
        for held in self.held.values() {
            let sums = held.sums.len() as u32 / grid.slots_per_page();
            let lost = lost_members(grid, &held.members, &|ppn| is_there(ppn) || redone.contains(&ppn), sums);
            choice.offer_solved(still_held(lost));
        }
        for ppn in (0..grid.geometry().pages()).map(Ppn).filter(|&ppn| self.is_known(core, ppn) && is_there(ppn)) {
            let members = core.device.array.members(ppn);
            if !members.is_empty() && matches!(core.device.array.tags(ppn)[0].role(), PageRole::Parity(_)) {
                let lost = lost_members(grid, members, is_there, parities_beside(core, ppn, is_there));
                choice.offer_solved(still_held(lost));
            }
        }
    }

    /// Whether the code of the page's group is known: not that of a group that an earlier mount found unneeded, and that is not erased yet.
    pub fn is_known(&self, core: &Core<P>, ppn: Ppn) -> bool {
        let (_, superblock) = core.device.grid.split_block(core.device.block_of(ppn));
        self.info[superblock.index()].is_some()
    }

    /// Offers the readable data of a group. A group that was being erased may have lost part of its
    /// codewords: of equal copies the one is taken whose codeword survives most losses more.
    fn offer_group(&self, core: &Core<P>, choice: &mut Found, group: SuperblockId, is_there: &dyn Fn(Ppn) -> bool) {
        let Some(info) = self.info[group.index()] else { return };
        let (data, stripe) = (self.codes[info.code].0.data, self.stripe_of(group, &info));
        let rows = (0..core.device.grid.pages_per_block()).map(|page| row_of_group(&core.device.grid, group, page));
        for (row, codeword) in rows.flat_map(|row| (0..stripe.codewords).map(move |codeword| (row, codeword))) {
            let strips = || stripe.strips.iter().filter(move |strip| strip.codeword == codeword);
            let readable = |strip: &Strip| Some(core.map.rows().page(row, strip.die)).filter(|&ppn| is_there(ppn));
            let parities: Vec<Ppn> = strips().filter(|strip| strip.symbol >= data).filter_map(readable).collect();
            let of_parity =
                |&parity: &Ppn| core.device.array.members(parity).iter().map(|member| core.device.grid.page_of(member.slot).0);
            let missing: BTreeSet<Ppn> = parities.iter().flat_map(of_parity).filter(|&ppn| !is_there(ppn)).collect();
            let in_flash = parities.len().saturating_sub(missing.len());
            let is_held = self.held.contains_key(&(row, codeword));
            let survives = if is_held { u32::MAX } else { in_flash as u32 };
            for ppn in strips().filter_map(readable) {
                data_in(core, ppn).for_each(|(lpn, found)| choice.offer(lpn, Newest { survives, ..found }));
            }
        }
    }

    /// Groups whose parity is not all in flash: they are to be collected soon.
    pub fn take_unsettled(&mut self, pages_per_block: u32) -> BTreeSet<UnitId> {
        let of_rows = self.held.keys().map(|(row, _)| row / pages_per_block);
        let mut unsettled: BTreeSet<UnitId> = of_rows.chain(self.blocks.keys().copied()).collect();
        unsettled.append(&mut self.without_parity);
        unsettled
    }
}

/// Readable parities of the codeword that a parity page belongs to, itself included.
fn parities_beside<P: FlashPayload>(core: &Core<P>, ppn: Ppn, is_there: &dyn Fn(Ppn) -> bool) -> u32 {
    let (row, _) = core.map.rows().row_of(ppn);
    let members = core.device.array.members(ppn);
    let pages = (0..core.device.grid.dies()).map(|die| core.map.rows().page(row, DieId(die as u16)));
    pages.filter(|&other| is_there(other) && core.device.array.members(other) == members).count() as u32
}

/// Members that cannot be read, if the codeword brings this many pages back.
fn lost_members(grid: &Grid, members: &[Member], is_there: &dyn Fn(Ppn) -> bool, at_most: u32) -> Vec<Member> {
    let page = |member: &Member| grid.page_of(member.slot).0;
    let lost: Vec<Member> = members.iter().filter(|member| !is_there(page(member))).copied().collect();
    let pages: BTreeSet<Ppn> = lost.iter().map(page).collect();
    if pages.len() as u32 <= at_most { lost } else { Vec::new() }
}
