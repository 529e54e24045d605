//! Tables of text for a terminal, and digits in groups.

/// A row: its label and one cell a column; no cells make a heading.
pub struct Row {
    /// The label, on the left.
    pub label: String,
    /// One for each column.
    pub cells: Vec<String>,
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(value: u64) -> String {
    grouped_by(value, ' ')
}

/// Digits in groups of three with this between them.
pub fn grouped_by(value: u64, between: char) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(between);
        }
        out.push(digit);
    }
    out
}

/// Rows of cells as CSV.
pub fn csv(rows: &[Vec<String>]) -> String {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Characters of a line of prose.
const LINE: usize = 110;

/// Units: a line does not break between a number and its unit.
const UNITS: [&str; 15] = ["%", "x", "us", "ms", "s", "h", "days", "years", "uJ", "mJ", "J", "MiB", "MB", "GB", "TB"];

/// Words of prose, each number with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| ".,;:)".contains(c)));
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit()) => last.push_str(&format!(" {word}")),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Prose in lines, the later ones indented.
pub fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in &words(text) {
        let line = lines.last_mut().expect("one at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE {
            line.push_str(&format!(" {word}"));
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines.join("\n") + "\n"
}

/// Rows as lines of text: labels to the left, cells to the right of their columns.
#[must_use]
pub fn aligned(rows: &[Row]) -> String {
    let first = rows.iter().map(|row| row.label.len()).max().unwrap_or(0);
    let mut widths = vec![0; rows.iter().map(|row| row.cells.len()).max().unwrap_or(0)];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.len());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = format!("{:<first$}", row.label);
        for (cell, width) in row.cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_between_words_and_not_before_units() {
        let text = format!("{} 60 %, busy", "x".repeat(LINE - 2));
        assert_eq!(wrapped(&text), format!("{}\n  60 %, busy\n", "x".repeat(LINE - 2)));
        assert_eq!(words("take 2.78 x the mean (311 us); in s"), ["take", "2.78 x", "the", "mean", "(311 us);", "in", "s"]);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
