//! Solving for a page of a block group: the scheme names pages and coefficients, this file says where they are.
//! The reads read them and add them up.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::groups::Groups;
use crate::write::sources::Sources;
use ftl::Place;
use nand::FlashArray;
use protect::{Across, GroupCode, GroupPage, PageState, PageStripe};
use vocab::{Grid, Ppn, SuperblockId};

/// A group that a page is solved in.
struct Solved<'a> {
    group: SuperblockId,
    stripe: &'a PageStripe,
    code: GroupCode,
}

impl Solved<'_> {
    fn ppn(&self, grid: &Grid, page: GroupPage) -> Ppn {
        let die = self.stripe.strips[page.strip as usize].die;
        grid.ppn(grid.block(die, self.group.0), page.page)
    }
}

impl<P: FlashPayload> Groups<P> {
    /// The pages of a block group that are read and added up to solve for the page that the target asks for.
    pub fn sources(&self, core: &Core<P>, target: Target) -> Sources<P> {
        let place = match (target, core.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => core.map.lookup(lpn),
            (_, None) => unreachable!("groups have no stripe updates"),
        };
        match place {
            Place::Unmapped => Sources::Discarded,
            Place::Missing => Sources::None,
            Place::At(slot) => {
                let (ppn, index) = core.device.grid.page_of(slot);
                self.sources_of(core, ppn, index, &[])
            }
        }
    }

    /// Sources that sum up to slot `index` of a page, without the pages whose reads `failed`.
    pub fn sources_of(&self, core: &Core<P>, lost: Ppn, index: u32, failed: &[Ppn]) -> Sources<P> {
        let group = group_of(&core.device.grid, lost).0;
        match self.terms_of(core, lost, index, failed) {
            Some((held, pages)) => Sources::Weighted { held, pages, lost: (lost, index), group },
            None => Sources::None,
        }
    }

    /// The pages whose plain sum is a page as it lies in flash, all on other dies: the rest of its codeword. `None` while the
    /// parity cache has sums of the codeword, and where a page of it cannot be read or a coefficient takes part.
    pub fn rest_of_codeword(&self, core: &Core<P>, ppn: Ppn) -> Option<Vec<Ppn>> {
        let (row, die) = core.map.rows().row_of(ppn);
        let mut held = self.held.range((row, 0)..(row + 1, 0));
        if held.any(|(_, sums)| sums.data.contains(u32::from(die.0))) {
            return None;
        }
        let (_, terms) = self.terms_of(core, ppn, 0, &[ppn])?;
        // A source on the page's own die is as busy as the page.
        let plain = |&(page, coefficient): &(Ppn, u8)| (coefficient == 1 && core.device.grid.die_of(page) != die).then_some(page);
        terms.iter().map(plain).collect()
    }

    /// The sum of what the parity cache gives of the page, and the pages to be added to it, each with its
    /// coefficient. `None` if nothing brings the page back.
    fn terms_of(&self, core: &Core<P>, lost: Ppn, index: u32, failed: &[Ppn]) -> Option<(P, Vec<(Ppn, u8)>)> {
        let grid = &core.device.grid;
        let group = group_of(grid, lost);
        let info = self.info[group.index()].expect("a group with valid pages");
        let code = self.codes[info.code].0;
        let stripe = self.stripe_of(group, &info);
        let solved = Solved { group, stripe: &stripe, code };
        let (block, page) = grid.split(lost);
        let page = GroupPage { page, strip: stripe.strip_on(grid.split_block(block).0).expect("a member of its group") };
        let state = |page, across| self.page_state(core, &solved, page, across, failed);
        let terms = self.scheme().repair(&code, &stripe, grid.pages_per_block(), page, &state)?;
        let (mut sum, mut reads) = (P::default(), Vec::new());
        for (page, c) in terms {
            match self.held_sum(grid, &solved, page, index) {
                Some(held) => sum.add_scaled(held, c),
                None => reads.push((solved.ppn(grid, page), c)),
            }
        }
        Some((sum, reads))
    }

