use super::*;
use crate::SchemeChoice;
use std::collections::BTreeSet;

fn scheme(dies: u32, options: &[(&str, &str)]) -> Result<Box<dyn GroupScheme>, String> {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let choice = SchemeChoice { name: "mds-groups".into(), options };
    match crate::registry::build(&choice, Shape::small(dies)) {
        Ok(Protection::Groups(scheme)) => Ok(scheme),
        Ok(_) => panic!("another kind of scheme"),
        Err(error) => Err(error.to_string()),
    }
}

fn stripe(scheme: &dyn GroupScheme, group: u32, members: StripSet) -> PageStripe {
    scheme.page_stripe(&scheme.codes()[0], SuperblockId(group), members).expect("enough members")
}

/// Figure 3: three cards of four banks, a (2,1)-MDS.
fn figure_3(more: &[(&str, &str)]) -> Box<dyn GroupScheme> {
    let mut options = vec![("k", "2"), ("m", "1"), ("rotate", "none")];
    options.extend(more);
    scheme(12, &options).unwrap()
}

#[test]
fn the_parity_map_is_that_of_figure_3() {
    let map = stripe(&*figure_3(&[]), 0, StripSet::first(12));
    assert_eq!((map.data, map.codewords), (8, 4));
    for parity in 8..12 {
        let codeword = map.strips[parity].codeword;
        let data: Vec<usize> = (0..8).filter(|&i| map.strips[i].codeword == codeword).collect();
        // P8 = D0 + D4, P9 = D1 + D5, P10 = D2 + D6, P11 = D3 + D7.
        assert_eq!(data, [parity - 8, parity - 4]);
    }
    // Dies of one card share a channel, that is their number mod 3: each symbol on a card of its own.
    let cards: Vec<u16> = map.strips.iter().map(|strip| strip.die.0 % 3).collect();
    assert_eq!(cards, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
}

#[test]
fn the_stride_goes_through_all_data_pages_and_the_last_is_no_collision() {
    let order = |stride: &str| stripe(&*figure_3(&[("stride", stride)]), 0, StripSet::first(12)).order;
    assert_eq!(order("1"), [0, 1, 2, 3, 4, 5, 6, 7]);
    // Section 3.5: D0, D4, D1, D5, D2, D6, D3, D7; the paper's formula ends with D0.
    assert_eq!(order("4"), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(order("auto"), order("4"));
    for dies in 2..=32 {
        for width in 2..=dies {
            let map = stripe(&*scheme(dies, &[]).unwrap(), 3, StripSet::first(width));
            let visited: BTreeSet<u32> = map.order.iter().copied().collect();
            assert_eq!((visited.len(), map.order.len()), (map.data as usize, map.data as usize), "{dies} dies, {width} good");
        }
    }
}

#[test]
fn symbols_of_a_codeword_sit_on_different_dies_whatever_is_bad() {
    for (dies, k, m) in [(8, "7", "1"), (8, "6", "2"), (12, "2", "1"), (6, "1", "1"), (32, "12", "4")] {
        let scheme = scheme(dies, &[("k", k), ("m", m)]).unwrap();
        let code = scheme.codes()[0];
        let mut parity_dies = BTreeSet::new();
        for group in 0..dies {
            for bad in 0..dies {
                let mut members = StripSet::first(dies);
                members.remove(bad);
                let map = stripe(&*scheme, group, members);
                let used: BTreeSet<u16> = map.strips.iter().map(|strip| strip.die.0).collect();
                assert!(used.len() == map.strips.len() && !used.contains(&(bad as u16)));
                let symbols: BTreeSet<_> = map.strips.iter().map(|strip| (strip.codeword, strip.symbol)).collect();
                assert_eq!(symbols.len(), map.strips.len());
                for codeword in 0..map.codewords {
                    assert!((1..=code.data).contains(&map.data_of(codeword)));
                    let parity = map.strips.iter().filter(|s| s.codeword == codeword && s.symbol >= code.data).count();
                    assert_eq!(parity as u32, code.parity);
                }
            }
            let map = stripe(&*scheme, group, StripSet::first(dies));
            parity_dies.extend(map.strips[map.data as usize..].iter().map(|strip| strip.die.0));
        }
        assert_eq!(parity_dies.len() as u32, dies, "parity visits all dies");
    }
}

#[test]
fn a_group_without_room_for_data_and_parity_is_given_up() {
    let scheme = scheme(8, &[("k", "6"), ("m", "2")]).unwrap();
    let map = |members| scheme.page_stripe(&scheme.codes()[0], SuperblockId(0), StripSet::first(members));
    assert!(map(2).is_none());
    assert_eq!(map(3).map(|map| (map.data, map.strips.len())), Some((1, 3)));
}

/// Dies, options, the setting at fault, what is said to be valid.
type Refusal = (u32, &'static [(&'static str, &'static str)], &'static str, &'static str);

#[test]
fn bad_settings_are_refused_with_what_would_be_valid() {
    let refused = |dies, options: &[(&str, &str)]| scheme(dies, options).err().expect("refused");
    let cases: &[Refusal] = &[
        (1, &[], "dies", "2 to 128"),
        (129, &[], "dies", "2 to 128"),
        (8, &[("k", "5"), ("m", "2")], "k", "valid k are 2, 6"),
        (6, &[("k", "4")], "k", "valid k are 1, 2, 5"),
        (8, &[("m", "8")], "m", "valid are 1 to 7"),
        (8, &[("k", "seven")], "k", "valid are 1 to 7"),
        (12, &[("k", "2"), ("stride", "7")], "stride", "valid are 1, 2, 3, 4, 5, 6"),
        (8, &[("stride", "4"), ("then", "5+3"), ("k", "7")], "stride", "valid are 1, 5"),
        (8, &[("then", "6-2")], "then", "`k+m+block`"),
        (8, &[("then", "4+2")], "then", "valid k are 2, 6"),
        (8, &[("change_at_pe", "100")], "change_at_pe", "`then` names one"),
        (8, &[("change_at_failures", "1")], "change_at_failures", "`then` names one"),
        (8, &[("parity_cache", "0")], "parity_cache", "valid are 1 to"),
        (8, &[("block_parity", "63")], "block_parity", "valid are no, yes, word-line"),
    ];
    for (dies, options, setting, valid) in cases {
        let said = refused(*dies, options);
        assert!(said.contains(&format!(", {setting}:")) && said.contains(valid), "{options:?}: {said}");
    }
}

#[test]
fn the_code_changes_when_asked_after_groups_with_wear_or_with_failures() {
    let options =
        [("k", "7"), ("then", "6+2+block"), ("change_after_groups", "10"), ("change_at_pe", "500"), ("change_at_failures", "3")];
    let scheme = scheme(8, &options).unwrap();
    let later = scheme.codes()[1];
    assert_eq!((later.data, later.parity, later.codewords, later.block), (6, 2, 1, 1));
    let history = |opened, most_pe, failures, asked| GroupHistory { opened, most_pe, failures, asked };
    assert_eq!(scheme.code_for(0, &history(9, 499, 2, false)), 0);
    for change in [history(10, 0, 0, false), history(0, 500, 0, false), history(0, 0, 3, false), history(0, 0, 0, true)] {
        assert_eq!(scheme.code_for(0, &change), 1);
    }
    assert_eq!(scheme.code_for(1, &history(0, 0, 0, false)), 1, "no way back");
    assert_eq!(scheme.survives_dies(), 1);
    assert!(scheme.cleans_first(&scheme.codes()[0], &later) && !scheme.cleans_first(&later, &later));
}

#[test]
fn the_promise_is_that_of_the_weakest_code_in_use() {
    let promise = |name: &str, options: &[(&str, &str)]| {
        let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        crate::registry::build(&SchemeChoice { name: name.into(), options }, Shape::small(8)).map(|built| built.survives_dies())
    };
    assert_eq!((promise("raid5", &[]), promise("none", &[])), (Ok(1), Ok(0)));
    assert_eq!(promise("mds-groups", &[]), Ok(1));
    assert_eq!(promise("mds-groups", &[("m", "3")]), Ok(3));
    assert_eq!(promise("mds-groups", &[("m", "2"), ("then", "7+1")]), Ok(1));
}

/// Whether the product code brings back all of `lost`, (page, strip) of `pages` x 8 dies.
fn peels(pages: u32, lost: &[(u32, u32)]) -> bool {
    let scheme = scheme(8, &[("block_parity", "yes"), ("rotate", "none")]).unwrap();
    let map = stripe(&*scheme, 0, StripSet::first(8));
    let is_lost = |page: GroupPage| lost.contains(&(page.page, page.strip));
    let state = |page: GroupPage, _| if is_lost(page) { PageState::Lost } else { PageState::Readable };
    let one = |&(page, strip): &(u32, u32)| {
        let lost = GroupPage { page, strip };
        let terms = scheme.repair(&scheme.codes()[0], &map, pages, lost, &state);
        if let Some(terms) = &terms {
            assert!(terms.iter().all(|(page, c)| !is_lost(*page) && *c == 1));
            assert_product_code(pages, lost, terms);
        }
        terms.is_some()
    };
    let all: Vec<bool> = lost.iter().map(one).collect();
    all.iter().all(|back| *back)
}

/// The terms and the lost page sum to zero in a product code with arbitrary contents.
fn assert_product_code(pages: u32, lost: GroupPage, terms: &[(GroupPage, u8)]) {
    let value = |page: u32, strip: u32| page.wrapping_mul(0x9e37_79b9) ^ (strip + 1).wrapping_mul(0x85eb_ca6b).rotate_left(page);
    let data = |page: u32, strip: u32| -> u32 {
        let rows = if page == pages - 1 { 0..pages - 1 } else { page..page + 1 };
        let strips = if strip == 7 { 0..7 } else { strip..strip + 1 };
        rows.flat_map(|p| strips.clone().map(move |s| (p, s))).fold(0, |sum, (p, s)| sum ^ value(p, s))
    };
    let sum = terms.iter().fold(data(lost.page, lost.strip), |sum, (page, _)| sum ^ data(page.page, page.strip));
    assert_eq!(sum, 0);
}

#[test]
fn rows_and_blocks_together_bring_back_what_has_no_cycle() {
    assert!(peels(64, &[(3, 2)]));
    // Two in a row: through their blocks. Three in an L: one code after the other.
    assert!(peels(64, &[(3, 2), (3, 5)]));
    assert!(peels(64, &[(3, 2), (3, 5), (9, 5)]));
    assert!(peels(8, &[(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (7, 3), (7, 7)]));
    // A rectangle is a cycle, corner pages or not.
    assert!(!peels(64, &[(3, 2), (3, 5), (9, 2), (9, 5)]));
    assert!(!peels(64, &[(3, 2), (3, 7), (63, 2), (63, 7)]));
    // A die, and a page of another: row by row, after the page through its block.
    let die: Vec<(u32, u32)> = (0..64).map(|page| (page, 4)).chain([(10, 6)]).collect();
    assert!(peels(64, &die));
}

/// Four lost pages of a 3 x 3 product code: exactly the cycles of length 4 are lost (9 of 126).
#[test]
fn every_pattern_of_four_lost_pages_is_decided_as_the_graph_says() {
    let scheme = scheme(3, &[("block_parity", "yes"), ("rotate", "none")]).unwrap();
    let map = stripe(&*scheme, 0, StripSet::first(3));
    let mut beyond = 0;
    for pattern in (0u32..1 << 9).filter(|pattern| pattern.count_ones() == 4) {
        let is_lost = |page: GroupPage| pattern >> (page.page * 3 + page.strip) & 1 == 1;
        let state = |page: GroupPage, _| if is_lost(page) { PageState::Lost } else { PageState::Readable };
        let cells = (0..9).map(|cell| GroupPage { page: cell / 3, strip: cell % 3 }).filter(|page| is_lost(*page));
        let mut back = cells.map(|lost| scheme.repair(&scheme.codes()[0], &map, 3, lost, &state).is_some());
        beyond += u32::from(!back.all(|back| back));
    }
    assert_eq!(beyond, 9);
}

/// Two data strips lose the same word line of four pages. Catches pages of one word line in the same sum, and a sum of other pages.
#[test]
fn sums_by_word_line_bring_back_whole_word_lines() {
    let (pages, unit) = (16, 4);
    let shape = Shape { pages_per_block: pages, unit_pages: unit, ..Shape::small(8) };
    let options = [("block_parity".to_owned(), "word-line".to_owned()), ("rotate".to_owned(), "none".to_owned())];
    let choice = SchemeChoice { name: "mds-groups".into(), options: options.into_iter().collect() };
    let Ok(Protection::Groups(scheme)) = crate::registry::build(&choice, shape) else { panic!("block groups") };
    let code = scheme.codes()[0];
    assert_eq!((code.block, code.data_stripes(pages), code.least_held()), (4, 12, 1 + 4 * 8));
    let map = stripe(&*scheme, 0, StripSet::first(8));
    for line in 0..pages / unit {
        let is_lost = |page: GroupPage| page.page / unit == line && page.strip < 2;
        let state = |page: GroupPage, _| if is_lost(page) { PageState::Lost } else { PageState::Readable };
        for lost in (0..unit).flat_map(|at| (0..2).map(move |strip| GroupPage { page: line * unit + at, strip })) {
            let terms = scheme.repair(&code, &map, pages, lost, &state).expect("the rest of its sum");
            let expected: Vec<GroupPage> = (0..pages)
                .filter(|page| page % unit == lost.page % unit && *page != lost.page)
                .map(|page| GroupPage { page, ..lost })
                .collect();
            assert_eq!(terms.iter().map(|(page, _)| *page).collect::<Vec<_>>(), expected);
        }
    }
}

/// Catches a codeword that is longer than its drive: where redundancy alone takes a set of dies, data has the dies that are left.
#[test]
fn more_parities_than_a_set_of_dies_leave_the_other_dies_for_data() {
    for (m, k) in [("19", 1), ("20", 20), ("21", 19)] {
        let code = scheme(40, &[("m", m)]).unwrap().codes()[0];
        assert_eq!((code.data, code.parity), (k, m.parse().unwrap()), "40 dies are two sets of twenty");
    }
}
