//! Code zones: the placement of the paper, shapes of drives, the choice of zones, and code that says what
//! the data are, whatever comes when.

use coding::gf2::Symbols;
use flashkeep_protect::code_zones::{
    Assignment, CodeGroupId, CodeLine, CodeStamp, CodeZones, EncodeLine, LineRead, Offer, ZoneId, ZonePlace,
};
use flashkeep_protect::lazy::{Blocks, LazyRead};
use flashkeep_protect::{Protection, SchemeChoice, SchemeError, Shape, registry};
use vocab::{Bytes, DieId, Lpn, PeCycles, Stream, Streams};

/// How to repeat these tests: they have fixed seeds.
const RERUN: &str = "cargo test -p flashkeep-protect --test parts code_zones::";

fn shape(dies: u32, blocks_per_die: u32, pages_per_block: u32) -> Shape {
    let page_size = Bytes(4096);
    Shape { dies, blocks_per_die, pages_per_block, page_size, slots_per_page: 1, unit_pages: 1, endurance: PeCycles(3000) }
}

fn try_build(shape: Shape, options: &[(&str, &str)]) -> Result<CodeZones, SchemeError> {
    let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    match registry::build(&SchemeChoice { name: "code-zones".into(), options }, shape)? {
        Protection::Zones(zones) => Ok(*zones),
        _ => unreachable!("code zones are zones"),
    }
}

/// `count` data zones of `rows` stripe blocks of a page on each of 8 dies, and `code` code zones.
fn drive(count: u32, rows: u32, code: u32, options: &[(&str, &str)]) -> CodeZones {
    let code = code.to_string();
    let all = [&[("zone_blocks", "3"), ("code_zones", code.as_str())], options].concat();
    let blocks = 3 * (count + code.parse::<u32>().expect("a number"));
    try_build(shape(8, blocks, rows), &all).expect("a drive")
}

fn blocks(of: &[usize]) -> Blocks {
    of.iter().copied().collect()
}

#[test]
fn code_lies_where_figure_5_has_it() {
    let zones = drive(2, 4, 1, &[]);
    let expected = [[4, 5], [5, 6], [6, 7], [7, 4], [0, 1], [1, 2], [2, 3], [3, 0]];
    for (die, sources) in expected.into_iter().enumerate() {
        let mut found = zones.layout().sources(DieId(die as u16));
        found.sort();
        let mut sources = sources.map(DieId);
        sources.sort();
        assert_eq!(found, sources, "S7,{die}");
    }
    // Sums of three.
    let three = drive(2, 4, 1, &[("degree", "3")]);
    assert_eq!(three.layout().sources(DieId(3)), [4, 5, 7].map(DieId));
}

/// The pages of code blocks lie where the formula by dies says, over all shapes.
#[test]
fn blocks_of_a_line_and_sources_of_a_die_are_the_same_placement() {
    for (group, degree, stripe) in [("4", "2", "4KiB"), ("2", "1", "8KiB"), ("8", "3", "4KiB"), ("4", "4", "16KiB")] {
        let zones = drive(3, 4, 2, &[("group", group), ("degree", degree), ("stripe_block", stripe)]);
        let (layout, size) = (zones.layout(), group.parse::<usize>().expect("a number"));
        for lpn in (0..layout.user_pages()).map(Lpn) {
            let (line, block) = layout.line(lpn);
            assert_eq!(layout.block_page(line, 1, block), lpn);
            let data: Vec<ZonePlace> = (0..size).map(|i| layout.place(layout.block_page(line, 1, i))).collect();
            for code in 0..size {
                let place = layout.place(layout.block_page(line, 1, size + code));
                assert_eq!((place.zone, place.row, place.page), (layout.code_zone(1), data[0].row, line.page));
                let sources: Vec<DieId> = layout.graph().code()[code].iter().map(|i| data[i].die).collect();
                assert_eq!(layout.sources(place.die), sources);
                // Code of other groups lies elsewhere, unless there is one group only.
                assert!(size == 8 || data.iter().all(|data| data.die != place.die));
            }
        }
    }
}

