//! Repetitions as JSON and as rows: what each seed gave, means with their intervals, differences between schemes.

use super::COMPARED;
use crate::comparison::Seeds;
use crate::interval::{CONFIDENCE, t_quantile};
use common::Row;
use serde_json::{Value, json};

impl Seeds {
    /// Means with confidence intervals, one row for each scheme and each column of numbers.
    #[must_use]
    pub fn intervals(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for scheme in 0..self.repetitions()[0].outcomes.len() {
            for column in self.columns() {
                let Some(interval) = self.interval(scheme, column) else { continue };
                rows.push(Row::from_iter([
                    ("scheme".to_owned(), json!(self.label(scheme))),
                    ("column".to_owned(), json!(column)),
                    ("mean".to_owned(), json!(interval.mean)),
                    ("half_width".to_owned(), json!(interval.half_width)),
                    ("low".to_owned(), json!(interval.low())),
                    ("high".to_owned(), json!(interval.high())),
                ]));
            }
        }
        rows
    }

    /// Each scheme against each other one, paired by seed: one row for each pair and each cost. Schemes that cannot be
    /// compared under some seed are left out.
    #[must_use]
    pub fn differences(&self) -> Vec<Row> {
        let comparable = self.comparable();
        let mut rows = Vec::new();
        for (&scheme, &other) in comparable.iter().flat_map(|scheme| comparable.iter().map(move |other| (scheme, other))) {
            for column in COMPARED {
                let Some(paired) = (scheme != other).then(|| self.paired(scheme, other, column)).flatten() else { continue };
                let (difference, ratio) = (paired.difference, paired.ratio);
                rows.push(Row::from_iter([
                    ("scheme".to_owned(), json!(self.label(scheme))),
                    ("against".to_owned(), json!(self.label(other))),
                    ("column".to_owned(), json!(column)),
                    ("difference".to_owned(), json!(difference.mean)),
                    ("difference_low".to_owned(), json!(difference.low())),
                    ("difference_high".to_owned(), json!(difference.high())),
                    ("ratio".to_owned(), json!(ratio.map(|ratio| ratio.ratio))),
                    ("ratio_low".to_owned(), json!(ratio.map(|ratio| ratio.low))),
                    ("ratio_high".to_owned(), json!(ratio.map(|ratio| ratio.high))),
                ]));
            }
        }
        rows
    }

    /// All of it as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "seeds": self.seeds(),
            "confidence": CONFIDENCE,
            "t": t_quantile(self.repetitions().len() - 1),
            "rows": self.rows(),
            "intervals": self.intervals(),
            "differences": self.differences(),
        })
    }
}
