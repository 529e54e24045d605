//! Static stripes alone: a core on a tiny drive of five dies, no host, no collector. Each test says which mistake
//! it would catch.

mod mount;
mod parity;
mod seam;
mod update;

use crate::config::{BufferKind, Setup};
use crate::core::effects::{Effect, Parcel, Popped};
use crate::core::ids::OpId;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::testing::{TinyCore, tiny_array, tiny_core, tiny_scheme, tiny_setup};
use crate::core::{Command, data_of};
use crate::write::stripes::Stripes;
use device::command::Verb;
use device::contents::{HostPayload, Tag};
use device::facts::RequestKind;
use device::sense::Compares;
use device::slab::{CommandId, JobId};
use ftl::{Place, Stream, UnitId, UnitState};
use nand::{FlashArray, MemoryArray, OobTag, ProgramOutcome, ReadOutcome};
use protect::{Protection, SchemeChoice};
use std::ops::Range;
use vocab::{Cause, DieId, Lpn, Ppn, SimTime, Slot, StripSet, StripeId};

/// Data strips of a stripe on five dies; the strip of this number is parity.
const N: u32 = 4;
const STRIPE: StripeId = StripeId(0);

/// Stripes, the core they work on, and what they wanted of others.
struct Drive {
    stripes: Stripes<Tag>,
    core: TinyCore,
    wanted: Vec<Popped<Tag>>,
    /// Flash commands that were completed.
    done: Vec<Command>,
}

fn page(lpn: u32, version: u32) -> Tag {
    Tag::stamp(Lpn(lpn), version, 8)
}

fn sum(pages: impl IntoIterator<Item = Tag>) -> Tag {
    let mut sum = Tag::default();
    pages.into_iter().for_each(|page| sum.add(&page));
    sum
}

fn strips(strips: impl IntoIterator<Item = u32>) -> StripSet {
    strips.into_iter().collect()
}

impl Drive {
    fn new(scheme: &str, options: &[(&str, &str)]) -> Self {
        let mut choice = SchemeChoice::named(scheme);
        choice.options = options.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        Self::with(Setup { scheme: choice, ..tiny_setup(scheme, BufferKind::Off) })
    }

    fn with(setup: Setup) -> Self {
        let mut core = tiny_core(&setup);
        core.device.timed = false;
        if setup.power.mountable {
            core.device.array = tiny_array::<Tag>(MemoryArray::new(setup.drive.geometry, true).keeping_updates());
        }
        let protection = tiny_scheme(&setup);
        let Protection::Stripes(scheme) = protection else { panic!("a scheme of static stripes") };
        let stripes = Stripes::new(scheme, &setup.power, setup.user_slots);
        Self { stripes, core, wanted: Vec::new(), done: Vec::new() }
    }

    /// Does what the stripes left for later, and keeps what they want of others.
    fn go_on(&mut self) {
        while let Some(effect) = self.core.out.pop() {
            match effect {
                Popped::Effect(Effect::Stripes(step)) => self.stripes.go_on(&mut self.core, step),
                other => self.wanted.push(other),
            }
        }
    }

    /// A job that writes these pages, all sectors of them or some.
    fn job(&mut self, pages: &[(u32, u32)], sectors: Range<u32>) -> JobId {
        let job = self.core.jobs.take();
        self.core.jobs[job].reset(Asker::Host, RequestKind::Write, SimTime::ZERO);
        for &(lpn, version) in pages {
            let (from, to) = (sectors.start, sectors.end);
            let write = PageWrite { lpn: Lpn(lpn), version, payload: page(lpn, version), from, to, rank: 0 };
            self.core.jobs[job].pages.push(write);
        }
        job
    }

    /// Begins to write pages in these versions.
    fn begin(&mut self, pages: &[(u32, u32)]) -> JobId {
        let job = self.job(pages, 0..8);
        self.stripes.place(&mut self.core, job);
        self.go_on();
        job
    }

    /// Writes pages in these versions, and waits.
    fn write(&mut self, pages: &[(u32, u32)]) -> JobId {
        let job = self.begin(pages);
        self.settle();
        job
    }

    /// Completes flash commands until there are none.
    fn settle(&mut self) {
        while let Some((id, _)) = self.core.device.next_ready() {
            self.complete(id);
        }
    }

