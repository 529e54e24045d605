//! The style that a machine can check, over every text file of the repository.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const FILE_LINES: usize = 700;
const FUNCTION_LINES: usize = 70;
/// Files that others wrote and that are shipped unchanged.
const THIRD_PARTY: &[&str] =
    &["crates/report/assets/echarts/", "Cargo.lock", "tools/mutants/Cargo.lock", "tools/ldpc-speed/Cargo.lock"];
/// Sources, which are ASCII.
const SOURCES: &[&str] = &["rs", "toml", "py", "pyi", "js", "css", "html", "sh"];

/// A text file: its path from the root, and what it says.
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn is(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.name).extension().and_then(|e| e.to_str()).unwrap_or_default();
        extensions.contains(&extension)
    }

    /// `file:line: what` for each line that `what` finds something in.
    fn lines(&self, mut what: impl FnMut(&str) -> Option<String>) -> Vec<String> {
        let found = self.text.lines().enumerate();
        found.filter_map(|(n, line)| what(line).map(|said| format!("{}:{}: {said}", self.name, n + 1))).collect()
    }
}

/// Names in the root that `.gitignore` leaves out.
fn ignored() -> Vec<String> {
    let rules = fs::read_to_string(Path::new(ROOT).join(".gitignore")).expect(".gitignore is there");
    rules.lines().filter_map(|line| line.strip_prefix('/')).map(str::to_owned).collect()
}

fn walk(directory: &Path, skip: &[String], found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if name == ".git" || skip.iter().any(|s| s == name) {
            continue;
        }
        if path.is_dir() { walk(&path, &[], found) } else { found.push(path) }
    }
}

/// Every text file of ours, in order of name.
fn texts() -> Vec<Text> {
    let (mut paths, root) = (Vec::new(), Path::new(ROOT));
    walk(root, &ignored(), &mut paths);
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root).expect("below the root").display().to_string();
    let ours = paths.iter().map(|path| (name(path), path)).filter(|(name, _)| !THIRD_PARTY.iter().any(|t| name.starts_with(t)));
    let read = ours.map(|(name, path)| (name, fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))));
    let texts: Vec<Text> =
        read.filter_map(|(name, bytes)| String::from_utf8(bytes).ok().map(|text| Text { name, text })).collect();
    assert!(texts.iter().filter(|text| text.is(&["rs"])).count() > 50, "the walk missed the sources");
    texts
}

fn sources() -> Vec<Text> {
    texts().into_iter().filter(|text| text.is(&["rs"])).collect()
}

fn assert_none(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The source with comments and the insides of literals blanked, line for line.
fn code_of(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// End of the comment or literal that starts at `at`; `at` itself where none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_end(bytes, at),
        [b'"', ..] => quoted_end(bytes, at + 1, b'"'),
        [b'r', b'"' | b'#', ..] if !in_word || bytes[at - 1] == b'b' => raw_end(bytes, at),
        [b'\'', b'\\', ..] => quoted_end(bytes, at + 1, b'\''),
        // A character; otherwise a lifetime.
        [b'\'', c, b'\'', ..] if *c != b'\'' => at + 3,
        _ => at,
    }
}

fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn raw_end(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|&&b| b == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return at;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = at + 2 + hashes;
    let length = bytes[body..].windows(close.len()).position(|window| window == close);
    length.map_or(bytes.len(), |length| body + length + close.len())
}

fn block_comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Index behind the bracket that closes the one at `open`.
fn closed(code: &[u8], open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Name, first line and number of lines of every function with a body.
fn functions(source: &str) -> Vec<(String, usize, usize)> {
    let code = code_of(source);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word = at == 0 || !code.as_bytes()[at - 1].is_ascii_alphanumeric() && code.as_bytes()[at - 1] != b'_';
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        // The signature ends at the body or at a semicolon outside all brackets.
        let mut next = at;
        while next < code.len() && !matches!(code.as_bytes()[next], b'{' | b';') {
            next = if matches!(code.as_bytes()[next], b'(' | b'[') { closed(code.as_bytes(), next) } else { next + 1 };
        }
        if code.as_bytes().get(next) == Some(&b'{') {
            let first = line_of(&code, at);
            let last = line_of(&code, closed(code.as_bytes(), next) - 1);
            found.push((name, first, last - first + 1));
        }
    }
    found
}

