//! The audit of block groups: every parity is computed again from flash. For tests.

use crate::core::Core;
use crate::core::audit::{Audit, HeldSum};
use crate::core::flash::FlashPayload;
use crate::write::groups::{GroupInfo, Groups, row_of_group};
use nand::{FlashArray, OobTag};
use protect::{PageStripe, Strip};
use vocab::{DieId, Grid, Lpn, Ppn, SuperblockId};

/// A group as an audit sees it.
struct Audited {
    group: SuperblockId,
    code: usize,
    stripe: PageStripe,
}

impl Audited {
    /// The page of a strip in a page stripe.
    fn ppn(&self, grid: &Grid, page: u32, strip: u32) -> Ppn {
        grid.ppn(grid.block(self.stripe.strips[strip as usize].die, self.group.0), page)
    }

    /// The strips of a codeword, each with its number.
    fn strips_of(&self, codeword: u32) -> impl Iterator<Item = (u32, &Strip)> {
        (0..).zip(&self.stripe.strips).filter(move |(_, strip)| strip.codeword == codeword)
    }
}

impl<P: FlashPayload> Groups<P> {
    /// Computes every parity again and compares it with what is stored, or held.
    ///
    /// # Errors
    /// A parity that is wrong, in words.
    pub fn audit(&self, core: &Core<P>) -> Result<Audit, String> {
        let mut found = Audit::default();
        for group in (0..core.device.grid.blocks_per_die()).map(SuperblockId) {
            let Some(info) = self.info[group.index()] else { continue };
            let code = self.codes[info.code].0;
            let stripe = self.stripe_of(group, &info);
            let audited = Audited { group, code: info.code, stripe };
            for page in 0..core.device.grid.pages_per_block() {
                for codeword in 0..audited.stripe.codewords {
                    self.audit_codeword(core, &audited, page, codeword, &mut found)?;
                }
            }
            if code.block > 0 && !self.is_unsettled(group, core.device.grid.pages_per_block()) {
                self.audit_blocks(core, &audited, &mut found)?;
            }
        }
        found.uncovered = self.uncovered_pages(core);
        Ok(found)
    }

    /// Compares the parities of a codeword with the sums of its data.
    fn audit_codeword(&self, core: &Core<P>, group: &Audited, page: u32, codeword: u32, found: &mut Audit) -> Result<(), String> {
        let Some((sums, members)) = self.sum_up(core, group, page, codeword) else {
            found.broken += 1;
            return Ok(());
        };
        let (data, slots) = (self.codes[group.code].0.data, core.device.grid.slots_per_page() as usize);
        let row = row_of_group(&core.device.grid, group.group, page);
        let held = self.held.get(&(row, codeword));
        for (index, strip) in group.strips_of(codeword).filter(|(_, strip)| strip.symbol >= data) {
            let ppn = group.ppn(&core.device.grid, page, index);
            let first = (strip.symbol - data) as usize * slots;
            let is_stored = core.device.is_stored(ppn);
            let stored: &[P] = match held {
                Some(held) => &held.sums[first..first + slots],
                // A cut may have met the erase of the group.
                None if is_torn(core, ppn) || is_stored && covers_more_than(core, ppn, members) => {
                    found.broken += 1;
                    continue;
                }
                None if is_stored => core.device.array.payload(ppn),
                None if members == 0 => continue,
                None => {
                    found.broken += 1;
                    continue;
                }
            };
            if stored != &sums[first..first + slots] {
                return Err(format!("{ppn} is not parity {} of its codeword in row {row}", strip.symbol - data));
            }
            found.sound += 1;
        }
        Ok(())
    }

    /// The parities of a codeword as its data in flash have them, parity by parity, and how many pages these are.
    /// `None` where a page failed to be programmed, or was erased.
    fn sum_up(&self, core: &Core<P>, group: &Audited, page: u32, codeword: u32) -> Option<(Vec<P>, u32)> {
        let (code, erasure) = &self.codes[group.code];
        let slots = core.device.grid.slots_per_page() as usize;
        let held = self.held.get(&(row_of_group(&core.device.grid, group.group, page), codeword));
        let mut sums = vec![P::default(); code.parity as usize * slots];
        let (mut members, mut lost) = (0, 0);
        for (index, strip) in group.strips_of(codeword).filter(|(_, strip)| strip.symbol < code.data) {
            let ppn = group.ppn(&core.device.grid, page, index);
            lost += u32::from(core.device.losses.failed_programs.contains_key(&ppn.0));
            // A page that a cut spoilt may be there and in no sum.
            let summed = held.is_none_or(|held| held.data.contains(u32::from(strip.die.0)));
            if !core.device.is_stored(ppn) || !summed || is_torn(core, ppn) {
                continue;
            }
            members += 1;
            for parity in 0..code.parity as usize {
                let c = erasure.coefficient(parity, strip.symbol as usize);
                for (slot, payload) in core.device.array.payload(ppn).iter().enumerate() {
                    sums[parity * slots + slot].add_scaled(payload, c);
                }
            }
        }
        // A cut may have met the erase of a group that was being collected.
        let erased = held.is_some_and(|held| held.data.len() > members);
        (lost == 0 && !erased).then_some((sums, members))
    }

