//! Events of one run over time, as documented in `docs/spec/results.md`.

/// A column of a time series: a value for each bin, where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesColumn {
    /// Its name, which ends with its unit.
    pub name: String,
    /// A value for each bin; `None` where nothing was there to be measured.
    pub values: Vec<Option<f64>>,
}

/// Events of one run over time: bins of equal width, from when the run began. The last bin is as wide as all others and
/// the run ended in it, so that values times widths add up to those of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesResult {
    /// Width of a bin in seconds.
    pub bin_s: f64,
    /// When each bin begins, in seconds.
    pub time_s: Vec<f64>,
    /// All columns, in order.
    pub columns: Vec<SeriesColumn>,
    /// Dies of the drive: there is a column `die_utilisation_0` and so on for each.
    pub dies: u32,
}

impl SeriesResult {
    /// The values of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&[Option<f64>]> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values[..])
    }
}
