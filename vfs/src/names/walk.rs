//! The walk itself.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::borders::ends_walks;
use super::cache::{Memory, is_at_rest, is_settled};
use super::format::{Known, Records};
use super::list::{Buffer, Question, Record, Stamp, buffer, depth, join, list};
use super::pool::{Pool, together};
use super::{HiddenName, NameRules, WalkError, WalkOptions, Walked};
use crate::fs::{Errno, FileId, Fs, Kind, OsFs, Result};

/// Directories nested deeper are hidden: each level may cost a descriptor.
const DEPTH: usize = 128;
/// Directories with a longer path are hidden: a mount point is named by a path, of 4096 bytes at most
/// (path_resolution(7)), with the place of the root, a last name of 255 bytes and endow's own before it.
const LENGTH: usize = 3072;
/// Directories that one thread walks before others are started.
const ALONE: usize = 64;
/// The most directories that a walk names because it could not look into them.
pub const ERRORS_MAX: usize = 1000;
/// How long is waited for a tree to come to rest.
const REST: Duration = Duration::from_secs(3);
/// How long it is left alone before it is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// Walks the tree below `root` and returns what `rules` hide in it.
///
/// It never follows a link, reads nothing but names, goes into whatever is mounted but the kernel's own file
/// systems, and joins all threads before it returns. A
/// directory that can't be walked, for whatever reason, is hidden and noted.
///
/// # Errors
/// Only when the root itself can't be walked.
pub fn walk(
    root: BorrowedFd<'_>,
    rules: &dyn NameRules,
    options: &WalkOptions<'_>,
) -> Result<Walked> {
    walk_at(root, rules, options, SystemTime::now())
}

/// Walks as if it were `started`, by which times are fresh or settled.
pub(super) fn walk_at(
    root: BorrowedFd<'_>,
    rules: &dyn NameRules,
    options: &WalkOptions<'_>,
    started: SystemTime,
) -> Result<Walked> {
    if !rules.needs_walk() {
        return Ok(Walked::default());
    }
    let begun = Instant::now();
    let root_id = OsFs.status_of(root)?.id;
    let limit = rules.depth_limit().unwrap_or(usize::MAX);
    let question = Question { rules, depth: limit };
    let memory = Memory::load(options, root_id);
    let keep = if memory.is_kept() { Keep::Settled(started) } else { Keep::Nothing };
    let walk = Walk { root, root_id, question, known: memory.known(), keep };
    let found = walk.all(options.threads)?;
    memory.save(&found.records, found.walked.directories, found.walked.listed);
    Ok(found.finish(begun))
}

/// Walks until at one moment all names were where they were found: what somebody moves meanwhile may be in neither
/// place when that is looked at. Nothing of it is remembered. Returns what `ask` says of the tree as it was then, too.
///
/// # Errors
/// `AGAIN` when something changes for as long as that is tried, and as [`walk`].
pub fn walk_at_rest<T>(
    root: BorrowedFd<'_>,
    rules: &dyn NameRules,
    options: &WalkOptions<'_>,
    ask: &mut dyn FnMut(&Walked) -> T,
) -> Result<(Walked, T)> {
    let begun = Instant::now();
    let root_id = OsFs.status_of(root)?.id;
    let limit = rules.depth_limit().unwrap_or(usize::MAX);
    let question = Question { rules, depth: limit };
    let (mut known, mut said) = (None, None);
    loop {
        let walk = Walk { root, root_id, question, known: known.as_ref(), keep: Keep::AtRest };
        let found = walk.all(options.threads)?;
        // Each directory is as it was in the walk before this: all were so until this one began.
        let is_still = known.is_some() && found.walked.listed == 0 && found.gone == 0;
        if let Some(said) = said.take().filter(|_| is_still) {
            return Ok((found.finish(begun), said));
        }
        if begun.elapsed() > REST {
            return Err(Errno::AGAIN);
        }
        known = Known::parse(found.records.render(&[]), &[]);
        std::thread::sleep(PAUSE);
        said = known.is_some().then(|| ask(&found.walked));
    }
}

