//! The engine asks the reads.

use crate::core::flash::FlashPayload;
use crate::core::read_step::ReadStep;
use crate::core::target::Target;
use crate::engine::Engine;

/// Calls a handler of the reads, and hands on what it wants of others.
macro_rules! reads {
    ($engine:ident.$handler:ident($($argument:expr),*)) => {{
        let below = crate::read::Below { writer: &$engine.writer, host: &$engine.host };
        let result = $engine.reads.$handler(&mut $engine.core, below, $($argument),*);
        $engine.hand_on();
        result
    }};
}
pub(crate) use reads;

impl<P: FlashPayload> Engine<P> {
    pub(crate) fn read_step(&mut self, step: ReadStep<P>) {
        match step {
            ReadStep::SolveAgain { target, failed } => reads!(self.solve_again(target, failed)),
            ReadStep::SolveAgainInGroup { target, lost, failed } => {
                reads!(self.solve_again_in_group(target, lost.0, lost.1, failed))
            }
            ReadStep::Sum(new) => self.reads.start_solve(&mut self.core, new),
            ReadStep::DropCode { group } => self.reads.drop_code(&mut self.core, group),
            ReadStep::DropCodeOf { read, group } => reads!(self.drop_code_of(read, group)),
        }
    }

    /// Solves for a page that cannot be read where the map has it, and gives its contents to the target.
    pub(crate) fn repair(&mut self, target: Target) {
        reads!(self.solve(target));
    }
}
