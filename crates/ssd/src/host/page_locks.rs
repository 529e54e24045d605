//! Which job holds a logical page, and which jobs queue for it.

use device::slab::JobId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Logical pages that jobs hold until the map shows what they write, each with the jobs that queue for it. A job
/// queues for all its pages at once, in order of arrival, so jobs only ever wait for earlier ones. Never iterated.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageLocks(FxHashMap<u32, VecDeque<JobId>>);

impl PageLocks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_held(&self, lpn: u32) -> bool {
        self.0.contains_key(&lpn)
    }

    /// Queues the job for a page; true if it holds the page now.
    pub fn queue(&mut self, lpn: u32, job: JobId) -> bool {
        let queue = self.0.entry(lpn).or_default();
        queue.push_back(job);
        queue.len() == 1
    }

    /// The holder lets go of the page; the job that holds it now.
    pub fn release(&mut self, lpn: u32) -> Option<JobId> {
        let queue = self.0.get_mut(&lpn).expect("a held page");
        queue.pop_front();
        let next = queue.front().copied();
        if next.is_none() {
            self.0.remove(&lpn);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use vocab::Streams;

    /// Random jobs against a list of all that queue, in order of arrival. Catches a queue that is not first in,
    /// first out, a page that stays held when no one queues for it, and a page that is free while someone does.
    #[test]
    fn pages_go_from_job_to_job_in_order_of_arrival() {
        let mut draws = Streams::new(7).stream("page-locks");
        let (mut locks, mut naive) = (PageLocks::default(), Vec::<(u32, JobId)>::new());
        for job in (0..3000).map(JobId::new) {
            let lpn = draws.below(6) as u32;
            if draws.chance(0.5) {
                let held = naive.iter().any(|&(page, _)| page == lpn);
                naive.push((lpn, job));
                assert_eq!(locks.queue(lpn, job), !held);
            } else if let Some(at) = naive.iter().position(|&(page, _)| page == lpn) {
                naive.remove(at);
                let next = naive.iter().find(|&&(page, _)| page == lpn).map(|&(_, job)| job);
                assert_eq!(locks.release(lpn), next);
            }
            let by_page: BTreeMap<u32, JobId> = naive.iter().copied().collect();
            assert!((0..6).all(|page| locks.is_held(page) == by_page.contains_key(&page)));
            assert_eq!(locks.is_empty(), naive.is_empty());
        }
    }
}