    /// As [`Self::settle`], but that nothing can be read where a strip of this number lies.
    fn settle_without_reading(&mut self, lost: u32) {
        while let Some((id, _)) = self.core.device.next_ready() {
            let command = self.core.device.commands[id];
            let Owner::Stripe { op, strip } = command.owner else { panic!("{:?} asks for nothing here", command.owner) };
            if command.verb == Verb::Program || u32::from(strip) != lost {
                self.complete(id);
                continue;
            }
            self.stripes.read_done(&mut self.core, command.ppn, op, lost, ReadOutcome::Uncorrectable);
            self.core.device.commands.give(id);
            self.go_on();
        }
    }

    fn complete(&mut self, id: CommandId) {
        let command = self.core.device.commands[id];
        let Owner::Stripe { op, strip } = command.owner else { panic!("{:?} asks for nothing here", command.owner) };
        if command.verb == Verb::Read {
            let outcome = self.core.device.sense(&command, Compares::No).verdict.outcome();
            self.stripes.read_done(&mut self.core, command.ppn, op, u32::from(strip), outcome);
        } else {
            assert!(self.core.device.program(&command).is_done(), "nothing makes programs fail here");
            self.stripes.program_done(&mut self.core, command.image, op, u32::from(strip), ProgramOutcome::Done);
            self.core.device.images.give(command.image);
        }
        self.done.push(command);
        self.core.device.commands.give(id);
        self.go_on();
    }

    /// Strips of a stripe that were read and programmed since the last call, in order.
    fn commands(&mut self) -> (Vec<u32>, Vec<u32>) {
        let (mut read, mut programmed) = (Vec::new(), Vec::new());
        for command in std::mem::take(&mut self.done) {
            let Owner::Stripe { strip, .. } = command.owner else { unreachable!("checked when it was completed") };
            if command.verb == Verb::Read { &mut read } else { &mut programmed }.push(u32::from(strip));
        }
        (read, programmed)
    }

    fn place(&self, stripe: StripeId, strip: u32) -> Option<Slot> {
        if let Place::At(slot) = self.stripes.place_of_strip(&self.core, stripe, strip) { Some(slot) } else { None }
    }

    fn payload(&self, ppn: Ppn) -> Tag {
        self.core.device.array.payload(ppn)[0]
    }

    /// Contents of a strip in flash.
    fn stored(&self, stripe: StripeId, strip: u32) -> Tag {
        self.payload(self.core.device.grid.page_of(self.place(stripe, strip).expect("a stored strip")).0)
    }

    fn unit(&self, stripe: StripeId, strip: u32) -> UnitId {
        self.core.map.unit_of(self.place(stripe, strip).expect("a stored strip"))
    }

    fn pins(&self, unit: UnitId) -> u32 {
        self.core.map.unit(unit).pins
    }

    /// Jobs of which a part was done since the last call.
    fn parts_done(&mut self) -> Vec<JobId> {
        let jobs = |effect| if let Popped::Effect(Effect::PartDone { job }) = effect { Some(job) } else { None };
        std::mem::take(&mut self.wanted).into_iter().filter_map(jobs).collect()
    }

    /// The strip's page cannot be read any more and its contents are nowhere else.
    fn lose(&mut self, stripe: StripeId, strip: u32) {
        let tag = if strip == N { OobTag::parity(stripe) } else { OobTag::data(Lpn(stripe.0 * N + strip)) };
        let slot = self.place(stripe, strip).expect("a stored strip");
        self.stripes.lose(&mut self.core, tag, slot);
        self.go_on();
    }

    /// Takes every page that the host may have of a die; gives them back with [`Self::empty`].
    fn fill(&mut self, die: usize) {
        while self.core.map.has_room(die, Stream::Host) {
            self.core.map.take_page(die, Stream::Host).expect("there is room");
        }
    }

    /// Erases the full units of a die that hold nothing.
    fn empty(&mut self, die: usize) {
        for unit in 0..self.core.map.units() as u32 {
            let state = self.core.map.unit(unit);
            let is_needed = state.state != UnitState::Closed || state.valid > 0 || state.pins > 0;
            if self.core.map.log_of(unit) == die && !is_needed {
                assert!(self.core.map.condemn_unit(unit));
                self.core.map.erased(unit);
            }
        }
    }

    fn check(&self) {
        self.core.map.check_counts();
        self.stripes.check_parity_cache(&self.core);
    }
}

/// Sum of repair sources.
fn solved(drive: &Drive, stripe: StripeId, lost: u32) -> Option<Tag> {
    let sources = drive.stripes.sources_of(&drive.core, stripe, lost)?;
    let pages = sources.pages.iter().map(|&ppn| drive.payload(ppn));
    Some(sum(pages.chain([sources.sum])))
}