    /// Every sum of a block of a whole group is nothing; parity blocks do where all that they sum are whole.
    fn audit_blocks(&self, core: &Core<P>, group: &Audited, found: &mut Audit) -> Result<(), String> {
        let code = self.codes[group.code].0;
        let data = code.data;
        let strips = &group.stripe.strips;
        let all_of = |strip: usize| -> Vec<Ppn> {
            let pages = 0..core.device.grid.pages_per_block();
            pages.map(|page| group.ppn(&core.device.grid, page, strip as u32)).collect()
        };
        let is_there = |&ppn: &Ppn| core.device.is_stored(ppn) && !is_torn(core, ppn);
        let is_whole: Vec<bool> = (0..strips.len()).map(|strip| all_of(strip).iter().all(is_there)).collect();
        for (strip, of) in strips.iter().enumerate() {
            let summed = |other: usize| strips[other].codeword == of.codeword && strips[other].symbol < data;
            let sums_whole = of.symbol < data || (0..strips.len()).filter(|&other| summed(other)).all(|other| is_whole[other]);
            if !is_whole[strip] || !sums_whole {
                found.broken += 1;
                continue;
            }
            let all = all_of(strip);
            for sum in 0..code.block {
                let mut sums = vec![P::default(); core.device.grid.slots_per_page() as usize];
                for page in code.pages_of_sum(sum, all.len() as u32) {
                    let pages = core.device.array.payload(all[page as usize]);
                    sums.iter_mut().zip(pages).for_each(|(sum, payload)| sum.add(payload));
                }
                if !sums.iter().all(P::is_zero) {
                    return Err(format!("the pages of the block of {} do not sum up to nothing", all[sum as usize]));
                }
            }
            found.sound += 1;
        }
        Ok(())
    }

    /// Logical pages in a codeword that has no parity, in flash or held.
    fn uncovered_pages(&self, core: &Core<P>) -> u32 {
        // The parity map of each group, made once: on a drive of many dies that costs more than all else here.
        let map = |(group, info): (SuperblockId, &Option<GroupInfo>)| info.as_ref().map(|info| self.stripe_of(group, info));
        let maps: Vec<Option<PageStripe>> = (0..).map(SuperblockId).zip(&self.info).map(map).collect();
        let is_uncovered = |lpn: u32| {
            let ftl::Place::At(slot) = core.map.lookup(Lpn(lpn)) else { return false };
            let (block, page) = core.device.grid.split(core.device.grid.page_of(slot).0);
            let (die, group) = core.device.grid.split_block(block);
            let stripe = maps[group.index()].as_ref().expect("a group with valid pages");
            let strip = stripe.strip_on(die).expect("a member");
            let codeword = stripe.strips[strip as usize].codeword;
            let key = (group.0 * core.device.grid.pages_per_block() + page, codeword);
            let parity = |strip: u32| {
                stripe.strips[strip as usize].codeword == codeword
                    && core.device.is_programmed(
                        core.device.grid.ppn(core.device.grid.block(stripe.strips[strip as usize].die, group.0), page),
                    )
            };
            !self.held.contains_key(&key) && !(stripe.data..stripe.strips.len() as u32).any(parity)
        };
        (0..core.map.user_slots()).filter(|&lpn| is_uncovered(lpn)).count() as u32
    }

    /// Sums in the parity cache, of a drive at rest.
    pub fn held_sums(&self, core: &Core<P>) -> Vec<HeldSum> {
        let grid = &core.device.grid;
        let mut sums = Vec::new();
        for (&(row, _), held) in &self.held {
            let members = held.data.iter().map(|die| core.map.rows().page(row, DieId(die as u16))).collect();
            sums.push(HeldSum { members, sums: held.sums.len() as u32 / grid.slots_per_page() });
        }
        let written = |ppn: &Ppn| core.device.is_programmed(*ppn) || core.device.losses.failed_programs.contains_key(&ppn.0);
        for (&group, blocks) in &self.blocks {
            let group = SuperblockId(group);
            let info = self.info[group.index()].expect("a group with sums");
            let (code, stripe) = (self.codes[info.code].0, self.stripe_of(group, &info));
            let pages = grid.pages_per_block();
            for at in pages - code.block..pages {
                for strip in (0..stripe.data).filter(|&strip| blocks.holds(&code, strip, at)) {
                    let die = stripe.strips[strip as usize].die;
                    let page = |page: u32| core.map.rows().page(row_of_group(grid, group, page), die);
                    let members = code.pages_of_sum(code.sum_of(at), at).map(page).filter(written).collect();
                    sums.push(HeldSum { members, sums: 1 });
                }
            }
        }
        sums
    }

    /// Whether the page is in a sum in the parity cache.
    pub fn is_held(&self, core: &Core<P>, ppn: Ppn) -> bool {
        let (row, die) = core.map.rows().row_of(ppn);
        self.held.range((row, 0)..(row + 1, 0)).any(|(_, held)| held.data.contains(u32::from(die.0)))
    }
}

/// Whether the page tells nothing: a cut tore it, or the erase of its block.
fn is_torn<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> bool {
    core.device.is_stored(ppn) && core.device.array.tags(ppn).iter().all(|&tag| tag == OobTag::FILLER)
}

fn covers_more_than<P: FlashPayload>(core: &Core<P>, parity: Ppn, members: u32) -> bool {
    core.device.array.page(parity).oob.coverage.len() > members
}
