//! External view of a run, block by block; for tests.

use crate::config::Pace;
use crate::core::flash::FlashPayload;
use crate::core::limits::Recycled;
use crate::session::{Asked, Prepared, Session, inside};
use nand::{BlockInfo, FlashArray};
use vocab::{BlockAddr, HostCommand, SimTime};

/// External view of a block, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Its number.
    pub block: BlockAddr,
    /// State of the block in the medium.
    pub info: BlockInfo,
    /// Slots of it that are current.
    pub valid: u32,
    /// Virtual time.
    pub now: SimTime,
}

impl Session {
    /// Blocks recycled because a limit came near, since the drive was aged.
    #[must_use]
    pub fn recycled(&self) -> Recycled {
        inside!(self.inner(), prepared => prepared.engine.core.limits.recycled)
    }

    /// Replays as [`Session::run`] does and shows every programmed block before every event;
    /// for tests. Blocks are units of GC only under region logs.
    pub fn run_watched(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(BlockView),
    ) -> crate::result::RunResult {
        inside!(self.inner_mut(), prepared => prepared.watched(commands, pace, each))
    }
}

impl<P: FlashPayload> Prepared<P> {
    fn watched(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(BlockView),
    ) -> crate::result::RunResult {
        self.run_stepwise(Asked::One(commands, pace), &mut |_| {}, |engine| {
            for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
                let info = *engine.core.device.array.block(block);
                if info.next_page > 0 {
                    let valid = engine.core.map.unit(engine.core.map.unit_of_block(block)).valid;
                    each(BlockView { block, info, valid, now: engine.core.device.now });
                }
            }
            true
        })
    }
}
