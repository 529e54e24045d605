//! Parts of figures: the names inside an object of results, and the columns that they are in rows.

use serde_json::{Value, json};
use vocab::Cause;

/// Steps of the ladder of reads, and what is left when none helped.
const STEPS: [&str; 5] = ["hard", "retry", "soft_2_bit", "soft_3_bit", "parity"];

/// Streams of the host: most that a drive has.
const STREAMS: [&str; vocab::StreamId::COUNT_MAX] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// The names inside an object of results, behind the stem of its key; nothing where the key is a plain value.
#[must_use]
pub fn inside(key: &str) -> Option<(&str, Vec<&'static str>)> {
    let by = |what: &str, names: &[&'static str]| key.strip_suffix(what).map(|stem| (stem, names.to_vec()));
    by("_by_cause", &Cause::ALL.map(Cause::name))
        .or_else(|| by("_by_kind", &["read", "write", "flush", "discard"]))
        .or_else(|| by("_by_step", &STEPS[..4]))
        .or_else(|| by("_by_end", &STEPS))
        .or_else(|| by("_by_stream", &STREAMS))
        .or_else(|| by("_by_operation", &["read", "program", "erase", "codec", "recharge"]))
}

/// Column of a name inside an object of results: `flash_reads` and `host-rmw` are `flash_reads_host_rmw`.
#[must_use]
pub fn column(stem: &str, name: &str) -> String {
    format!("{stem}_{}", name.replace('-', "_"))
}

/// The value of a part that is not in the object: what did not happen is none of it, in whole numbers or not. A stream that the
/// drive does not tell from others has no figures.
#[must_use]
pub fn nothing(key: &str, stem: &str) -> Value {
    if key.ends_with("_by_stream") {
        Value::Null
    } else if stem.ends_with("_j") || stem.ends_with("_s") {
        json!(0.0)
    } else {
        json!(0)
    }
}
