//! The timers of the calendar: one row for everything that has events of its own and is not a die.
//!
//! The calendar knows resources by number. Dies come first, one number each; the timers follow in the order of
//! [`Timer`], the decoders with one number for each channel.

use vocab::{DieId, Grid};

/// Whose next event the calendar keeps, dies aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The next host command arrives.
    Arrivals,
    /// The first of the answers that the controller gives without flash is due.
    Answers,
    /// The scrub reads its next row.
    Scrub,
    /// The adder of block groups has added a page.
    Adder,
    /// Some block is due for a refresh.
    Refresh,
    /// The decoder of this channel is done with a page.
    Decoder(u32),
    /// An off-line phase of code zones begins.
    OffLine,
    /// A page that was written is in all sums of its block group.
    Sums,
    /// Where blocks have limits on age: some block reaches its age.
    Age,
    /// Page profiles are due to be flushed.
    Flush,
    /// A spare die may take the place of a dead one.
    Replace,
}

/// A resource that has an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Die(DieId),
    Timer(Timer),
}

/// Timers before the decoders, and behind them.
const BEFORE: u32 = 5;
const BEHIND: u32 = 5;

impl Timer {
    /// How many numbers the timers of a drive take.
    pub fn count(grid: &Grid) -> usize {
        (BEFORE + grid.geometry().channels + BEHIND) as usize
    }

    /// The timer's number in the calendar.
    #[inline]
    pub fn index(self, grid: &Grid) -> usize {
        let row = match self {
            Timer::Arrivals => 0,
            Timer::Answers => 1,
            Timer::Scrub => 2,
            Timer::Adder => 3,
            Timer::Refresh => 4,
            Timer::Decoder(channel) => BEFORE + channel,
            Timer::OffLine => BEFORE + grid.geometry().channels,
            Timer::Sums => BEFORE + grid.geometry().channels + 1,
            Timer::Age => BEFORE + grid.geometry().channels + 2,
            Timer::Flush => BEFORE + grid.geometry().channels + 3,
            Timer::Replace => BEFORE + grid.geometry().channels + 4,
        };
        (grid.dies() + row) as usize
    }
}

impl Resource {
    /// Resource with this number in the calendar.
    #[inline]
    pub fn of(index: usize, grid: &Grid) -> Self {
        let Some(row) = (index as u32).checked_sub(grid.dies()) else { return Resource::Die(DieId(index as u16)) };
        Resource::Timer(match row {
            0 => Timer::Arrivals,
            1 => Timer::Answers,
            2 => Timer::Scrub,
            3 => Timer::Adder,
            4 => Timer::Refresh,
            row if row < BEFORE + grid.geometry().channels => Timer::Decoder(row - BEFORE),
            row if row == BEFORE + grid.geometry().channels => Timer::OffLine,
            row if row == BEFORE + grid.geometry().channels + 1 => Timer::Sums,
            row if row == BEFORE + grid.geometry().channels + 2 => Timer::Age,
            row if row == BEFORE + grid.geometry().channels + 3 => Timer::Flush,
            _ => Timer::Replace,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::geometry;
    use vocab::Geometry;

    /// Catches a timer that has another's number, or a number that is taken for another timer.
    #[test]
    fn each_number_is_of_one_resource() {
        for channels in [1, 3] {
            let grid = Grid::new(Geometry { channels, ..geometry() });
            let first = grid.dies() as usize;
            for index in 0..first + Timer::count(&grid) {
                match Resource::of(index, &grid) {
                    Resource::Die(die) => assert!(index < first && die.index() == index),
                    Resource::Timer(timer) => assert_eq!(timer.index(&grid), index, "{timer:?}"),
                }
            }
            assert_eq!(Timer::Replace.index(&grid), first + Timer::count(&grid) - 1, "the last");
        }
    }
}
