//! All drawn mutants in one text, each behind a switch: what is broken is chosen when the program starts,
//! so that everything is built once.

use crate::points::{Change, Point};
use std::cmp::Reverse;
use std::ops::Range;

/// Which bytes of a written text belong to a mutant, to find out whose error the compiler reports.
pub struct Segment {
    pub range: Range<usize>,
    /// Numbers of mutants: one for its own part, all of an expression for what is around them.
    pub mutants: Vec<usize>,
}

/// `text` with the mutants of this file, numbers first, and where they are.
pub fn write(text: &str, mutants: &[(usize, &Point)]) -> (String, Vec<Segment>) {
    let mut sorted = mutants.to_vec();
    // Outer mutants come first; a return stands before the first statement.
    sorted.sort_by_key(|(number, p)| {
        (p.range.start, !p.range.is_empty(), Reverse(p.range.end), p.change != Change::LeftOut, *number)
    });
    let mut writer = Writer { text, written: String::new(), segments: Vec::new() };
    writer.part(0..text.len(), &sorted);
    (writer.written, writer.segments)
}

struct Writer<'a> {
    text: &'a str,
    written: String,
    segments: Vec<Segment>,
}

impl Writer<'_> {
    /// Writes a part of the text with the mutants inside it.
    fn part(&mut self, part: Range<usize>, mutants: &[(usize, &Point)]) {
        let (mut at, mut next) = (part.start, 0);
        while next < mutants.len() {
            let (number, point) = mutants[next];
            self.written.push_str(&self.text[at..point.range.start]);
            at = point.range.end;
            if let Change::Return(value) = point.change {
                self.segment(&[number], |writer| {
                    writer.written.push_str(&format!(" if flashkeep_mutant::is({number}) {{ return {value}; }} "));
                });
                next += 1;
                continue;
            }
            let inside = mutants[next..].iter().take_while(|(_, p)| p.range.start < point.range.end).count();
            self.place(&mutants[next..next + inside]);
            next += inside;
        }
        self.written.push_str(&self.text[at..part.end]);
    }

    /// Writes the outermost of `mutants`, with those of the same extent beside it and the others inside.
    fn place(&mut self, mutants: &[(usize, &Point)]) {
        let (first, outer) = mutants[0];
        if outer.change == Change::LeftOut {
            return self.segment(&[first], |writer| {
                writer.written.push_str(&format!("if !flashkeep_mutant::is({first}) {{ "));
                writer.part(outer.range.clone(), &mutants[1..]);
                writer.written.push_str(" }");
            });
        }
        let same = mutants.iter().take_while(|(_, p)| p.range == outer.range).count();
        let numbers: Vec<usize> = mutants[..same].iter().map(|(number, _)| *number).collect();
        self.segment(&numbers, |writer| {
            writer.written.push('(');
            for (number, point) in &mutants[..same] {
                let Change::Instead(text) = &point.change else { unreachable!("a statement is not an expression") };
                writer.segment(&[*number], |writer| {
                    writer.written.push_str(&format!("if flashkeep_mutant::is({number}) {{ {text} }}"));
                });
                writer.written.push_str(" else ");
            }
            writer.written.push_str("{ ");
            writer.part(outer.range.clone(), &mutants[same..]);
            writer.written.push_str(" })");
        });
    }

    fn segment(&mut self, mutants: &[usize], write: impl FnOnce(&mut Self)) {
        let start = self.written.len();
        write(self);
        self.segments.push(Segment { range: start..self.written.len(), mutants: mutants.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::points::{Point, find};

    #[test]
    fn every_mutant_has_a_switch_and_nothing_is_lost() {
        let text = "fn f(a: u32) -> bool {\n    if a < 3 && g() {\n        h(a);\n    }\n    !g()\n}\n";
        let points = find(0, text);
        let numbered: Vec<(usize, &Point)> = points.iter().enumerate().map(|(n, p)| (n + 1, p)).collect();
        let (written, segments) = write(text, &numbered);
        syn::parse_file(&written).expect("Rust");
        for (number, _) in &numbered {
            assert_eq!(written.matches(&format!("is({number})")).count(), 1, "mutant {number} in {written}");
            assert!(segments.iter().any(|segment| segment.mutants == [*number]));
        }
        assert_eq!(write(text, &[]).0, text);
    }
}
