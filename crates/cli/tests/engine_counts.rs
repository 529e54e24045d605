//! How far the engine is one object that everything hangs on: methods of `Engine` and where they are, methods that only pass a call on, and
//! how often others name a way of writing. ARCHITECTURE.md has a table of these counts; none may grow.
//!
//! `cargo test -p flashkeep --test engine_counts -- --nocapture` prints them.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/ssd/src");
const DOCUMENT: &str = include_str!("../../../ARCHITECTURE.md");

/// A file of the engine without its tests: its path below `crates/ssd/src`, and its lines.
struct Source {
    path: String,
    lines: Vec<String>,
}

/// A method of `Engine`, from its `fn` on.
struct Method {
    path: String,
    lines: Vec<String>,
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a folder that can be listed").path()) {
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || ["tests.rs", "testing.rs", "toy.rs"].iter().any(|name| path.ends_with(name))
}

/// All product files, in the order of their paths.
fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    rust_files(Path::new(ROOT), &mut files);
    files.sort();
    let source = |file: PathBuf| {
        let path = file.strip_prefix(ROOT).expect("a file below its root").display().to_string();
        let text = fs::read_to_string(&file).expect("source is text");
        let product = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        Source { path, lines: product.lines().map(str::to_owned).collect() }
    };
    files.into_iter().map(source).filter(|source| !is_test(&source.path)).collect()
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

fn is_inherent_impl(line: &str) -> bool {
    line.starts_with("impl") && line.contains(" Engine<") && !line.contains(" for ")
}

fn begins_function(line: &str) -> bool {
    let rest = line.strip_prefix("    ").unwrap_or_default();
    let rest = if rest.starts_with("pub") { rest.split_once(' ').map_or("", |(_, rest)| rest) } else { rest };
    let rest = rest.strip_prefix("in crate::engine) ").unwrap_or(rest);
    rest.strip_prefix("const ").unwrap_or(rest).starts_with("fn ")
}

/// The methods of `Engine` in a file, in inherent `impl` blocks.
fn methods(source: &Source) -> Vec<Method> {
    let (mut methods, mut inside): (Vec<Method>, bool) = (Vec::new(), false);
    for line in &source.lines {
        if is_inherent_impl(line) {
            inside = true;
        } else if line == "}" {
            inside = false;
        } else if inside && begins_function(line) {
            methods.push(Method { path: source.path.clone(), lines: vec![line.clone()] });
        } else if inside && is_code(line) && line.starts_with("    ") && !line.starts_with("    #") {
            methods.last_mut().into_iter().for_each(|method| method.lines.push(line.clone()));
        }
    }
    methods
}

/// Whether a method only forwards: it calls one other method, and may deliver effects after it.
fn only_forwards(method: &Method) -> bool {
    let text = method.lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let Some((_, body)) = text.split_once(" { ") else { return false };
    let body = body.trim_end_matches('}').replace("self.hand_on();", "");
    let statements: Vec<&str> = body.split(';').map(str::trim).filter(|statement| !statement.is_empty()).collect();
    let is_call = |text: &str| {
        let calls_self = text.starts_with("self.") || text.starts_with("reads!(") || text.contains("(&mut self.core");
        calls_self && text.ends_with(')') && !text.contains('{') && !text.contains("let ") && !text.contains('=')
    };
    match statements[..] {
        [one] => is_call(one),
        [first, last] => {
            let value = first.strip_prefix("let ").and_then(|rest| rest.split_once(" = "));
            value.is_some_and(|(name, call)| name == last && is_call(call))
        }
        _ => false,
    }
}

/// How often a text outside of `write` reaches for a single way of the writer: a field or what gives it, as `stripes_mut`.
fn uses_of_ways(source: &Source) -> usize {
    let ways = ["pages", "stripes", "rows", "groups", "zones"];
    let names_way = |rest: &&str| {
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        ways.contains(&name.trim_end_matches("_mut").trim_end_matches("_if_any"))
    };
    let uses = |line: &String| line.split("writer.").skip(1).filter(names_way).count();
    if source.path.starts_with("write/") { 0 } else { source.lines.iter().filter(|line| is_code(line)).map(uses).sum() }
}

/// The rows of the table of ARCHITECTURE.md: what is counted, and how many there are now.
fn counts(sources: &[Source]) -> Vec<(&'static str, usize)> {
    let methods: Vec<Method> = sources.iter().flat_map(methods).collect();
    let of_engine = |method: &&Method| method.path.starts_with("engine/");
    let mut files: Vec<&str> = methods.iter().map(|method| method.path.as_str()).collect();
    files.dedup();
    let asks_way = |line: &&String| line.contains(".way {") || line.contains("Way::") || line.contains("has_groups()");
    let questions = sources
        .iter()
        .filter(|source| !source.path.starts_with("write/"))
        .flat_map(|source| &source.lines)
        .filter(|line| is_code(line));
    vec![
        ("methods of `Engine`", methods.len()),
        ("files with methods of `Engine`", files.len()),
        ("files outside of `engine` with methods of `Engine`", files.iter().filter(|path| !path.starts_with("engine/")).count()),
        (
            "methods in `engine` that only pass a call on",
            methods.iter().filter(of_engine).filter(|method| only_forwards(method)).count(),
        ),
        ("lines outside of `write` that name a way of writing or ask for it", questions.filter(asks_way).count()),
        ("uses of fields of single ways outside of `write`", sources.iter().map(uses_of_ways).sum()),
        ("lines of product code of `ssd`", sources.iter().flat_map(|source| &source.lines).filter(|line| is_code(line)).count()),
    ]
}

/// The present count in the table of ARCHITECTURE.md.
fn stated(what: &str) -> Option<usize> {
    let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {what} |")))?;
    row.trim_end_matches('|').rsplit('|').next()?.trim().replace(',', "").parse().ok()
}

/// Lines of product code are counted for the table, and grow with what the product does.
const MAY_GROW: &str = "lines of product code of `ssd`";

#[test]
#[expect(clippy::print_stdout, reason = "the counts are for whoever reads them")]
fn the_engine_grows_no_further_into_one_object() {
    let counts = counts(&sources());
    counts.iter().for_each(|(what, count)| println!("{count:>6} {what}"));
    for (what, count) in counts {
        let stated = stated(what).unwrap_or_else(|| panic!("ARCHITECTURE.md has a row `{what}`"));
        assert!(what == MAY_GROW || count <= stated, "{what}: {count} now, {stated} in ARCHITECTURE.md");
    }
}

#[test]
fn a_forward_is_told_from_a_method_that_decides() {
    let method = |text: &str| Method { path: String::new(), lines: text.lines().map(str::to_owned).collect() };
    let forwards = [
        "fn f(&self) -> u32 {\n self.care.f(&self.core)\n}",
        "fn f(&mut self) {\n let x = self.host.f(1);\n self.hand_on();\n x\n}",
    ];
    let decides = [
        "fn f(&mut self) {\n if self.x {\n self.f();\n }\n}",
        "fn f(&mut self) {\n self.a();\n self.b();\n}",
        "fn f(&self) -> bool {\n self.a > 0\n}",
    ];
    assert!(forwards.iter().all(|text| only_forwards(&method(text))));
    assert!(!decides.iter().any(|text| only_forwards(&method(text))));
}