/// Lines of `matches!` whose answer nobody looks at.
fn idle_matches(source: &str) -> Vec<usize> {
    let code = code_of(source);
    let call = "matches!(";
    let idle = code.match_indices(call).filter(|(at, _)| {
        let before = code[..*at].trim_end().bytes().next_back();
        let after = code[closed(code.as_bytes(), at + call.len() - 1)..].trim_start().bytes().next();
        matches!(before, Some(b';' | b'{' | b'}')) && after == Some(b';')
    });
    idle.map(|(at, _)| line_of(&code, at)).collect()
}

/// Whether `word` stands in `line` as a word of its own.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

/// The first of `folders` that `line` names as an absolute path.
fn machine_path<'a>(line: &str, folders: &[&'a str]) -> Option<&'a str> {
    let part = |c: char| c.is_alphanumeric() || "_-.*~}$".contains(c);
    let names = |folder: &str| {
        line.match_indices(folder).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + folder.len()..].chars().next();
            !before.is_some_and(|c| part(c) || c == '/') && !after.is_some_and(part)
        })
    };
    folders.iter().copied().find(|folder| names(folder))
}

/// Targets of the links on a line of Markdown: `[text](target)` and `[text]: target`.
fn links(line: &str) -> Vec<&str> {
    let inline = line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split(')').next());
    let reference = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let targets = inline.chain(reference).map(|target| target.split_whitespace().next().unwrap_or_default());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:") && !target.starts_with('#')).collect()
}

#[test]
fn sources_are_ascii() {
    let foreign = |line: &str| line.chars().find(|c| !c.is_ascii()).map(|c| format!("`{c}` is not ASCII"));
    assert_none(texts().iter().filter(|text| text.is(SOURCES)).flat_map(|text| text.lines(foreign)).collect());
}

#[test]
fn no_source_file_is_too_long_to_read_in_one_sitting() {
    let lines = sources().into_iter().map(|file| (file.text.lines().count(), file.name));
    let long = lines.filter(|(lines, _)| *lines > FILE_LINES);
    assert_none(long.map(|(lines, name)| format!("{name}: {lines} lines, at most {FILE_LINES}")).collect());
}

#[test]
fn every_function_fits_a_screen() {
    let mut found = Vec::new();
    for file in sources() {
        for (name, line, lines) in functions(&file.text) {
            if lines > FUNCTION_LINES {
                found.push(format!("{}:{line}: fn {name} has {lines} lines, at most {FUNCTION_LINES}", file.name));
            }
        }
    }
    assert_none(found);
}

#[test]
fn lines_have_no_tabs_and_no_trailing_blanks() {
    let mut found = Vec::new();
    for text in texts() {
        // The output of blkparse has tabs.
        let may_have_tabs = text.name == "Makefile" || text.name.ends_with(".blkparse");
        found.extend(text.lines(|line| {
            let tab = !may_have_tabs && line.contains('\t');
            let blank = line.ends_with(char::is_whitespace) || line.ends_with('\r');
            (tab || blank).then(|| if tab { "a tab".into() } else { "blanks at the end".into() })
        }));
    }
    assert_none(found);
}

#[test]
fn the_code_uses_the_words_of_the_glossary() {
    let banned = [("LPA", "Lpn"), ("PPA", "Ppn"), ("eraseblock", "block"), ("erase_block", "block")];
    let mut found = Vec::new();
    for file in sources().iter().filter(|file| file.name.contains("/src/")) {
        found.extend(file.lines(|line| {
            let word = banned.iter().find(|(word, _)| has_word(line, word));
            word.map(|(word, instead)| format!("`{word}`, the glossary says `{instead}`"))
        }));
    }
    assert_none(found);
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let calls = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("#[ig", "nore")];
    let mut found = Vec::new();
    for text in texts() {
        found.extend(text.lines(|line| {
            let word = words.iter().find(|word| has_word(line, word));
            let call = calls.iter().find(|call| line.contains(**call));
            word.or(call).map(|left| format!("`{left}`"))
        }));
    }
    assert_none(found);
}

