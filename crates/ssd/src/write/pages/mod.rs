//! Pages of region logs, put together in the controller: pages that the host writes without redundancy
//! (`write`), and pages that a collector moves within a log, whatever protects them (`moves`).

mod answers;
pub(crate) mod moves;
pub(crate) mod write;

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::write::ways::WayFacts;
use crate::write::{WithoutReserve, Writer};
use device::slab::ImageId;
use ftl::{StreamConfig, UnitId};
use vocab::{Cause, Ppn, StreamId};

/// Pages without redundancy.
pub(crate) const FACTS: WayFacts = WayFacts { without_reserve: WithoutReserve::OtherDie, ..WayFacts::PLAIN };

/// Page images that still have room, and the die whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct PageWriter {
    /// The die that is asked first next time: equal backlogs take turns.
    turn: usize,
    /// Where host pages go.
    host: HostPages,
    /// For each log, and each stream of those that its collector keeps apart, the image moved pages are put into; not queued
    /// before it is full.
    moved: Vec<Option<ImageId>>,
    /// Streams that collectors keep apart.
    kept_apart: usize,
}

/// Pages of flash that host pages are put into: one, or one for each stream, where streams are isolated.
#[derive(Clone, Debug)]
struct HostPages {
    /// That of stream 0, which is all that most drives have.
    first: HostPage,
    others: Vec<HostPage>,
}

impl HostPages {
    #[inline]
    fn of(&self, stream: StreamId) -> &HostPage {
        stream.index().checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.first)
    }

    #[inline]
    fn of_mut(&mut self, stream: StreamId) -> &mut HostPage {
        stream.index().checked_sub(1).and_then(|other| self.others.get_mut(other)).unwrap_or(&mut self.first)
    }

    fn iter(&self) -> impl Iterator<Item = &HostPage> {
        std::iter::once(&self.first).chain(&self.others)
    }

    #[inline]
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut HostPage> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

/// The page of flash that host pages are put into.
#[derive(Clone, Copy, Debug, Default)]
struct HostPage {
    open: Option<ImageId>,
    log: usize,
    /// Whether the plane's page that the last page went to has room for the next.
    fills: bool,
    /// Whether the open image's program is queued already.
    sent: bool,
}

impl PageWriter {
    pub fn new(logs: usize, streams: &StreamConfig) -> Self {
        let (host, kept_apart) = (streams.host_write_pointers() as usize, streams.gc_write_pointers() as usize);
        let host = HostPages { first: HostPage::default(), others: vec![HostPage::default(); host - 1] };
        Self { turn: 0, host, moved: vec![None; logs * kept_apart], kept_apart }
    }

    /// Which image a moved page of this stream goes into.
    #[inline]
    fn moved_of(&self, log: usize, stream: StreamId) -> usize {
        log * self.kept_apart + if stream.index() < self.kept_apart { stream.index() } else { 0 }
    }

    /// Images that may still be filled.
    pub fn open_images(&self) -> impl Iterator<Item = ImageId> {
        self.moved.iter().copied().chain(self.host.iter().map(|page| page.open)).flatten()
    }

    /// The die takes up the image: nothing more fits in.
    #[inline]
    pub fn sealed(&mut self, image: ImageId) {
        for page in self.host.iter_mut() {
            if page.open == Some(image) {
                page.open = None;
            }
        }
    }

    /// The image of a page that the controller still has, by page number: reads of it are served from memory.
    /// That is a half filled page of moved ones, or the last of the write history; or a page of any kind that
    /// failed to be programmed and waits for another place.
    pub fn unsent<P: FlashPayload>(&self, core: &Core<P>, ppn: Ppn) -> Option<ImageId> {
        let is_it = |image: ImageId| core.device.images.slab[image].ppn == ppn;
        if !core.device.displaced.is_empty()
            && let Some(command) = core.device.displaced.iter().find(|command| is_it(command.image))
        {
            return Some(command.image);
        }
        if core.device.grid.slots_per_page() == 1 {
            return None;
        }
        let of_host = self.host.iter().filter(|page| !page.sent).filter_map(|page| page.open);
        of_host.chain(self.moved.iter().copied().flatten()).find(|&image| is_it(image))
    }

