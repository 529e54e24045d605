//! Cautions about results: one sentence for the terminal, HTML, JSON and Python alike.

/// How much a caution weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The results are wrong or incomplete.
    Error,
    /// The results mean something else than they seem to.
    Warning,
}

impl Level {
    /// As reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// One caution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// How much it weighs.
    pub level: Level,
    /// The scheme it is about; `None`: the whole comparison.
    pub scheme: Option<String>,
    /// Why the run of the scheme cannot be compared with others, in a few words; `None`: it can.
    pub not_comparable: Option<&'static str>,
    /// The subject in a word. It is the same under every seed; numbers in the text are not.
    pub kind: &'static str,
    /// The whole sentence.
    pub text: String,
}

/// How many cautions there are to read, for the head of a report; `None` where there is none.
pub fn how_many(cautions: &[Caution]) -> Option<String> {
    match cautions.len() {
        0 => None,
        1 => Some("One warning".into()),
        several => Some(format!("{several} warnings")),
    }
}
