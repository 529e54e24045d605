//! Code zones alone: no reads, no host, no engine. Effects for others are kept and compared.

use crate::core::effects::{Parcel, Popped};
use crate::core::ids::EncodeId;
use crate::core::read_step::{NewSolve, ReadStep};
use crate::core::zone_step::{CodePage, ZoneStep};
use crate::core::{Command, oob_covering};
use crate::write::Writer;
use crate::write::pages::PageWriter;
use crate::write::zones::testing::{ZonesCore, store_pages, zones_core, zones_setup};
use crate::write::zones::{Waiting, Zones, forget_code_page};
use device::command::Verb;
use device::contents::{HostPayload, Tag};
use device::image::Contents;
use device::slab::JobId;
use ftl::{Place, Stream};
use nand::{FlashArray, OobTag, ProgramOutcome};
use protect::code_zones::CodeGroupId;
use vocab::{Lpn, Ppn, Slot};

struct Alone {
    core: ZonesCore,
    zones: Box<Zones<Tag>>,
    pages: PageWriter,
}

impl Alone {
    /// Pages `0..8` stored; reads of zone 0 counted.
    fn new() -> Self {
        let (core, protection) = zones_core(&mut zones_setup(&[]));
        let pages = PageWriter::new(core.map.logs(), &ftl::StreamConfig::default());
        let mut alone = Self { core, zones: Zones::new(&protection, None).expect("a drive of code zones"), pages };
        alone.core.device.timed = false;
        store_pages(&mut alone.core, &alone.zones, 0..8);
        alone.zones.scheme.on_read(Lpn(0), 8);
        alone
    }

    fn effects(&mut self) -> Vec<Popped<Tag>> {
        std::iter::from_fn(|| self.core.out.pop()).collect()
    }

    /// Begins a phase, and to encode a group; what is to be read and added up for it.
    fn begin(&mut self) -> NewSolve<Tag> {
        let garbage = self.zones.choose_zones();
        self.zones.begin_phase(&mut self.core, garbage);
        self.effects();
        assert!(self.zones.start_next(&mut self.core, &self.pages));
        match self.effects().as_slice() {
            [Popped::Parcel(Parcel::Reads(ReadStep::Sum(new)))] => new.clone(),
            other => panic!("{other:?} instead of sums to be read"),
        }
    }

    /// Sums that reads would make.
    fn sums(&self, new: &NewSolve<Tag>) -> Vec<Tag> {
        let mut sums = new.sums.clone();
        for term in &new.terms {
            let payload = self.core.device.array.payload(term.ppn)[0];
            term.adds.iter().for_each(|&(sum, coefficient)| sums[usize::from(sum)].add_scaled(&payload, coefficient));
        }
        sums
    }

    /// Writes all code pages of group 0, and ends their programs; the effects of the last.
    fn write_all(&mut self, encode: EncodeId, pages: u32) -> Vec<Popped<Tag>> {
        for which in 0..pages {
            let log = self.zones.log_of_code(&self.core, encode, which);
            assert!(self.zones.write_code(&mut self.core, encode, which, log));
        }
        self.effects();
        while let Some((id, _)) = self.core.device.next_ready() {
            let command = self.core.device.commands[id];
            assert!(self.core.device.program(&command).is_done());
            self.zones.code_programmed(&mut self.core, command.image, encode, ProgramOutcome::Done);
            self.core.device.images.give(command.image);
            self.core.device.commands.give(id);
        }
        let over = self.effects();
        for effect in over {
            let Popped::Parcel(Parcel::Zones(ZoneStep::CodePageOver { encode, how })) = effect else { panic!("{effect:?}") };
            self.zones.code_page_over(&mut self.core, encode, how);
        }
        self.effects()
    }

    /// Group 0 has valid code.
    fn encode(&mut self) {
        let new = self.begin();
        let sums = self.sums(&new);
        let pages = self.zones.code_summed(&mut self.core, EncodeId::new(0), Some(sums));
        let effects = self.write_all(EncodeId::new(0), pages);
        assert!(matches!(effects.as_slice(), [Popped::Parcel(Parcel::Zones(ZoneStep::EncodeMore))]), "{effects:?}");
    }
}

