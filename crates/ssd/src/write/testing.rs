//! Group logs of tiny drives, for tests of rows and of block groups alone: five dies of 8 blocks with 4 pages.

use crate::config::{BufferKind, Setup};
use crate::core::effects::Popped;
use crate::core::flash::FlashPayload;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::testing::{tiny_scheme, tiny_setup};
use crate::core::{Command, Core};
use crate::write::found::PagesSeen;
use device::Device;
use device::facts::RequestKind;
use device::slab::JobId;
use ftl::{Ftl, FtlSetup, GroupSpace, LogKind, Place};
use nand::{Faulty, FlashArray, InMemory, MemoryArray, ProgramOutcome};
use protect::Protection;
use std::collections::BTreeSet;
use vocab::{BlockAddr, DieId, Lpn, Ppn, SimTime, Streams};

/// The setup of a drive under the scheme with these options. One write pointer takes both streams.
pub(crate) fn log_setup(scheme: &str, options: &[(&str, &str)]) -> Setup {
    let mut setup = tiny_setup(scheme, BufferKind::Off);
    setup.scheme.options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    setup.gc.separate_write_pointer = false;
    setup
}

/// The scheme, and a core without time: commands end in the order in which they are given.
pub(crate) fn log_core<P: FlashPayload>(setup: &Setup) -> (Core<P>, Protection) {
    let array = MemoryArray::<P>::new(setup.drive.geometry, true).keeping_updates();
    let grid = array.grid().clone();
    let array = Faulty::new(P::Flash::over(array), grid.dies(), 0.0, Streams::new(1).stream("test"));
    let protection = tiny_scheme(setup);
    let groups = if let Protection::Groups(scheme) = &protection { Some(GroupSpace::new(&grid, &**scheme)) } else { None };
    let space = FtlSetup {
        kind: LogKind::Group,
        user_slots: setup.user_slots,
        slots: setup.user_slots,
        segments: None,
        stripes: 0,
        reserve: 0,
        recovery: 0,
        side_by_side: 1,
        groups,
        slc: None,
        gc: &setup.gc,
        wear: &setup.wear,
    };
    let map = Ftl::new(&grid, &space, &Streams::new(1), |_| false).expect("settings in range");
    let mut core = Core::new(Device::new(array, &setup.drive.timing, setup.scheduler, 7), map, setup.power);
    core.device.timed = false;
    (core, protection)
}

/// A host write of these pages, each with its version.
pub(crate) fn write_job<P: FlashPayload>(core: &mut Core<P>, pages: &[(u32, u32)]) -> JobId {
    let id = core.jobs.take();
    core.jobs[id].reset(Asker::Host, RequestKind::Write, SimTime::ZERO);
    let sectors = core.device.grid.geometry().sectors_per_slot();
    let write = |&(lpn, version): &(u32, u32)| {
        let payload = P::stamp(Lpn(lpn), version, sectors);
        PageWrite { lpn: Lpn(lpn), version, payload, from: 0, to: sectors, rank: 0 }
    };
    core.jobs[id].pages.extend(pages.iter().map(write));
    id
}

/// The programs that are under way, in order, none of them ended.
pub(crate) fn programs<P: FlashPayload>(core: &mut Core<P>) -> Vec<Command> {
    let mut all = Vec::new();
    while let Some((id, _)) = core.device.next_ready() {
        all.push(core.device.commands[id]);
    }
    all
}

/// The program ends in flash so.
pub(crate) fn end_in_flash<P: FlashPayload>(core: &mut Core<P>, command: &Command, outcome: ProgramOutcome) {
    if outcome == ProgramOutcome::Done {
        assert!(core.device.program(command).is_done(), "pages of a block are programmed in order");
    }
}

/// The flash page of a logical page.
pub(crate) fn page_of<P: FlashPayload>(core: &Core<P>, lpn: u32) -> Ppn {
    match core.map.lookup(Lpn(lpn)) {
        Place::At(slot) => core.device.grid.page_of(slot).0,
        place => panic!("lpn{lpn} has a place, found {place:?}"),
    }
}

/// The sum of these pages, in flash.
pub(crate) fn sum_of<P: FlashPayload>(core: &Core<P>, pages: &[Ppn]) -> P {
    let mut sum = P::default();
    pages.iter().for_each(|&ppn| sum.add(&core.device.array.payload(ppn)[0]));
    sum
}

/// The die dies: neither it nor its pages answer.
pub(crate) fn kill<P: FlashPayload>(core: &mut Core<P>, die: DieId) {
    core.device.array.kill(die);
    core.device.losses.die_died(die);
}

/// View of a mount: pages as flash has them, but for those that are said to be unreadable or erased.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    programmed: BTreeSet<Ppn>,
    pub unreadable: BTreeSet<Ppn>,
    pub erased: BTreeSet<Ppn>,
    /// Blocks whose pages can all be read.
    pub whole: BTreeSet<BlockAddr>,
    /// Pages of which only a summary tells.
    pub believed: BTreeSet<Ppn>,
}

impl Seen {
    pub fn of<P: FlashPayload>(core: &Core<P>) -> Self {
        let pages = (0..core.device.grid.geometry().pages()).map(Ppn);
        Self { programmed: pages.filter(|&ppn| core.device.is_programmed(ppn)).collect(), ..Self::default() }
    }
}

impl PagesSeen for Seen {
    fn is_valid(&self, ppn: Ppn) -> bool {
        self.programmed.contains(&ppn) && !self.unreadable.contains(&ppn) && !self.erased.contains(&ppn)
    }

    fn is_erased(&self, ppn: Ppn) -> bool {
        self.erased.contains(&ppn) || !self.programmed.contains(&ppn) && !self.unreadable.contains(&ppn)
    }

    fn is_whole(&self, block: BlockAddr) -> bool {
        self.whole.contains(&block)
    }

    fn is_believed(&self, ppn: Ppn) -> bool {
        self.believed.contains(&ppn)
    }
}

/// Effects in words, for comparison.
pub(crate) fn in_words<P: FlashPayload>(effects: &[Popped<P>]) -> Vec<String> {
    effects.iter().map(|effect| format!("{effect:?}")).collect()
}
