//! How old what a drive holds is, and how often its blocks were read, after spans of time of which no command is simulated.

use super::{MemoryArray, Payload, whole_seconds};
use vocab::{Nanos, SimTime};

impl<P: Payload> MemoryArray<P> {
    /// A leap over time: what was written at or after `since` is as old after it as before, as if it had been written so much later. What
    /// is older grows older by the leap, and its blocks are read on at the pace since they were first programmed. Whole seconds count, as
    /// pages keep time in them.
    pub fn leap(&mut self, now: SimTime, since: SimTime, by: Nanos) {
        let (since_s, by_s) = (whole_seconds(since), whole_seconds(SimTime(by.0)));
        for (info, contents) in self.blocks.iter_mut().zip(&mut self.contents) {
            if info.next_page > 0 && info.first_program >= since {
                info.first_program = SimTime(info.first_program.0 + by.0);
            } else if info.next_page > 0 && info.reads > 0 {
                let age = now.since(info.first_program.min(now)).0.max(1) as f64;
                info.reads = (f64::from(info.reads) * (1.0 + by.0 as f64 / age)) as u32;
            }
            let Some(stored) = contents else { continue };
            let is_young = |&at: &u32| at >= since_s;
            let kept = stored.get();
            if kept.first_program_s < since_s && !kept.ecc.as_ref().is_some_and(|ecc| ecc.written_s.iter().any(is_young)) {
                continue;
            }
            let stored = stored.change();
            if stored.first_program_s >= since_s {
                stored.first_program_s = stored.first_program_s.saturating_add(by_s);
            }
            let written = stored.ecc.iter_mut().flat_map(|ecc| &mut ecc.written_s);
            written.filter(|at| **at >= since_s).for_each(|at| *at = at.saturating_add(by_s));
        }
    }

    /// Data are refreshed whenever they are so old, and were so far: what is older is as old as since its last refresh. Blocks take turns,
    /// so that at any time the ages of all data that lie are spread over the whole period, though they were written together.
    pub fn refreshed_every(&mut self, now: SimTime, age: Nanos) {
        let (now_s, age_s) = (whole_seconds(now), whole_seconds(SimTime(age.0)).max(1));
        for (block, info) in self.blocks.iter_mut().enumerate().filter(|(_, info)| info.next_page > 0 && info.reads > 0) {
            let (held, period) = (now.since(info.first_program.min(now)).0, age.0.max(1));
            if held >= period {
                let since = (held + (turn_of(block) * period as f64) as u64) % period;
                info.reads = (f64::from(info.reads) * (since as f64 / held as f64)) as u32;
            }
        }
        for (block, stored) in self.contents.iter_mut().enumerate().filter_map(|(block, stored)| Some((block, stored.as_mut()?)))
        {
            let is_old = |&at: &u32| now_s.saturating_sub(at) >= age_s;
            if stored.get().ecc.as_ref().is_some_and(|ecc| ecc.written_s.iter().any(is_old)) {
                let written = stored.change().ecc.iter_mut().flat_map(|ecc| &mut ecc.written_s);
                let turn_s = (turn_of(block) * f64::from(age_s)) as u32;
                written.filter(|at| is_old(at)).for_each(|at| *at = now_s - ((now_s - *at) % age_s + turn_s) % age_s);
            }
        }
    }
}

/// The share of a period of refresh by which a block is ahead of block 0. Multiples of the golden ratio fill the period evenly.
fn turn_of(block: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    (block as f64 * GOLDEN).fract()
}