    /// State of a page, given that the reads of `failed` failed.
    fn page_state(&self, core: &Core<P>, solved: &Solved<'_>, page: GroupPage, across: Across, failed: &[Ppn]) -> PageState {
        let grid = &core.device.grid;
        let strip = solved.stripe.strips[page.strip as usize];
        let is_parity = page.strip >= solved.stripe.data;
        let ends_block = solved.code.is_block_parity(page.page, grid.pages_per_block());
        if across == Across::Block
            && let Some(state) = self.state_of_block(core, solved, page, ends_block)
        {
            return state;
        }
        let ppn = solved.ppn(grid, page);
        let answers =
            core.device.array.answers(ppn) && !core.device.losses.failed_programs.contains_key(&ppn.0) && !failed.contains(&ppn);
        let row = solved.group.0 * grid.pages_per_block() + page.page;
        let written = match self.held.get(&(row, strip.codeword)) {
            Some(_) if is_parity => return PageState::Held,
            // On its way to flash, or there: a read waits its turn behind the program.
            Some(held) => held.data.contains(u32::from(strip.die.0)),
            // The codeword is whole, or not begun.
            None if was_written(core, ppn) => true,
            None if core.is_mountable() && was_erased(core, solved, page) => return PageState::Lost,
            None => false,
        };
        match (written, answers) {
            // The parity of a block: of a group that was given up before, there is none.
            (false, _) if across == Across::Block && ends_block => PageState::Unsettled,
            (false, _) => PageState::Zero,
            (true, true) => PageState::Readable,
            (true, false) => PageState::Lost,
        }
    }

    /// State of a page by the sums of blocks, if they cover it.
    fn state_of_block(&self, core: &Core<P>, solved: &Solved<'_>, page: GroupPage, ends_block: bool) -> Option<PageState> {
        let is_parity = page.strip >= solved.stripe.data;
        let held = || self.blocks.get(&solved.group.0).is_some_and(|sums| sums.holds(&solved.code, page.strip, page.page));
        if ends_block && !is_parity && held() {
            return Some(PageState::Held);
        }
        let codeword = solved.stripe.strips[page.strip as usize].codeword;
        let is_unsettled = || {
            self.is_unsettled(solved.group, core.device.grid.pages_per_block())
                || lacks_block_parity(core, solved, codeword, page.page)
        };
        (is_parity && is_unsettled()).then_some(PageState::Unsettled)
    }

    /// A page's contents in the parity cache, if that is where they are.
    fn held_sum(&self, grid: &Grid, solved: &Solved<'_>, page: GroupPage, index: u32) -> Option<&P> {
        let (pages, slots) = (grid.pages_per_block(), grid.slots_per_page());
        if page.strip >= solved.stripe.data {
            let strip = solved.stripe.strips[page.strip as usize];
            let held = self.held.get(&(solved.group.0 * pages + page.page, strip.codeword))?;
            return Some(&held.sums[((strip.symbol - solved.code.data) * slots + index) as usize]);
        }
        if !solved.code.is_block_parity(page.page, pages) {
            return None;
        }
        let blocks = self.blocks.get(&solved.group.0).filter(|sums| sums.holds(&solved.code, page.strip, page.page))?;
        Some(&blocks.sums[blocks.at(&solved.code, page.strip, page.page, slots) + index as usize])
    }
}

fn group_of(grid: &Grid, ppn: Ppn) -> SuperblockId {
    grid.split_block(grid.split(ppn).0).1
}

fn was_written<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> bool {
    core.device.is_programmed(ppn) || core.device.losses.failed_programs.contains_key(&ppn.0)
}

/// Whether a page that looks as if it was never written was: a cut met the erase of the group, and
/// what is left of the codeword says so.
fn was_erased<P: FlashPayload>(core: &Core<P>, solved: &Solved<'_>, page: GroupPage) -> bool {
    let stripe = solved.stripe;
    let strip = stripe.strips[page.strip as usize];
    let of_codeword = |&other: &u32| stripe.strips[other as usize].codeword == strip.codeword;
    let written = |other: u32| {
        let ppn = solved.ppn(&core.device.grid, GroupPage { strip: other, ..page });
        core.device.is_programmed(ppn).then_some(ppn)
    };
    let strips = 0..stripe.strips.len() as u32;
    if page.strip >= stripe.data {
        return strips.filter(of_codeword).any(|other| written(other).is_some());
    }
    let mut parities = strips.filter(|&other| other >= stripe.data).filter(of_codeword).filter_map(written);
    let covers = |ppn: Ppn| core.device.array.page(ppn).oob.coverage.contains(u32::from(strip.die.0));
    parities.any(covers)
}