    /// True if the host fills this page and its program is not queued yet.
    #[inline]
    pub fn is_open_and_unsent<P: FlashPayload>(&self, core: &Core<P>, ppn: Ppn) -> bool {
        let is_it = |image| core.device.images.slab[image].ppn == ppn;
        self.is_any_unsent(is_it)
    }

    /// Whether a page of the unit is the host's open one, with something in it, and its program is not queued.
    pub fn has_unsent_page_in<P: FlashPayload>(&self, core: &Core<P>, unit: UnitId) -> bool {
        let is_in_unit = |image: ImageId| {
            let image = &core.device.images.slab[image];
            image.filled > 0 && core.map.unit_of_block(core.device.block_of(image.ppn)) == unit
        };
        self.is_any_unsent(is_in_unit)
    }

    /// Whether one of the host's open images is as described, and its program is not queued.
    #[inline]
    fn is_any_unsent(&self, is_it: impl Fn(ImageId) -> bool) -> bool {
        self.host.iter().any(|page| !page.sent && page.open.is_some_and(&is_it))
    }

    /// Queues the programs of the host's open images, full or not. Whether there are some.
    pub fn send_open_page<P: FlashPayload>(&mut self, core: &mut Core<P>) -> bool {
        self.send_host_pages(core, |_| true)
    }

    /// Queues the programs of all images of the log that wait to be full: a page that is programmed at once must not overtake them.
    pub fn send_waiting<P: FlashPayload>(&mut self, core: &mut Core<P>, log: usize) {
        self.send_moved(core, log);
        self.send_host_pages(core, |of| of == log);
    }

    /// Queues the programs of the host's open images in the logs that `is_one` names. Whether there are some.
    fn send_host_pages<P: FlashPayload>(&mut self, core: &mut Core<P>, is_one: impl Fn(usize) -> bool) -> bool {
        let mut any = false;
        for page in self.host.iter_mut() {
            if let Some(image) = page.open.filter(|_| !page.sent && is_one(page.log)) {
                let log = page.log as u16;
                core.submit_program(image, Owner::Page { log, holds: Holds::Data }, Cause::Host);
                (page.sent, any) = (true, true);
            }
        }
        any
    }
}

