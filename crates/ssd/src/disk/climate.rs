//! Environment of a drive, which stays through power cuts: its temperature, dies that are slow, and a firmware that
//! stalls.

use super::medium::Medium;
use super::words::Control;
use super::{Disk, DiskError};
use crate::disk::medium::client_mut;
use crate::engine::Engine;
use crate::engine::online::Turn;
use device::contents::PageBuf;
use device::slow::Slowness;
use nand::Warmth;
use vocab::{DieId, Nanos};

/// Environment, which a power cut does not change; files keep it themselves.
pub(super) struct Climate {
    slowness: Slowness,
    warmth: Warmth,
}

impl Medium {
    /// The temperature of the cells, in degrees Celsius; `None`: there is no error model that it matters to.
    pub(super) fn celsius(&self) -> Option<f64> {
        self.engine().core.device.ecc.as_ref().map(|ecc| ecc.cells.celsius())
    }
}

pub(super) fn climate(engine: &Engine<PageBuf>) -> Climate {
    let device = &engine.core.device;
    let warmth = device.ecc.as_ref().map(|ecc| ecc.cells.warmth().clone()).unwrap_or_default();
    Climate { slowness: device.slowness.clone(), warmth }
}

pub(super) fn set_climate(engine: &mut Engine<PageBuf>, Climate { slowness, warmth }: Climate) {
    engine.core.device.slowness = slowness;
    if let Some(ecc) = engine.core.device.ecc.as_mut().filter(|_| !warmth.is_constant()) {
        ecc.cells.set_warmth(warmth);
        engine.care.note_warmed(&mut engine.core);
    }
}

fn warm(engine: &mut Engine<PageBuf>, celsius: f64) {
    let now = engine.core.device.now;
    if let Some(ecc) = &mut engine.core.device.ecc {
        ecc.cells.warm(now, celsius);
        engine.care.note_warmed(&mut engine.core);
    }
}

impl Disk {
    /// From now on the drive has this temperature, in degrees Celsius: data age at its pace, and what was programmed at another
    /// is read with references that fit less. Without an error model and page ECC nothing comes of it, and the process alone keeps it.
    ///
    /// # Errors
    /// If no drive is built for it, or the files cannot be written.
    pub fn temperature(&mut self, celsius: f64) -> Result<(), DiskError> {
        self.check(&Control::Temperature(celsius))?;
        self.celsius = celsius;
        warm(self.medium.engine_mut(), celsius);
        self.medium.save()
    }

    /// From now on reads, programs and erases of this die take so many times as long; what it works on ends as it would have.
    ///
    /// # Errors
    /// If there is no such die, no die is so slow, or the files cannot be written.
    pub fn slow(&mut self, die: DieId, factor: f64) -> Result<(), DiskError> {
        self.check(&Control::Slow(die, factor))?;
        let dies = self.setup.drive.geometry.dies();
        self.medium.engine_mut().core.device.slowness.set(die, factor, dies);
        self.medium.save()
    }

    /// The firmware does nothing for so long: what dies work on goes on, and whatever would have been answered is answered at
    /// the end.
    ///
    /// # Errors
    /// If it is longer than a minute, or as of [`Disk::run`].
    pub fn pause(&mut self, time: Nanos) -> Result<(), DiskError> {
        self.check(&Control::Pause(time))?;
        let from = self.now();
        let end = from + time;
        while self.now() < end && self.medium.turn(end)? == Turn::On {}
        let engine = self.medium.engine_mut();
        engine.core.device.now = end.max(engine.core.device.now);
        let late = client_mut(engine).answers.iter_mut().filter(|answer| answer.at > from && answer.at < end);
        late.for_each(|answer| {
            answer.latency += end.since(answer.at);
            answer.at = end;
        });
        Ok(())
    }
}
