//! Files of MQSim: a device (`ssdconfig.xml`) as a drive, flows (`workload.xml`) as a workload.
//!
//! Fields with a counterpart are taken over, fields without one are listed in a note, and fields that contradict it are refused.
//! `docs/mqsim.md` lists every field and its treatment.

mod device;
mod workload;

use crate::document::Foreign;
use crate::parameters::{Field, Fields};
use common::Problem;
use roxmltree::{Document, Node, ParsingOptions};
use std::borrow::Cow;

pub(crate) use device::drive;
pub(crate) use workload::{ABOUT, NAME, looks_like, read};

/// Whether a file begins like a device.
pub(crate) fn is_device(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.trim_start_matches('\u{feff}').trim_start().starts_with('<') && head.contains("<Execution_Parameter_Set")
}

/// Most elements of a file.
const NODES_MAX: u32 = 65_536;

/// The elements of a file.
fn parse<'a>(file: &Foreign, text: &'a str) -> Result<Document<'a>, Problem> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let row = error.pos().row.max(1) as usize;
        let start = text.split_inclusive('\n').take(row - 1).map(str::len).sum();
        Problem::new("", format!("found no XML: {error}")).at(file.place(&(start..start)))
    })
}

/// The text with blanks in place of a declaration that is not at its start: MQSim reads such files, which are no XML.
fn without_late_declaration(text: &str) -> Cow<'_, str> {
    let blank = text.len() - text.trim_start().len();
    match text[blank..].find("?>") {
        Some(end) if blank > 0 && text[blank..].starts_with("<?xml") => {
            let end = blank + end + 2;
            Cow::Owned(format!("{}{}{}", &text[..blank], " ".repeat(end - blank), &text[end..]))
        }
        _ => Cow::Borrowed(text),
    }
}

/// The parameters below an element; `known` are all that MQSim knows there, `inner` the sets.
fn fields<'a>(file: &'a Foreign, set: &'static str, node: Node<'a, 'a>, known: &str, inner: &[&str]) -> Fields<'a> {
    let children = node.children().filter(|child| child.is_element() && !inner.contains(&child.tag_name().name()));
    let found = children.map(|child| {
        // Comments may stand before and behind a value.
        let texts = || child.children().filter(Node::is_text);
        let text = texts().find(|text| !text.text().unwrap_or_default().trim().is_empty());
        let span = text.map_or(child.range(), |text| text.range());
        let value: String = texts().filter_map(|text| text.text()).collect();
        (child.tag_name().name(), Field { value: value.trim().to_owned().into(), span })
    });
    Fields::new(file, "MQSim", set, node.range().start..node.range().start + 1, found, known)
}

/// The element of this name below another, or the file's root.
fn element<'a>(file: &Foreign, parent: Node<'a, 'a>, name: &'static str) -> Result<Node<'a, 'a>, Problem> {
    let found = parent.children().find(|child| child.is_element() && child.has_tag_name(name));
    found.ok_or_else(|| {
        let at = parent.range().start;
        Problem::new("", format!("found no element {name}, which MQSim's file has here")).at(file.place(&(at..at + 1)))
    })
}
