use super::*;
use crate::{BlockScan, Faulty, Oob, OobTag, PageScan, ProgramOutcome, ReadOutcome, Scan};
use vocab::{Bytes, DieId, Geometry, Lpn, PlaneUse, SimTime};

const PAGES: u32 = 8;
const SHARED: Pairing = Pairing::Shared { side_by_side: 1 };

fn array(dies: u32) -> MemoryArray<u64> {
    let geometry = Geometry {
        channels: 1,
        dies_per_channel: dies,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block: PAGES,
        page_size: Bytes(4096),
        oob_size: Bytes(64),
        slot_size: Bytes(4096),
    };
    MemoryArray::new(geometry, true).keeping_updates()
}

/// Parts of a page to program with `value`.
fn sent(value: &u64) -> ([OobTag; 1], [u64; 1], Oob) {
    ([OobTag::data(Lpn(*value as u32))], [value ^ 1], Oob { sequence: *value, ..Oob::default() })
}

fn program(array: &mut MemoryArray<u64>, ppn: u32, value: u64) {
    let (tags, updates, oob) = sent(&value);
    let now = SimTime(value * 1_500_000_000);
    assert_eq!(
        array.program_page(&Program {
            ppn: Ppn(ppn),
            tags: &tags,
            payload: &[value],
            updates: Some(&updates),
            members: &[],
            oob,
            now
        }),
        ProgramOutcome::Done
    );
}

/// Cuts the power on the program of `value` to each of these pages.
fn cut(array: &mut MemoryArray<u64>, pairing: Pairing, programs: &[(u32, u64, ProgramFate)]) {
    let sent: Vec<_> = programs.iter().map(|(_, value, _)| (sent(value), [*value])).collect();
    let in_flight = programs.iter().zip(&sent).map(|((ppn, value, fate), ((tags, updates, oob), payload))| {
        let now = SimTime(value * 1_500_000_000);
        InFlight::Program(Program { ppn: Ppn(*ppn), tags, payload, updates: Some(updates), members: &[], oob: *oob, now }, *fate)
    });
    array.cut_power(pairing, &in_flight.collect::<Vec<_>>());
}

/// Each page of a block: `.` erased, `?` unreadable, else the value it holds.
fn look(array: &impl Scan<u64>, block: u32) -> String {
    let page = |page| match array.scan_page(Ppn(block * PAGES + page)) {
        PageScan::Erased => ".".into(),
        PageScan::Unreadable => "?".into(),
        PageScan::Valid(found) => {
            let value = array.payload(Ppn(block * PAGES + page))[0];
            let (tags, updates, oob) = sent(&value);
            assert_eq!((found.tags, found.oob, array.update(Ppn(block * PAGES + page), 0)), (&tags[..], oob, updates[0]));
            value.to_string()
        }
    };
    (0..PAGES).map(page).collect::<Vec<String>>().join(" ")
}

#[test]
fn each_fate_of_a_program_leaves_what_the_model_says() {
    let weak = |partners| ProgramFate::Weak { reads: 1, partners };
    let cases = [
        (ProgramFate::NotBegun, "1 2 3 4 . . . ."),
        (ProgramFate::Blank, "1 2 3 4 . . . ."),
        (ProgramFate::Torn(Partners::Spared), "1 2 3 4 ? . . ."),
        (ProgramFate::Torn(Partners::Torn), "1 ? 3 4 ? . . ."),
        (weak(Partners::Spared), "1 2 3 4 5 . . ."),
        (weak(Partners::Torn), "1 ? 3 4 5 . . ."),
        (ProgramFate::Ended, "1 2 3 4 5 . . ."),
    ];
    assert!(ProgramFate::all(true).iter().all(|fate| cases.iter().any(|case| case.0 == *fate)));
    for (fate, expected) in cases {
        let mut array = array(1);
        (0..4).for_each(|page| program(&mut array, page, u64::from(page) + 1));
        cut(&mut array, SHARED, &[(4, 5, fate)]);
        assert_eq!(look(&array, 0), expected, "{fate:?}");
        let before = look(&array, 0);
        array.forget_volatile();
        assert_eq!(look(&array, 0), before, "{fate:?}: a look told what memory knew");
        for page in 0..array.block(BlockAddr(0)).next_page {
            let readable = look(&array, 0).split(' ').nth(page as usize) != Some("?");
            assert_eq!(array.read(Ppn(page)) == ReadOutcome::Clean, readable, "{fate:?}, page {page}");
        }
        array.erase(BlockAddr(0));
        assert_eq!(array.scan_block(BlockAddr(0)), BlockScan::Erased);
        program(&mut array, 0, 9);
        assert_eq!(look(&array, 0), "9 . . . . . . .", "{fate:?}: an erase heals");
    }
}

