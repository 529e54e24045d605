//! Constants of a C header: `#define`, `#if` and the arithmetic between them.

use crate::document::Foreign;
use common::{Problem, printable};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Deepest nesting of parentheses and of names that stand for others.
const DEPTH: usize = 64;

/// Deepest nesting of conditions.
const CONDITIONS: usize = 32;

/// Names and numbers that one constant may stand for in all: names that stand for others twice double with each level.
const WORDS: usize = 100_000;

/// A constant: the text it stands for, and where that is.
#[derive(Clone, Debug)]
pub(super) struct Macro<'a> {
    pub text: &'a str,
    pub span: Range<usize>,
}

/// The constants of a header.
pub(super) struct Macros<'a> {
    file: &'a Foreign,
    found: BTreeMap<&'a str, Macro<'a>>,
}

/// A number, and whether it is a whole one, which C divides otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub is_whole: bool,
}

/// One `#if` that is open.
#[derive(Clone, Copy)]
struct Condition {
    /// Its lines count.
    is_on: bool,
    /// One of its branches counted already, or none may.
    is_settled: bool,
}

impl<'a> Macros<'a> {
    /// Reads a header; `given` are constants that are set from outside.
    pub fn read(file: &'a Foreign, text: &'a str, given: &[(&'a str, &'a str)]) -> Result<Self, Problem> {
        let found = given.iter().map(|(name, text)| (*name, Macro { text, span: 0..0 })).collect();
        let mut macros = Self { file, found };
        let mut open: Vec<Condition> = Vec::new();
        for (at, line) in lines(text) {
            let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
            let rest = rest.trim_start();
            let (word, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
            let start = at + line.len() - rest.len();
            let condition = || macros.condition(word, rest, start..start + rest.len());
            let outer = open.last().is_none_or(|outer| outer.is_on);
            match word {
                "if" | "ifdef" | "ifndef" if open.len() == CONDITIONS => {
                    let message = format!("found more than {CONDITIONS} conditions inside each other");
                    return Err(macros.wrong(&(at..at + line.len()), &message));
                }
                "if" | "ifdef" | "ifndef" => {
                    let is_on = outer && condition()?;
                    open.push(Condition { is_on, is_settled: is_on || !outer });
                }
                "elif" | "else" | "endif" if open.is_empty() => {
                    return Err(macros.wrong(&(at..at + line.len()), "found no `#if` before it"));
                }
                "elif" => {
                    let settled = open.last().expect("one is open").is_settled;
                    let is_on = !settled && condition()?;
                    *open.last_mut().expect("one is open") = Condition { is_on, is_settled: settled || is_on };
                }
                "else" => {
                    let settled = open.last().expect("one is open").is_settled;
                    *open.last_mut().expect("one is open") = Condition { is_on: !settled, is_settled: true };
                }
                "endif" => drop(open.pop()),
                "define" if outer => macros.define(rest, start),
                "undef" if outer => drop(macros.found.remove(rest.trim())),
                _ => {}
            }
        }
        Ok(macros)
    }

    fn define(&mut self, rest: &'a str, start: usize) {
        let trimmed = rest.trim_start();
        let end = trimmed.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(trimmed.len());
        let (name, value) = trimmed.split_at(end);
        // A macro with parameters is no constant.
        if name.is_empty() || value.starts_with('(') {
            return;
        }
        let text = value.trim();
        let at = start + rest.len() - value.trim_start().len();
        self.found.insert(name, Macro { text, span: at..at + text.len() });
    }

    fn condition(&self, word: &str, rest: &str, span: Range<usize>) -> Result<bool, Problem> {
        let text = rest.trim();
        match word {
            "ifdef" => Ok(self.found.contains_key(text)),
            "ifndef" => Ok(!self.found.contains_key(text)),
            _ => {
                let value = Expression { macros: self, text, depth: 0, words: &Cell::new(0), is_condition: true }.value();
                value.map(|number| number.value != 0.0).map_err(|message| self.wrong(&span, &message))
            }
        }
    }

    fn wrong(&self, span: &Range<usize>, message: &str) -> Problem {
        Problem::new("", message).at(self.file.place(span))
    }

    /// All constants, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &Macro<'a>)> {
        self.found.iter().map(|(name, found)| (*name, found))
    }

    /// The number that a constant stands for; `None` where there is no such constant.
    pub fn number(&self, name: &str) -> Option<Result<Number, Problem>> {
        let found = self.found.get(name)?;
        let words = &Cell::new(0);
        let value = Expression { macros: self, text: found.text, depth: 0, words, is_condition: false }.value();
        Some(value.map_err(|message| Problem::new(name, message).at(self.file.place(&found.span))))
    }
}

/// A text as a compiler reads it, with every byte in its place: blanks stand for comments, and for the ends of lines that go on behind a backslash.
pub(super) fn cleaned(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => 0,
        };
        rest[..length].fill(b' ');
        at += length.max(1);
    }
    at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest {
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', inner @ ..] => inner.windows(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4),
            _ => 0,
        };
        rest[..length].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at += length.max(1);
    }
    String::from_utf8(bytes).expect("whole characters became blanks")
}