/// Fails if a data page is left out of a sum, added to the sum of another code page, or not named by the
/// coverage; or if the code is called valid before all of it is in flash.
#[test]
fn the_encoder_writes_the_sums_of_the_data() {
    let mut alone = Alone::new();
    let new = alone.begin();
    assert_eq!(new.terms.len(), 4, "each data page of the group is read once");
    let sums = alone.sums(&new);
    let pages = alone.zones.code_summed(&mut alone.core, EncodeId::new(0), Some(sums));
    assert!(!alone.zones.encoder.is_idle(), "no page of the code is written");
    assert_eq!((pages, alone.zones.scheme.valid_groups()), (4, 0));
    let effects = alone.write_all(EncodeId::new(0), pages);
    assert!(matches!(effects.as_slice(), [Popped::Parcel(Parcel::Zones(ZoneStep::EncodeMore))]), "{effects:?}");
    assert_eq!((alone.zones.scheme.valid_groups(), alone.core.device.folds.around.encoded_groups), (1, 1));
    assert!(alone.zones.encoder.is_idle());
    let code = alone.zones.code_pages(&alone.core);
    assert_eq!(code.len(), 4);
    for (place, of) in code {
        let Place::At(slot) = place else { panic!("valid code at {place:?}") };
        let ppn = alone.core.device.grid.page_of(slot).0;
        let (page, payload) = (alone.core.device.array.page(ppn), alone.core.device.array.payload(ppn));
        // By hand: two different pages below 4 of version 1 add up to lpn + 1 of both, and version 0.
        let [a, b] = of.as_slice() else { panic!("{of:?}: each code page is the sum of two") };
        assert_eq!(payload[0], Tag::stamp(Lpn(((a.0 + 1) ^ (b.0 + 1)).wrapping_sub(1)), 0, 8));
        assert_eq!(page.oob.coverage, [a.0, b.0].into_iter().collect());
    }
}

/// A page whose program failed waits in the controller for another place. Fails if it is left out of the sums, taken from
/// the flash page that never got it, or replaced by the version before.
#[test]
fn what_the_controller_has_of_a_group_is_summed_from_there() {
    let mut alone = Alone::new();
    let log = alone.zones.segment_of(&alone.core, Lpn(1)).0;
    let ppn = alone.core.map.take_page(log, Stream::Host).expect("the segment has room");
    let image = alone.core.device.images.open(ppn, oob_covering(vocab::StripSet::EMPTY));
    let contents = Contents { tag: OobTag::data(Lpn(1)), payload: Tag::stamp(Lpn(1), 2, 8), update: 99 };
    alone.core.device.images.fill(image, contents, None, None);
    let slot = alone.core.device.grid.slot(ppn, 0);
    let _ = alone.core.map.publish(Lpn(1), slot);
    alone.core.device.displaced.push_back(Command { ppn, image, verb: Verb::Program, ..Command::default() });
    let new = alone.begin();
    assert!(new.terms.iter().all(|term| term.ppn != ppn), "nothing can be read there");
    let sums = alone.sums(&new);
    let pages = alone.zones.code_summed(&mut alone.core, EncodeId::new(0), Some(sums));
    alone.write_all(EncodeId::new(0), pages);
    let code = alone.zones.code_pages(&alone.core);
    assert_eq!((new.terms.len(), code.len()), (3, 4));
    for (place, of) in code {
        let Place::At(slot) = place else { panic!("valid code at {place:?}") };
        let [a, b] = of.as_slice() else { panic!("{of:?}: each code page is the sum of two") };
        // By hand: two pages of version 1 add up to version 0, one of version 1 and one of version 2 to version 3.
        let version = if of.contains(&Lpn(1)) { 3 } else { 0 };
        let sum = Tag::stamp(Lpn(((a.0 + 1) ^ (b.0 + 1)).wrapping_sub(1)), version, 8);
        assert_eq!(alone.core.device.array.payload(alone.core.device.grid.page_of(slot).0)[0], sum);
    }
}

/// Fails if code of data that changed while it was computed is written, or called valid.
#[test]
fn data_that_change_while_they_are_encoded_get_no_code() {
    let mut alone = Alone::new();
    let new = alone.begin();
    alone.zones.contents_change(&mut alone.core, Lpn(1));
    alone.effects();
    let sums = alone.sums(&new);
    assert_eq!(alone.zones.code_summed(&mut alone.core, EncodeId::new(0), Some(sums)), 0);
    assert!(matches!(alone.effects().as_slice(), [Popped::Parcel(Parcel::Zones(ZoneStep::EncodeMore))]));
    assert_eq!(alone.zones.scheme.valid_groups(), 0);
    assert!(alone.zones.encoder.is_idle(), "the group is given up");
}

/// Fails if a group with a page that cannot be read is encoded all the same.
#[test]
fn a_group_that_cannot_be_read_is_given_up() {
    let mut alone = Alone::new();
    alone.begin();
    assert_eq!(alone.zones.code_summed(&mut alone.core, EncodeId::new(0), None), 0);
    assert_eq!((alone.zones.scheme.valid_groups(), alone.zones.encoder.is_idle()), (0, true));
}

