//! Problem of an input: its place, the value found, and the valid values.

use std::fmt;

/// The place of a problem: a position in a file, or a command line argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name, or the argument as typed.
    pub source: String,
    /// Line, column (both from 1) and the line itself; `None` for an argument.
    pub position: Option<Position>,
    /// The setting that an argument stands for; empty of a file.
    pub setting: String,
}

impl Place {
    /// True if the argument already names this setting, so that a message need not repeat it.
    fn names(&self, field: &str) -> bool {
        let behind = field.strip_prefix(&self.setting).filter(|_| !self.setting.is_empty());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        behind.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
    }
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters to mark, at least 1.
    pub width: usize,
    /// The line's text.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Some(Position { line, column, .. }) => write!(f, "{}:{line}:{column}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// Bad input: it names the place, the field, what was found and what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, if the input has a place.
    pub place: Option<Box<Place>>,
    /// Dotted path of the setting, empty where there is none.
    pub field: String,
    /// The value found, and the reason why it is invalid.
    pub message: String,
    /// Known names.
    pub known: Vec<String>,
    /// The known name that was probably meant.
    pub meant: Option<String>,
    /// The line of a trace that the message is about.
    pub record: Option<Box<RecordPlace>>,
    /// The compared scheme that the problem is of alone.
    pub refused: Option<Box<Refused>>,
}

/// A compared scheme that cannot be run, while others may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name in results.
    pub scheme: String,
}

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Column of the trace.
    pub field: Option<String>,
}

/// Where a problem lies, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// File name, or the argument as typed.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Column in characters, from 1.
    pub column: Option<u64>,
    /// Dotted path of the setting, or the column of a trace.
    pub field: Option<String>,
}

impl Problem {
    /// A problem without a place.
    #[must_use]
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        let (field, message) = (field.into(), message.into());
        Self { place: None, field, message, known: Vec::new(), meant: None, record: None, refused: None }
    }

    /// `found` is no known `noun`; lists what is known and guesses what was meant.
    #[must_use]
    pub fn unknown<S: AsRef<str>>(field: impl Into<String>, noun: &str, found: &str, known: &[S]) -> Self {
        let known: Vec<String> = known.iter().map(|k| k.as_ref().to_owned()).collect();
        Self {
            meant: vocab::nearest(found, known.iter().map(String::as_str)).map(str::to_owned),
            message: format!("unknown {noun} `{}`", printable(found)),
            known,
            ..Self::new(field, "")
        }
    }

    /// Where it lies: the line of a trace, else the place.
    #[must_use]
    pub fn spot(&self) -> Spot {
        if let Some(record) = &self.record {
            let RecordPlace { file, line, field } = record.as_ref().clone();
            return Spot { file: Some(file), line, column: None, field };
        }
        let position = self.place.as_ref().and_then(|place| place.position.as_ref());
        Spot {
            file: self.place.as_ref().map(|place| place.source.clone()),
            line: position.map(|position| position.line as u64),
            column: position.map(|position| position.column as u64),
            field: (!self.field.is_empty()).then(|| self.field.clone()),
        }
    }

    /// The same problem of one compared scheme, by its name in results.
    #[must_use]
    pub fn of_scheme(mut self, scheme: &str) -> Self {
        self.refused = Some(Box::new(Refused { scheme: scheme.to_owned() }));
        self
    }

    /// The compared scheme that the problem is of alone, by its name in results.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.refused.as_ref().map(|refused| refused.scheme.as_str())
    }

    /// With what else is to be said.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.message = format!("{}; {more}", self.message);
        self
    }

    /// The same problem at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(Box::new(place));
        self
    }
}

/// A text without the numbers that operating systems give their errors: `(os error 2)` says nothing beyond the words before it.
#[must_use]
pub fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.place.as_ref().and_then(|place| place.position.as_ref());
        if let Some(place) = &self.place {
            match position {
                Some(p) => write!(f, "{}:{}:{}: ", place.source, p.line, p.column)?,
                None => write!(f, "{}: ", place.source)?,
            }
        }
        let message = without_numbers(&self.message);
        match self.field.as_str() {
            "" => write!(f, "{message}")?,
            field if self.place.as_ref().is_some_and(|place| place.names(field)) => write!(f, "{message}")?,
            field => write!(f, "{field}: {message}")?,
        }
        if let Some(p) = position {
            let number = p.line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n  {number} | {}", p.text)?;
            write!(f, "\n  {margin} | {}{}", " ".repeat(p.column - 1), "^".repeat(p.width))?;
        }
        if let Some(meant) = &self.meant {
            write!(f, "\n  did you mean `{meant}`?")?;
        }
        if !self.known.is_empty() {
            write!(f, "\n  known: {}", self.known.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// The first characters of a text, control characters escaped: it may be hostile.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        shown.push_str("..");
    }
    shown
}

/// A text as a shell takes it: in quotes where it has more than letters, digits and what shells leave alone.
#[must_use]
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,=+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_points_at_its_place() {
        let place = Place {
            source: "x.toml".into(),
            position: Some(Position { line: 12, column: 3, width: 5, text: "  polcy = 1".into() }),
            setting: String::new(),
        };
        let text = Problem::unknown("gc.polcy", "key", "polcy", &["policy"]).at(place).to_string();
        assert_eq!(
            text,
            "x.toml:12:3: gc.polcy: unknown key `polcy`\n  12 |   polcy = 1\n     |   ^^^^^\n  did you mean `policy`?\n  known: policy"
        );
    }

    #[test]
    fn an_argument_names_its_setting() {
        let place = |setting: &str| Place { source: "--schemes raid6".into(), position: None, setting: setting.into() };
        let text = |field: &str| Problem::new(field, "found").at(place("schemes")).to_string();
        assert_eq!(text("schemes"), "--schemes raid6: found");
        assert_eq!(text("schemes.0"), "--schemes raid6: found");
        assert_eq!(text("schemes.x"), "--schemes raid6: schemes.x: found");
        assert_eq!(text("capacity.size"), "--schemes raid6: capacity.size: found");
        assert_eq!(Problem::new("a", "found").at(place("")).to_string(), "--schemes raid6: a: found");
    }

    #[test]
    fn hostile_text_is_cut_and_escaped() {
        assert_eq!(printable("a\u{1b}[31m"), "a\\u{1b}[31m");
        assert_eq!(printable(&"x".repeat(100)).len(), 62);
    }
}
