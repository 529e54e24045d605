//! Which known name was meant.

/// The known name nearest to `found`, if it is near enough to be a slip: a third of its letters may be wrong, one always.
#[must_use]
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found: String = found.to_lowercase().chars().take(64).collect();
    let limit = (found.chars().count() / 3).max(1);
    let distances = known.into_iter().map(|name| (strsim::osa_distance(&found, name), name));
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["greedy", "fifo", "random", "d-choices"];
        assert_eq!(nearest("gredy", known), Some("greedy"));
        assert_eq!(nearest("fiof", known), Some("fifo"));
        assert_eq!(nearest("d_choices", known), Some("d-choices"));
        assert_eq!(nearest("zzzzzz", known), None);
        assert_eq!(nearest("", known), None);
    }
}
