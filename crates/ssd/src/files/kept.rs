//! What was saved last of a drive. Fields are listed anew at each save and compared; of the pages of its write buffer, which are
//! many, only those are looked at that the buffer says it touched.

use super::fields::{self, Fields, Value};
use super::saved::{self, BUFFER, BUFFER_AGES, Drive};
use crate::core::bytes::Writer;
use device::contents::PageBuf;
use std::collections::BTreeMap;

/// Pages of a write buffer, each with its age.
type Pages = BTreeMap<u32, (u64, PageBuf)>;

/// What was saved.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// All but the write buffer.
    fields: Fields,
    buffer: Pages,
}

/// All pages of the buffer that are saved.
fn pages(drive: &Drive) -> Pages {
    if !drive.keeps_buffer() {
        return Pages::new();
    }
    let pages = drive.host.buffer.pages_with_ages();
    pages.into_iter().map(|(lpn, age, payload)| (lpn, (age, payload.clone()))).collect()
}

impl Kept {
    /// All that is to be saved of a drive; from now on its buffer says what it touches.
    pub fn all(drive: &mut Drive, opened: u64) -> Self {
        drive.host.buffer.note_touched();
        Self { fields: saved::fields(drive, opened), buffer: pages(drive) }
    }

    /// All of it, in the order of keys.
    pub fn list(&self) -> Fields {
        let pages = self.buffer.iter().map(|(&lpn, (_, payload))| ((BUFFER, lpn.into()), Value::Page(payload.clone())));
        let ages = self.buffer.iter().map(|(&lpn, (age, _))| ((BUFFER_AGES, lpn.into()), Value::Number(*age)));
        let mut all: Fields = self.fields.iter().cloned().chain(pages).chain(ages).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }

    /// Takes over how the drive is now; what changed, as fields. `None` if nothing did that is worth saving.
    pub fn catch_up(&mut self, drive: &mut Drive, opened: u64, has_more: bool) -> Option<Writer> {
        let mut to = Writer::new(saved::slot_of(drive));
        self.catch_up_buffer(drive, &mut to);
        debug_assert!(self.buffer == pages(drive), "the buffer notes all that it touches");
        let now = saved::fields(drive, opened);
        let has_more = has_more || !to.bytes.is_empty() || fields::differ_but(&self.fields, &now, saved::CLOCK);
        if !has_more && !is_much_later(&self.fields, &now) {
            return None;
        }
        fields::changes(&self.fields, &now, &mut to);
        self.fields = now;
        Some(to)
    }

    fn catch_up_buffer(&mut self, drive: &mut Drive, to: &mut Writer) {
        let touched = drive.host.buffer.take_touched();
        if !drive.keeps_buffer() {
            return;
        }
        for lpn in touched {
            let (page, age) = ((BUFFER, lpn.into()), (BUFFER_AGES, lpn.into()));
            let Some((is_age, is)) = drive.host.buffer.page_with_age(lpn) else {
                if self.buffer.remove(&lpn).is_some() {
                    fields::put(to, page, None);
                    fields::put(to, age, None);
                }
                continue;
            };
            let was = self.buffer.insert(lpn, (is_age, is.clone()));
            if was.as_ref().is_none_or(|(_, was)| was != is) {
                fields::put(to, page, Some(&Value::Page(is.clone())));
            }
            if was.is_none_or(|(was_age, _)| was_age != is_age) {
                fields::put(to, age, Some(&Value::Number(is_age)));
            }
        }
    }
}

/// Whether the clock alone is worth to be saved: the drive lay switched off, or had nothing to do for long.
fn is_much_later(saved: &Fields, now: &Fields) -> bool {
    let clock = |fields: &Fields| match fields.first() {
        Some((saved::CLOCK, Value::Number(clock))) => *clock,
        _ => 0,
    };
    clock(now) - clock(saved).min(clock(now)) > 1_000_000_000
}
