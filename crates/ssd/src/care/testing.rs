//! Care of a tiny drive, with neither host nor engine: a test writes pages itself and carries out what care asks of
//! the dies.

use crate::care::Care;
use crate::config::{BufferKind, Setup};
use crate::core::owner::Owner;
use crate::core::testing::{TinyCore, tiny_array, tiny_core, tiny_setup};
use crate::core::{Command, oob_covering};
use crate::fit::build_scheme;
use crate::write::Writer;
use device::command::Verb;
use device::contents::{HostPayload, Tag};
use device::image::Contents;
use ftl::{Stream, UnitId};
use nand::{MemoryArray, OobTag};
use vocab::{Bytes, Cause, Lpn, Slot, Streams};

/// A drive whose dies carry out commands when the test says so.
pub(crate) struct Bench {
    pub core: TinyCore,
    pub care: Care<Tag>,
    pub writer: Writer<Tag>,
}

impl Bench {
    pub fn new(scheme: &str, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = tiny_setup(scheme, BufferKind::Off);
        change(&mut setup);
        let mut core = tiny_core(&setup);
        core.device.timed = false;
        let protection = build_scheme(&setup.drive, &setup.scheme).expect("a scheme for this drive");
        let care = Care::new(&setup, &protection, core.map.logs());
        let writer = Writer::new(&setup, protection, &core.device.grid, core.map.logs()).expect("settings in range");
        Self { core, care, writer }
    }

    /// A drive without a scheme, with FLARES' cells and codes.
    pub fn with_flares(change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = None;
        let mut bench = Self::new("none", |own| {
            own.drive.geometry.oob_size = Bytes(224);
            (own.ecc.policy, own.errors.model) = ("flares".into(), "flares".into());
            change(own);
            setup = Some(own.clone());
        });
        let setup = setup.expect("the bench was built");
        bench.core.device.array = tiny_array::<Tag>(MemoryArray::new(setup.drive.geometry, true).keeping_ecc());
        bench.care.start_ecc(&mut bench.core, bench.writer.way, &setup, &Streams::new(1)).expect("settings in range");
        bench
    }

    /// The commands that were given since the last call, carried out by the medium.
    pub fn carry_out(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        while let Some((id, _)) = self.core.device.next_ready() {
            let command = self.core.device.commands[id];
            match command.verb {
                Verb::Program => assert!(self.core.device.program(&command).is_done()),
                Verb::Erase => assert!(self.core.device.erase(self.core.device.block_of(command.ppn), command.cause).is_done()),
                Verb::Read | Verb::Recharge => {}
            }
            self.core.device.commands.give(id);
            commands.push(command);
        }
        commands
    }

    /// Writes a logical page to the log: where it lies, and the unit that keeps the old version, still pinned.
    pub fn write_pinned(&mut self, log: usize, stream: Stream, lpn: u32) -> (Slot, Option<UnitId>) {
        let ppn = self.core.map.take_page(log, stream).expect("a log with room");
        let image = self.core.device.images.open(ppn, oob_covering(vocab::StripSet::EMPTY));
        let slot = self.core.next_slot_of(image);
        let published = self.core.map.publish(Lpn(lpn), slot);
        let update = self.core.device.next_rank();
        let contents = Contents { tag: OobTag::data(Lpn(lpn)), payload: Tag::stamp(Lpn(lpn), 1, 8), update };
        self.core.device.images.fill(image, contents, None, None);
        self.core.submit_program(image, Owner::NoOne, Cause::Host);
        self.carry_out();
        self.core.device.images.give(image);
        (slot, published.pinned)
    }

    /// Writes logical pages to the log, durably: nothing is pinned.
    pub fn write(&mut self, log: usize, lpns: impl IntoIterator<Item = u32>) {
        for lpn in lpns {
            if let (_, Some(unit)) = self.write_pinned(log, Stream::Host, lpn) {
                let _ = self.core.map.release(unit);
            }
        }
    }

    /// The unit of a logical page.
    pub fn unit_of(&self, lpn: u32) -> UnitId {
        let ftl::Place::At(slot) = self.core.map.lookup(Lpn(lpn)) else { panic!("page {lpn} was written") };
        self.core.map.unit_of(slot)
    }
}
