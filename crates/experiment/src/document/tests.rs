use super::*;

fn read(text: &str) -> Document {
    Document::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn layers_merge_key_by_key() {
    let mut base = read("a = 1\n[t]\nx = \"one\"\ny = \"two\"");
    base.merge(read("[t]\ny = \"three\"\nz = \"four\""));
    for (path, text) in [("t.x", "one"), ("t.y", "three"), ("t.z", "four")] {
        assert_eq!(base.text(path).unwrap(), Some(text));
    }
    assert_eq!(base.text("t.w").unwrap(), None);
    assert!(base.text("a").unwrap_err().message.contains("found a whole number, wanted a text"));
}

#[test]
fn a_choice_of_one_form_is_replaced_as_a_whole() {
    let mut base = read("[drive.timing.transfer]\nmt-per-s = 333");
    base.merge(read("drive.timing.transfer = { per-page = \"5us\" }"));
    assert_eq!(base.text("drive.timing.transfer.per-page").unwrap(), Some("5us"));
    assert!(base.root.find(&["drive", "timing", "transfer", "mt-per-s"]).is_none());
}

#[test]
fn a_place_counts_characters_and_survives_any_span() {
    let text = "a = \"\u{e4}\u{f6}\"\nb = [1,\n 2, \"x\"]\n";
    let document = read(text);
    let place = |parts: &[&str]| document.root.find(parts).unwrap().origin.place().position.unwrap();
    assert_eq!((place(&["a"]).line, place(&["a"]).column, place(&["a"]).width), (1, 5, 4));
    assert_eq!((place(&["b", "2"]).line, place(&["b", "2"]).column), (3, 5));
    let source = document.root.origin.source.clone();
    for start in 0..=text.len() + 3 {
        for end in 0..=text.len() + 3 {
            let position = Origin { source: source.clone(), span: start..end }.place().position.unwrap();
            assert!(position.line <= 4 && position.width >= 1 && position.column >= 1);
        }
    }
}

#[test]
fn syntax_errors_have_a_place() {
    let problem = Document::parse("test.toml", "a = 1\nb = = 2\n").unwrap_err();
    let position = problem.place.unwrap().position.unwrap();
    assert_eq!((position.line, position.text.as_str()), (2, "b = = 2"));
}

#[test]
fn a_deeply_nested_text_is_refused_not_overflowed() {
    let deep = format!("a = {}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(Document::parse("test.toml", &deep).is_err());
    let dotted = format!("{}a = 1", "a.".repeat(50_000));
    drop(Document::parse("test.toml", &dotted).map(|d| d.read::<BTreeMap<String, String>>()));
}