#[test]
fn a_page_that_looks_erased_behind_a_cut_takes_no_program() {
    for (fate, next) in [
        (ProgramFate::NotBegun, Some(0)),
        (ProgramFate::Blank, None),
        (ProgramFate::Torn(Partners::Spared), Some(1)),
        (ProgramFate::Ended, Some(1)),
    ] {
        let mut array = array(1);
        cut(&mut array, SHARED, &[(0, 1, fate)]);
        array.forget_volatile();
        for page in 0..2 {
            let mut fork = array.clone();
            let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program(&mut fork, page, 2))).is_ok();
            assert_eq!(taken, next == Some(page), "{fate:?}, page {page}");
        }
    }
}

#[test]
fn a_weak_page_answers_some_reads_and_then_no_more() {
    let mut array = array(1);
    cut(&mut array, SHARED, &[(0, 1, ProgramFate::Weak { reads: 2, partners: Partners::Spared })]);
    assert_eq!(look(&array, 0), "1 . . . . . . .");
    let reads: Vec<_> = (0..4).map(|_| array.read(Ppn(0)) == ReadOutcome::Clean).collect();
    assert_eq!(reads, [true, true, false, false]);
    assert_eq!((look(&array, 0).as_str(), array.scan_block(BlockAddr(0))), ("? . . . . . . .", BlockScan::HalfErased));
}

#[test]
fn a_row_cut_while_it_programs_second_pages_tears_an_earlier_row_on_every_die() {
    // Invariant I12: page 4 of every die, whose word lines hold page 1 of the row before.
    let mut array = array(3);
    let first = |die: u32| array_block(die) * PAGES;
    for page in 0..4 {
        (0..3).for_each(|die| program(&mut array, first(die) + page, u64::from(page) + 1));
    }
    let fates = [ProgramFate::Torn(Partners::Torn), ProgramFate::Weak { reads: 9, partners: Partners::Torn }, ProgramFate::Blank];
    let programs: Vec<_> = (0..3).map(|die| (first(die) + 4, 5, fates[die as usize])).collect();
    cut(&mut array, SHARED, &programs);
    let found: Vec<_> = (0..3).map(|die| look(&array, array_block(die))).collect();
    assert_eq!(found, ["1 ? 3 4 ? . . .", "1 ? 3 4 5 . . .", "1 2 3 4 . . . ."]);
    let mut cells_of_their_own = self::array(1);
    (0..4).for_each(|page| program(&mut cells_of_their_own, page, u64::from(page) + 1));
    cut(&mut cells_of_their_own, Pairing::Alone, &[(4, 5, ProgramFate::Torn(Partners::Torn))]);
    assert_eq!(look(&cells_of_their_own, 0), "1 2 3 4 ? . . .");
}

/// The first block of a die.
fn array_block(die: u32) -> u32 {
    die * 4
}