/// The lines of a cleaned text, each with its place. Within a comment of several lines no line has anything.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |whole| {
        let at = start;
        start += whole.len();
        (at, whole.trim_end_matches(['\n', '\r']))
    })
}

/// An expression that is being read from the left.
struct Expression<'a> {
    macros: &'a Macros<'a>,
    text: &'a str,
    depth: usize,
    /// Names and numbers so far, of all that it stands for.
    words: &'a Cell<usize>,
    /// In a condition a name that is not known is 0.
    is_condition: bool,
}

impl Expression<'_> {
    /// All of it.
    fn value(mut self) -> Result<Number, String> {
        let whole = printable(self.text);
        let value = self.level(0)?;
        match self.text.trim() {
            "" => Ok(value),
            rest => Err(format!("found `{}` in `{whole}`, wanted a number, a name, or an operator of C", printable(rest))),
        }
    }

    /// A chain of operators of one level and of those that bind closer.
    fn level(&mut self, level: usize) -> Result<Number, String> {
        const LEVELS: &[&[&str]] =
            &[&["||"], &["&&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];
        if level == LEVELS.len() {
            return self.single();
        }
        let mut left = self.level(level + 1)?;
        loop {
            self.text = self.text.trim_start();
            // `<<` is no `<` of a level that binds less.
            let is_shift = self.text.starts_with("<<") || self.text.starts_with(">>");
            let fits = |operator: &&&str| self.text.starts_with(**operator) && !(is_shift && matches!(**operator, "<" | ">"));
            let Some(operator) = LEVELS[level].iter().find(fits) else { return Ok(left) };
            self.text = &self.text[operator.len()..];
            let right = self.level(level + 1)?;
            left = combined(operator, left, right)?;
        }
    }

    fn single(&mut self) -> Result<Number, String> {
        self.text = self.text.trim_start();
        if self.depth == DEPTH {
            return Err(format!("found more than {DEPTH} levels of names and parentheses"));
        }
        if let Some(rest) = self.text.strip_prefix(['-', '!']) {
            let sign = &self.text[..1];
            self.text = rest;
            self.depth += 1;
            let number = self.single()?;
            self.depth -= 1;
            let value = if sign == "-" { -number.value } else { f64::from(number.value == 0.0) };
            return Ok(Number { value, ..number });
        }
        if let Some(rest) = self.text.strip_prefix('(') {
            self.text = rest;
            return self.inside();
        }
        let end = self.text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        self.words.set(self.words.get() + 1);
        if self.words.get() > WORDS {
            return Err(format!("found more than {WORDS} names and numbers in it and in what its names stand for"));
        }
        if word == "defined" && self.is_condition {
            return self.defined();
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return literal(word).ok_or_else(|| format!("found `{}`, wanted a number", printable(word)));
        }
        // The units of NVMeVirt, which another of its headers defines.
        if let Some(power) = ["KB", "MB", "GB"].iter().position(|unit| *unit == word)
            && let Some(rest) = self.text.trim_start().strip_prefix('(')
        {
            self.text = rest;
            return combined("*", self.inside()?, whole(1024f64.powi(power as i32 + 1)));
        }
        match self.macros.found.get(word) {
            Some(found) => {
                let inner = Expression { macros: self.macros, text: found.text, depth: self.depth + 1, ..*self };
                inner.value()
            }
            None if self.is_condition && !word.is_empty() => Ok(whole(0.0)),
            None if word.is_empty() => Err("found nothing, wanted a number".to_owned()),
            None => Err(format!("found `{}`, which is no constant of the file", printable(word))),
        }
    }

    /// `defined(NAME)` or `defined NAME`, behind its first word.
    fn defined(&mut self) -> Result<Number, String> {
        let rest = self.text.trim_start();
        let (rest, is_inside) = rest.strip_prefix('(').map_or((rest, false), |rest| (rest.trim_start(), true));
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let rest = if is_inside { rest.trim_start().strip_prefix(')') } else { Some(rest) };
        self.text = rest.filter(|_| !name.is_empty()).ok_or("found `defined`, wanted a name behind it")?;
        Ok(whole(f64::from(self.macros.found.contains_key(name))))
    }

    /// The rest of a pair of parentheses.
    fn inside(&mut self) -> Result<Number, String> {
        self.depth += 1;
        let value = self.level(0)?;
        self.depth -= 1;
        self.text = self.text.trim_start().strip_prefix(')').ok_or("found no `)` behind its `(`")?;
        Ok(value)
    }
}

fn whole(value: f64) -> Number {
    Number { value, is_whole: true }
}

/// A number of C without its suffix.
fn literal(word: &str) -> Option<Number> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u64::from_str_radix(digits.trim_end_matches(['u', 'U', 'l', 'L']), 16).ok().map(|value| whole(value as f64));
    }
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L', 'f', 'F']);
    if let Some(octal) = digits.strip_prefix('0').filter(|rest| !rest.is_empty() && !rest.contains('.')) {
        return u64::from_str_radix(octal, 8).ok().map(|value| whole(value as f64));
    }
    match digits.parse::<u64>() {
        Ok(value) => Some(whole(value as f64)),
        Err(_) => digits.parse().ok().filter(|value: &f64| value.is_finite()).map(|value| Number { value, is_whole: false }),
    }
}

