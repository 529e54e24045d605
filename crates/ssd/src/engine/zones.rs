//! The engine asks code zones.

use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::zone_step::ZoneStep;
use crate::engine::Engine;
use crate::write::zones::{Zones, forget_code_page};
use device::slab::ImageId;
use nand::ProgramOutcome;
use vocab::Lpn;

impl<P: FlashPayload> Engine<P> {
    pub(crate) fn code_zones(&self) -> &Zones<P> {
        self.writer.zones.as_ref().expect("a drive of code zones")
    }

    pub(crate) fn code_zones_mut(&mut self) -> &mut Zones<P> {
        self.writer.zones.as_mut().expect("a drive of code zones")
    }

    pub(crate) fn zone_step(&mut self, step: ZoneStep<P>) {
        let zones = self.writer.zones.as_mut().expect("a drive of code zones");
        match step {
            ZoneStep::ForgetCode { stamp } => zones.forget_code(&mut self.core, stamp),
            ZoneStep::ForgetCodePage { lpn, only_at } => forget_code_page(&mut self.core, lpn, only_at),
            ZoneStep::LoseCodePage { lpn } => zones.lose_code_page(&mut self.core, lpn),
            ZoneStep::CodePageOver { encode, how } => zones.code_page_over(&mut self.core, encode, how),
            ZoneStep::CodeSummed { encode, sums } => self.code_summed(encode, sums),
            ZoneStep::EncodeMore => self.encode_more(),
        }
    }

    /// The page gets other contents in the map, now.
    pub(crate) fn contents_change(&mut self, lpn: Lpn) {
        let Some(zones) = &mut self.writer.zones else { return };
        zones.contents_change(&mut self.core, lpn);
        self.hand_on();
    }

    pub(crate) fn code_programmed(&mut self, image: ImageId, encode: EncodeId, outcome: ProgramOutcome) {
        if !outcome.is_done() {
            let (tag, ppn) = (self.core.device.images.slot(image, 0).0, self.core.device.images.slab[image].ppn);
            self.lose(tag, self.core.device.grid.slot(ppn, 0));
        }
        self.writer.zones.as_mut().expect("a drive of code zones").code_programmed(&mut self.core, image, encode, outcome);
        self.hand_on();
    }
}