#[test]
fn a_half_erased_block_must_be_erased_again() {
    for fate in EraseFate::all(7) {
        let mut array = array(1);
        (0..PAGES).for_each(|page| program(&mut array, page, u64::from(page) + 1));
        array.cut_power(SHARED, &[InFlight::Erase(BlockAddr(0), fate)]);
        let (found, pe) = (look(&array, 0), array.block(BlockAddr(0)).pe);
        let interrupted = match fate {
            EraseFate::NotBegun => found == "1 2 3 4 5 6 7 8" && pe == 0,
            EraseFate::Unchanged => found == "1 2 3 4 5 6 7 8" && pe == 0,
            EraseFate::Mixed { .. } => found.contains('?') && pe == 0,
            EraseFate::Blank => found == ". . . . . . . ." && pe == 0,
            EraseFate::Ended => found == ". . . . . . . ." && pe == 1,
        };
        assert!(interrupted, "{fate:?} left {found}, {pe} cycles");
        array.forget_volatile();
        assert_eq!(look(&array, 0), found);
        let next = array.block(BlockAddr(0)).next_page;
        if !matches!(fate, EraseFate::Ended) && next < PAGES {
            let mut fork = array.clone();
            let programmed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program(&mut fork, next, 9)));
            assert!(programmed.is_err(), "{fate:?}: page {next} of a half-erased block was programmed");
        }
        array.erase(BlockAddr(0));
        program(&mut array, 0, 9);
        assert_eq!(look(&array, 0), "9 . . . . . . .");
    }
}

#[test]
fn mixed_erases_leave_every_kind_of_page_and_blocks_without_valid_ones_show() {
    let mut kinds = BTreeSet::new();
    for draw in 0..200 {
        let mut array = array(1);
        (0..2).for_each(|page| program(&mut array, page, u64::from(page) + 1));
        array.cut_power(SHARED, &[InFlight::Erase(BlockAddr(0), EraseFate::Mixed { draw })]);
        let found = look(&array, 0);
        let expected = match &found[..3] {
            ". ." => BlockScan::Erased,
            "? ." => BlockScan::HalfErased,
            ". ?" | "? ?" => BlockScan::HalfErased,
            "1 ." => BlockScan::Programmed { pages: 1 },
            _ => BlockScan::Programmed { pages: 2 },
        };
        assert_eq!(array.scan_block(BlockAddr(0)), expected, "draw {draw}: {found}");
        kinds.insert(found[..3].to_owned());
    }
    assert_eq!(kinds.len(), 9, "two pages of three kinds: {kinds:?}");
}

#[test]
fn a_mount_finds_what_the_oob_says_and_nothing_else() {
    let mut array = array(1);
    (0..3).for_each(|_| assert_eq!(array.erase(BlockAddr(1)), ProgramOutcome::Done));
    array.erase(BlockAddr(0));
    array.set_age(BlockAddr(3), |info| info.bad = true);
    program(&mut array, 0, 7);
    array.erase(BlockAddr(1));
    program(&mut array, 1, 8);
    (0..5).for_each(|_| assert_eq!(array.read(Ppn(0)), ReadOutcome::Clean));
    array.forget_volatile();
    let PageScan::Valid(first) = array.scan_page(Ppn(0)) else { panic!("page 0 was programmed") };
    // Programmed at 10.5 s; block 1 had three cycles then, and four at page 1.
    let second = |s: u64| SimTime(s * 1_000_000_000);
    assert_eq!((first.pe, first.pe_max, first.first_program), (1, 3, second(10)));
    let PageScan::Valid(later) = array.scan_page(Ppn(1)) else { panic!("page 1 was programmed") };
    assert_eq!((later.pe, later.pe_max, later.first_program), (1, 4, second(10)));
    let infos: Vec<_> = (0..4).map(|block| *array.block(BlockAddr(block))).collect();
    let known = crate::BlockInfo::default();
    // Five reads disturbed the cells of block 0, with power or without.
    let read = crate::BlockInfo { next_page: 2, reads: 5, ..known };
    let expected = [read, known, known, crate::BlockInfo { bad: true, ..known }];
    assert_eq!(infos, expected);
    assert_eq!(array.scan_block(BlockAddr(3)), BlockScan::Bad);
}