/// Whether the group was given up before each data block of the codeword had its sum: then
/// the blocks of its parity, sums of these, do not sum up to nothing either. Asked for the sum that a page is in.
fn lacks_block_parity<P: FlashPayload>(core: &Core<P>, solved: &Solved<'_>, codeword: u32, page: u32) -> bool {
    let pages = core.device.grid.pages_per_block();
    let sum = solved.code.sum_of(page);
    let last = pages - solved.code.block + sum;
    // A page whose program failed before a cut looks as if it was never written, and parities that are left still sum it.
    let is_in = |page, strip| {
        let page = GroupPage { page, strip };
        was_written(core, solved.ppn(&core.device.grid, page)) || was_erased(core, solved, page)
    };
    let mut data = (0..solved.stripe.data).filter(|&strip| solved.stripe.strips[strip as usize].codeword == codeword);
    data.any(|strip| !is_in(last, strip) && solved.code.pages_of_sum(sum, last).any(|page| is_in(page, strip)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::owner::Owner;
    use crate::write::testing::{end_in_flash, log_core, log_setup, programs, write_job};
    use device::contents::Tag;
    use nand::{Oob, ProgramOutcome, ProgramUnit};
    use protect::Protection;
    use vocab::Cause;

    /// Programs a page of a group, unless it is there.
    fn program(core: &mut Core<Tag>, ppn: Ppn) {
        if !core.device.is_programmed(ppn) {
            let image = core.device.images.open(ppn, Oob::default());
            core.submit_program(image, Owner::NoOne, Cause::Padding);
            programs(core).iter().for_each(|command| end_in_flash(core, command, ProgramOutcome::Done));
        }
    }

    /// Word lines of two pages, so that a block of four has two sums: page 2 is that of page 0, page 3 that of page 1. Fails if
    /// the last page of another sum is asked for: a group given up before all its blocks had their sums would be solved for by
    /// blocks, and give wrong contents.
    #[test]
    fn a_group_lacks_the_sums_that_a_block_has_not_got() {
        let mut setup = log_setup("mds-groups", &[("m", "1"), ("block_parity", "word-line")]);
        setup.drive.timing.unit = Some(ProgramUnit { planes: 2, plane_pages: 1, bits: 1 });
        let (mut core, protection) = log_core::<Tag>(&setup);
        let Protection::Groups(scheme) = &protection else { unreachable!("the scheme writes block groups") };
        let mut groups = Groups::<Tag>::new(&**scheme, 8, 1, "mds-groups").expect("a cache that is large enough");
        groups.settle_space(&mut core);
        let job = write_job(&mut core, &[(0, 1)]);
        let _ = groups.place(&mut core, job);
        programs(&mut core).iter().for_each(|command| end_in_flash(&mut core, command, ProgramOutcome::Done));
        let info = groups.info[0].expect("a group was opened");
        let (code, stripe) = (groups.codes[info.code].0, groups.stripe_of(SuperblockId(0), &info));
        let solved = Solved { group: SuperblockId(0), stripe: &stripe, code };
        assert_eq!((code.block, stripe.data), (2, 4));
        let grid = core.device.grid.clone();
        let lacks = |core: &Core<Tag>| [0, 1, 2, 3].map(|page| lacks_block_parity(core, &solved, 0, page));
        let write = |core: &mut Core<Tag>, strips: std::ops::Range<u32>, page| {
            strips.for_each(|strip| program(core, solved.ppn(&grid, GroupPage { page, strip })));
        };
        (0..2).for_each(|page| write(&mut core, 0..4, page));
        assert_eq!(lacks(&core), [true; 4], "data, and no sums");
        write(&mut core, 0..4, 2);
        assert_eq!(lacks(&core), [false, true, false, true]);
        write(&mut core, 0..3, 3);
        assert_eq!(lacks(&core), [false, true, false, true], "one block lacks one of its sums");
        write(&mut core, 3..4, 3);
        assert_eq!(lacks(&core), [false; 4]);
    }
}
