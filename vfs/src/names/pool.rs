//! Work shared by a few threads: each has its own stack and gives half of it to one that waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that any thread may take.
pub(crate) struct Pool<T> {
    shared: Mutex<Shared<T>>,
    changed: Condvar,
    waiting: AtomicUsize,
}

struct Shared<T> {
    jobs: Vec<T>,
    working: usize,
}

impl<T> Pool<T> {
    /// Makes a pool for `threads` threads, which all count as working until they take.
    pub(crate) fn new(jobs: Vec<T>, threads: usize) -> Self {
        let shared = Mutex::new(Shared { jobs, working: threads });
        Self { shared, changed: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Waits for jobs and takes about half of them; `None` when all work is done.
    pub(crate) fn take(&self) -> Option<Vec<T>> {
        let mut shared = self.lock();
        shared.working -= 1;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        while shared.jobs.is_empty() && shared.working > 0 {
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        if shared.jobs.is_empty() {
            self.changed.notify_all();
            return None;
        }
        shared.working += 1;
        let kept = shared.jobs.len() / 2;
        Some(shared.jobs.split_off(kept))
    }

    /// Gives the older half of `jobs` away when a thread waits for some.
    pub(crate) fn share(&self, jobs: &mut Vec<T>) {
        if jobs.len() < 2 || self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let given = jobs.len() / 2;
        self.lock().jobs.extend(jobs.drain(..given));
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each job below `limit` makes two more, as directories do.
    fn work(pool: &Pool<u32>, limit: u32) -> usize {
        let mut done = 0;
        while let Some(mut jobs) = pool.take() {
            while let Some(job) = jobs.pop() {
                done += 1;
                jobs.extend((job < limit).then_some([job + 1, job + 1]).into_iter().flatten());
                pool.share(&mut jobs);
            }
        }
        done
    }

    #[test]
    fn every_job_is_done_once_by_some_thread() {
        for threads in 1..5 {
            let pool = Pool::new(vec![0], threads);
            let done: usize = std::thread::scope(|scope| {
                let workers: Vec<_> =
                    (0..threads).map(|_| scope.spawn(|| work(&pool, 12))).collect();
                workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
            });
            assert_eq!(done, (1 << 13) - 1);
        }
    }

    #[test]
    fn nothing_to_do_ends_at_once() {
        assert_eq!(work(&Pool::new(Vec::new(), 1), 0), 0);
    }
}
