//! Work that Ctrl-C ends.
//!
//! Python notes a signal and raises `KeyboardInterrupt` on its main thread at the next step of Python code; while the engine works there
//! is none. So the work goes to another thread, and the one that called looks for signals. The work asks now and then whether
//! it is wanted, and unwinds if it is not.

use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether work is still wanted.
pub struct Wanted(AtomicBool);

/// Payload with which unwanted work unwinds.
struct Unwanted;

impl Wanted {
    /// Ends the calling thread's work if it is not wanted. No lock may be held.
    pub fn check(&self) {
        if !self.0.load(Relaxed) {
            // No panic hook: nothing is wrong.
            resume_unwind(Box::new(Unwanted));
        }
    }
}

/// Does work without the lock of Python.
///
/// # Errors
/// Of the work; or what a signal raised, once the work has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Wanted) -> PyResult<T> + Send) -> PyResult<T> {
    let wanted = Wanted(AtomicBool::new(true));
    py.detach(|| {
        thread::scope(|scope| {
            let caller = thread::current();
            let wanted = &wanted;
            let working = scope.spawn(move || {
                let ended = catch_unwind(AssertUnwindSafe(|| work(wanted)));
                caller.unpark();
                ended
            });
            let mut raised = None;
            while !working.is_finished() {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    wanted.0.store(raised.is_none(), Relaxed);
                }
                thread::park_timeout(PATIENCE);
            }
            let ended = working.join().unwrap_or_else(|payload| resume_unwind(payload));
            match ended {
                Ok(result) => raised.map_or(result, Err),
                Err(payload) => unwound(payload, raised),
            }
        })
    })
}

/// Error of work that unwound.
fn unwound<T>(payload: Box<dyn Any + Send>, raised: Option<PyErr>) -> PyResult<T> {
    match raised {
        Some(error) if payload.is::<Unwanted>() => Err(error),
        _ => resume_unwind(payload),
    }
}
