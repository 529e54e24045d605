//! Variables in the values of options: `${NAME}` of the environment, and the words that fio replaces itself.

use super::Around;
use std::collections::BTreeMap;

/// Longest value with its variables filled in.
const LENGTH_MAX: usize = 65_536;

/// Variables that were used, with their values.
pub(super) type Variables = BTreeMap<String, String>;

/// A value with its variables filled in.
///
/// # Errors
/// A variable that is not set, and words for what only the machine of a real run knows.
pub(super) fn expanded(value: &str, option: &str, around: &Around<'_>, used: &mut Variables) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, name)) = rest.split_once("${") {
        let (name, after) = name.split_once('}').ok_or("found `${` without `}`")?;
        let shown = crate::error::shown(name.as_bytes());
        let found = (around.variable)(name)
            .ok_or_else(|| format!("the variable `{shown}` is not set; set it, such as `{shown}=VALUE flashkeep ..`"))?;
        if text.len() + before.len() + found.len() > LENGTH_MAX {
            return Err(format!("the variable `{shown}` makes a value of more than {LENGTH_MAX} bytes"));
        }
        text = text + before + &found;
        used.insert(shown, crate::error::shown(found.as_bytes()));
        rest = after;
    }
    text += rest;
    // Names of files are text; anywhere else these stand for numbers.
    let is_text = [
        "description",
        "directory",
        "filename",
        "filename_format",
        "ioengine",
        "read_iolog",
        "replay_redirect",
        "verify_pattern",
    ]
    .contains(&option);
    if !is_text && text.contains('$') {
        return Err(format!(
            "found `{}`, wanted a value that does not depend on the machine (`$mb_memory`, `$ncpus`, `$pagesize`)",
            crate::error::shown(text.as_bytes())
        ));
    }
    Ok(text)
}