#[test]
fn a_mount_takes_pages_for_as_old_as_the_first_of_their_block() {
    let mut array = array(1).keeping_ecc();
    [3, 9].iter().enumerate().for_each(|(page, &value)| program(&mut array, page as u32, value));
    let written = |array: &MemoryArray<u64>| [0, 1].map(|page| array.page(Ppn(page)).written.0 / 1_000_000_000);
    // Programmed at 4.5 s and at 13.5 s.
    assert_eq!(written(&array), [4, 13]);
    array.forget_volatile();
    assert_eq!(written(&array), [4, 4]);
}

#[test]
#[should_panic(expected = "die0 worked on two commands at once")]
fn a_die_works_on_one_command() {
    let mut array = array(1);
    cut(&mut array, SHARED, &[(0, 1, ProgramFate::Ended), (PAGES, 2, ProgramFate::Blank)]);
}

#[test]
fn what_is_lost_besides_is_unreadable() {
    let mut array = Faulty::new(array(2), 2, 0.0, Streams::new(1).stream("test"));
    for (ppn, value) in [(0, 1), (1, 2), (4 * PAGES, 3)] {
        let (tags, updates, oob) = sent(&value);
        let (ppn, now) = (Ppn(ppn), SimTime(0));
        array.program_page(&Program { ppn, tags: &tags, payload: &[value], updates: Some(&updates), members: &[], oob, now });
    }
    array.lose_page(Ppn(0));
    array.kill(DieId(1));
    let (tags, _, oob) = sent(&4);
    let late = Program { ppn: Ppn(4 * PAGES + 1), tags: &tags, payload: &[4], updates: None, members: &[], oob, now: SimTime(0) };
    array.cut_power(SHARED, &[InFlight::Program(late, ProgramFate::Ended)]);
    assert_eq!(look(&array, 0), "? 2 . . . . . .");
    assert_eq!(look(&array, 4), "? ? ? ? ? ? ? ?");
}

/// One block as the model has it, page by page, in the words of `look`; written without the array.
#[derive(Clone, Default)]
struct Shadow {
    pages: Vec<String>,
    half_erased: bool,
    /// The page behind the last was begun.
    begun: bool,
}

/// A step of a random life; `None` if the block takes no program.
fn random_program(shadow: &mut Shadow, value: u64, cut: bool, draws: &mut Stream) -> Option<(u32, ProgramFate)> {
    let page = shadow.pages.len() as u32;
    if shadow.half_erased || shadow.begun || page == PAGES {
        return None;
    }
    let partner = [(2, 0), (4, 1), (6, 3), (7, 5)].iter().find(|pair| pair.0 == page).map(|pair| pair.1);
    let fate = if cut { ProgramFate::draw(partner.is_some(), draws) } else { ProgramFate::Ended };
    match fate {
        ProgramFate::NotBegun => {}
        ProgramFate::Blank => shadow.begun = true,
        ProgramFate::Torn(_) => shadow.pages.push("?".into()),
        ProgramFate::Weak { .. } | ProgramFate::Ended => shadow.pages.push(value.to_string()),
    }
    if let (ProgramFate::Torn(Partners::Torn) | ProgramFate::Weak { partners: Partners::Torn, .. }, Some(earlier)) =
        (fate, partner)
    {
        shadow.pages[earlier] = "?".into();
    }
    Some((page, fate))
}

