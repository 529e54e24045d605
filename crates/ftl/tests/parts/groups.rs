//! Groups with codes of their own: what they hold, which go first, and drives that grow.

use crate::drive::{Drive, states};
use flashkeep_ftl::{Ftl, GroupSpace, LogKind, Place, Stream, UnitState, slots_of};
use protect::{Across, GroupCode, GroupHistory, GroupPage, GroupScheme, PageState, PageStripe};
use vocab::{DieId, Lpn, Nanos, Slot, StripSet, SuperblockId};

const PAGES: u32 = 4;

/// Page stripes of all members, the last `parity` of which hold parity. The map asks for no more.
#[derive(Clone)]
struct Plain(Vec<GroupCode>);

fn code(parity: u32, block: bool) -> GroupCode {
    GroupCode { data: 1, parity, codewords: 1, block: u32::from(block) }
}

/// One parity page, then two.
fn plain() -> Plain {
    Plain(vec![code(1, false), code(2, false)])
}

impl GroupScheme for Plain {
    fn codes(&self) -> &[GroupCode] {
        &self.0
    }

    fn page_stripe(&self, code: &GroupCode, _: SuperblockId, members: StripSet) -> Option<PageStripe> {
        let data = members.len().checked_sub(code.parity).filter(|data| *data > 0)?;
        Some(PageStripe { data, codewords: 1, ..PageStripe::default() })
    }

    fn boxed_clone(&self) -> Box<dyn GroupScheme> {
        Box::new(self.clone())
    }

    fn code_for(&self, _: usize, _: &GroupHistory) -> usize {
        unreachable!("the map chooses no code")
    }

    fn parity_due(&self, _: u32) -> bool {
        unreachable!("the map writes no parity")
    }

    fn cleans_first(&self, _: &GroupCode, _: &GroupCode) -> bool {
        unreachable!("the map is told")
    }

    fn repair(
        &self,
        _: &GroupCode,
        _: &PageStripe,
        _: u32,
        _: GroupPage,
        _: &dyn Fn(GroupPage, Across) -> PageState,
    ) -> Option<Vec<(GroupPage, u8)>> {
        unreachable!("the map repairs nothing")
    }

    fn stripes_under_way(&self) -> u32 {
        6
    }

    fn cache_pages(&self) -> Option<u32> {
        unreachable!("the map holds no sums")
    }

    fn sum_time(&self) -> Nanos {
        unreachable!("the map has no time")
    }

    fn survives_dies(&self) -> u32 {
        unreachable!("the map loses no die of itself")
    }
}

/// Six dies, so groups of 20 slots with one parity page and of 16 with two.
fn drive(blocks: u32) -> Drive {
    let drive = Drive::new(LogKind::Group, 6, blocks, PAGES);
    let groups = Some(GroupSpace::new(&drive.grid(), &plain()));
    Drive { groups, ..drive }
}

fn settled(drive: &Drive, outdated: u64) -> Ftl {
    let mut map = drive.map();
    map.settle_groups(&plain(), &plain().0[0], outdated);
    map
}

/// Fills the host's next group, which gets `code`, and maps this many of its slots from `lpn` on.
fn fill(map: &mut Ftl, grid: &vocab::Grid, code: u8, lpn: u32, valid: u32) -> u32 {
    let (group, page) = map.open_row(Stream::Host).expect("room");
    assert_eq!(page, 0);
    map.open_group(group, code, if code == 0 { 20 } else { 16 });
    for nth in 0..valid {
        let ppn = grid.ppn(grid.block(DieId((nth / PAGES) as u16), group.0), nth % PAGES);
        assert_eq!(map.publish(Lpn(lpn + nth), Slot(ppn.0)).pinned, None);
    }
    (0..PAGES).for_each(|_| map.next_row(Stream::Host));
    group.0
}

#[test]
fn slots_of_a_group_are_its_data_pages_without_the_page_of_a_block_code() {
    let wide = Drive { slots_per_page: 2, ..drive(10) }.grid();
    let slots = |code, members| slots_of(&wide, &plain(), &code, SuperblockId(0), StripSet::first(members));
    assert_eq!(slots(code(1, false), 6), 5 * 4 * 2);
    assert_eq!(slots(code(2, false), 6), 4 * 4 * 2);
    assert_eq!(slots(code(2, true), 6), 4 * 3 * 2);
    assert_eq!((slots(code(2, true), 3), slots(code(2, true), 2)), (3 * 2, 0));
    assert_eq!(GroupSpace::new(&wide, &plain()), GroupSpace { least_slots: 32, most_slots: 40 });
}