fn combined(operator: &str, left: Number, right: Number) -> Result<Number, String> {
    let is_whole = left.is_whole && right.is_whole;
    let (a, b) = (left.value, right.value);
    let value = match operator {
        "||" => f64::from(a != 0.0 || b != 0.0),
        "&&" => f64::from(a != 0.0 && b != 0.0),
        "==" => f64::from(a == b),
        "!=" => f64::from(a != b),
        "<=" => f64::from(a <= b),
        ">=" => f64::from(a >= b),
        "<" => f64::from(a < b),
        ">" => f64::from(a > b),
        "<<" => a * b.clamp(0.0, 64.0).exp2(),
        ">>" => (a / b.clamp(0.0, 64.0).exp2()).floor(),
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        _ if b == 0.0 => return Err("found a division by 0".to_owned()),
        "/" if is_whole => (a / b).trunc(),
        "/" => a / b,
        _ => a % b,
    };
    Ok(Number { value, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, given: &[(&str, &str)], name: &str) -> Option<Result<Number, String>> {
        let file = Foreign::new("header.h", text);
        let text = &cleaned(text);
        let macros = Macros::read(&file, text, given).unwrap_or_else(|problem| panic!("{problem}"));
        macros.number(name).map(|number| number.map_err(|problem| problem.to_string()))
    }

    /// The numbers are those that a C compiler has for the same lines.
    #[test]
    fn constants_are_what_a_compiler_makes_of_them() {
        for (text, value) in [
            ("(35760 - 6000) //ns", 29_760.0),
            ("KB(32)", 32_768.0),
            ("(A * 3) /* see A */", 6.0),
            ("7 / 2 * 2", 6.0),
            ("7.0 / 2 * 2", 7.0),
            ("1 << 9", 512.0),
            ("(1 << A + 1)", 8.0),
            ("-3 + 10 % 4", -1.0),
            ("GB(2ULL) / (8 * 4)", 67_108_864.0),
            ("0x10", 16.0),
            ("(1 == 1) + !0", 2.0),
            ("4 /* four */ * A", 8.0),
            ("(4 * \\\n A)", 8.0),
            ("(A > 1) + (A >= 2) + (A < 2) + (1 << 1 < 3)", 3.0),
            ("010 + 0", 8.0),
            ("1 // one \\\n + 1", 1.0),
        ] {
            let header = format!("#define A 2\n#define X {text}\n");
            assert_eq!(number(&header, &[], "X").map(|one| one.map(|number| number.value)), Some(Ok(value)), "{text}");
        }
    }

    #[test]
    fn branches_are_those_of_the_constant_that_is_given() {
        let text = "#define ONE 1\n#define TWO 2\n#if (BASE == ONE)\n#define X 10\n#if 0\n#define X 11\n#else\n#define Y 5\n#endif\n\
                    #elif (BASE == TWO)\n#define X 20\n#else\n#define X 30\n#endif\n";
        let of = |base| number(text, &[("BASE", base)], "X").expect("defined").expect("a number").value;
        assert_eq!((of("ONE"), of("TWO"), of("9")), (10.0, 20.0, 30.0));
        assert!(number(text, &[("BASE", "ONE")], "Y").is_some() && number(text, &[("BASE", "TWO")], "Y").is_none());
    }

    #[test]
    fn names_may_be_asked_for_and_taken_back() {
        let text = "#define A 1\n#if defined(A) && !defined B\n#define X 1\n#endif\n#undef A\n#ifdef A\n#define X 2\n#endif\n/* of two\n lines */#define Y 3\n";
        let of = |name| number(text, &[], name).expect("defined").expect("a number").value;
        assert_eq!((of("X"), of("Y")), (1.0, 3.0));
    }

    /// Each name stands for the next one twice: all of it would take 2^40 steps.
    #[test]
    fn names_that_double_are_refused() {
        let doubled: String = (0..40).map(|n| format!("#define A{n} A{0} * A{0}\n", n + 1)).collect();
        let header = doubled + "#define A40 1\n";
        let problem = number(&header, &[], "A0").expect("defined").expect_err("too much");
        assert!(problem.contains("more than 100000 names"), "{problem}");
        let deep = "#if 1\n".repeat(40);
        let file = Foreign::new("header.h", &deep);
        let problem = Macros::read(&file, &deep, &[]).map(|_| ()).expect_err("too deep").to_string();
        assert!(problem.contains("more than 32 conditions"), "{problem}");
    }

    #[test]
    fn what_is_no_number_is_refused_with_its_place() {
        for (text, said) in [
            ("NOTHING", "no constant of the file"),
            ("(1", "no `)`"),
            ("1 / 0", "division by 0"),
            ("X", "more than 64 levels"),
            ("1 2", "found `2`"),
            ("", "found nothing"),
        ] {
            let problem = number(&format!("\n#define X {text}\n"), &[], "X").expect("defined").expect_err(text);
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }
}
