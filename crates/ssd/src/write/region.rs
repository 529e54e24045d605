//! Region logs, whose pages [`PageWriter`](crate::write::pages::PageWriter) fills, whatever the way of writing: pages of a victim move
//! within their log, and contents that find no page there go elsewhere.

use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::core::{Command, Core, data_of};
use crate::write::group_log::Placed;
use crate::write::pages::write::{HostImage, no_room};
use crate::write::{InUse, KeptMembers, RebuiltBy, Writer, coverage_to_keep};
use device::facts::StreamWork;
use device::image::Contents;
use device::slab::ImageId;
use ftl::{Place, Published, Stream, UnitId};
use nand::{FlashArray, OobTag, PageRole};
use vocab::{Lpn, Ppn, Slot};

/// Where contents go whose program failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// To this page, with this owner.
    Page(Owner, Ppn),
    /// They wait for room on their die.
    NoRoom,
    /// They may lie on any die, and none has room.
    NoRoomAnywhere,
    /// Their die died while they waited: what redundancy there is brings them back.
    Lost,
}

/// Pages of open images.
impl<P: FlashPayload> Writer<P> {
    /// A die takes up the program of the image: nothing more fits in. Only pages without redundancy are filled until then.
    #[inline]
    pub fn taken_up(&mut self, image: ImageId) {
        if matches!(self.in_use, InUse::Pages) {
            self.pages.sealed(image);
        }
    }

    /// Queues the programs of the host's open images, full or not. Whether there are some.
    pub fn send_open_page(&mut self, core: &mut Core<P>) -> bool {
        self.pages.send_open_page(core)
    }

    /// Queues the programs of pages that were moved within the log so far.
    #[inline]
    pub fn send_moved(&mut self, core: &mut Core<P>, log: usize) {
        self.pages.send_moved(core, log);
    }

    /// True if the host fills this page and its program is not queued yet.
    #[inline]
    pub fn is_open_and_unsent(&self, core: &Core<P>, ppn: Ppn) -> bool {
        self.pages.is_open_and_unsent(core, ppn)
    }

    /// Whether a page of the unit is the host's open one, with something in it, and its program is not queued.
    pub fn has_unsent_page_in(&self, core: &Core<P>, unit: UnitId) -> bool {
        self.pages.has_unsent_page_in(core, unit)
    }

    /// Nothing more is written to the unit.
    pub fn close_unit(&mut self, core: &mut Core<P>, unit: UnitId) {
        self.pages.send_moved(core, core.map.log_of(unit));
        core.map.abandon(unit);
    }
}

/// Places in the map.
impl<P: FlashPayload> Writer<P> {
    /// The contents have no place any more. The unit with what they superseded, if that was pinned.
    pub fn leave_place(&mut self, core: &mut Core<P>, role: PageRole) -> Option<UnitId> {
        let from = core.place_of(role);
        let pinned = core.publish_missing(role).pinned;
        self.note_move_of(core, role, from);
        pinned
    }

    /// Publishes in `to` the version that was due in slot `from`; `None` if something newer took its place.
    pub fn republish(&mut self, core: &mut Core<P>, role: PageRole, from: Slot, to: Slot) -> Option<Published> {
        if core.place_of(role) != Place::At(from) {
            return None;
        }
        let published = self.publish(core, role, to);
        if let PageRole::Data(_) = role {
            // Its block may be worn more.
            self.look_for_missing_parity();
        }
        Some(published)
    }

    /// The contents lie in this slot from now on.
    #[inline]
    pub fn publish(&mut self, core: &mut Core<P>, role: PageRole, to: Slot) -> Published {
        let from = core.place_of(role);
        let published = core.publish(role, to);
        self.note_move_of(core, role, from);
        published
    }

    /// The rank that contents need at least, if they are to stand in for those of rank `update`: the sum of a static
    /// stripe has contents of that very rank.
    pub fn least_rank(&self, core: &Core<P>, role: PageRole, update: u64) -> u64 {
        match (self.facts.rebuilt_by, role) {
            (RebuiltBy::Stripes, _) => update,
            (_, PageRole::Data(lpn)) => core.safe.journal.rank(lpn),
            (_, PageRole::Parity(_) | PageRole::Filler) => 0,
        }
    }

