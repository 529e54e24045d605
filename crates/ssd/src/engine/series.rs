//! State of the engine at the end of a bin of the time series.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use device::series::{Gauges, Series};

impl<P: FlashPayload> Engine<P> {
    /// Records a series from now on.
    pub(crate) fn begin_series(&mut self) {
        let (now, dies, outstanding) = (self.core.device.now, self.core.device.grid.dies(), self.host.requests.outstanding);
        self.host.buffer.take_most();
        self.host.requests.take_most();
        self.core.device.folds.record_series(Some(Box::new(Series::new(now, dies, outstanding))));
    }

    /// The series so far, which ends with it.
    pub(crate) fn end_series(&mut self) -> Option<Box<Series>> {
        let (now, gauges) = (self.core.device.now, self.gauges());
        self.core.device.folds.end_series(now, gauges)
    }

    /// Closes bins that ended before the event that is next.
    #[cold]
    pub(crate) fn close_bins(&mut self) {
        let (now, gauges) = (self.core.device.now, self.gauges());
        self.core.device.folds.close_bins(now, gauges);
    }

    fn gauges(&mut self) -> Gauges {
        let map = &self.core.map;
        let units: u32 = (0..map.logs()).map(|log| map.free_units(log)).sum();
        // A superblock counts as a block of each die, although some of them may be bad.
        let blocks_of_unit = (self.core.device.grid.geometry().blocks() as usize / map.units()).max(1) as u32;
        Gauges {
            free_blocks: units * blocks_of_unit,
            buffered_most: self.host.buffer.take_most() as u32,
            outstanding_most: self.host.requests.take_most(),
        }
    }
}