#[test]
fn pages_go_from_die_to_die_and_every_place_is_used_once() {
    let zones = drive(3, 6, 1, &[("stripe_block", "8KiB")]);
    let layout = zones.layout();
    // 3 stripe blocks on each of 8 dies.
    assert_eq!((layout.zone_pages(), layout.user_pages(), layout.pages(), layout.zone_groups()), (48, 144, 192, 6));
    let mut places: Vec<ZonePlace> = (0..layout.pages()).map(|lpn| layout.place(Lpn(lpn))).collect();
    assert!(places.iter().zip(0..).all(|(place, lpn)| layout.lpn(*place) == Lpn(lpn)));
    let at = |zone, row, die, page| ZonePlace { zone: ZoneId(zone), row, die: DieId(die), page };
    assert_eq!((places[0], places[1], places[2]), (at(0, 0, 0, 0), at(0, 0, 0, 1), at(0, 0, 1, 0)));
    assert_eq!((places[16], places[47], places[48]), (at(0, 1, 0, 0), at(0, 2, 7, 1), at(1, 0, 0, 0)));
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 192);
    assert!(places.iter().all(|place| place.row < 3 && place.page < 2 && place.zone.0 < 4));
    assert_eq!((layout.blocks(ZoneId(0)), layout.blocks(ZoneId(3))), (0..3, 9..12));
}

#[test]
fn the_drive_of_the_paper_has_80_data_zones_and_8_code_zones() {
    // 8 banks of blocks of 128 KB; segments of 32 MB.
    let paper = Shape { page_size: Bytes(2048), ..shape(8, 88 * 256, 64) };
    let zones = try_build(paper, &[("stripe_block", "8KiB")]).expect("a drive");
    let layout = zones.layout();
    assert_eq!((layout.data_zones(), layout.code_zones(), layout.stripe_pages()), (80, 8, 4));
    // 254 of 256 blocks hold data.
    assert_eq!(u64::from(layout.zone_pages()) * 2048, 254 * 8 * 128 * 1024);
    assert_eq!(layout.graph().equations().len(), 4);
}

/// A group with valid code survives any die in full, whichever way the code lies.
#[test]
fn any_die_of_a_coded_group_may_be_gone() {
    for group in ["4", "8"] {
        let zones = drive(2, 4, 1, &[("group", group)]);
        let layout = zones.layout();
        let (graph, line) = (layout.graph(), CodeLine { group: CodeGroupId(1), page: 0 });
        for die in (0..8).map(DieId) {
            let lives = |block: &usize| layout.place(layout.block_page(line, 0, *block)).die != die;
            assert!(graph.decodes(&(0..graph.blocks()).filter(lives).collect(), zones.decoder()), "{die}, G = {group}");
        }
    }
}

/// Encodes all there is, at once.
fn encode_all(zones: &mut CodeZones) {
    while let Some(encode) = zones.next_encode() {
        assert!(zones.encoded(&encode.stamp));
    }
}

