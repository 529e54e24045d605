//! A tiny drive of code zones for tests of the parts alone.

use crate::config::{BufferKind, Setup};
use crate::core::testing::{TinyCore, tiny_array, tiny_scheme, tiny_setup};
use crate::core::{Command, Core, oob_covering};
use crate::write::zones::{Zones, space};
use device::Device;
use device::command::Verb;
use device::contents::{HostPayload, Tag};
use device::image::Contents;
use ftl::{Ftl, FtlSetup, LogKind, Stream};
use nand::{FlashArray, MemoryArray, OobTag};
use protect::Protection;
use vocab::{Lpn, Ppn, Streams};

/// The core of a tiny drive.
pub(crate) type ZonesCore = TinyCore;

/// Eight dies of 24 blocks with 8 pages each, in four zones; code groups of four pages, read in any way that helps.
pub(crate) fn zones_setup(options: &[(&str, &str)]) -> Setup {
    let mut setup = tiny_setup("code-zones", BufferKind::Off);
    (setup.drive.geometry.channels, setup.drive.geometry.dies_per_channel) = (2, 4);
    (setup.drive.geometry.blocks_per_plane, setup.drive.geometry.pages_per_block) = (24, 8);
    let usual = [("group", "4"), ("zone_blocks", "6"), ("offer", "all"), ("read_ahead_threads", "0")];
    setup.scheme.options = usual.iter().chain(options).map(|&(key, value)| (key.into(), value.into())).collect();
    setup
}

/// The core of that drive, nothing written, and its scheme.
pub(crate) fn zones_core(setup: &mut Setup) -> (ZonesCore, Protection) {
    let geometry = setup.drive.geometry;
    let protection = tiny_scheme(setup);
    let Protection::Zones(zones) = &protection else { unreachable!("code zones") };
    setup.user_slots = zones.layout().user_pages();
    let array = tiny_array::<Tag>(MemoryArray::new(geometry, true));
    let grid = FlashArray::<Tag>::grid(&array).clone();
    let (segments, slots) = space(&protection, None, setup.user_slots);
    let (user_slots, gc, wear) = (setup.user_slots, &setup.gc, &setup.wear);
    let kind = LogKind::Regions;
    let (reserve, recovery, groups) = (0, 0, None);
    let space = FtlSetup {
        kind,
        user_slots,
        slots,
        segments,
        stripes: 0,
        reserve,
        recovery,
        side_by_side: 1,
        groups,
        slc: None,
        gc,
        wear,
    };
    let map = Ftl::new(&grid, &space, &Streams::new(1), |_| false).expect("settings in range");
    let device = Device::new(array, &setup.drive.timing, setup.scheduler, 8);
    (Core::new(device, map, setup.power), protection)
}

/// Stores contents of a logical page in the log, and in the map.
pub(crate) fn store(core: &mut ZonesCore, log: usize, lpn: Lpn, payload: Tag) -> Ppn {
    let ppn = core.map.take_page(log, Stream::Host).expect("the log has room");
    let pinned = core.map.publish(lpn, core.device.grid.slot(ppn, 0)).pinned;
    pinned.into_iter().for_each(|unit| core.release(unit));
    let image = core.device.images.open(ppn, oob_covering(vocab::StripSet::EMPTY));
    let update = core.device.next_rank();
    core.device.images.fill(image, Contents { tag: OobTag::data(lpn), payload, update }, None, None);
    core.device.images.seal(image, update);
    assert!(core.device.program(&Command { ppn, image, verb: Verb::Program, ..Command::default() }).is_done());
    core.device.images.give(image);
    ppn
}

/// Stores version 1 of logical pages in their segments.
pub(crate) fn store_pages(core: &mut ZonesCore, zones: &Zones<Tag>, lpns: std::ops::Range<u32>) -> Vec<Ppn> {
    let store_page = |lpn: u32| {
        let log = zones.segment_of(core, Lpn(lpn)).0;
        store(core, log, Lpn(lpn), Tag::stamp(Lpn(lpn), 1, 8))
    };
    lpns.map(store_page).collect()
}
