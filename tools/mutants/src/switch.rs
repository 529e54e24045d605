//! The switch: which mutant is on. This file is a crate of the mutated copy, and part of nothing else.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const UNREAD: u32 = u32::MAX;
const COVER: u32 = u32::MAX - 1;
const MOST: usize = 1 << 16;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Whether mutant `number` is on. `FLASHKEEP_MUTANT` has its number.
#[inline]
pub fn is(number: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    if chosen < COVER { chosen == number } else { first(number) }
}

/// Reads what is chosen; with `FLASHKEEP_MUTANT_COVER`, notes in that file that this place was reached.
#[cold]
#[inline(never)]
fn first(number: u32) -> bool {
    if SEEN[number as usize % MOST].load(Relaxed) {
        return false;
    }
    let Ok(cover) = std::env::var("FLASHKEEP_MUTANT_COVER") else {
        let chosen = std::env::var("FLASHKEEP_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        CHOSEN.store(chosen, Relaxed);
        return chosen == number;
    };
    CHOSEN.store(COVER, Relaxed);
    if !SEEN[number as usize % MOST].swap(true, Relaxed) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(cover).expect("the file of what was reached");
        file.write_all(format!("{number}\n").as_bytes()).expect("room for what was reached");
    }
    false
}
