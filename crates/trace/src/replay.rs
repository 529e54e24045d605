//! Repeats a trace and stretches its time.

use crate::{Record, SPAN_LIMIT, TraceError};
use vocab::SimTime;

/// Plays what `open` opens `times` times; each round starts when the last request of the round
/// before was sent.
///
/// An error ends the replay.
pub fn looped<F, I>(open: F, times: u64) -> Looped<F, I>
where
    F: FnMut() -> Result<I, TraceError>,
    I: Iterator<Item = Result<Record, TraceError>>,
{
    Looped { open, rounds_left: times, round: None, shift: 0, last: 0, requests: 0, requests_before: 0 }
}

/// See [`looped`].
pub struct Looped<F, I> {
    open: F,
    rounds_left: u64,
    round: Option<I>,
    /// Start of this round.
    shift: u64,
    /// Time of the latest request delivered.
    last: u64,
    requests: u64,
    /// Requests delivered before this round.
    requests_before: u64,
}

impl<F, I> Looped<F, I> {
    fn fail(&mut self, error: TraceError) -> Option<Result<Record, TraceError>> {
        self.rounds_left = 0;
        self.round = None;
        Some(Err(error))
    }
}

impl<F, I> Iterator for Looped<F, I>
where
    F: FnMut() -> Result<I, TraceError>,
    I: Iterator<Item = Result<Record, TraceError>>,
{
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = loop {
            if let Some(item) = self.round.as_mut().and_then(Iterator::next) {
                break item;
            }
            // A round without requests would be repeated without end.
            let is_barren = self.round.take().is_some() && self.requests == self.requests_before;
            if self.rounds_left == 0 || is_barren {
                return None;
            }
            self.rounds_left -= 1;
            self.shift = self.last;
            self.requests_before = self.requests;
            match (self.open)() {
                Ok(round) => self.round = Some(round),
                Err(error) => return self.fail(error),
            }
        };
        self.requests += 1;
        match record {
            Ok(mut record) => match record.at.0.checked_add(self.shift).filter(|&at| at <= SPAN_LIMIT.0) {
                Some(at) => {
                    record.at = SimTime(at);
                    self.last = self.last.max(at);
                    Some(Ok(record))
                }
                None => self.fail(overflow(self.requests)),
            },
            Err(error) => self.fail(error),
        }
    }
}

fn overflow(request: u64) -> TraceError {
    TraceError::TimeOverflow { request, limit: SPAN_LIMIT }
}

/// A factor for times, exact: above 1 slows down, below 1 speeds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale {
    numerator: u64,
    denominator: u64,
}

impl TimeScale {
    /// The factor `numerator / denominator`.
    ///
    /// # Errors
    /// Either is 0, or the factor is above 1e9.
    pub fn ratio(numerator: u64, denominator: u64) -> Result<Self, TraceError> {
        let limit = u128::from(denominator) * 1_000_000_000;
        if numerator == 0 || denominator == 0 || u128::from(numerator) > limit {
            return Err(TraceError::TimeScale { found: format!("{numerator}/{denominator}") });
        }
        Ok(Self { numerator, denominator })
    }

    /// The factor nearest to `factor` with denominator 2^32.
    ///
    /// # Errors
    /// Not a number above 2^-32 and at most 1e9.
    pub fn factor(factor: f64) -> Result<Self, TraceError> {
        let denominator = 1u64 << 32;
        let scaled = (factor * denominator as f64).round();
        if !(scaled >= 1.0 && factor <= 1e9) {
            return Err(TraceError::TimeScale { found: format!("{factor}") });
        }
        Self::ratio(scaled as u64, denominator)
    }

    /// `at` scaled, rounded down; `None` beyond [`SPAN_LIMIT`].
    #[must_use]
    pub fn apply(self, at: SimTime) -> Option<SimTime> {
        let scaled = u128::from(at.0) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(scaled).ok().filter(|&at| at <= SPAN_LIMIT.0).map(SimTime)
    }

    /// `records` with their times scaled. An overflow ends them with an error.
    pub fn scale<I>(self, records: I) -> Scaled<I::IntoIter>
    where
        I: IntoIterator<Item = Result<Record, TraceError>>,
    {
        Scaled { records: Some(records.into_iter()), scale: self, requests: 0 }
    }
}

/// See [`TimeScale::scale`].
pub struct Scaled<I> {
    records: Option<I>,
    scale: TimeScale,
    requests: u64,
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for Scaled<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.records.as_mut()?.next()?;
        self.requests += 1;
        let scaled = item.and_then(|record| match self.scale.apply(record.at) {
            Some(at) => Ok(Record { at, ..record }),
            None => Err(overflow(self.requests)),
        });
        if scaled.is_err() {
            self.records = None;
        }
        Some(scaled)
    }
}
