//! Work shared by a few threads: each has its own stack and gives half of it to one that waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Does jobs in so many threads, of which this is one; in fewer where the user may have no more (`RLIMIT_NPROC`,
/// `pids.max`). Returns what each has to say.
pub(crate) fn together<T: Send, R: Send>(
    jobs: Vec<T>,
    threads: usize,
    work: impl Fn(&Pool<T>) -> R + Sync,
) -> Vec<R> {
    let (pool, work) = (Pool::new(jobs, threads), &work);
    let pool = &pool;
    thread::scope(|scope| {
        let another = || thread::Builder::new().spawn_scoped(scope, move || work(pool));
        let begun = (1..threads).map(|_| another().inspect_err(|_| pool.leave()));
        let others: Vec<_> = begun.filter_map(Result::ok).collect();
        let own = work(pool);
        let others =
            others.into_iter().map(|it| it.join().expect("a working thread doesn't panic"));
        others.chain([own]).collect()
    })
}

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
    fn new(jobs: Vec<T>, threads: usize) -> Self {
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

    /// One thread less will take.
    fn leave(&self) {
        self.lock().working -= 1;
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
            let done: usize = together(vec![0], threads, |pool| work(pool, 12)).iter().sum();
            assert_eq!(done, (1 << 13) - 1);
        }
    }

    #[test]
    fn nothing_to_do_ends_at_once() {
        assert_eq!(work(&Pool::new(Vec::new(), 1), 0), 0);
    }
}
