//! Work on several threads.

use crate::problem::Problem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does every piece of work on as many threads as are allowed; results in the order of the work.
///
/// # Errors
/// The first in that order.
pub fn in_parallel<W: Send, R: Send>(
    threads: usize,
    work: Vec<W>,
    each: impl Fn(W) -> Result<R, Problem> + Sync,
) -> Result<Vec<R>, Problem> {
    let next = AtomicUsize::new(0);
    let pieces: Vec<_> = work.into_iter().map(|piece| Mutex::new((Some(piece), None))).collect();
    let work = || {
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let work = piece.lock().expect("one thread a piece").0.take().expect("taken once");
            let result = each(work);
            piece.lock().expect("one thread a piece").1 = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.clamp(1, pieces.len().max(1))).map(|_| scope.spawn(work)).collect();
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        // The payload of a thread's panic is passed on: a caller may have stopped the thread by it.
        ended.into_iter().for_each(|end| end.unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
    });
    let results = pieces.into_iter().map(|piece| piece.into_inner().expect("one thread a piece").1);
    results.map(|result| result.expect("every piece was done")).collect()
}