/// Lives of many commands and cuts: what was durable before a cut and shares no cells with what
/// it interrupted is there after it, bit for bit.
#[test]
fn random_lives_end_as_a_model_without_an_array_says() {
    for seed in 0..60 {
        let mut draws = Streams::new(seed).stream("test/power");
        let (mut array, mut shadows) = (array(2), vec![Shadow::default(); 8]);
        for value in 1..400 {
            let block = draws.below(8) as usize;
            let cut_here = draws.chance(0.2);
            let shadow = &mut shadows[block];
            if let Some((page, fate)) = random_program(shadow, value, cut_here, &mut draws) {
                let ppn = block as u32 * PAGES + page;
                if cut_here { cut(&mut array, SHARED, &[(ppn, value, fate)]) } else { program(&mut array, ppn, value) }
            } else {
                let fate = if cut_here { EraseFate::draw(&mut draws) } else { EraseFate::Ended };
                array.cut_power(SHARED, &[InFlight::Erase(BlockAddr(block as u32), fate)]);
                match fate {
                    EraseFate::NotBegun => {}
                    EraseFate::Ended => *shadow = Shadow::default(),
                    EraseFate::Blank => *shadow = Shadow { half_erased: true, ..Shadow::default() },
                    EraseFate::Unchanged => shadow.half_erased = true,
                    EraseFate::Mixed { .. } => {
                        shadow.half_erased = true;
                        let found = look(&array, block as u32);
                        // Each page is as before, or holds nothing.
                        for (page, now) in found.split(' ').take(shadow.pages.len()).enumerate() {
                            assert!(now == "." || now == "?" || now == shadow.pages[page], "seed {seed}: {found}");
                        }
                        let left = found.trim_end_matches([' ', '.']);
                        shadow.pages = left.split(' ').filter(|page| !page.is_empty()).map(str::to_owned).collect();
                    }
                }
            }
            if cut_here {
                array.forget_volatile();
            }
            for (block, shadow) in shadows.iter().enumerate() {
                let expected = (0..PAGES as usize).map(|page| shadow.pages.get(page).map_or(".", |page| page.as_str()));
                let expected = expected.collect::<Vec<_>>().join(" ");
                assert_eq!(look(&array, block as u32), expected, "seed {seed}, command {value}, block {block}");
                assert_eq!(array.is_half_erased(BlockAddr(block as u32)), shadow.half_erased, "seed {seed}, command {value}");
            }
        }
    }
}

/// Two erases in SLC mode are one cycle. Catches a mode that outlives the erase, and wear that is counted whole or not at all.
#[test]
fn erases_in_slc_mode_wear_a_block_less() {
    let mut array = array(1);
    let worn = |array: &MemoryArray<u64>| {
        let block = array.block(BlockAddr(0));
        (block.pe, block.slc_cycles, block.is_slc())
    };
    for (slc, expected) in [(true, (0, 1)), (false, (1, 1)), (true, (2, 0)), (true, (2, 1))] {
        if slc {
            array.use_as_slc(BlockAddr(0), 2);
        }
        program(&mut array, 0, 1);
        assert!(array.erase(BlockAddr(0)).is_done());
        assert_eq!(worn(&array), (expected.0, expected.1, false));
    }
}

/// Catches a mount that takes blocks for what they were before, and a torn program in SLC mode that takes its neighbour with it.
#[test]
fn the_mode_of_a_block_is_told_by_its_pages() {
    let mut array = array(2);
    for block in [0, 1, 4] {
        array.use_as_slc(BlockAddr(block), 2);
    }
    program(&mut array, 0, 1);
    array.erase(BlockAddr(0));
    array.use_as_slc(BlockAddr(0), 2);
    [0, 2 * PAGES, 4 * PAGES].into_iter().zip(2..).for_each(|(ppn, value)| program(&mut array, ppn, value));
    let fate = ProgramFate::Torn(Partners::Torn);
    program(&mut array, 2 * PAGES + 1, 5);
    cut(&mut array, Pairing::Adjacent { bits: 8 }, &[(1, 6, fate), (4 * PAGES + 1, 7, fate)]);
    array.forget_volatile();
    let modes = [0, 1, 2, 4].map(|block| array.block(BlockAddr(block)).slc);
    assert_eq!(modes, [2, 0, 0, 2], "block 1 was to be in SLC mode and holds nothing, block 2 never was");
    assert_eq!([0, 2, 4].map(|block| look(&array, block)), ["2 ? . . . . . .", "3 5 . . . . . .", "4 ? . . . . . ."]);
    let PageScan::Valid(page) = array.scan_page(Ppn(0)) else { panic!("it was programmed") };
    assert_eq!((page.pe, page.slc_cycles), (0, 1));
}

#[test]
#[should_panic(expected = "changes its mode while it holds pages")]
fn a_written_block_keeps_its_mode() {
    let mut array = array(1);
    program(&mut array, 0, 1);
    array.use_as_slc(BlockAddr(0), 2);
}
