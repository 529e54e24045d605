//! The passes of a drawn flow: flushes at their ends, and reading back what was written.

use super::draw::{Drawn, flush};
use super::{Asked, ReadBack, Synthetic};
use std::collections::{BTreeMap, VecDeque};
use vocab::{HostOp, Streams};

/// Most places that are read back in the order of their addresses; beyond it they are read back in the order of writing.
pub(crate) const SORTED_LIMIT: u64 = 1 << 22;

pub(super) struct Passes<'a> {
    flow: &'a Synthetic,
    drawn: Drawn<'a>,
    /// The flow as it was when the pass began, where its writes are read back in their order.
    again: Option<Drawn<'a>>,
    /// Places to be read back, by file and address.
    sorted: BTreeMap<(u32, u64), Asked>,
    /// Writes to be read back while the pass goes on.
    backlog: VecDeque<Asked>,
    /// Requests that come before all others.
    due: VecDeque<Asked>,
    stage: Stage,
    /// Writes before this pass.
    writes: u64,
}

#[derive(PartialEq)]
enum Stage {
    Pass,
    Flushing,
    Reading,
}

impl<'a> Passes<'a> {
    pub fn new(flow: &'a Synthetic, streams: Streams, index: u64, start: u64) -> Self {
        let drawn = Drawn::new(flow, streams, index, start);
        let mut passes = Self {
            flow,
            again: None,
            drawn,
            sorted: BTreeMap::new(),
            backlog: VecDeque::new(),
            due: VecDeque::new(),
            stage: Stage::Pass,
            writes: 0,
        };
        passes.begin();
        passes
    }

    fn begin(&mut self) {
        self.stage = Stage::Pass;
        self.writes = self.drawn.writes();
        self.again = (self.flow.manner.read_back == Some(ReadBack::InOrder)).then(|| self.drawn.clone());
    }

    /// When it ends, as far as that is known.
    pub fn end(&self) -> u64 {
        self.drawn.end()
    }

    pub fn next(&mut self) -> Option<Asked> {
        loop {
            if let Some(asked) = self.due.pop_front() {
                return Some(asked);
            }
            match self.stage {
                Stage::Pass => match self.drawn.next() {
                    Some(asked) => return Some(self.heard(asked)),
                    None => self.stage = Stage::Flushing,
                },
                Stage::Flushing => {
                    self.stage = Stage::Reading;
                    if self.flow.manner.flushes_at_end && self.drawn.writes() > self.writes {
                        let at = self.drawn.end();
                        self.due.extend((0..self.flow.manner.files.count).map(|file| flush(at, file)));
                    }
                }
                Stage::Reading => {
                    if let Some(asked) = self.read_back() {
                        return Some(asked);
                    }
                    if !self.drawn.begin_pass() {
                        return None;
                    }
                    self.begin();
                }
            }
        }
    }

    /// Notes a request of the pass; the one to be sent.
    fn heard(&mut self, asked: Asked) -> Asked {
        if !matches!(asked.op, HostOp::Write(_)) {
            return asked;
        }
        match self.flow.manner.read_back {
            Some(ReadBack::Only) => return read(asked),
            Some(ReadBack::Sorted) if (self.sorted.len() as u64) < SORTED_LIMIT => {
                self.sorted.insert((asked.file, asked.lba), asked);
            }
            Some(ReadBack::Every { backlog, batch }) => {
                self.backlog.push_back(asked);
                if (self.backlog.len() as u64).is_multiple_of(backlog.max(1)) {
                    let batch = (batch.max(1) as usize).min(self.backlog.len());
                    self.due.extend(self.backlog.drain(..batch).map(read));
                }
            }
            _ => {}
        }
        asked
    }

    /// The next request that reads back what the pass wrote.
    fn read_back(&mut self) -> Option<Asked> {
        let at = self.drawn.end();
        let asked = if let Some(again) = &mut self.again {
            std::iter::from_fn(|| again.next()).find(|asked| matches!(asked.op, HostOp::Write(_)))
        } else if let Some((_, asked)) = self.sorted.pop_first() {
            Some(asked)
        } else {
            self.backlog.pop_front()
        };
        asked.map(|asked| Asked { at, ..read(asked) })
    }
}

/// A read of what was written.
fn read(asked: Asked) -> Asked {
    Asked { op: HostOp::Read, ..asked }
}
