//! A run cut into batches: what was asked and programmed while this many requests were answered. From batches follows how far a mean may be off,
//! and whether the run was alike from its beginning to its end.

/// Counts since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Reads and writes answered.
    pub answers: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_ns: u128,
    /// Slots programmed, with something in them or empty.
    pub slots: u64,
    /// Logical pages that the host wrote.
    pub pages: u64,
}

impl Mark {
    /// Events since an earlier mark.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            answers: self.answers - earlier.answers,
            latency_ns: self.latency_ns - earlier.latency_ns,
            slots: self.slots - earlier.slots,
            pages: self.pages - earlier.pages,
        }
    }
}

/// Marks that are kept at most; with more, every second one goes, and batches are twice as long from then on.
const MARKS_MAX: usize = 64;

/// The ends of batches of equally many answers.
#[derive(Clone, Debug)]
pub struct Batches {
    marks: Vec<Mark>,
    /// Answers of a batch.
    every: u64,
    /// Answers at which the present batch ends.
    next: u64,
}

impl Default for Batches {
    fn default() -> Self {
        Self { marks: Vec::new(), every: 1, next: 1 }
    }
}

impl Batches {
    /// Whether a batch ends with this answer.
    #[inline]
    pub fn ends_at(&self, answers: u64) -> bool {
        answers == self.next
    }

    /// A batch ends.
    pub fn end(&mut self, mark: Mark) {
        self.marks.push(mark);
        if self.marks.len() == MARKS_MAX {
            let mut is_second = true;
            self.marks.retain(|_| {
                is_second = !is_second;
                is_second
            });
            self.every *= 2;
        }
        self.next += self.every;
    }

    /// Whole batches, in order; between a half of [`MARKS_MAX`] and all of it, where there were as many answers.
    #[must_use]
    pub fn whole(&self) -> Vec<Mark> {
        let starts = std::iter::once(Mark::default()).chain(self.marks.iter().copied());
        starts.zip(&self.marks).map(|(start, end)| end.since(&start)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if a batch is left out, or batches are not equally long.
    #[test]
    fn batches_are_equally_long_and_hold_every_answer_up_to_the_last_whole_one() {
        for answers in [1, 63, 64, 65, 1000, 4096, 100_003] {
            let mut batches = Batches::default();
            let mut sum = 0u128;
            for answer in 1..=answers {
                sum += u128::from(answer);
                if batches.ends_at(answer) {
                    batches.end(Mark { answers: answer, latency_ns: sum, slots: 3 * answer, pages: 2 * answer });
                }
            }
            let whole = batches.whole();
            let (each, held) = (whole[0].answers, whole.iter().map(|batch| batch.answers).sum::<u64>());
            assert!(whole.iter().all(|batch| batch.answers == each), "{answers}: {whole:?}");
            assert!(held + each > answers && held <= answers && (whole.len() >= 32 || answers < 32), "{answers}: {held}");
            let naive: u128 = (1..=held).map(u128::from).sum();
            assert_eq!(whole.iter().map(|batch| batch.latency_ns).sum::<u128>(), naive);
            assert!(whole.iter().all(|batch| batch.slots * 2 == batch.pages * 3));
        }
    }
}
