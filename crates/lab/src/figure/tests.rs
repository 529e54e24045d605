//! Every figure of results is one of the table, and so is the page on them.

use super::*;

#[test]
fn the_page_on_results_has_the_table_of_figures() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spec/results.md");
    let text = std::fs::read_to_string(path).expect("the page exists");
    let table = page();
    let (before, rest) = text.split_once("## Scheme\n\n").expect("it has the section");
    let (kept, after) = rest.split_once("\n\n").expect("more follows");
    if std::env::var("FLASHKEEP_BLESS").is_ok() {
        std::fs::write(path, format!("{before}## Scheme\n\n{table}\n{after}")).expect("it can be written");
        return;
    }
    assert!(format!("{kept}\n") == table, "docs/spec/results.md is not of the figures: FLASHKEEP_BLESS=1 writes its table again");
}

#[test]
fn keys_are_there_once_and_have_a_unit_and_a_meaning() {
    let mut keys: Vec<&str> = all().map(|figure| figure.key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
    let mute: Vec<&str> =
        all().filter(|one| one.is_key(false) && (one.unit.is_empty() || one.meaning.is_empty())).map(|one| one.key).collect();
    assert!(mute.is_empty(), "{mute:?}");
}
