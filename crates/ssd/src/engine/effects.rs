//! Which component each effect is for.

use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::ids::ParcelId;
use crate::engine::Engine;

impl<P: FlashPayload> Engine<P> {
    /// Hands an effect to the component that it is for.
    #[inline(always)]
    pub(in crate::engine) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::PartDone { job } => self.host.part_done(&mut self.core, job),
            Effect::FailBufferWaiter => self.host.fail_buffer_waiter(&mut self.core),
            Effect::LetPagesGo { job } => self.host.let_pages_go(&mut self.core, job),
            Effect::LetPagesGoFrom { job, page } => self.host.let_pages_go_from(&mut self.core, job, page),
            Effect::CompleteFrom { job, page } => self.complete_pages_from(job, page as usize),
            Effect::Place { job } => self.place_or_wait(job),
            Effect::EvictDownTo { dirty } => self.host.evict_down_to(&mut self.core, &self.writer, dirty as usize),
            Effect::EvictIfDirty { lpn } => self.host.evict_if_dirty(&mut self.core, &self.writer, lpn),
            Effect::MakeRoom => self.host.make_room(&mut self.core, &self.writer),
            Effect::RetryBuffer => self.host.retry_buffer(&mut self.core, &self.writer),
            Effect::ForgetReadAhead { lpn } => {
                self.reads.forget_read_ahead(lpn, u64::from(self.host.requests.sectors_per_slot));
            }
            Effect::Release { unit } => self.core.release(unit),
            Effect::CollectIfShort { log } => self.start_collecting_if_short(usize::from(log)),
            Effect::Collect { log } => self.collect(usize::from(log)),
            Effect::Moved { log } => {
                self.core.moving[usize::from(log)].under_way -= 1;
                self.collect(usize::from(log));
            }
            Effect::StripLost { tag } => self.strip_lost(tag),
            Effect::StripHomeless { tag } => {
                if let Some(strip) = self.writer.strip_of_role(tag.role()) {
                    self.care.rebuild.strip_was_homeless(strip);
                }
            }
            Effect::EndCover { .. } => {
                // Repairs that wait for a parity are tried again.
                self.core.retry |= !self.reads.uncovered_repairs.is_empty();
                self.writer.go_on(&mut self.core, &effect);
            }
            Effect::Stripes(_)
            | Effect::AnswerCovered
            | Effect::FinishCover { .. }
            | Effect::GroupDataEnded { .. }
            | Effect::SettleRescued => self.writer.go_on(&mut self.core, &effect),
            Effect::CacheHasRoom => self.go_on_after_cache(),
            Effect::Parcel(parcel) => self.open(parcel),
            Effect::RetryJobs => self.core.retry |= !self.host.stalled.is_empty(),
        }
    }

    fn open(&mut self, parcel: ParcelId) {
        match self.core.out.open(parcel) {
            Parcel::AwaitDurable { job, pages } => self.host.await_durable(&mut self.core, &self.writer, job, pages),
            Parcel::CheckRead { lpn, floor, contents } => {
                self.host.check_flash_read(&mut self.core, lpn, floor, contents.as_ref());
            }
            Parcel::Merged { job, page, old } => {
                self.host.merge_done(&mut self.core, &self.writer, job, page as usize, old.as_ref());
            }
            Parcel::MoveRepaired { log, slot, payload } => self.move_repaired(log, slot, payload),
            Parcel::ParityBuilt { waiter } => self.parity_built(waiter),
            Parcel::StripRebuilt { stripe, strip, payload } => self.strip_rebuilt((stripe, strip), payload),
            Parcel::Solve { target } => self.repair(target),
            Parcel::StripeMerged { op, strip, old } => self.writer.merged(&mut self.core, op, strip, old.as_ref()),
            Parcel::SolveAfterUpdate { stripe, target } => self.writer.wait_for_update(stripe, target),
            Parcel::Reads(step) => self.read_step(step),
            Parcel::Zones(step) => self.zone_step(step),
        }
    }
}
