//! What the engine and other components ask of static stripes, one line each.

use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::engine::Engine;
use device::slab::{ImageId, JobId};
use ftl::UnitId;
use nand::{ProgramOutcome, ReadOutcome};
use vocab::{DieId, Ppn, StripeId};

/// Events and orders.
impl<P: FlashPayload> Engine<P> {
    pub(crate) fn place_in_stripes(&mut self, job: JobId) -> bool {
        self.writer.stripes.place(&mut self.core, job);
        self.hand_on();
        true
    }

    pub(crate) fn discard_in_stripes(&mut self, job: JobId) {
        self.writer.stripes.discard(&mut self.core, job);
        self.hand_on();
    }

    pub(crate) fn flush_parity_cache(&mut self) {
        // A drive without static stripes holds nothing there.
        self.writer.stripes.flush_parity_cache(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn stripe_read_done(&mut self, ppn: Ppn, op: OpId, strip: u32, outcome: ReadOutcome) {
        self.writer.stripes.read_done(&mut self.core, ppn, op, strip, outcome);
        self.hand_on();
    }

    /// A die has taken up a program: the strip needs its slot in a cache no longer.
    #[inline(never)]
    pub(crate) fn strip_launched(&mut self, die: DieId) {
        let Some(&Owner::Stripe { op, strip }) = self.core.device.in_service(die).map(|command| &command.owner) else { return };
        if let Some(lpn) = self.writer.stripes.launched(&mut self.core, op, u32::from(strip)) {
            self.host.eviction_launched(&mut self.core, lpn);
        }
        self.hand_on();
    }

    pub(crate) fn stripe_program_done(&mut self, image: ImageId, strip: (OpId, u32), outcome: ProgramOutcome) {
        self.writer.stripes.program_done(&mut self.core, image, strip, outcome);
        self.hand_on();
    }

    pub(crate) fn stripe_merge_repaired(&mut self, op: OpId, strip: u32, old: Option<&P>) {
        self.writer.stripes.merge_repaired(&mut self.core, op, strip, old);
        self.hand_on();
    }

    pub(crate) fn retry_stripe_updates(&mut self) {
        self.writer.stripes.retry_stalled(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn fail_first_stripe_update(&mut self) -> bool {
        let failed = self.writer.stripes.fail_first_stalled(&mut self.core);
        self.hand_on();
        failed
    }

    pub(crate) fn fail_first_waiting_for_room(&mut self) -> bool {
        let failed = self.writer.stripes.fail_first_waiting_for_room(&mut self.core);
        self.hand_on();
        failed
    }

    pub(crate) fn serve_waiting_for_room(&mut self) {
        self.writer.stripes.serve_waiting_for_room(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn commit_pinned_in(&mut self, unit: UnitId) {
        self.writer.stripes.commit_pinned_in(&mut self.core, unit);
        self.hand_on();
    }

    pub(crate) fn commit_deferred(&mut self) {
        self.writer.stripes.commit_deferred(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn commit_if_leaning_on_lost(&mut self, stripe: StripeId) {
        self.writer.stripes.commit_if_leaning_on_lost(&mut self.core, stripe);
        self.hand_on();
    }

    pub(crate) fn build_in_idle_time(&mut self) {
        self.writer.stripes.build_in_idle_time(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn build_parity(&mut self, stripe: StripeId, waiter: Option<Target>) {
        self.writer.stripes.build_parity(&mut self.core, stripe, waiter);
        self.hand_on();
    }
}