#[test]
fn every_matches_is_looked_at() {
    let mut found = Vec::new();
    for file in sources() {
        found.extend(idle_matches(&file.text).iter().map(|line| format!("{}:{line}: `matches!` without `assert!`", file.name)));
    }
    assert_none(found);
}

#[test]
fn every_relative_link_leads_to_a_file_of_the_repository() {
    let root = Path::new(ROOT).canonicalize().expect("the root is there");
    let mut found = Vec::new();
    for text in texts().iter().filter(|text| text.is(&["md"])) {
        let directory = root.join(&text.name).parent().expect("a file has a directory").to_owned();
        let leads_nowhere = |target: &&str| {
            let file = directory.join(target.split('#').next().unwrap_or_default());
            !file.canonicalize().is_ok_and(|file| file.starts_with(&root))
        };
        found.extend(text.lines(|line| links(line).into_iter().find(leads_nowhere).map(|target| format!("link to {target}"))));
    }
    assert_none(found);
}

#[test]
fn no_text_depends_on_one_machine_or_on_a_registry() {
    // Put together here, so that this file does not find itself.
    let folders = [concat!("/wo", "rk"), concat!("/ro", "ot"), concat!("/t", "mp"), concat!("/fa", "rm"), concat!("/ho", "me")];
    let registries = [
        concat!("crates", ".io"),
        concat!("docs", ".rs"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("npmjs", "."),
        concat!("proxy.go", "lang.org"),
        concat!("rubygems", ".org"),
    ];
    let mut found = Vec::new();
    for text in texts() {
        found.extend(text.lines(|line| {
            let path = machine_path(line, &folders).map(|folder| format!("a path of one machine: {folder}"));
            let host = registries.iter().find(|host| line.contains(**host)).map(|host| format!("a registry: {host}"));
            path.or(host)
        }));
    }
    assert_none(found);
}

#[test]
fn every_scheme_has_a_page_and_every_page_a_scheme() {
    let names = |list: &str| (studies::list(list).expect("there is such a list").entries)().into_iter().map(|entry| entry.name);
    // The plain ones need no page.
    let plain = ["none", "canary", "fixed"];
    let papers = ["schemes", "canaries", "ecc"].into_iter().flat_map(names).filter(|name| !plain.contains(&name.as_str()));
    let mut schemes: Vec<String> = papers.collect();
    let mut pages = Vec::new();
    walk(&Path::new(ROOT).join("docs/schemes"), &[], &mut pages);
    let stem = |path: &PathBuf| path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    let mut pages: Vec<String> = pages.iter().map(stem).collect();
    schemes.sort();
    pages.sort();
    assert_eq!(pages, schemes, "docs/schemes against the registry");
}

#[test]
fn every_test_that_a_scheme_page_names_exists() {
    let all = texts();
    let names = |line: &str| -> Vec<String> {
        let quoted = line.split('`').skip(1).step_by(2);
        // Only tests have names this long.
        quoted.filter(|name| name.matches('_').count() >= 3).map(str::to_owned).collect()
    };
    let exists = |name: &String| all.iter().any(|text| text.is(&["rs"]) && text.text.contains(&format!("fn {name}(")));
    let mut found = Vec::new();
    for page in all.iter().filter(|text| text.name.starts_with("docs/schemes/")) {
        found.extend(page.lines(|line| names(line).into_iter().find(|name| !exists(name)).map(|name| format!("no test {name}"))));
    }
    assert_none(found);
}

#[test]
fn functions_are_measured_past_literals_comments_and_signatures() {
    let source = "fn a(x: [u8; 2]) -> char {\n    // }\n    let s = \"}{\\\"\"; /* } /* } */ */\n    '{'\n}\n\
                  trait T { fn b(&self); }\nfn c<'a>(x: &'a str) { r#\"}\"\"#; }\n";
    assert_eq!(functions(source), [("a".into(), 1, 5), ("c".into(), 7, 1)]);
}

#[test]
fn an_idle_matches_is_seen_and_a_used_one_is_not() {
    let source = "fn a() -> bool {\n    matches!(x, Some(_));\n    assert!(matches!(x, Some(_)));\n    let y = matches!(x, None);\n\
                  \x20   // matches!(x, None);\n    matches!(x, None)\n}\n";
    assert_eq!(idle_matches(source), [2]);
}

#[test]
fn paths_words_and_links_are_told_apart() {
    let folders = [concat!("/t", "mp")];
    let tmp = folders[0];
    assert!(machine_path(&format!("see `{tmp}/x`"), &folders).is_some());
    assert!(machine_path(&format!("cd {tmp}"), &folders).is_some());
    assert!(machine_path(&format!("target{tmp} {tmp}orary"), &folders).is_none());
    assert!(has_word("an LPA here", "LPA") && !has_word("ALPACA", "LPA"));
    assert_eq!(links("[a](b.md#c) [d](https://e) ![f](g/h.svg \"title\") [i](#j)"), ["b.md#c", "g/h.svg"]);
}

/// Words that a storage engineer would not write, with better ones. No page and no source has them.
const UNPLAIN: [(&str, &str); 14] = [
    ("anew", "again"),
    ("mended", "fixed"),
    ("reckoned", "computed"),
    ("somebody", "someone, or who it is"),
    ("nobody", "no one, or who does not"),
    ("anybody", "anyone"),
    ("meanwhile", "in the meantime"),
    ("for good", "permanently"),
    ("for want of", "for lack of"),
    ("held against", "checked against"),
    ("as it stands", "as it is"),
    ("power-safe", "PLP"),
    ("frontier", "write pointer"),
    ("in the mean", "on average"),
];

/// Begins of comments that have a clause in place of a noun, with the files that have such comments.
const CLAUSES: [(&[&str], &str); 4] = [
    (&["rs", "js"], "/// What "),
    (&["rs", "js"], "//! What "),
    (&["rs", "js"], "// What "),
    (&["py", "pyi", "toml", "sh"], "# What "),
];

#[test]
fn pages_comments_and_messages_are_in_plain_words() {
    // Names of the past: what former files say, and what papers call a write pointer.
    let apart = ["CHANGELOG.md", "GLOSSARY.md", "crates/experiment/src/renamed.rs", "crates/cli/tests/tidy.rs"];
    let mut found = Vec::new();
    for text in texts().iter().filter(|text| !apart.contains(&text.name.as_str())) {
        // A former name of an option is one of its aliases.
        found.extend(text.lines(|line| {
            if line.contains("alias = ") {
                return None;
            }
            let word = UNPLAIN.iter().find(|(word, _)| has_phrase(line, word));
            word.map(|(word, better)| format!("`{word}`: write `{better}`"))
        }));
    }
    assert_none(found);
}

#[test]
fn no_comment_begins_with_a_clause() {
    // A docstring begins behind its quotes.
    let docstring = concat!("\"\"\"", "What ");
    let mut found = Vec::new();
    for text in texts() {
        let begins: Vec<&str> = CLAUSES.iter().filter(|(files, _)| text.is(files)).map(|(_, begin)| *begin).collect();
        found.extend(text.lines(|line| {
            let line = line.trim_start();
            let is_clause =
                begins.iter().any(|begin| line.starts_with(begin)) || text.is(&["py", "pyi"]) && line.starts_with(docstring);
            is_clause.then(|| "a comment begins with `What`: name the thing instead".to_owned())
        }));
    }
    assert_none(found);
}

/// True if a line contains the phrase as whole words. Hyphens and underscores belong to words, so options and names do not match.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let line = line.to_lowercase();
    line.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + phrase.len()..]);
        // "In the mean time" is another phrase.
        let is_mean_time = phrase == "in the mean" && after.starts_with(" time");
        !(before.ends_with(is_part) || after.starts_with(is_part) || is_mean_time)
    })
}