/// Shows what a walk has hidden and `rules` let be seen, if `may_show` agrees, and walks below it.
///
/// Equals a walk by these rules when they hide no more than those of the walk before. Nothing of it
/// is remembered.
///
/// # Errors
/// Only when the root itself can't be looked at.
pub fn walk_again(
    walked: Walked,
    may_show: &dyn Fn(&Path) -> bool,
    root: BorrowedFd<'_>,
    rules: &dyn NameRules,
) -> Result<Walked> {
    let begun = Instant::now();
    let root_id = OsFs.status_of(root)?.id;
    let limit = rules.depth_limit().unwrap_or(usize::MAX);
    let question = Question { rules, depth: limit };
    let walk = Walk { root, root_id, question, known: None, keep: Keep::Nothing };
    let mut found = ThreadWalk { walked, ..ThreadWalk::default() };
    let is_shown = |name: &HiddenName| {
        let is_directory = name.kind == Kind::Directory;
        let decided = rules.decide(name.path.as_os_str().as_bytes(), is_directory);
        may_show(&name.path) && decided != Some(true)
    };
    let shown: Vec<HiddenName> = found.walked.hidden.extract_if(.., |it| is_shown(it)).collect();
    let mut jobs = Vec::new();
    for name in shown {
        let path = name.path.as_os_str().as_bytes().to_vec();
        if rules.notes(&path) {
            found.walked.noted.push(name.clone());
        }
        if name.kind == Kind::Directory && question.enters_path(&path) {
            jobs.push(Job { path, above: None, in_git: false });
        }
    }
    walk.alone(jobs, &mut found, &mut buffer(), None);
    let before = found.walked.elapsed;
    let mut walked = found.finish(begun);
    walked.elapsed += before;
    Ok(walked)
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    root_id: FileId,
    question: Question<'a>,
    known: Option<&'a Known>,
    keep: Keep,
}

/// Which records are kept.
#[derive(Clone, Copy)]
enum Keep {
    /// None.
    Nothing,
    /// Those whose times are settled by then.
    Settled(SystemTime),
    /// Those whose times tell of the next change.
    AtRest,
}

/// One directory to visit.
struct Job {
    path: Vec<u8>,
    /// The directory above, if it is open, so that the way down is one name.
    above: Option<Arc<OwnedFd>>,
    /// Below what git keeps of a work tree.
    in_git: bool,
}

/// What one thread found.
#[derive(Default)]
struct ThreadWalk {
    walked: Walked,
    records: Records,
    /// Directories that were no longer there when they were to be looked at.
    gone: u64,
}

impl Walk<'_> {
    fn all(&self, threads: usize) -> Result<ThreadWalk> {
        let mut jobs = vec![Job { path: Vec::new(), above: None, in_git: false }];
        let mut found = ThreadWalk::default();
        let mut buffer = buffer();
        for _ in 0..ALONE {
            let Some(job) = jobs.pop() else { break };
            self.visit(job, &mut jobs, &mut found, &mut buffer);
        }
        if let Some(error) = found.walked.errors.iter().find(|e| e.path.as_os_str().is_empty()) {
            return Err(error.errno);
        }
        if threads > 1 && jobs.len() > 1 {
            self.together(jobs, threads, &mut found);
        } else {
            self.alone(jobs, &mut found, &mut buffer, None);
        }
        Ok(found)
    }

    fn together(&self, jobs: Vec<Job>, threads: usize, found: &mut ThreadWalk) {
        let work = |pool: &Pool<Job>| {
            let mut found = ThreadWalk::default();
            let mut buffer = buffer();
            while let Some(jobs) = pool.take() {
                self.alone(jobs, &mut found, &mut buffer, Some(pool));
            }
            found
        };
        for part in together(jobs, threads, work) {
            found.merge(part);
        }
    }

    fn alone(
        &self,
        mut jobs: Vec<Job>,
        found: &mut ThreadWalk,
        buffer: &mut Buffer,
        pool: Option<&Pool<Job>>,
    ) {
        while let Some(job) = jobs.pop() {
            self.visit(job, &mut jobs, found, buffer);
            if let Some(pool) = pool {
                pool.share(&mut jobs);
            }
        }
    }

    fn visit(&self, job: Job, jobs: &mut Vec<Job>, found: &mut ThreadWalk, buffer: &mut Buffer) {
        if depth(&job.path) >= DEPTH || job.path.len() > LENGTH {
            return found.fail(job.path, Errno::NAMETOOLONG);
        }
        if let Some(record) = self.recall(&job) {
            return self.add(&record, None, jobs, found);
        }
        match self.read(&job, buffer) {
            Ok(Some((record, dir))) => {
                found.walked.listed += 1;
                self.add(&record, Some(&Arc::new(dir)), jobs, found);
            }
            Ok(None) => found.walked.borders.push(path(job.path)),
            // It went away, or became something else, since its name was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !job.path.is_empty() => {
                found.gone += 1;
            }
            Err(errno) => found.fail(job.path, errno),
        }
    }

    fn add(
        &self,
        record: &Record,
        dir: Option<&Arc<OwnedFd>>,
        jobs: &mut Vec<Job>,
        found: &mut ThreadWalk,
    ) {
        // Of what is mounted below nobody knows whether its times tell.
        let is_here = record.stamp.id.dev == self.root_id.dev;
        let is_kept = match self.keep {
            Keep::Nothing => false,
            Keep::Settled(started) => is_here && is_settled(&record.stamp, started),
            Keep::AtRest => is_at_rest(&record.stamp, SystemTime::now()),
        };
        if is_kept {
            found.records.push(record);
        }
        found.add(record, dir, jobs);
    }

    /// Returns what is known of a directory, if it is unchanged.
    fn recall(&self, Job { path, in_git, .. }: &Job) -> Option<Record> {
        let record = self.known?.get(path).filter(|it| it.was_asked(*in_git))?;
        // A link on the way leads elsewhere, where another directory is: it doesn't compare.
        let name: &[u8] = if path.is_empty() { b"." } else { path };
        let status = OsFs.status(self.root, OsStr::from_bytes(name)).ok()?;
        (Stamp::from(&status) == record.stamp).then_some(record)
    }

    /// Lists a directory; `None` beyond a border.
    fn read(&self, job: &Job, buffer: &mut Buffer) -> Result<Option<(Record, OwnedFd)>> {
        let dir = self.open(job)?;
        let status = OsFs.status_of(dir.as_fd())?;
        if status.id.dev != self.root_id.dev && ends_walks(dir.as_fd())? {
            return Ok(None);
        }
        let stamp = Stamp::from(&status);
        let record =
            list(dir.as_fd(), (job.path.clone(), job.in_git), stamp, &self.question, buffer)?;
        Ok(Some((record, dir)))
    }

    fn open(&self, job: &Job) -> Result<OwnedFd> {
        let mut names = job.path.split(|byte| *byte == b'/').map(OsStr::from_bytes);
        if job.path.is_empty() {
            return OsFs.open_dir(self.root, OsStr::new("."));
        }
        if let Some(above) = &job.above {
            return OsFs.open_dir(above.as_fd(), names.next_back().unwrap_or_default());
        }
        let mut dir: Option<OwnedFd> = None;
        for name in names {
            let at = dir.as_ref().map_or(self.root, AsFd::as_fd);
            dir = Some(OsFs.open_dir(at, name)?);
        }
        dir.ok_or(Errno::NOENT)
    }
}

