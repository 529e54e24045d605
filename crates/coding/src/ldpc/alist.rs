//! The parity-check matrix as text, in the alist format of MacKay.

use super::Code;
use std::fmt::Write;

impl Code {
    /// The parity-check matrix in alist format: lengths, largest weights, weights, then the rows of
    /// each column and the columns of each row, from 1 and filled up with 0. Column 8 b + i is bit i, from the lowest,
    /// of byte b of data and parity.
    #[must_use]
    pub fn alist(&self) -> String {
        let (z, base) = (self.layout.z, &self.base);
        let columns: Vec<Vec<usize>> = (0..self.bits())
            .map(|bit| {
                let check = |c: &super::base::Circulant| c.row * z + (bit % z + z - c.shift) % z;
                base.columns[bit / z].iter().map(check).collect()
            })
            .collect();
        let mut rows = vec![Vec::new(); base.rows * z];
        for (bit, checks) in columns.iter().enumerate() {
            checks.iter().for_each(|check| rows[*check].push(bit));
        }
        let mut text = format!("{} {}\n", columns.len(), rows.len());
        let most = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).max().unwrap_or(0);
        let _ = writeln!(text, "{} {}", most(&columns), most(&rows));
        for lists in [&columns, &rows] {
            line(&mut text, lists.iter().map(Vec::len));
        }
        for lists in [&columns, &rows] {
            let most = most(lists);
            for list in lists {
                line(&mut text, list.iter().map(|at| at + 1).chain(std::iter::repeat_n(0, most - list.len())));
            }
        }
        text
    }
}

fn line(text: &mut String, numbers: impl Iterator<Item = usize>) {
    for (at, number) in numbers.enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{number}", if at == 0 { "" } else { " " });
    }
    text.push('\n');
}