/// Fails if reads may decode with code of what is no longer there, if pages of stale code stay in the map, or if
/// they leave it before reads have stopped to use them.
#[test]
fn a_write_makes_code_stale_and_its_pages_garbage() {
    let mut alone = Alone::new();
    alone.encode();
    let stamp = alone.zones.scheme.stamp(CodeGroupId(0)).expect("valid code");
    let mut code: Vec<Lpn> = alone.zones.scheme.layout().code_pages(stamp.group, stamp.code_zone).collect();
    code.sort_unstable();
    let is_mapped = |alone: &Alone, lpn| alone.core.map.lookup(lpn) != Place::Unmapped;
    assert!(code.iter().all(|&lpn| is_mapped(&alone, lpn)));

    alone.zones.contents_change(&mut alone.core, Lpn(2));
    assert!(!alone.zones.is_current_code(&stamp));
    let effects: Vec<String> = alone.effects().iter().map(|effect| format!("{effect:?}")).collect();
    let expected = [
        format!("ForgetReadAhead {{ lpn: {:?} }}", Lpn(2)),
        "Reads(DropCode { group: CodeGroupId(0) })".to_owned(),
        format!("Zones(ForgetCode {{ stamp: {stamp:?} }})"),
    ];
    assert_eq!(effects, expected);

    assert!(code.iter().all(|&lpn| is_mapped(&alone, lpn)), "reads go on without it first");
    alone.zones.forget_code(&mut alone.core, stamp);
    let mut forgotten = Vec::new();
    for effect in alone.effects() {
        let Popped::Parcel(Parcel::Zones(ZoneStep::ForgetCodePage { lpn, only_at })) = effect else { panic!("{effect:?}") };
        forget_code_page(&mut alone.core, lpn, only_at);
        forgotten.push(lpn);
    }
    forgotten.sort_unstable();
    assert_eq!(forgotten, code);
    assert!(!code.iter().any(|&lpn| is_mapped(&alone, lpn)));
    // A second write finds no code.
    alone.zones.contents_change(&mut alone.core, Lpn(2));
    assert_eq!(alone.effects().len(), 1);
}

/// Fails if code that was written again in the meantime is taken for the one to be forgotten.
#[test]
fn code_that_lies_elsewhere_by_now_is_not_forgotten() {
    let mut alone = Alone::new();
    let lpn = Lpn(3);
    let Place::At(slot) = alone.core.map.lookup(lpn) else { panic!("it was stored") };
    forget_code_page(&mut alone.core, lpn, Some(Slot(slot.0 + 1)));
    assert_eq!(alone.core.map.lookup(lpn), Place::At(slot));
    forget_code_page(&mut alone.core, lpn, Some(slot));
    assert_eq!(alone.core.map.lookup(lpn), Place::Unmapped);
}

/// Fails if what waits for a segment is served out of order, or if another segment waits with it.
#[test]
fn what_waits_for_a_segment_keeps_its_turn() {
    let mut setup = zones_setup(&[]);
    let (core, protection) = zones_core(&mut setup);
    let mut writer: Writer<Tag> =
        Writer::new(&setup, protection, &core.device.grid, core.map.logs()).expect("a tiny drive has room");
    let page = |job| Waiting::Page { job, index: 0 };
    writer.await_segment(5, page(JobId::new(1)));
    writer.await_segment(2, page(JobId::new(2)));
    writer.await_segment(5, Waiting::Code { encode: EncodeId::new(7), which: 1 });
    assert_eq!((writer.awaited_segments(), writer.first_in_segments()), (vec![2, 5], Some((2, page(JobId::new(2))))));
    let first = writer.take_first_of_segment(5).expect("it waits");
    writer.await_segment_first(5, first);
    assert_eq!(writer.take_first_of_segment(5), Some(page(JobId::new(1))));
    assert_eq!(writer.take_first_of_segment(5), Some(Waiting::Code { encode: EncodeId::new(7), which: 1 }));
    let rest = (writer.take_first_of_segment(5), writer.is_segment_awaited(5), writer.has_waiting_in_segments());
    assert_eq!(rest, (None, false, true));
}

/// Fails if pages that are written do not get their place in the segment that the layout gives them, or if the
/// job is not told to wait for the program.
#[test]
fn a_page_goes_to_its_own_segment() {
    let mut alone = Alone::new();
    let job = alone.core.jobs.take();
    let lpn = Lpn(6);
    let payload = Tag::stamp(lpn, 2, 8);
    alone.core.jobs[job].pages.push(crate::core::jobs::PageWrite { lpn, version: 2, payload, from: 0, to: 8, rank: 0 });
    let (log, die) = alone.zones.segment_of(&alone.core, lpn);
    assert!(alone.zones.write_page(&mut alone.core, job, 0, log));
    let Place::At(slot) = alone.core.map.lookup(lpn) else { panic!("it has a place") };
    let ppn: Ppn = alone.core.device.grid.page_of(slot).0;
    assert_eq!(alone.core.device.grid.die_of(ppn), die);
    let (id, _) = alone.core.device.next_ready().expect("a program");
    let image = alone.core.device.commands[id].image;
    assert_eq!((alone.core.device.images.slot(image, 0).1, alone.core.device.images.contents(image).1[0]), (Some(job), payload));
}

