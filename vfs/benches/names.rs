//! Times a walk of names: `cargo bench -p endow-vfs -- DIR [WORK_TREE]`.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use endow_vfs::fs::OsFs;
use endow_vfs::names::{NameRules, WalkCache, WalkOptions, Walked, walk};

struct Keys;

impl NameRules for Keys {
    fn may_match_name(&self, _: &[u8], name: &[u8]) -> bool {
        name.starts_with(b".") || name.ends_with(b".pem") || name.ends_with(b".key")
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        (relative.ends_with(b".pem") || relative.ends_with(b".env")).then_some(true)
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    if let Some(root) = args.next() {
        walks(Path::new(&root))?;
    }
    if let Some(work_tree) = args.next() {
        index(Path::new(&work_tree));
    }
    Ok(())
}

fn walks(root: &Path) -> std::io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let (root, dir) = (File::open(root)?, File::open(scratch.path())?);
    let cache = Some(WalkCache { fs: &OsFs, dir: dir.as_fd(), rules: [0; 32] });
    for threads in [1, 2] {
        time("listed", &root, &WalkOptions { threads, ..WalkOptions::default() })?;
    }
    for threads in [1, 2] {
        let options = WalkOptions { threads, cache };
        time("cached", &root, &options)?;
    }
    Ok(())
}

fn time(what: &str, root: &File, options: &WalkOptions<'_>) -> std::io::Result<()> {
    let mut runs: Vec<Walked> = Vec::new();
    for _ in 0..15 {
        runs.push(walk(root.as_fd(), &Keys, options)?);
    }
    runs.sort_by_key(|walked| walked.elapsed);
    let median = &runs[runs.len() / 2];
    let nanos = |count: u64| median.elapsed.as_nanos() / u128::from(count.max(1));
    println!(
        "{what} {} threads: {} entries, {} directories, {} listed, {} hidden: {:?} \
         ({} ns an entry, {} ns a directory; best {:?})",
        options.threads,
        median.entries,
        median.directories,
        median.listed,
        median.hidden.len(),
        median.elapsed,
        nanos(median.entries),
        nanos(median.directories),
        runs.first().map_or(Duration::ZERO, |walked| walked.elapsed),
    );
    Ok(())
}

fn index(work_tree: &Path) {
    let begun = Instant::now();
    let (tracked, warning) = endow_vfs::git_index::load(work_tree, &|_| true);
    println!("index: {} names, {:?}: {:?}", tracked.len(), warning, begun.elapsed());
}
