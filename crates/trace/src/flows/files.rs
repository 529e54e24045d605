//! Whose turn it is among the files of a flow, and how far each has come.

use super::{FileOrder, Files};
use crate::generate::Scatter;
use std::collections::VecDeque;
use vocab::Stream;

/// How far the requests to a file have come.
#[derive(Clone, Debug, Default)]
pub(super) struct FileState {
    /// Behind the last request of each kind, within the range.
    pub cursors: [u64; 3],
    /// Where the last request of each kind began.
    pub starts: [u64; 3],
    /// Places taken of this round, where each is taken once.
    pub round: Option<(Scatter, u64)>,
    /// Bytes of this pass.
    pub bytes: u64,
    /// First byte of the present zone, within the range.
    pub zone: u64,
}

/// The files of a flow.
#[derive(Clone, Debug)]
pub(super) struct FileTurns {
    files: Files,
    pub states: Vec<FileState>,
    /// Those in use, by index; the first has its turn.
    open: VecDeque<usize>,
    next: usize,
    taken: u64,
}

impl FileTurns {
    pub fn new(files: Files) -> Self {
        let states = vec![FileState::default(); files.count.max(1) as usize];
        let mut turns = Self { files, states, open: VecDeque::new(), next: 0, taken: 0 };
        turns.fill();
        turns
    }

    fn fill(&mut self) {
        let most = if self.files.order == FileOrder::Sequential { 1 } else { self.files.open.max(1) as usize };
        while self.open.len() < most && self.next < self.states.len() {
            self.open.push_back(self.next);
            self.next += 1;
        }
    }

    pub fn is_one(&self) -> bool {
        self.states.len() == 1
    }

    /// The file that has its turn; `None`: all are done.
    pub fn turn(&mut self, stream: &mut Stream) -> Option<usize> {
        if self.is_one() {
            return Some(0);
        }
        if self.taken >= self.files.turn {
            self.taken = 0;
            match self.files.order {
                FileOrder::Random => {
                    let index = stream.below(self.open.len().max(1) as u64) as usize;
                    self.open.rotate_left(index.min(self.open.len()));
                }
                _ => {
                    if let Some(first) = self.open.pop_front() {
                        self.open.push_back(first);
                    }
                }
            }
        }
        self.taken += 1;
        self.open.front().copied()
    }

    /// The file that has its turn is done; the next takes its place.
    pub fn close(&mut self) {
        self.open.pop_front();
        self.taken = 0;
        self.fill();
    }

    /// From the start again.
    pub fn reset(&mut self) {
        *self = Self::new(self.files);
    }
}