#[test]
fn free_groups_hold_what_their_members_allow_and_the_narrowest_are_retired() {
    // Groups 0 to 3 have 6, 5, 3 and 2 good blocks: two parity pages leave 4, 3, 1 and no data pages.
    let bad: Vec<u32> =
        [(0, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3)].map(|(die, group)| die * 10 + group).into();
    let map = settled(&Drive { bad, ..drive(10) }, 0);
    assert_eq!([0, 1, 2, 3, 4].map(|group| map.unit(group).slots), [16, 12, 4, 0, 16]);
    assert_eq!([2, 3].map(|group| map.unit(group).state), [UnitState::Free, UnitState::Bad]);
    assert_eq!(map.free_units(0), 9);
    // A group of 20 slots fills five of the narrowest: five free groups are the collector's, three more hold
    // nothing at rest. Of nine, the smallest is left.
    assert_eq!(map.live_max(0), 4);
}

#[test]
fn the_collector_keeps_what_the_widest_group_fills_of_the_narrowest() {
    let mut map = settled(&drive(12), 0);
    // 20 slots fill two groups of 16. The host gets ten of twelve groups; nothing is mapped.
    for _ in 0..10 * PAGES {
        assert!(map.open_row(Stream::Host).is_some());
        map.next_row(Stream::Host);
    }
    assert_eq!((map.open_row(Stream::Host), map.free_units(0)), (None, 2));
    // Twelve groups but two of the collector and three: seven of 16 slots. Pages go to flash one by one.
    assert_eq!(map.live_max(0), 7 * 16);
    assert!(map.is_short(0));
}

#[test]
fn an_outdated_group_goes_before_one_that_is_emptier() {
    let drive = drive(12);
    let mut map = settled(&drive, 0b10);
    let grid = drive.grid();
    // Groups of code 0 with 3 valid slots, and of code 1, which is outdated, with 9, 16 and 8.
    for (group, (code, valid)) in [(0, 3), (1, 9), (1, 16), (1, 8), (1, 8)].into_iter().enumerate() {
        assert_eq!(fill(&mut map, &grid, code, group as u32 * 20, valid), group as u32);
    }
    assert_eq!(map.outdated_groups(), 4);
    let order: Vec<(u32, bool)> = std::iter::from_fn(|| map.condemn(0)).collect();
    // The emptiest outdated ones, the older first; then the policy's. Group 2 is full: it is outdated, and
    // collecting it wins nothing.
    assert_eq!(order, [(3, false), (4, false), (1, false), (0, false)]);
    assert_eq!(map.outdated_groups(), 1, "condemned groups count no more");
    map.settle_groups(&plain(), &plain().0[0], 0);
    assert_eq!(map.outdated_groups(), 0);
}

#[test]
fn an_idle_drive_collects_outdated_groups_while_it_has_room_to_spare() {
    let drive = drive(12);
    let (mut map, grid) = (settled(&drive, 0b10), drive.grid());
    assert_eq!(map.condemn_outdated(), None, "no group is outdated");
    assert_eq!([fill(&mut map, &grid, 1, 0, 16), fill(&mut map, &grid, 0, 20, 1)], [0, 1]);
    assert_eq!(map.clone().condemn_outdated(), Some(0), "even a full one");
    // The collector's two free groups are not to spare.
    (2..9).for_each(|group| assert_eq!(fill(&mut map, &grid, 0, 40, 0), group));
    assert_eq!((map.free_units(0), map.clone().condemn_outdated()), (3, Some(0)));
    assert_eq!(fill(&mut map, &grid, 0, 40, 0), 9);
    assert_eq!((map.free_units(0), map.condemn_outdated()), (2, None));
    assert_eq!(map.unit(0).state, UnitState::Closed);
}

#[test]
fn there_is_room_for_a_group_where_its_data_leave_a_free_group() {
    let drive = drive(12);
    let (mut map, grid) = (settled(&drive, 0), drive.grid());
    // New groups hold 20 slots with the code in use.
    assert_eq!([fill(&mut map, &grid, 0, 0, 20), fill(&mut map, &grid, 0, 20, 1), fill(&mut map, &grid, 0, 40, 0)], [0, 1, 2]);
    (3..10).for_each(|group| assert_eq!(fill(&mut map, &grid, 0, 60, 0), group));
    assert_eq!((map.free_units(0), [0, 1, 2].map(|unit| map.has_room_for_group(unit))), (2, [true, true, true]));
    // With a code of 16 slots, twenty fill two groups.
    let mut narrow = map.clone();
    narrow.settle_groups(&plain(), &plain().0[1], 0);
    assert_eq!([0, 1].map(|unit| narrow.has_room_for_group(unit)), [false, true]);
    assert_eq!(map.open_row(Stream::Gc), Some((SuperblockId(10), 0)));
    assert_eq!((map.free_units(0), [0, 1, 2].map(|unit| map.has_room_for_group(unit))), (1, [false, false, true]));
}

