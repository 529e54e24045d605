//! Tiny drives for the tests, and short forms of what the tests do to them.

use flashkeep_ftl::{
    Ftl, FtlError, FtlSetup, GcConfig, GroupSpace, LogKind, Segments, SlcSpace, Stream, UnitId, UnitState, WearConfig,
};
use vocab::{Bytes, Geometry, Grid, Lpn, PlaneUse, Ppn, Streams};

/// A drive with small numbers, before its map is built.
#[derive(Clone, Debug)]
pub struct Drive {
    pub kind: LogKind,
    pub dies: u32,
    pub blocks: u32,
    pub pages: u32,
    pub slots_per_page: u32,
    pub lpns: u32,
    pub stripes: u32,
    pub segments: Option<Segments>,
    pub side_by_side: u32,
    pub groups: Option<GroupSpace>,
    pub slc: Option<SlcSpace>,
    pub reserve: u32,
    pub recovery: u32,
    pub gc: GcConfig,
    pub wear: WearConfig,
    /// Blocks that are bad from the factory.
    pub bad: Vec<u32>,
}

impl Drive {
    pub fn new(kind: LogKind, dies: u32, blocks: u32, pages: u32) -> Self {
        Self {
            kind,
            dies,
            blocks,
            pages,
            slots_per_page: 1,
            lpns: dies * blocks * pages,
            stripes: 0,
            segments: None,
            side_by_side: 1,
            groups: None,
            slc: None,
            reserve: 0,
            recovery: 0,
            gc: GcConfig::default(),
            wear: WearConfig::default(),
            bad: Vec::new(),
        }
    }

    /// One die with a region log.
    pub fn region(blocks: u32, pages: u32) -> Self {
        Self::new(LogKind::Regions, 1, blocks, pages)
    }

    pub fn grid(&self) -> Grid {
        let geometry = Geometry {
            channels: self.dies,
            dies_per_channel: 1,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: self.blocks,
            pages_per_block: self.pages,
            page_size: Bytes(4096 * u64::from(self.slots_per_page)),
            oob_size: Bytes(64),
            slot_size: Bytes(4096),
        };
        geometry.check().expect("a valid shape");
        Grid::new(geometry)
    }

    pub fn try_map(&self) -> Result<Ftl, FtlError> {
        let setup = FtlSetup {
            kind: self.kind,
            user_slots: self.lpns,
            slots: self.lpns,
            segments: self.segments,
            stripes: self.stripes,
            reserve: self.reserve,
            recovery: self.recovery,
            side_by_side: self.side_by_side,
            groups: self.groups,
            slc: self.slc,
            gc: &self.gc,
            wear: &self.wear,
        };
        Ftl::new(&self.grid(), &setup, &Streams::new(1), |block| self.bad.contains(&block.0))
    }

    pub fn map(&self) -> Ftl {
        self.try_map().expect("a valid setup")
    }
}

/// Takes pages of log 0 until the stream gets no more.
pub fn take_all(map: &mut Ftl, stream: Stream) -> Vec<Ppn> {
    std::iter::from_fn(|| map.take_page(0, stream)).collect()
}

/// Takes one page of log 0 with one slot for each page, and puts a logical page there.
pub fn write(map: &mut Ftl, lpn: u32, stream: Stream) -> UnitId {
    let ppn = map.take_page(0, stream).expect("room");
    let slot = vocab::Slot(ppn.0);
    if let Some(unit) = map.publish(Lpn(lpn), slot).pinned {
        let _ = map.release(unit);
    }
    map.unit_of(slot)
}

/// As [`write`], one page after the other.
pub fn write_all(map: &mut Ftl, lpns: impl IntoIterator<Item = u32>, stream: Stream) {
    for lpn in lpns {
        write(map, lpn, stream);
    }
}

/// Fills one unit of log 0 with logical pages from `first` on.
pub fn fill_unit(map: &mut Ftl, first: u32, pages: u32, stream: Stream) -> UnitId {
    (first..first + pages).map(|lpn| write(map, lpn, stream)).last().expect("a unit has pages")
}

/// Forgets logical pages and takes their pins back at once.
pub fn forget(map: &mut Ftl, lpns: impl IntoIterator<Item = u32>) {
    for lpn in lpns {
        let unit = map.forget(Lpn(lpn)).pinned.expect("it was written");
        let _ = map.release(unit);
    }
}

pub fn states(map: &Ftl) -> Vec<UnitState> {
    (0..map.units()).map(|unit| map.unit(unit as u32).state).collect()
}

/// Units in a state.
pub fn units_in(map: &Ftl, state: UnitState) -> Vec<UnitId> {
    (0..map.units() as u32).filter(|&unit| map.unit(unit).state == state).collect()
}
