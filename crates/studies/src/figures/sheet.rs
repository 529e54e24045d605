//! Rows of numbers with named columns: what runs or a study gave, or a CSV file kept of it.

/// Rows of cells below the names of their columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// The sheet of CSV text as [`common::table::csv`] writes it.
    pub fn parse(text: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut lines = reader.records().filter_map(Result::ok).map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>());
        let heads = lines.next().unwrap_or_default();
        Self { rows: lines.filter(|row| row.len() == heads.len()).collect(), heads }
    }

    /// The names of the columns, then the rows.
    pub fn all_rows(&self) -> Vec<Vec<String>> {
        std::iter::once(self.heads.clone()).chain(self.rows.iter().cloned()).collect()
    }

    pub fn to_csv(&self) -> String {
        common::table::csv(&self.all_rows())
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.heads.iter().position(|head| head == name)
    }

    /// Each value of a column once, in order of first occurrence.
    pub fn distinct(&self, column: usize) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !found.contains(&row[column].as_str()) {
                found.push(&row[column]);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_read_again_is_what_was_written() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = vec![row(["a", "b", "c"]), row(["1", "7+1, t 1", "say \"so\""]), row(["", "\"", "\"\",\""])];
        let sheet = Sheet::parse(&common::table::csv(&rows));
        assert_eq!(sheet.all_rows(), rows);
        assert_eq!(Sheet::parse(&sheet.to_csv()), sheet);
        assert_eq!((sheet.column("b"), sheet.column("d")), (Some(1), None));
    }
}
