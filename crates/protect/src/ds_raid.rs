//! Paper: J. Kim, J. Lee, J. Choi, D. Lee, S. H. Noh, "DS-RAID: Efficient Parity Update Scheme
//! for SSDs", 2011 (section "Dynamic Striping-RAID", Fig. 2).
//!
//! Idea: a stripe is a row, the pages with one page number on all dies, and takes whatever is
//! written next. Old versions are just marked obsolete, so parity never needs a read. A request
//! that does not fill its row gets a sub-stripe parity at once; when later requests fill the
//! row, a full parity over all its data closes it.
//!
//! Differs: a row with a single page left cannot hold data and parity, so it closes with the
//! sub-stripe parity as its parity, which covers all its data (the paper does not say; this is
//! what `wasted` counts). The parity position rotates with the row. On a drive of more than 32 dies rows are
//! narrower than the drive and lie side by side (`row_dies`). With
//! `sub_stripe = "defer"` a row waits for data to fill it instead; requests are then answered
//! late unless the write buffer is PLP.
//! Invariant: no row closes while some of its data are uncovered.

use crate::lazy::{READ_AROUND, ReadAround};
use crate::{OpenRow, Options, Protection, RowScheme, RowStep, SchemeError, Shape};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[
    (
        "sub_stripe",
        "request",
        "when a row that is not full gets its parity: with each `request`, or `defer`red until the row is full",
    ),
    (
        "row_dies",
        "auto",
        "dies of a row, a divisor of the drive's; `auto`: all up to 32, of a wider drive the largest divisor from 8 to 32, else all",
    ),
    ("scrub_rows_per_s", "0", "rows that a scrub reads in a second, obsolete pages too; 0: none"),
    READ_AROUND[0],
    READ_AROUND[1],
];

#[derive(Clone, Debug)]
struct DsRaid {
    defer: bool,
    side_by_side: u32,
    scrub_rows_per_s: u32,
    read_around: Option<ReadAround>,
    /// Whether writes are answered before their parity is durable: loses data on purpose.
    hasty: bool,
}

/// The scheme, answering too early: a power cut right after takes what was acknowledged.
pub(crate) fn build_hasty(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    Ok(Protection::Rows(Box::new(DsRaid { hasty: true, ..parse(options, shape)? })))
}

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    Ok(Protection::Rows(Box::new(parse(options, shape)?)))
}

fn parse(options: &Options<'_>, shape: Shape) -> Result<DsRaid, SchemeError> {
    shape.need_dies_of_a_set(options)?;
    let row_dies = match options.number_or_auto("row_dies", 2..=shape.dies)? {
        None => shape.stripe_dies(),
        Some(found) if shape.dies.is_multiple_of(found) => found,
        Some(found) => {
            let valid: Vec<_> = (2..=shape.dies).filter(|&n| shape.dies.is_multiple_of(n)).map(|n| n.to_string()).collect();
            let reason = format!("found {found}, the drive has {} dies; valid are `auto`, {}", shape.dies, valid.join(", "));
            return Err(options.error("row_dies", reason));
        }
    };
    let defer = options.word("sub_stripe", &["request", "defer"])? == 1;
    let scrub_rows_per_s = options.number("scrub_rows_per_s", 0..=1_000_000)?;
    let read_around = ReadAround::new(options, shape.dies)?;
    Ok(DsRaid { defer, side_by_side: shape.dies / row_dies, scrub_rows_per_s, read_around, hasty: false })
}

impl RowScheme for DsRaid {
    fn side_by_side(&self) -> u32 {
        self.side_by_side
    }

    fn next(&self, row: &OpenRow) -> RowStep {
        let free = row.width - row.used;
        match (free, row.uncovered, row.waiting) {
            (0, ..) => RowStep::NextRow,
            (1, 0, _) => RowStep::NextRow,
            // The last page of the row is for the full parity.
            (1, ..) => RowStep::Parity,
            (_, _, 1..) => RowStep::Data,
            (_, 0, 0) => RowStep::Wait,
            // The request ends within the row: sub-stripe parity.
            (_, _, 0) if !self.defer => RowStep::Parity,
            (_, _, 0) => RowStep::Wait,
        }
    }

    fn scrub_rows_per_s(&self) -> u32 {
        self.scrub_rows_per_s
    }

    fn answers_before_parity(&self) -> bool {
        self.hasty
    }

    fn rotation(&self, row: u32) -> u32 {
        row
    }

    fn read_around(&self) -> Option<ReadAround> {
        self.read_around
    }

    fn boxed_clone(&self) -> Box<dyn RowScheme> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes requests of `pages` into rows of `width`; letters as in Fig. 2: D, P, `.` = empty.
    fn rows(width: u32, pages: u32, requests: u32) -> String {
        let (mut row, mut text) = (OpenRow { width, used: 0, uncovered: 0, waiting: 0 }, String::new());
        for _ in 0..requests {
            row.waiting = pages;
            loop {
                match (DsRaid { defer: false, side_by_side: 1, scrub_rows_per_s: 0, read_around: None, hasty: false }).next(&row)
                {
                    RowStep::Data => {
                        (row.used, row.uncovered, row.waiting) = (row.used + 1, row.uncovered + 1, row.waiting - 1);
                        text.push('D');
                    }
                    RowStep::Parity => {
                        (row.used, row.uncovered) = (row.used + 1, 0);
                        text.push('P');
                    }
                    RowStep::NextRow => {
                        (row.used..row.width).for_each(|_| text.push('.'));
                        text.push(' ');
                        row.used = 0;
                    }
                    RowStep::Wait => break,
                }
            }
        }
        text.trim_end().into()
    }

    #[test]
    fn rows_fill_as_in_figure_2() {
        assert_eq!(rows(5, 4, 1), "DDDDP");
        assert_eq!(rows(5, 2, 2), "DDPDP DP");
        assert_eq!(rows(8, 6, 2), "DDDDDDP. DDDDDDP.");
        assert_eq!(rows(8, 3, 2), "DDDPDDDP");
    }
}