impl ThreadWalk {
    fn add(&mut self, record: &Record, dir: Option<&Arc<OwnedFd>>, jobs: &mut Vec<Job>) {
        self.walked.directories += 1;
        self.walked.entries += u64::from(record.entries);
        for (kind, name) in &record.hidden {
            self.hide(join(&record.path, name), *kind);
        }
        let noted = record
            .noted
            .iter()
            .map(|(kind, name)| HiddenName { path: path(join(&record.path, name)), kind: *kind });
        self.walked.noted.extend(noted);
        self.walked.repositories.extend(record.is_repository.then(|| path(record.path.clone())));
        let in_git = record.is_git;
        let job = |name| Job { path: join(&record.path, name), above: dir.cloned(), in_git };
        jobs.extend(record.children.iter().map(|name| job(name)));
    }

    fn hide(&mut self, name: Vec<u8>, kind: Kind) {
        self.walked.hidden.push(HiddenName { path: path(name), kind });
    }

    /// Hides what nobody looked into: the guest could open its owner's closed directory again.
    fn fail(&mut self, name: Vec<u8>, errno: Errno) {
        self.hide(name.clone(), Kind::Directory);
        if self.walked.errors.len() < ERRORS_MAX {
            self.walked.errors.push(WalkError { path: path(name), errno });
        }
    }

    fn merge(&mut self, other: Self) {
        let (walked, more) = (&mut self.walked, other.walked);
        walked.hidden.extend(more.hidden);
        walked.noted.extend(more.noted);
        walked.repositories.extend(more.repositories);
        walked.borders.extend(more.borders);
        walked.errors.extend(more.errors);
        walked.entries += more.entries;
        walked.directories += more.directories;
        walked.listed += more.listed;
        self.records.append(&other.records);
        self.gone += other.gone;
    }

    fn finish(self, begun: Instant) -> Walked {
        let mut walked = self.walked;
        walked.hidden.sort();
        walked.noted.sort();
        walked.repositories.sort();
        walked.borders.sort();
        walked.errors.sort_by(|a, b| a.path.cmp(&b.path));
        walked.errors.truncate(ERRORS_MAX);
        walked.elapsed = begun.elapsed();
        walked
    }
}

fn path(bytes: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(bytes).into()
}