#[test]
fn reads_are_asked_of_data_and_of_code_that_is_covered() {
    let mut zones = drive(2, 4, 1, &[]);
    let none = Symbols::EMPTY;
    assert_eq!(zones.lines(Lpn(2), 3)[0].code, None);
    zones.on_read(Lpn(0), 1);
    let change = Assignment { code_zone: 0, from: None, to: ZoneId(0) };
    assert_eq!((zones.enter_offline(), zones.stale_groups()), (vec![change], 8));
    encode_all(&mut zones);
    // Stripe blocks 1 to 5: b, c, d of group 0, a, b of group 1.
    let lines = zones.lines(Lpn(1), 5);
    assert_eq!(lines.iter().map(|read| read.wanted).collect::<Vec<_>>(), [blocks(&[1, 2, 3]), blocks(&[0, 1])]);
    // b + c and c + d; with a at hand all code.
    assert_eq!(zones.ask(&lines[0], Offer::Wanted, none).offered, blocks(&[1, 2, 3, 5, 6]));
    assert_eq!(zones.ask(&lines[0], Offer::Wanted, blocks(&[0])).offered, blocks(&[1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(zones.ask(&lines[1], Offer::Code, none).offered, blocks(&[0, 1, 4, 5, 6, 7]));
    assert_eq!(zones.ask(&lines[1], Offer::All, none).offered, (0..8).collect());
    // S7,4 = S2,0 + S2,1.
    assert_eq!(zones.layout().place(zones.page(&lines[0], 4)).die, DieId(4));
    // The other zone has no code.
    let plain = zones.lines(Lpn(40), 8);
    assert!(plain.len() == 2 && plain.iter().all(|read| zones.ask(read, Offer::All, none).offered == read.wanted));
    // Beyond the end, and nothing.
    assert!(zones.lines(Lpn(64), 8).is_empty() && zones.lines(Lpn(u32::MAX), 8).is_empty() && zones.lines(Lpn(0), 0).is_empty());
}

#[test]
fn stripe_blocks_of_several_pages_are_read_line_by_line() {
    let zones = drive(2, 4, 1, &[("stripe_block", "8KiB")]);
    // Pages 3 to 8: of block 1 the second, of 2 and 3 both, of 4 the first.
    let found: Vec<(u32, u32, Blocks)> =
        zones.lines(Lpn(3), 6).iter().map(|read| (read.line.group.0, read.line.page, read.wanted)).collect();
    assert_eq!(found, [(0, 1, blocks(&[1, 2, 3])), (0, 0, blocks(&[2, 3])), (1, 0, blocks(&[0]))]);
}

#[test]
fn the_zones_read_most_are_coded_and_keep_their_code_zone() {
    let mut zones = drive(4, 4, 2, &[]);
    let pages = zones.layout().zone_pages();
    let read = |zones: &mut CodeZones, zone: u32, times: u32| (0..times).for_each(|_| zones.on_read(Lpn(zone * pages), 1));
    let owners = |zones: &CodeZones| [0, 1].map(|code_zone| zones.owner(code_zone).map(|zone| zone.0));
    assert!(zones.enter_offline().is_empty(), "nothing was read");
    // A read counts once for each stripe block, in its zone.
    zones.on_read(Lpn(2 * pages - 3), 10);
    assert_eq!([1, 2].map(|zone| zones.reads(ZoneId(zone))), [3, 7]);
    zones.enter_offline();
    assert_eq!(owners(&zones), [Some(2), Some(1)]);
    // As often as zone 1: no reason to encode again.
    read(&mut zones, 0, 3);
    assert!(zones.enter_offline().is_empty());
    read(&mut zones, 0, 1);
    assert_eq!(zones.enter_offline(), [Assignment { code_zone: 1, from: Some(ZoneId(1)), to: ZoneId(0) }]);
    assert_eq!(owners(&zones), [Some(2), Some(0)]);
    // By 50 percent and no less.
    let mut slow = drive(2, 4, 1, &[("hysteresis", "50"), ("counters", "restart")]);
    read(&mut slow, 1, 10);
    slow.enter_offline();
    assert_eq!(slow.reads(ZoneId(1)), 0, "counted again");
    read(&mut slow, 1, 10);
    read(&mut slow, 0, 15);
    assert!(slow.enter_offline().is_empty());
    read(&mut slow, 1, 10);
    read(&mut slow, 0, 16);
    assert_eq!(slow.enter_offline().len(), 1);
}

/// Against sorting: the counts of the zones chosen are the largest ones.
#[test]
fn random_counts_choose_what_sorting_does() {
    let mut stream = Streams::new(3).stream("code-zones");
    let mut zones = drive(12, 2, 4, &[]);
    let pages = zones.layout().zone_pages();
    for round in 0..400 {
        for zone in 0..12 {
            (0..stream.below(6)).for_each(|_| zones.on_read(Lpn(zone * pages), 1));
        }
        zones.enter_offline();
        let mut chosen: Vec<u64> = (0..4).filter_map(|c| zones.owner(c)).map(|zone| zones.reads(zone)).collect();
        let mut all: Vec<u64> = (0..12).map(|zone| zones.reads(ZoneId(zone))).collect();
        chosen.sort();
        all.sort();
        assert_eq!(chosen, all[8..], "round {round}; {RERUN}");
    }
}

/// A drive with contents: the engine's part, as simple as can be.
struct Model {
    zones: CodeZones,
    pages: Vec<u64>,
    /// Encodings begun, with code pages still to be written.
    begun: Vec<(CodeStamp, Vec<(Lpn, u64)>)>,
    /// Reads begun, with the contents of all blocks when they were looked up.
    reading: Vec<(LineRead, Vec<u64>)>,
}

impl Model {
    fn write(&mut self, stream: &mut Stream) {
        let user = u64::from(self.zones.layout().user_pages());
        let (first, pages) = (stream.below(user) as u32, 1 + stream.below(3) as u32);
        self.zones.on_write(Lpn(first), pages);
        (first..(first + pages).min(user as u32)).for_each(|lpn| self.pages[lpn as usize] = stream.bits());
    }

    fn begin_encode(&mut self) {
        let Some(encode) = self.zones.next_encode() else { return };
        let code_of = |line: &EncodeLine| {
            let value = |sum: &Blocks| sum.iter().fold(0, |all, i| all ^ self.pages[line.data[i].index()]);
            line.code.iter().map(|(lpn, sum)| (*lpn, value(sum))).collect::<Vec<_>>()
        };
        let code = encode.lines.iter().flat_map(code_of).collect();
        self.begun.push((encode.stamp, code));
    }

    /// A page of some code gets to flash, late as it may be, or the last one was there.
    fn go_on_encoding(&mut self, stream: &mut Stream) {
        if self.begun.is_empty() {
            return;
        }
        let at = stream.below(self.begun.len() as u64) as usize;
        let (stamp, code) = &mut self.begun[at];
        let is_encoding = self.zones.is_encoding(stamp);
        if stream.chance(0.01) {
            self.zones.abandoned(stamp);
            assert!(!self.zones.is_encoding(stamp));
        } else if let Some((lpn, value)) = code.pop() {
            if is_encoding {
                self.pages[lpn.index()] = value;
            }
            return;
        } else {
            assert_eq!(self.zones.encoded(stamp), is_encoding);
            assert_eq!(self.zones.is_current(stamp), is_encoding);
        }
        self.begun.swap_remove(at);
    }

    fn begin_read(&mut self, stream: &mut Stream) {
        let user = u64::from(self.zones.layout().user_pages());
        for read in self.zones.lines(Lpn(stream.below(user) as u32), 1 + stream.below(8) as u32) {
            let blocks = if read.code.is_some() { 8 } else { 4 };
            let contents = (0..blocks).map(|block| self.pages[self.zones.page(&read, block).index()]).collect();
            self.reading.push((read, contents));
        }
    }

    /// Ends a read whose blocks came in random order: what it gives is what is stored now.
    fn end_read(&mut self, stream: &mut Stream) -> u32 {
        if self.reading.is_empty() {
            return 0;
        }
        let (read, contents) = self.reading.swap_remove(stream.below(self.reading.len() as u64) as usize);
        let Some(stamp) = read.code else { return 0 };
        if !self.zones.is_current(&stamp) {
            return 0;
        }
        let ask = self.zones.ask(&read, Offer::All, Symbols::EMPTY);
        let (mut lazy, _) = LazyRead::start(self.zones.layout().graph(), self.zones.decoder(), ask);
        while !lazy.is_done() {
            let pending: Vec<usize> = lazy.pending().iter().collect();
            lazy.complete(pending[stream.below(pending.len() as u64) as usize]);
        }
        for solved in lazy.sums() {
            let value = solved.sum.iter().fold(0, |all, block| all ^ contents[block]);
            assert_eq!(value, self.pages[self.zones.page(&read, solved.symbol).index()], "{stamp:?}");
        }
        lazy.sums().iter().filter(|solved| solved.sum.single().is_none()).count() as u32
    }

    /// I17: valid code is the sum of the data stored now.
    fn check(&self, about: &str) {
        let layout = self.zones.layout();
        for (read, stamp) in self.zones.lines(Lpn(0), layout.user_pages()).iter().filter_map(|read| Some((read, read.code?))) {
            for (i, sum) in layout.graph().code().iter().enumerate() {
                let data = sum.iter().fold(0, |all, block| all ^ self.pages[self.zones.page(read, block).index()]);
                assert_eq!(self.pages[self.zones.page(read, 4 + i).index()], data, "{stamp:?}, {about}");
            }
        }
    }
}

#[test]
fn valid_code_is_the_sum_of_current_data_whatever_comes_when() {
    let mut decoded = 0;
    for case in 0..150 {
        let mut stream = Streams::new(case).stream("code-zones/model");
        let stripe = if case % 2 == 0 { "4KiB" } else { "8KiB" };
        let zones = drive(3, 4, 1 + case as u32 % 2, &[("stripe_block", stripe)]);
        let pages = vec![0; zones.layout().pages() as usize];
        let mut model = Model { zones, pages, begun: Vec::new(), reading: Vec::new() };
        for step in 0..1200 {
            match stream.below(100) {
                0..5 => model.write(&mut stream),
                5..15 => model.begin_encode(),
                15..75 => model.go_on_encoding(&mut stream),
                75..85 => model.begin_read(&mut stream),
                85..97 => decoded += model.end_read(&mut stream),
                97..99 if stream.chance(0.3) => {
                    model.zones.on_read(Lpn(stream.below(model.zones.layout().user_pages().into()) as u32), 40);
                    model.zones.enter_offline();
                }
                99 if stream.chance(0.2) => model.zones.distrust(),
                _ => {}
            }
            model.check(&format!("case {case}, step {step}; {RERUN}"));
        }
    }
    assert!(decoded > 1000, "{decoded} pages decoded");
}

#[test]
fn a_write_ends_valid_code_at_once_and_encoding_in_turn_brings_it_back() {
    let mut zones = drive(2, 4, 1, &[]);
    zones.on_read(Lpn(40), 1);
    zones.enter_offline();
    assert_eq!(zones.on_write(Lpn(32), 8), [], "no code was valid");
    encode_all(&mut zones);
    let before = zones.stamp(CodeGroupId(9)).expect("valid code");
    assert_eq!(zones.on_write(Lpn(35), 2), [CodeGroupId(8), CodeGroupId(9)]);
    assert!(!zones.is_current(&before) && zones.stamp(CodeGroupId(9)).is_none() && zones.stale_groups() == 2);
    assert_eq!(zones.on_write(Lpn(35), 2), [], "it is stale already");
    // A write while its code is on the way.
    let first = zones.next_encode().expect("a stale group").stamp;
    zones.on_write(Lpn(first.group.0 * 4), 1);
    assert!(!zones.encoded(&first));
    // The other group has its turn before the first one again.
    let second = zones.next_encode().expect("a stale group").stamp;
    assert_ne!(second.group, first.group);
    zones.abandoned(&second);
    encode_all(&mut zones);
    let after = zones.stamp(CodeGroupId(9)).expect("valid code");
    assert!(zones.is_current(&after) && after.generation > before.generation && zones.stale_groups() == 0);
    zones.distrust();
    assert_eq!((zones.stamp(CodeGroupId(9)), zones.stale_groups()), (None, 8));
}

#[test]
fn the_hottest_zone_is_encoded_first() {
    let mut zones = drive(3, 2, 2, &[]);
    let pages = zones.layout().zone_pages();
    zones.on_read(Lpn(0), 3);
    zones.on_read(Lpn(2 * pages), 5);
    zones.enter_offline();
    let order: Vec<u32> = std::iter::from_fn(|| zones.next_encode()).map(|encode| encode.stamp.group.0).collect();
    assert_eq!(order, [8, 9, 10, 11, 0, 1, 2, 3]);
}

#[test]
fn bad_settings_are_refused_with_what_was_found_and_what_is_valid() {
    let big = shape(8, 64, 16);
    for (shape, options, says) in [
        (big, ("group", "3"), &["group", "`3`", "8 dies", "2, 4, 8"][..]),
        (big, ("group", "16"), &["group", "`16`", "2 to 8"]),
        (shape(7, 64, 16), ("group", "4"), &["group", "`4`", "7 dies", "valid are 7"]),
        (big, ("offline", "often"), &["offline", "`often`", "`idle`, `never`, and times"]),
        (big, ("offline", "2s,1s"), &["offline", "`2s,1s`", "ascending"]),
        (big, ("offline_after", "soon"), &["offline_after", "`soon`"]),
        (big, ("offline_cost", "cheap"), &["offline_cost", "`cheap`", "free, charged"]),
        (big, ("access", "bytes"), &["access", "`bytes`", "pages, blocks"]),
        (big, ("read_around", "-1"), &["read_around", "`-1`", "0 to"]),
        (big, ("extra_reads", "x"), &["extra_reads", "`x`", "0 to"]),
        (shape(1, 64, 16), ("degree", "1"), &["dies", "has 1"]),
        (big, ("degree", "5"), &["degree", "`5`", "1 to 4"]),
        (big, ("decoder", "guess"), &["decoder", "`guess`", "peeling, elimination"]),
        (big, ("offer", "none"), &["offer", "`none`", "wanted, code, all"]),
        (big, ("stripe_block", "6KiB"), &["stripe_block", "6KiB", "4KiB, 8KiB, 16KiB, 32KiB, 64KiB"]),
        (big, ("stripe_block", "0KiB"), &["stripe_block", "found 0"]),
        (big, ("zone_blocks", "2"), &["zone_blocks", "`2`", "3 to 32"]),
        (big, ("spare_blocks", "1"), &["spare_blocks", "`1`", "2 to 63"]),
        (big, ("spare_blocks", "40"), &["spare_blocks", "found 40", "2 zones"]),
        (big, ("code_zones", "3"), &["code_zones", "`3`", "0 to 2"]),
        (big, ("counters", "no"), &["counters", "`no`", "keep, restart"]),
        (big, ("hysteresis", "-1"), &["hysteresis", "`-1`", "0 to 10000"]),
        (big, ("read_ahead_window", "0"), &["read_ahead_window", "`0`", "1 to 4096"]),
        (big, ("zones", "1"), &["zones", "unknown option", "group, degree, decoder"]),
        (Shape { slots_per_page: 4, ..big }, ("degree", "2"), &["slots per page", "stores 4", "need 1"]),
    ] {
        let Err(error) = try_build(shape, &[options]) else { panic!("{options:?}: taken") };
        let text = error.to_string();
        assert!(text.starts_with(&format!("scheme code-zones, {}: ", says[0])), "{text}");
        says.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in {text:?}"));
    }
    // The group that the paper chose, or the nearest to it that divides the dies.
    for (dies, group) in [(8, 4), (16, 4), (6, 3), (10, 2), (7, 7), (35, 5)] {
        let zones = try_build(shape(dies, 64, 16), &[]).expect("any number of dies");
        assert_eq!(zones.layout().group_size(), group, "{dies} dies");
    }
    assert!(try_build(big, &[("read_ahead_threads", "0")]).is_ok_and(|zones| zones.read_ahead().is_none()));
    assert!(try_build(big, &[]).is_ok_and(|zones| zones.read_ahead().is_some()));
    let options = registry::find("code-zones").expect("registered").options;
    assert!(options.iter().all(|(name, default, _)| try_build(big, &[(name, default)]).is_ok()));
}

/// Sequences are told apart in as many threads as the setting says, one of them too.
#[test]
fn a_single_thread_reads_ahead() {
    let zones = |threads| try_build(shape(8, 64, 16), &[("read_ahead_threads", threads)]).expect("a drive");
    assert_eq!(["0", "1", "2"].map(|threads| zones(threads).read_ahead().is_some()), [false, true, true]);
}

/// Where the drive maps stripe blocks, a request for a page touches all pages of its block.
#[test]
fn requests_touch_whole_stripe_blocks_where_these_are_mapped() {
    let touched = |access| {
        let options = [("stripe_block", "16KiB"), ("access", access)];
        try_build(shape(8, 64, 16), &options).expect("a drive").touched(Lpn(6), 3)
    };
    assert_eq!([touched("pages"), touched("blocks")], [6..9, 4..12]);
}

/// A segment has a number of 16 bits: 65,535 of them are a drive, one die's worth more is none.
#[test]
fn as_many_segments_are_valid_as_their_numbers_tell_apart() {
    let segments = |dies: u32, zones: u32| try_build(shape(dies, 3 * zones, 1), &[("zone_blocks", "3"), ("spare_blocks", "2")]);
    assert!(segments(5, 13_107).is_ok(), "65,535");
    let Err(error) = segments(5, 13_108) else { panic!("65,540 are too many") };
    let error = error.to_string();
    assert!(error.contains("65540 segments, at most 65535"), "{error}");
}

fn over(shape: Shape, options: &[(&str, &str)]) -> CodeZones {
    let options = options.iter().map(|(key, value)| (format!("code-zones.{key}"), (*value).into())).collect();
    let choice = SchemeChoice { name: "ds-raid+code-zones".into(), options };
    registry::code_over(&choice, shape).expect("a drive").expect("code zones over another scheme")
}

/// Over another scheme a zone is a range of logical pages, on a drive of any shape. Fails if a logical page belongs to no
/// zone, if two code groups share a code page, if a code page is a page of the user, or if a code page does not lead back to its group.
#[test]
fn over_another_scheme_every_group_has_code_pages_of_its_own_beyond_those_of_the_user() {
    for (dies, blocks, pages, options) in [
        (5, 14, 6, &[("group", "3"), ("code_zones", "2")][..]),
        (6, 16, 8, &[("group", "6"), ("degree", "3"), ("zone_blocks", "3"), ("code_zones", "4")]),
        (2, 9, 4, &[("group", "2"), ("stripe_block", "8KiB")]),
        (128, 4, 4, &[("zone_blocks", "2")]),
    ] {
        let mut zones = over(shape(dies, blocks, pages), options);
        let layout = zones.layout().clone();
        assert!(layout.user_pages() >= dies * blocks * pages, "{options:?}: pages of the drive that no zone has");
        assert!(layout.user_pages() < dies * blocks * pages + layout.zone_pages(), "{options:?}: a zone that no one needs");
        let mut seen = vec![false; (layout.pages() - layout.user_pages()) as usize];
        for code_zone in 0..layout.code_zones() {
            for group in (0..layout.zone_groups()).map(CodeGroupId) {
                for lpn in layout.code_pages(group, code_zone) {
                    let at = lpn.0.checked_sub(layout.user_pages()).expect("code is not the user's") as usize;
                    assert!(!std::mem::replace(&mut seen[at], true), "{options:?}: {lpn} is code of two groups");
                }
            }
        }
        // Zone 0 is read and coded; a code page of its last group that is lost makes that group stale.
        zones.on_read(Lpn(0), 1);
        zones.enter_offline();
        while let Some(encode) = zones.next_encode() {
            assert!(zones.encoded(&encode.stamp));
        }
        assert_eq!(zones.valid_groups(), u64::from(layout.zone_groups()), "{options:?}");
        let last = CodeGroupId(layout.zone_groups() - 1);
        let lost = layout.code_pages(last, 0).last().expect("it has code");
        assert_eq!(zones.lose_code(lost).map(|stamp| stamp.group), Some(last), "{options:?}");
    }
}
