//! Work done in one go, as text that tells whether it is whole.

use super::Work;
use crate::columns::Row;
use crate::problem::{Problem, printable};
use crate::version::VERSION;
use serde::{Deserialize, Serialize};
use vocab::fnv;

/// Column that says why a run cannot be run.
pub const PROBLEM: &str = "problem";

/// Version of the text.
const FORMAT: u32 = 1;

/// Result of one run of a sweep, or of one piece of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Hash of all that it depends on.
    pub key: u64,
    /// A row for each scheme.
    pub rows: Vec<Row>,
}

/// The first line; the rows follow, a line each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    flashkeep_part: u32,
    version: String,
    key: String,
    /// FNV-1a of what follows the first line.
    check: String,
}

impl Part {
    /// Why its run cannot be run; `None`: it was.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.rows.first()?.get(PROBLEM)?.as_str()
    }

    /// The part as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let json = |row: &Row| serde_json::to_string(row).expect("a row is plain data") + "\n";
        let rows: String = self.rows.iter().map(json).collect();
        let head = Head {
            flashkeep_part: FORMAT,
            version: VERSION.to_owned(),
            key: format!("{:016x}", self.key),
            check: format!("{:016x}", fnv(rows.as_bytes())),
        };
        format!("{}\n{rows}", serde_json::to_string(&head).expect("plain data"))
    }

    /// Reads what [`Self::to_text`] wrote; `name` is what complaints call it.
    ///
    /// # Errors
    /// A text that is no part, is damaged, or is of another version of Flashkeep.
    pub fn from_text(name: &str, text: &str, work: &Work) -> Result<Self, Problem> {
        let fail = |message: String| Problem::new("", format!("{name} {message}"));
        let (head, rows) = text.split_once('\n').unwrap_or((text, ""));
        let Ok(head) = serde_json::from_str::<Head>(head) else {
            return Err(fail(format!("is no part of {}: it starts with `{}`", work.name, printable(head))));
        };
        if head.flashkeep_part != FORMAT || head.version != VERSION {
            let found = printable(&head.version);
            return Err(fail(format!("was made by Flashkeep {found}, this is {VERSION}: {}", work.elsewhere)));
        }
        if format!("{:016x}", fnv(rows.as_bytes())) != head.check {
            let again = format!("remove it, and its {} is run again", work.unit);
            return Err(fail(format!("is damaged: its check sum is wrong; {again}")));
        }
        let read = || {
            Some((
                u64::from_str_radix(&head.key, 16).ok()?,
                rows.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?,
            ))
        };
        let (key, rows) = read().ok_or_else(|| fail(format!("is no part of {}: it holds no rows", work.name)))?;
        Ok(Self { key, rows })
    }
}
