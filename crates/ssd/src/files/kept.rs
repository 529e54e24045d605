//! The state of a drive that was saved last. Fields are listed again at each save and compared; of the pages of its write buffer,
//! which are many, only those are looked at that the buffer says it touched.

use super::blocks::Blocks;
use super::fields::{self, Fields, Value};
use super::saved::{self, BUFFER, BUFFER_AGES, Drive};
use crate::core::bytes::Writer;
use crate::core::sorted::sorted;
use crate::power::cut::keeps_buffer;
use device::contents::PageBuf;
use std::collections::BTreeMap;

/// Pages of a write buffer, each with its age.
type Pages = BTreeMap<u32, (u64, PageBuf)>;

/// Data to save beside the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing: if no field changed but the clock, that can wait.
    Nothing,
    /// Pages, or ranks.
    Something,
}

/// The saved state.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Fields that are listed at each save.
    fields: Fields,
    buffer: Pages,
    pub blocks: Blocks,
    /// Whole copies of page profiles.
    profiles: Fields,
}

/// All pages of the buffer that are saved.
fn pages(drive: &Drive) -> Pages {
    if !keeps_buffer(drive) {
        return Pages::new();
    }
    let pages = drive.host.buffer.pages_with_ages();
    sorted(pages.into_iter().map(|(lpn, age, payload)| (lpn, (age, payload.clone()))))
}

impl Kept {
    /// All that is to be saved of a drive; from now on its buffer says what it touches.
    pub fn all(drive: &mut Drive, opened: u64) -> Self {
        drive.host.buffer.note_touched();
        let profiles = saved::profiles(drive, &Fields::new());
        Self { fields: saved::fields(drive, opened), buffer: pages(drive), blocks: Blocks::all(drive), profiles }
    }

    /// All of it, in the order of keys.
    pub fn list(&self) -> Fields {
        let pages = self.buffer.iter().map(|(&lpn, (_, payload))| ((BUFFER, lpn.into()), Value::Page(payload.clone())));
        let ages = self.buffer.iter().map(|(&lpn, (age, _))| ((BUFFER_AGES, lpn.into()), Value::Number(*age)));
        let listed = self.fields.iter().chain(&self.profiles).cloned();
        let mut all: Fields = listed.chain(pages).chain(ages).chain(self.blocks.list()).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }

    /// Takes over how the drive is now; what changed, as fields. `None` if nothing did that is worth saving.
    pub fn catch_up(&mut self, drive: &mut Drive, opened: u64, beside: Beside) -> Option<Writer> {
        let mut to = Writer::new(saved::slot_of(drive));
        self.catch_up_buffer(drive, &mut to);
        self.blocks.catch_up(drive, &mut to);
        self.catch_up_profiles(drive, &mut to);
        debug_assert!(self.buffer == pages(drive), "the buffer notes all that it touches");
        let now = saved::fields(drive, opened);
        let is_changed = !to.bytes.is_empty() || fields::differ_but(&self.fields, &now, saved::CLOCK);
        if beside == Beside::Nothing && !is_changed && !is_much_later(&self.fields, &now) {
            return None;
        }
        fields::changes(&self.fields, &now, &mut to);
        self.fields = now;
        Some(to)
    }

    /// A copy stays as it is until a part of it is erased. What it has is not checked against what was saved: that may be much.
    fn catch_up_profiles(&mut self, drive: &Drive, to: &mut Writer) {
        let copies = drive.care.profiles.iter().flat_map(|profiles| profiles.copies());
        let saved = self.profiles.iter().map(|((_, at), _)| *at);
        if !copies.map(|copy| copy.at.0).eq(saved) {
            let now = saved::profiles(drive, &self.profiles);
            fields::changes(&self.profiles, &now, to);
            self.profiles = now;
        }
    }

    fn catch_up_buffer(&mut self, drive: &mut Drive, to: &mut Writer) {
        let touched = drive.host.buffer.take_touched();
        if !keeps_buffer(drive) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ImageSession;
    use crate::files::testing::{Files, ask, tiny};
    use vocab::{HostOp, Nanos};

    /// The oracle is the newest copy that the drive had before its process died. Catches copies that files forget, an older one that is
    /// taken for the newest, and a policy that does not hear of it.
    #[test]
    fn files_keep_the_page_profiles_that_were_flushed() {
        let (files, mut setup) = (Files::of("profiles"), tiny("none"));
        setup.drive.geometry.oob_size.0 = 224;
        (setup.ecc.policy, setup.errors.model, setup.ecc.flush) = ("flares".into(), "flares".into(), Nanos(1_000_000));
        let newest = |session: &ImageSession| {
            let profiles = session.drive.care.profiles.as_ref().expect("it flushes them");
            profiles.newest().map(|copy| (copy.at, copy.partials.clone()))
        };
        let mut session = files.create(&setup);
        let mut known = 0;
        for round in 0..4 {
            // Pages 0 to 29 are read, each time some more of them: a copy of these leaves the others out.
            ask(&mut session, HostOp::Read, (0..400).map(|n| n % (10 + 5 * round)));
            let before = newest(&session);
            session = files.reopened(&setup, session);
            assert_eq!(newest(&session), before, "round {round}");
            let (_, flushed) = before.expect("some were flushed");
            let found: BTreeMap<_, _> =
                session.drive.core.device.ecc.as_ref().expect("page ECC").policy.partials().into_iter().collect();
            for (ppn, profile) in &flushed {
                // A page that was programmed since keeps at least the code that it has.
                let found = found.get(ppn).map(|found| ecc::PartialProfile { p_next: profile.p_next, ..*found });
                assert_eq!(found, Some(*profile), "round {round}: {ppn}");
            }
            assert!(flushed.len() > known, "round {round}: {} pages, {known} before", flushed.len());
            known = flushed.len();
        }
    }
}