    /// Moves a page, read or repaired, from this slot to the collector's write pointer of its log. The contents, if there is no page.
    #[inline]
    pub fn move_in_region(&mut self, core: &mut Core<P>, log: usize, contents: Contents<P>, from: Slot) -> Option<Contents<P>> {
        let way = self.way;
        let coverage = |core: &Core<P>| coverage_to_keep(way, core, from);
        let stream = core.stream_of(data_of(contents.tag));
        let Some(to) = self.pages.image_for_moved(core, log, stream, coverage) else { return Some(contents) };
        if to.is_new && core.is_mountable() {
            self.keep_members(core, to.image, contents.tag, from);
        }
        let slot = core.next_slot_of(to.image);
        let published = self.publish(core, contents.tag.role(), slot);
        if let Some(lpn) = data_of(contents.tag) {
            core.note_stream(lpn, stream, StreamWork::Moved);
        }
        self.pages.put_moved(core, log, stream, to, contents, published);
        None
    }

    /// A page that moves keeps the names of its codeword's members: parity and the pages of static stripes have such names.
    fn keep_members(&mut self, core: &mut Core<P>, image: ImageId, tag: OobTag, from: Slot) {
        match self.members_to_keep(core, tag, from) {
            KeptMembers::None => {}
            KeptMembers::These(members) => core.device.images.set_members(image, members),
            KeptMembers::OfStripeNow(stripe) => self.name_strips(core, image, stripe),
        }
    }
}

/// Contents go elsewhere.
impl<P: FlashPayload> Writer<P> {
    /// Finds a page for contents whose program failed.
    pub fn page_elsewhere(&mut self, core: &mut Core<P>, command: &Command) -> Elsewhere {
        let log = core.log_of_page(command.ppn);
        let moved = matches!(command.owner, Owner::Page { holds: Holds::MovedData, .. });
        let alive = core.device.array.answers(command.ppn);
        let of = core.stream_of(data_of(core.device.images.slot(command.image, 0).0));
        let (host, gc) = (Stream::HostIn(of), Stream::GcOf(of));
        let streams = if moved { [gc, host] } else { [host, gc] };
        let near = if alive { self.pages.page_for_displaced(core, log, streams) } else { None };
        match (near, command.owner) {
            (Some(ppn), owner) => Elsewhere::Page(owner, ppn),
            // Without redundancy a page may lie anywhere.
            (None, Owner::Page { .. }) if self.places_pages_anywhere() => {
                let Some(other) = self.pages.least_waiting(core, host) else { return Elsewhere::NoRoomAnywhere };
                core.moving[log].under_way -= u32::from(moved);
                self.pages.send_waiting(core, other);
                let ppn = core.map.take_page(other, host).expect("a log with room has a page");
                Elsewhere::Page(Owner::Page { log: other as u16, holds: Holds::Data }, ppn)
            }
            (None, _) if alive => Elsewhere::NoRoom,
            (None, _) => Elsewhere::Lost,
        }
    }

    /// A page for a strip that finds no room on its die, and its log, which is not `halted`: one that a strip may lie on which its stripe
    /// can do without, or one of any other log.
    pub fn page_anywhere(
        &mut self,
        core: &mut Core<P>,
        command: &Command,
        halted: impl Fn(usize) -> bool,
    ) -> Option<(usize, Ppn)> {
        let role = core.device.images.slot(command.image, 0).0.role();
        if let Some((stripe, _)) = self.strip_of_role(role)
            && self.may_park(core, role)
        {
            return self.page_on_any_die(core, stripe, halted);
        }
        // The stripe cannot do without it: be it a page that is kept for GC.
        let own = core.log_of_page(command.ppn);
        let logs = (0..core.map.logs()).filter(|&log| log != own && !halted(log));
        let mut streams = logs.flat_map(|log| [(log, Stream::Gc), (log, Stream::Host)]);
        let (log, stream) = streams.find(|&(log, stream)| core.map.has_room(log, stream))?;
        self.pages.send_waiting(core, log);
        Some((log, core.map.take_page(log, stream)?))
    }

    /// Moves a page that has no redundancy to a die that has room, if any has.
    pub fn move_to_other_die(&mut self, core: &mut Core<P>, lpn: Lpn, contents: Contents<P>) -> Placed {
        let stream = core.stream_of(Some(lpn));
        let (image, taken_of) = match self.pages.host_image(core, stream) {
            HostImage::Open(image) => (image, None),
            HostImage::Taken(image, log) => (image, Some(log)),
            HostImage::NoRoom => return no_room(core),
        };
        let slot = core.next_slot_of(image);
        let pin = core.map.publish(lpn, slot).pinned;
        core.note_stream(lpn, stream, StreamWork::Moved);
        core.device.images.fill(image, contents, None, pin);
        self.pages.send_host_image(core, stream, image);
        // Not before: GC may erase the unit of a page that nothing was put into.
        taken_of.into_iter().for_each(|log| core.collect_if_short(log));
        Placed::All
    }
}