#[test]
fn a_group_narrowed_while_full_is_fitted_once_it_is_erased() {
    let drive = drive(12);
    let (mut map, grid) = (settled(&drive, 0), drive.grid());
    assert_eq!([fill(&mut map, &grid, 0, 0, 0), fill(&mut map, &grid, 0, 0, 0)], [0, 1]);
    (0..3).for_each(|die| map.drop_member(SuperblockId(0), DieId(die)));
    (0..4).for_each(|die| map.drop_member(SuperblockId(1), DieId(die)));
    map.settle_groups(&plain(), &plain().0[0], 0);
    assert_eq!([0, 1].map(|group| (map.unit(group).slots, map.unit(group).state)), [(20, UnitState::Closed); 2]);
    for group in [0, 1] {
        assert!(map.condemn_unit(group));
        map.erased(group);
        map.refit_group(&plain(), group);
    }
    // Three dies leave one data page beside two parity pages; two dies leave none.
    assert_eq!((map.unit(0).slots, map.unit(0).state), (4, UnitState::Free));
    assert_eq!((map.unit(1).slots, map.unit(1).state), (0, UnitState::Bad));
    assert_eq!(map.free_units(0), 11);
}

#[test]
fn what_new_groups_hold_counts_on_dies_that_most_groups_have() {
    let drive = drive(12);
    // The gain of a group of one free slot of 16 depends on its rival.
    let wins_after_losing = |groups: u32| {
        let (mut map, grid) = (settled(&drive, 0), drive.grid());
        assert_eq!(fill(&mut map, &grid, 1, 0, 15), 0);
        (12 - groups..12).for_each(|group| map.drop_member(SuperblockId(group), DieId(0)));
        (12 - groups..12).for_each(|group| map.drop_member(SuperblockId(group), DieId(1)));
        map.settle_groups(&plain(), &plain().0[0], 0);
        map.condemn(0).is_some()
    };
    // Without two dies new groups hold 12 slots, and 15 valid ones are no win.
    assert_eq!([5, 6].map(wins_after_losing), [true, false]);
}

#[test]
fn a_drive_that_grows_keeps_its_map_and_widens_groups_as_they_become_free() {
    let drive = drive(12);
    let (mut map, grid) = (settled(&drive, 0), drive.grid());
    assert_eq!(fill(&mut map, &grid, 0, 0, 20), 0);
    let before: Vec<Place> = (0..20).map(|lpn| map.lookup(Lpn(lpn))).collect();
    let wide = Drive { dies: 9, ..drive }.grid();
    map.grow(&wide);
    map.check_counts();
    assert_eq!((0..20).map(|lpn| map.lookup(Lpn(lpn))).collect::<Vec<_>>(), before);
    let members = |map: &Ftl, group| map.rows().members(SuperblockId(group)).len();
    assert_eq!([members(&map, 0), members(&map, 1), members(&map, 11)], [6, 9, 9]);
    map.settle_groups(&plain(), &plain().0[0], 0);
    assert_eq!([0, 1].map(|group| map.unit(group).slots), [20, 28]);
    // Slots of the new dies can be mapped.
    let last = Slot(wide.geometry().slots() - 1);
    assert!(!map.is_valid(last));
    assert_eq!((map.publish(Lpn(30), last).pinned, map.is_valid(last), map.unit(11).valid), (None, true, 1));
    // Group 0 takes the new dies in when it is erased, but for one that died in between.
    (0..20).for_each(|lpn| assert_eq!(map.forget(Lpn(lpn)).pinned.map(|unit| map.release(unit)), Some(false)));
    map.rows_mut().keep_out(DieId(7));
    assert!(map.condemn_unit(0));
    map.erased(0);
    assert_eq!(map.rows().members(SuperblockId(0)), [0, 1, 2, 3, 4, 5, 6, 8].into_iter().collect());
}

#[test]
fn the_most_worn_group_is_told() {
    let mut map = settled(&drive(12), 0);
    [(3, 7), (5, 9), (9, 8)].into_iter().for_each(|(group, pe)| map.set_pe(group, pe));
    assert_eq!(map.most_pe(), 9);
    assert!(states(&map).iter().all(|state| *state == UnitState::Free));
}
