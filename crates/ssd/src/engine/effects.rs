//! Hands effects to the components that they are for.

use crate::core::effects::Effect;
use crate::engine::Engine;
use device::contents::HostPayload;
use nand::FlashArray;

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Hands on every effect that was pushed since the last call, depth first, until none is left.
    #[inline]
    pub(crate) fn hand_on(&mut self) {
        if self.core.out.is_empty() {
            return;
        }
        while let Some(effect) = self.core.out.pop() {
            let floor = self.core.out.raise();
            self.apply(effect);
            self.core.out.lower(floor);
        }
    }

    fn apply(&mut self, effect: Effect<P>) {
        match effect {
            Effect::PartDone { job } => self.host.part_done(&mut self.core, job),
            Effect::FailBufferWaiter => self.host.fail_buffer_waiter(&mut self.core),
            Effect::LetPagesGo { job } => self.host.let_pages_go(&mut self.core, job),
            Effect::LetPagesGoFrom { job, page } => self.host.let_pages_go_from(&mut self.core, job, page),
            Effect::CompleteFrom { job, page } => self.complete_pages_from(job, page as usize),
            Effect::Place { job } => self.place_or_wait(job),
            Effect::EvictDownTo { dirty } => self.host.evict_down_to(&mut self.core, &self.writer, dirty),
            Effect::EvictIfDirty { lpn } => self.host.evict_if_dirty(&mut self.core, &self.writer, lpn),
            Effect::AwaitDurable { job, pages } => self.host.await_durable(&mut self.core, &self.writer, job, pages),
            Effect::AwaitRoom { job, turn } => self.host.await_room(&mut self.core, job, turn),
            Effect::RetryBuffer => self.host.retry_buffer(&mut self.core, &self.writer),
            Effect::ForgetReadAhead { lpn } => self.forget_read_ahead(lpn),
            Effect::Release { unit } => self.core.release(unit),
            Effect::CheckRead { lpn, floor, contents } => self.check_read(lpn, floor, contents.as_ref()),
            Effect::Merged { job, page, old } => self.merge_done(job, page as usize, old.as_ref()),
            Effect::CollectIfShort { log } => self.start_collecting_if_short(log),
            Effect::Collect { log } => self.collect(log),
            Effect::Moved { log } => {
                self.core.moving[log].under_way -= 1;
                self.collect(log);
            }
            Effect::MoveRepaired { log, slot, payload } => self.move_repaired(log, slot, payload),
            Effect::ParityBuilt { waiter } => self.parity_built(waiter),
            Effect::StripLost { tag } => self.strip_lost(tag),
            Effect::StripRebuilt { stripe, strip, payload } => self.strip_rebuilt(stripe, strip, payload),
            Effect::Solve { target } => self.repair(target),
            Effect::SettleRescued => self.settle_rescued(),
            Effect::AnswerCovered => {
                self.writer.rows.answer_covered(&mut self.core);
            }
            Effect::FinishCover { cover } => self.writer.rows.finish_cover(&mut self.core, &mut self.writer.moves, cover),
            Effect::EndCover { cover } => self.end_cover(cover),
            Effect::GroupDataEnded { row, codeword, ppn } => {
                self.writer.groups.data_ended(&mut self.core, (row, codeword), ppn);
            }
            Effect::CacheHasRoom => self.go_on_after_cache(),
            Effect::Stripes(step) => self.writer.stripes.go_on(&mut self.core, step),
            Effect::RetryJobs => self.core.retry |= !self.host.stalled.is_empty(),
            Effect::StripeMerged { op, strip, old } => self.stripe_merge_repaired(op, strip, old.as_ref()),
            Effect::SolveAfterUpdate { stripe, target } => self.wait_for_stripe(stripe, target),
            Effect::Reads(step) => self.read_step(step),
            Effect::Zones(step) => self.zone_step(step),
        }
    }
}
