//! Tiny drives for tests of the parts alone.

use crate::config::{
    Age, Buffer, BufferKind, Drive, Ecc, Errors, Faults, PayloadKind, Power, Precondition, Refresh, Scheduler, Setup, shape,
};
use crate::core::Core;
use crate::core::flash::{Array, FlashPayload};
use crate::core::timer::Timer;
use device::Device;
use device::contents::Tag;
use ftl::{Ftl, FtlSetup, LogKind};
use nand::{Faulty, FlashArray, InMemory, MemoryArray};
use protect::{Protection, SchemeChoice};
use vocab::{BusRate, Bytes, Geometry, Nanojoules, Nanos, PeCycles, PlaneUse, Streams};

/// Flash of a tiny drive, from the memory that holds it. It has no fault.
pub(crate) fn tiny_array<P: FlashPayload>(memory: MemoryArray<P>) -> Array<P> {
    let dies = FlashArray::<P>::grid(&memory).dies();
    Faulty::new(P::Flash::over(memory), dies, 0.0, Streams::new(1).stream("nand/uncorrectable"))
}

/// The core of a tiny drive.
pub(crate) type TinyCore<P = Tag> = Core<P>;

/// Five dies of 8 blocks with 4 pages each; a page is one logical page of 8 sectors.
pub(crate) fn geometry() -> Geometry {
    Geometry {
        channels: 1,
        dies_per_channel: 5,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 8,
        pages_per_block: 4,
        page_size: Bytes(4096),
        oob_size: Bytes(64),
        slot_size: Bytes(4096),
    }
}

/// A tiny drive under a scheme, with 64 logical pages and a write buffer for 16 of them, if any.
pub(crate) fn tiny_setup(scheme: &str, buffer: BufferKind) -> Setup {
    let timing = nand::Timing {
        command: Nanos(300),
        erase: Nanos(3_000_000),
        transfer: nand::Transfer::DataMtPerS(BusRate(400)),
        page: vec![nand::PageKind { name: "slc".into(), read: Nanos(40_000), program: Nanos(500_000) }],
        ..nand::Timing::default()
    };
    let energy = nand::Energy { read: Nanojoules(1), program: Nanojoules(1), erase: Nanojoules(1) };
    Setup {
        drive: Drive {
            geometry: geometry(),
            timing,
            energy,
            endurance: PeCycles(3000),
            controller: crate::config::Controller::default(),
            slc: crate::config::Slc::default(),
        },
        user_slots: 64,
        scheme: SchemeChoice::named(scheme),
        gc: ftl::GcConfig::default(),
        wear: ftl::WearConfig::default(),
        buffer: Buffer { kind: buffer, size: Bytes(16 * 4096), ..Buffer::default() },
        scheduler: Scheduler::Fifo,
        precondition: Precondition { fill: 0.0, converge_within: 0.0, ..Precondition::default() },
        age: Age::default(),
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: Power::default(),
        payload: PayloadKind::Tag,
        seed: 1,
    }
}

/// The same, mountable, with blocks reserved for page profiles, which FLARES flushes each millisecond.
pub(crate) fn tiny_setup_with_profiles() -> Setup {
    let mut setup = tiny_setup("none", BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.drive.geometry.oob_size.0) = (40, true, 224);
    (setup.ecc.policy, setup.errors.model) = ("flares".into(), "flares".into());
    setup.ecc.flush = vocab::Nanos(1_000_000);
    setup
}

/// The scheme of a tiny drive.
pub(crate) fn tiny_scheme(setup: &Setup) -> Protection {
    protect::registry::build(&setup.scheme, shape(&setup.drive)).expect("a scheme for the drive")
}

/// The core of that drive, whose pages carry tags.
pub(crate) fn tiny_core(setup: &Setup) -> TinyCore {
    tiny_core_of(setup)
}

/// The core of that drive with a map of region logs, one for each die, and nothing written.
pub(crate) fn tiny_core_of<P: FlashPayload>(setup: &Setup) -> TinyCore<P> {
    let array = tiny_array::<P>(MemoryArray::new(setup.drive.geometry, true));
    let grid = FlashArray::<P>::grid(&array).clone();
    let (user_slots, gc, wear) = (setup.user_slots, &setup.gc, &setup.wear);
    let space = FtlSetup {
        kind: LogKind::Regions,
        user_slots,
        slots: user_slots,
        segments: None,
        stripes: user_slots,
        reserve: 0,
        recovery: 0,
        side_by_side: 1,
        groups: None,
        slc: None,
        gc,
        wear,
    };
    let map = Ftl::new(&grid, &space, &Streams::new(1), |_| false).expect("settings in range");
    let device = Device::new(array, &setup.drive.timing, setup.scheduler, Timer::count(&grid));
    Core::new(device, map, setup.power)
}