impl<P: FlashPayload> Writer<P> {
    /// See [`PageWriter::unsent`].
    #[inline]
    pub fn unsent(&self, core: &Core<P>, ppn: Ppn) -> Option<ImageId> {
        self.pages.unsent(core, ppn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::core::Command;
    use crate::core::effects::{Effect, Popped};
    use crate::core::jobs::PageWrite;
    use crate::core::testing::{TinyCore, tiny_core, tiny_setup};
    use crate::write::group_log::Placed;
    use crate::write::pages::write::HostImage;
    use device::contents::Tag;
    use device::image::Contents;
    use ftl::{Place, Stream};
    use nand::OobTag;
    use vocab::{DieId, Lpn};

    const HOST: Stream = Stream::Host;

    /// A drive of five dies with two logical pages to a page.
    fn tiny() -> (TinyCore, PageWriter) {
        let mut setup = tiny_setup("none", BufferKind::Off);
        setup.drive.geometry.page_size.0 *= 2;
        let core = tiny_core(&setup);
        let logs = core.map.logs();
        (core, PageWriter::new(logs, &StreamConfig::default()))
    }

    fn job(core: &mut TinyCore, lpns: std::ops::Range<u32>) -> device::slab::JobId {
        let job = core.jobs.take();
        let pages = lpns.map(|lpn| PageWrite { lpn: Lpn(lpn), version: 1, payload: Tag::default(), from: 0, to: 8, rank: 0 });
        core.jobs[job].pages.extend(pages);
        job
    }

    fn commands(core: &TinyCore) -> Vec<Command> {
        core.device.commands_of_dies().into_iter().map(|id| core.device.commands[id]).collect()
    }

    /// Catches a die that is asked twice before others, and one with a longer queue that is asked all the same.
    #[test]
    fn the_die_with_the_least_waiting_is_next_and_equals_take_turns() {
        let (mut core, mut pages) = tiny();
        let turns: Vec<_> = (0..6).map(|_| pages.least_waiting(&core, HOST)).collect();
        assert_eq!(turns, [0, 1, 2, 3, 4, 0].map(Some));
        let ppn = core.device.grid.ppn(core.device.grid.block(DieId(1), 0), 0);
        core.submit(Command { ppn, ..Command::default() });
        assert_eq!(pages.least_waiting(&core, HOST), Some(2), "die 1 has one waiting");
    }

    /// Catches a page that is sent twice, or left behind when it is full.
    #[test]
    fn pages_of_a_job_fill_pages_of_one_die_after_another() {
        let (mut core, mut pages) = tiny();
        let job = job(&mut core, 0..3);
        assert_eq!(pages.place(&mut core, job), Placed::All);
        assert_eq!(core.jobs[job].remaining, 3);
        let sent: Vec<Owner> = commands(&core).iter().map(|command| command.owner).collect();
        assert_eq!(sent, [0, 1].map(|log| Owner::Page { log, holds: Holds::Data }), "with time an open page is queued at once");
        let places: Vec<u32> = (0..3)
            .map(|lpn| {
                let Place::At(slot) = core.map.lookup(Lpn(lpn)) else { panic!("it was placed") };
                slot.0
            })
            .collect();
        let die = core.device.grid.blocks_per_die() * 4 * 2;
        assert_eq!(places.iter().map(|slot| slot / die).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(places[0] + 1, places[1]);
        assert!(matches!(pages.host_image(&mut core, StreamId(0)), HostImage::Open(_)));
        pages.sealed(commands(&core)[1].image);
        assert!(matches!(pages.host_image(&mut core, StreamId(0)), HostImage::Taken(_, 2)), "the die took the page up");
    }

    /// Without time a page waits to be full. Catches reads that would miss what only the controller has.
    #[test]
    fn an_unsent_page_is_found_and_sent_once() {
        let (mut core, mut pages) = tiny();
        core.device.timed = false;
        let job = job(&mut core, 0..1);
        pages.place(&mut core, job);
        let Place::At(slot) = core.map.lookup(Lpn(0)) else { panic!("it was placed") };
        let ppn = core.device.grid.page_of(slot).0;
        let image = pages.unsent(&core, ppn);
        assert!(image.is_some() && pages.is_open_and_unsent(&core, ppn));
        pages.send_open_page(&mut core);
        pages.send_open_page(&mut core);
        assert_eq!(pages.unsent(&core, ppn), None);
        assert!(core.device.next_ready().is_some() && core.device.next_ready().is_none());
    }

    /// Catches a job that goes on although its log is short: its collector would start too late.
    #[test]
    fn placing_stops_where_a_log_is_short_and_goes_on_behind_it() {
        let (mut core, mut pages) = tiny();
        core.device.timed = false;
        let all = job(&mut core, 0..64);
        let again = job(&mut core, 0..64);
        let (mut short, mut no_room) = (Vec::new(), false);
        for job in [all, again].into_iter().cycle().take(6) {
            core.jobs[job].next = 0;
            loop {
                match pages.place(&mut core, job) {
                    Placed::All => break,
                    Placed::Again => {
                        let Some(Popped::Effect(Effect::CollectIfShort { log })) = core.out.pop() else {
                            panic!("a log is short")
                        };
                        short.push((usize::from(log), core.jobs[job].next));
                    }
                    Placed::NoRoom => {
                        no_room = true;
                        break;
                    }
                }
            }
        }
        assert!(no_room, "no one collects here");
        assert!(short.iter().all(|&(log, _)| core.map.is_short(log)));
        assert_eq!(short.iter().map(|&(log, _)| log).collect::<std::collections::BTreeSet<_>>().len(), 5);
        let taken: u32 = (0..5).map(|log| 8 - core.map.free_units(log)).sum();
        assert!(taken >= 5 * 5, "room was used up before");
    }

    /// Moved pages share a page. Catches a half filled one that is left behind, and one that is sent too early.
    #[test]
    fn moved_pages_are_sent_when_full_or_asked_for() {
        let (mut core, mut pages) = tiny();
        for (lpn, sent) in [(0, 0), (1, 1), (2, 1)] {
            let to = pages.image_for_moved(&mut core, 3, StreamId(0), |_| vocab::StripSet(7)).expect("an empty log has room");
            assert_eq!(to.is_new, lpn != 1);
            let published = core.map.publish(Lpn(lpn), core.next_slot_of(to.image));
            let contents = Contents { tag: OobTag::data(Lpn(lpn)), payload: Tag::default(), update: 1 };
            pages.put_moved(&mut core, 3, StreamId(0), to, contents, published);
            assert_eq!(commands(&core).len(), sent);
            assert_eq!(core.device.images.slab[to.image].oob.coverage, vocab::StripSet(7));
        }
        pages.send_moved(&mut core, 3);
        pages.send_moved(&mut core, 3);
        assert_eq!(
            commands(&core).iter().map(|command| command.owner).collect::<Vec<_>>(),
            [Owner::Page { log: 3, holds: Holds::MovedData }; 2]
        );
        assert_eq!(core.moving[3].under_way, 2);
    }

    /// Contents that failed go behind what was moved before, in the same log. Catches pages that are overtaken.
    #[test]
    fn a_displaced_program_lands_on_another_page_of_its_log() {
        let (mut core, mut pages) = tiny();
        let failed = core.map.take_page(2, Stream::Host).expect("an empty log has room");
        core.map.abandon(core.map.unit_of_block(core.device.block_of(failed)));
        let to = pages.image_for_moved(&mut core, 2, StreamId(0), |_| vocab::StripSet::EMPTY).expect("an empty log has room");
        let published = core.map.publish(Lpn(0), core.next_slot_of(to.image));
        let contents = Contents { tag: OobTag::data(Lpn(0)), payload: Tag::default(), update: 1 };
        pages.put_moved(&mut core, 2, StreamId(0), to, contents, published);
        let found = pages.page_for_displaced(&mut core, 2, [HOST, Stream::Gc]).expect("room is left");
        assert_eq!(commands(&core).len(), 1, "the half filled page of moved ones was sent");
        assert_eq!(core.device.grid.die_of(found), DieId(2));
        assert_ne!(core.device.block_of(found), core.device.block_of(failed));
    }

    /// A page of a plane holds two logical pages. Catches neighbours that are written to different dies, so that one sensing does
    /// not bring both, and a die that gets more than a page of its plane in turn.
    #[test]
    fn neighbours_fill_the_page_of_a_plane() {
        let mut setup = tiny_setup("none", BufferKind::Off);
        setup.drive.timing.unit = Some(nand::ProgramUnit { planes: 1, plane_pages: 2, bits: 1 });
        let mut core = tiny_core(&setup);
        let mut pages = PageWriter::new(core.map.logs(), &StreamConfig::default());
        let job = job(&mut core, 0..6);
        assert_eq!(pages.place(&mut core, job), Placed::All);
        let die_of = |lpn| match core.map.lookup(Lpn(lpn)) {
            Place::At(slot) => core.device.grid.die_of(core.device.grid.page_of(slot).0),
            place => panic!("{place:?}"),
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(die_of), [0, 0, 1, 1, 2, 2].map(DieId));
    }
}
