//! Ctrl-C: what was done so far is said, within a second.

use crate::say;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Exit code of a program that a signal ended: 128 and the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C says `words`, if there are any, and ends the program. Results that are in files stay.
pub fn saying(words: impl Fn() -> Option<String> + Send + 'static) {
    watch(move || {
        if let Some(words) = words() {
            say(&words);
        }
        std::process::exit(INTERRUPTED.into());
    });
}

/// From now on the first Ctrl-C is noted for [`asked`]; the second ends the program.
pub fn noted() {
    watch(|| {
        if ASKED.swap(true, Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// Whether there was a Ctrl-C since [`noted`].
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// Where a handler cannot be set, Ctrl-C ends the program as always.
fn watch(then: impl FnMut() + Send + 'static) {
    let _ = ctrlc::set_handler(then);
}
