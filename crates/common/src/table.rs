//! Tables of text for a terminal, and digits in groups.

/// A row: its label and one cell per column; no cells make a heading.
#[derive(Debug)]
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

/// Most characters of a line of prose.
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

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn listed(words: &[String]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => words.concat(),
    }
}

/// Prose in lines, the later ones indented.
pub fn wrapped(text: &str) -> String {
    wrapped_to(text, LINE)
}

/// Prose in lines of at most `width` characters, and never more than 110; the later ones are indented.
pub fn wrapped_to(text: &str, width: usize) -> String {
    let width = width.min(LINE);
    let mut lines = vec![String::new()];
    for word in &words(text) {
        let line = lines.last_mut().expect("one at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
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
    let widths = widths(rows);
    lines(rows, first, 0, &widths)
}

/// The same in lines of at most `width` characters: columns beyond it follow in further tables with the same labels. A table has one
/// column at least, whatever its width.
#[must_use]
pub fn aligned_within(rows: &[Row], width: usize) -> String {
    let first = rows.iter().filter(|row| !row.cells.is_empty()).map(|row| row.label.len()).max().unwrap_or(0);
    let widths = widths(rows);
    let (mut tables, mut from) = (Vec::new(), 0);
    while from < widths.len() {
        let mut taken = first;
        let fit = widths[from..].iter().take_while(|width_of_one| {
            taken += 2 + *width_of_one;
            taken <= width
        });
        let to = from + fit.count().max(1);
        tables.push(lines(rows, first, from, &widths[from..to]));
        from = to;
    }
    tables.join("\n")
}

/// The width of each column.
fn widths(rows: &[Row]) -> Vec<usize> {
    let mut widths = vec![0; rows.iter().map(|row| row.cells.len()).max().unwrap_or(0)];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.len());
        }
    }
    widths
}

/// Rows with their columns from `from` on, as many as there are widths; `first` is the width of labels.
fn lines(rows: &[Row], first: usize, from: usize, widths: &[usize]) -> String {
    let mut out = String::new();
    for row in rows {
        let mut line = format!("{:<first$}", row.label);
        for (cell, width) in row.cells.iter().skip(from).zip(widths) {
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
    fn columns_that_do_not_fit_follow_in_further_tables() {
        let row =
            |label: &str, cells: &[&str]| Row { label: label.into(), cells: cells.iter().map(ToString::to_string).collect() };
        let rows = [row("", &["a", "b", "c"]), row("a long heading", &[]), row("  x", &["1000", "2", "30"])];
        assert_eq!(aligned_within(&rows, 16), "        a  b   c\na long heading\n  x  1000  2  30\n");
        let parts = "        a  b\na long heading\n  x  1000  2\n\n      c\na long heading\n  x  30\n";
        assert_eq!(aligned_within(&rows, 15), parts);
        assert_eq!(aligned_within(&rows, 1).lines().count(), 3 * 3 + 2, "one column each");
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