/// Fails if code of which a page cannot be read is still decoded with.
#[test]
fn code_that_lost_a_page_is_no_code_any_more() {
    let mut alone = Alone::new();
    alone.encode();
    let stamp = alone.zones.scheme.stamp(CodeGroupId(0)).expect("valid code");
    let lpn = alone.zones.scheme.layout().code_pages(stamp.group, stamp.code_zone).next().expect("a page of code");
    alone.zones.lose_code_page(&mut alone.core, lpn);
    assert_eq!((alone.zones.scheme.valid_groups(), alone.effects().is_empty()), (0, false));
}

/// Over another way of writing all code of a group is one job. Fails if a page of it is left out, or is not what was
/// computed, or if the encoding ends before the job, or not with it.
#[test]
fn over_another_way_of_writing_the_code_of_a_group_is_one_job() {
    let mut alone = Alone::new();
    let new = alone.begin();
    let sums = alone.sums(&new);
    let (encode, expected) = (EncodeId::new(0), sums.clone());
    assert_eq!(alone.zones.code_summed(&mut alone.core, encode, Some(sums)), 4);
    let job = alone.zones.code_job(&mut alone.core, encode);
    let layout = alone.zones.scheme.layout();
    let pages: Vec<Lpn> = layout.code_pages(CodeGroupId(0), 0).collect();
    let written: Vec<(Lpn, Tag)> = alone.core.jobs[job].pages.iter().map(|page| (page.lpn, page.payload)).collect();
    assert_eq!(written, pages.into_iter().zip(expected).collect::<Vec<_>>());
    assert_eq!((alone.core.jobs[job].remaining, alone.core.jobs[job].cause()), (1, vocab::Cause::Encode));
    alone.zones.drop_stale_pages(&mut alone.core, job, encode);
    assert_eq!((alone.core.jobs[job].pages.len(), alone.core.jobs[job].failed), (4, false), "nothing has changed");
    alone.zones.code_page_over(&mut alone.core, encode, CodePage::Written);
    assert!(alone.zones.encoder.is_idle() && alone.zones.scheme.valid_groups() == 1);
}

/// Data change when two of four code pages have places. Fails if the others are written all the same, where they would
/// replace other code, or if those written stay in the map.
#[test]
fn of_code_that_becomes_stale_no_further_page_is_written() {
    let mut alone = Alone::new();
    let new = alone.begin();
    let (encode, sums) = (EncodeId::new(0), alone.sums(&new));
    alone.zones.code_summed(&mut alone.core, encode, Some(sums));
    let job = alone.zones.code_job(&mut alone.core, encode);
    let pages: Vec<Lpn> = alone.core.jobs[job].pages.iter().map(|page| page.lpn).collect();
    for &lpn in &pages[..2] {
        alone.core.map.publish(lpn, Slot(lpn.0));
        alone.core.jobs[job].next += 1;
    }
    alone.zones.note_code_places(&alone.core, job, encode);
    alone.zones.scheme.on_write(Lpn(3), 1);
    alone.zones.drop_stale_pages(&mut alone.core, job, encode);
    assert_eq!((alone.core.jobs[job].pages.len(), alone.core.jobs[job].failed), (2, true));
    alone.zones.code_page_over(&mut alone.core, encode, CodePage::GivenUp);
    let forgotten = alone.effects().into_iter().filter_map(|effect| match effect {
        Popped::Parcel(Parcel::Zones(ZoneStep::ForgetCodePage { lpn, .. })) => Some(lpn),
        _ => None,
    });
    assert_eq!(forgotten.collect::<Vec<_>>(), pages[..2]);
    assert_eq!(alone.zones.scheme.valid_groups(), 0);
}

/// Catches a die that is that of a page's segment, though another way of writing finds its place.
#[test]
fn over_another_way_of_writing_a_read_goes_where_the_map_says() {
    let mut alone = Alone::new();
    let (lpn, grid) = (Lpn(6), alone.core.device.grid.clone());
    let elsewhere = grid.slot(Ppn(grid.geometry().pages() - 1), 0);
    let die = alone.zones.segment_of(&alone.core, lpn).1;
    assert_ne!(grid.die_of(grid.page_of(elsewhere).0), die);
    alone.core.map.publish(lpn, elsewhere);
    assert_eq!(alone.zones.die_of(&alone.core, lpn), Some(die), "segments say where code zones lie");
    alone.zones.put_over();
    assert_eq!(alone.zones.die_of(&alone.core, lpn), Some(grid.die_of(grid.page_of(elsewhere).0)));
    assert_eq!(alone.zones.die_of(&alone.core, Lpn(60)), None, "no die has it");
}
