//! Repositories that the host moved while a run did, too: where the run's commits are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use endow_vfs::git_dir::{self, Part};
use endow_vfs::sync::{self, SyncReport, Winner};

use super::write_back::some;
use crate::finish::{InView, OfMount};
use crate::plan::why::shell_word;

/// A repository of which the run's references arrived beside those of the host.
pub(super) struct Moved {
    /// Its work tree in the view, else its git directory.
    place: PathBuf,
    /// The same on the host.
    outside: PathBuf,
    references: Vec<String>,
}

impl Moved {
    /// Says what became of its history.
    pub(super) fn told(&self) -> String {
        format!(
            "not written back, moved outside too: the history of {}; the run's is kept beside: {}",
            self.place.display(),
            some(&self.references)
        )
    }

    /// Says how both come together.
    pub(super) fn hint(&self) -> String {
        let is_branch = |it: &&String| it.contains("/heads/");
        let one = self.references.iter().find(is_branch).or(self.references.first());
        // Who named the reference is not who pastes the line.
        let place = shell_word(&self.outside.to_string_lossy());
        let one = shell_word(one.map_or("", String::as_str));
        // Its files are written back, and are no commits yet.
        format!(
            "`git -C {place} merge {one}` takes its commits; `git stash -u` puts aside what stands in the way"
        )
    }
}

/// Returns the repositories of a mount that both sides moved.
pub(super) fn of_mount((at, report): &OfMount<SyncReport>, id: &str) -> Vec<Moved> {
    let moved = |(git_dir, references): (PathBuf, Vec<String>)| {
        let above = git_dir.parent().filter(|_| git_dir.ends_with(".git"));
        let path = above.unwrap_or(&git_dir);
        Moved { place: shown(at, path), outside: at.outside(path), references }
    };
    kept(report, id).into_iter().map(moved).collect()
}

/// Returns where both sides changed something, but for where such repositories stand.
pub(super) fn lost<'r>(report: &'r SyncReport, id: &str) -> Vec<&'r Path> {
    let kept = kept(report, id);
    let is_told = |path: &Path| kept.keys().any(|git_dir| is_state(path, git_dir));
    let lost = report.conflicts.iter().filter(|it| it.winner == Winner::Host);
    lost.map(|it| it.path.as_path()).filter(|path| !is_told(path)).collect()
}

/// Returns the run's own references that stand in the tree, by the git directory that was asked for and stays.
fn kept(report: &SyncReport, id: &str) -> BTreeMap<PathBuf, Vec<String>> {
    let lost = || report.conflicts.iter().filter(|it| it.winner == Winner::Host);
    let stays = |git_dir: &Path| lost().any(|it| is_state(&it.path, git_dir));
    let moved = report.moved.iter().filter(|it| !it.references.is_empty() && stays(&it.path));
    let names = |it: &sync::Moved| {
        it.references.keys().map(|name| format!("refs/endow/{id}/{name}")).collect()
    };
    moved.map(|it| (it.path.clone(), names(it))).collect()
}

/// Whether a path tells where a repository stands.
fn is_state(path: &Path, git_dir: &Path) -> bool {
    path.strip_prefix(git_dir).is_ok_and(|below| git_dir::part(below) == Part::State)
}

/// The root of a mount has no slash at its end.
fn shown(at: &InView, path: &Path) -> PathBuf {
    at.place(path).components().collect()
}

#[cfg(test)]
mod tests {
    use endow_vfs::sync::{ChangeKind, Conflict, Resolved};

    use super::*;

    fn report(moved: &[(&str, &str)], conflicts: &[&str]) -> SyncReport {
        let kind = ChangeKind::Created;
        let moved = moved.iter().map(|(path, reference)| sync::Moved {
            path: path.into(),
            references: BTreeMap::from([((*reference).to_owned(), "1".repeat(40))]),
        });
        let resolved = |it: &&str| Resolved {
            path: it.into(),
            kind,
            conflict: Conflict::Changed,
            winner: Winner::Host,
        };
        let conflicts = conflicts.iter().map(resolved).collect();
        SyncReport { moved: moved.collect(), conflicts, ..SyncReport::default() }
    }

    #[test]
    fn hint_is_of_the_host_and_one_command_whatever_names_are() {
        let references = vec!["refs/endow/id/heads/x;touch${IFS}'y'".to_owned()];
        let outside = PathBuf::from("/home/u/my `id`");
        let moved = Moved { place: "/work".into(), outside, references };
        let command =
            r"git -C '/home/u/my `id`' merge 'refs/endow/id/heads/x;touch${IFS}'\''y'\'''";
        assert!(moved.hint().starts_with(&format!("`{command}` takes")), "{}", moved.hint());
        assert!(moved.told().contains("the history of /work;"), "{}", moved.told());
    }

    #[test]
    fn history_of_a_repository_is_one_thing() {
        let conflicts = [".git/index", ".git/logs/HEAD", ".git/config", "a", "b/.git/index"];
        let moved = [(".git", "heads/main"), ("c/.git", "heads/main")];
        let none = SyncReport { moved: Vec::new(), ..report(&moved, &conflicts) };
        assert_eq!(lost(&none, "id").len(), conflicts.len());
        let report = report(&moved, &conflicts);
        let left = [".git/config", "a", "b/.git/index"].map(Path::new);
        assert_eq!(lost(&report, "id"), left);
        let kept: Vec<_> = kept(&report, "id").into_iter().collect();
        let references = vec!["refs/endow/id/heads/main".to_owned()];
        assert_eq!(kept, [(PathBuf::from(".git"), references)]);
    }
}
