//! The page `docs/rust.md` shows the examples of the crate's documentation, which are run as doctests.

const PAGE: &str = include_str!("../../../docs/rust.md");
const CRATE: &str = include_str!("../src/lib.rs");

/// Lines of the blocks between a fence and the next, those that are hidden in documents left out.
fn blocks(text: &str, fence: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut block: Option<Vec<String>> = None;
    for line in text.lines() {
        match &mut block {
            None if line == fence => block = Some(Vec::new()),
            None => {}
            Some(_) if line == "```" => found.extend(block.take()),
            Some(lines) if !line.starts_with("# ") => lines.push(line.to_owned()),
            Some(_) => {}
        }
    }
    found
}

#[test]
fn the_page_shows_what_is_tested() {
    let documentation: Vec<&str> =
        CRATE.lines().map(|line| line.strip_prefix("//! ").unwrap_or_else(|| line.strip_prefix("//!").unwrap_or(line))).collect();
    let tested = blocks(&documentation.join("\n"), "```");
    let shown = blocks(PAGE, "```rust");
    assert_eq!(shown.len(), 3, "a replay, a served drive, a campaign");
    assert_eq!(shown, tested);
    assert_eq!(blocks(PAGE, "```python").len(), shown.len(), "each has its twin");
}
