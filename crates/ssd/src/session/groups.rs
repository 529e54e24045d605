//! Operations that the owner of a drive of block groups may do between runs: change the code, plug in more cards, look
//! at what was written.

use crate::care::limits;
use crate::config::SetupError;
use crate::core::flash::FlashPayload;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::fit::{build_scheme, check_drive};
use crate::session::{Inner, Prepared, Session, inside};
use crate::write::groups::{GroupStats, room_of};
use nand::FlashArray;
use protect::Protection;

impl Session {
    /// Writes to block groups so far; all zero under other schemes.
    #[must_use]
    pub fn group_stats(&self) -> GroupStats {
        inside!(self.inner(), prepared => prepared.engine.writer.group_stats(&prepared.engine.core))
    }

    /// Gives groups opened from now on the code of the option `then`. Groups of the code before
    /// are collected first, and when the drive is idle.
    ///
    /// # Errors
    /// A scheme without a code to change to.
    pub fn change_code(&mut self) -> Result<(), SetupError> {
        inside!(self.inner_mut(), prepared => prepared.change_code())
    }

    /// The drive, opened again with `channels` channels: cards were added. Old groups keep their
    /// width until they are collected, new ones span all dies. The host sees as many logical
    /// pages as before.
    ///
    /// # Errors
    /// A scheme that cannot grow, fewer channels than before, or a code that does not fit the
    /// new number of dies.
    pub fn grown(self, channels: u32) -> Result<Self, SetupError> {
        Ok(Self::over(match self.into_inner() {
            Inner::Tag(prepared) => Inner::Tag(prepared.grown(channels)?.into()),
            Inner::Page(prepared) => Inner::Page(prepared.grown(channels)?.into()),
        }))
    }
}

impl<P: FlashPayload> Prepared<P> {
    fn change_code(&mut self) -> Result<(), SetupError> {
        let name = &self.setup.scheme.name;
        let Some(groups) = self.engine.writer.groups_if_any_mut() else {
            return Err(SetupError::new(format!("scheme {name}: it has one code, that of mds-groups may change")));
        };
        if groups.scheme().codes().len() < 2 {
            return Err(SetupError::new(format!("scheme {name}, then: found none, must name the code to change to")));
        }
        groups.asked = true;
        Ok(())
    }

    fn grown(mut self, channels: u32) -> Result<Self, SetupError> {
        let name = self.setup.scheme.name.clone();
        let old = self.setup.drive.geometry.channels;
        if self.engine.writer.groups_if_any().is_none() {
            return Err(SetupError::new(format!("scheme {name}: a drive under it cannot grow, one under mds-groups can")));
        }
        if channels <= old {
            return Err(SetupError::new(format!("channels: found {channels}, the drive has {old} and can only get more")));
        }
        self.setup.drive.geometry.channels = channels;
        check_drive(&self.setup.drive)?;
        let protection = build_scheme(&self.setup.drive, &self.setup.scheme)?;
        let scheme = protection.groups().expect("the same scheme as before");
        let streams = 1 + u32::from(self.setup.gc.separate_write_pointer);
        let room = room_of(scheme, streams, &name).map_err(SetupError::new)?;
        grow(&mut self.engine, channels, protection, room);
        if self.engine.core.limits.is_on() {
            // New dies have blocks of their own to count reads of.
            let recycled = self.engine.core.limits.recycled;
            limits::start(&mut self.engine.core, &self.engine.writer, self.setup.drive.endurance);
            self.engine.core.limits.recycled = recycled;
        }
        self.pe_before.resize(self.setup.drive.geometry.blocks() as usize, 0);
        Ok(self)
    }
}

/// Takes in new channels; nothing may be under way.
fn grow<P: FlashPayload>(engine: &mut Engine<P>, channels: u32, protection: Protection, room: u32) {
    assert!(engine.core.device.is_idle() && engine.core.device.commands.in_use() == 0, "a drive grows between runs");
    engine.core.device.array.grow(channels);
    let grid = engine.core.device.array.grid().clone();
    engine.core.map.grow(&grid);
    let timers = Timer::count(&grid);
    engine.core.device.grow(grid, timers);
    engine.writer.grow(protection.groups().expect("only groups grow"), room);
    engine.writer.settle_space(&mut engine.core);
}
