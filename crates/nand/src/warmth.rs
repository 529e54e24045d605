//! Temperatures that a drive had, one after the other: data age at the pace of each while it lasted.

use vocab::{Nanos, SimTime};

const NANOS_PER_HOUR: f64 = 3.6e12;

/// A span of time in hours.
#[must_use]
pub fn hours(span: Nanos) -> f64 {
    span.0 as f64 / NANOS_PER_HOUR
}

/// This many hours, to the nanosecond below.
#[must_use]
pub fn span_of(hours: f64) -> Nanos {
    Nanos((hours * NANOS_PER_HOUR) as u64)
}

/// A temperature, and how it ages data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temperature {
    pub celsius: f64,
    /// Hours of the error model in an hour at it.
    pub acceleration: f64,
}

/// A temperature from some time on.
#[derive(Clone, Copy, Debug)]
struct Spell {
    since: SimTime,
    at: Temperature,
}

/// Temperatures that a drive had, in order; empty while it has that of its settings.
#[derive(Clone, Debug, Default)]
pub struct Warmth(Vec<Spell>);

impl Warmth {
    /// Whether the temperature never changed.
    #[inline]
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.0.is_empty()
    }

    /// The present temperature with its acceleration, if it ever changed.
    #[must_use]
    pub fn now(&self) -> Option<(f64, f64)> {
        self.0.last().map(|spell| (spell.at.celsius, spell.at.acceleration))
    }

    /// Each temperature in degrees Celsius, and since when the drive had it.
    pub fn spells(&self) -> impl Iterator<Item = (SimTime, f64)> {
        self.0.iter().map(|spell| (spell.since, spell.at.celsius))
    }

    /// A drive that had these temperatures, in order.
    pub(crate) fn of(spells: impl Iterator<Item = (SimTime, f64)>, acceleration_at: impl Fn(f64) -> f64) -> Self {
        let at = |celsius| Temperature { celsius, acceleration: acceleration_at(celsius) };
        Self(spells.map(|(since, celsius)| Spell { since, at: at(celsius) }).collect())
    }

    /// The temperature was `before` until now, and is `to` from now on.
    pub(crate) fn change(&mut self, now: SimTime, before: Temperature, to: Temperature) {
        if self.0.is_empty() {
            self.0.push(Spell { since: SimTime::ZERO, at: before });
        }
        self.0.push(Spell { since: now, at: to });
    }

    /// The time at the present temperature that does to data what the time from `written` to `now` did.
    pub(crate) fn age(&self, written: SimTime, now: SimTime) -> Nanos {
        let (_, present) = self.now().expect("temperatures were asked for");
        let at_present = |(time, acceleration): (u64, f64)| time as f64 * (acceleration / present);
        Nanos(self.spent(written, now).map(at_present).sum::<f64>() as u64)
    }

    /// Hours of the error model from `written` to `now`.
    pub(crate) fn model_hours(&self, written: SimTime, now: SimTime) -> f64 {
        self.spent(written, now).map(|(time, acceleration)| hours(Nanos(time)) * acceleration).sum()
    }

    /// Nanoseconds from `written` to `now` at each temperature, with its acceleration.
    fn spent(&self, written: SimTime, now: SimTime) -> impl Iterator<Item = (u64, f64)> {
        let ends = self.0.iter().skip(1).map(|spell| spell.since).chain([now]);
        self.0
            .iter()
            .zip(ends)
            .map(move |(spell, end)| (end.min(now).0.saturating_sub(spell.since.max(written).0), spell.at.acceleration))
    }

    /// How many kelvin hotter it is than when something was written.
    pub(crate) fn risen_since(&self, written: SimTime) -> f64 {
        let then = self.0.iter().rev().find(|spell| spell.since <= written).unwrap_or(&self.0[0]);
        self.now().map_or(0.0, |(celsius, _)| celsius - then.at.celsius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten hours at pace 1, then ten at pace 4: 50 hours of the model, which are 12.5 at pace 4. What was written later has only
    /// the hours since. Catches an old age that is taken at the new pace, and spells that overlap.
    #[test]
    fn data_age_at_the_pace_of_each_temperature() {
        let hour = 3_600_000_000_000;
        let at = |hours: u64| SimTime(hours * hour);
        let temperature = |celsius, acceleration| Temperature { celsius, acceleration };
        let mut warmth = Warmth::default();
        warmth.change(at(10), temperature(25.0, 1.0), temperature(55.0, 4.0));
        assert_eq!(warmth.age(at(0), at(20)), Nanos(12 * hour + hour / 2));
        assert_eq!(warmth.age(at(15), at(20)), Nanos(5 * hour));
        assert_eq!((warmth.model_hours(at(0), at(20)), warmth.model_hours(at(15), at(20))), (50.0, 20.0));
        assert_eq!((warmth.risen_since(at(3)), warmth.risen_since(at(10))), (30.0, 0.0));
        warmth.change(at(20), temperature(0.0, 0.0), temperature(25.0, 1.0));
        assert_eq!(warmth.age(at(0), at(30)), Nanos(60 * hour), "10 + 40 + 10");
        assert_eq!((warmth.risen_since(at(3)), warmth.risen_since(at(15))), (0.0, -30.0));
        // In the cold a year of heat is more nanoseconds than there are.
        warmth.change(at(30), temperature(25.0, 1.0), temperature(-40.0, 1e-12));
        assert_eq!(warmth.model_hours(at(0), at(30)), 60.0);
    }
}
