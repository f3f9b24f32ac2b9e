//! Under which conditions git reads a further file of settings (git-config(1), conditional includes).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_ignore::glob;
use gix_ignore::glob::wildmatch::Mode;
use gix_object::bstr::ByteSlice;

/// The most stars of a pattern: each may be tried at every place.
const STARS_MAX: usize = 16;

/// For whom settings are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The home, links resolved.
    pub home: Option<PathBuf>,
    /// The repository's directory of git, as git names it and links resolved; none without a repository.
    pub directories: Vec<PathBuf>,
}

impl Reading {
    /// Returns whether a condition holds that stands in `file`, a path with links resolved. One that is not
    /// of the directory never does: branches and remotes are others a moment later.
    pub fn holds(&self, condition: &[u8], file: &Path) -> bool {
        let exact = condition.strip_prefix(b"gitdir:").map(|it| (it, Mode::empty()));
        let any_case = || condition.strip_prefix(b"gitdir/i:").map(|it| (it, Mode::IGNORE_CASE));
        let Some((pattern, case)) = exact.or_else(any_case) else { return false };
        let Some(pattern) = self.pattern(pattern, file) else { return false };
        self.directories.iter().any(|it| pattern.matches(it.as_os_str().as_bytes(), case))
    }

    fn pattern(&self, text: &[u8], file: &Path) -> Option<Pattern> {
        let is_above = text.ends_with(b"/");
        let (literal, mut text) = match text {
            [b'~', rest @ ..] if rest.is_empty() || rest.starts_with(b"/") => {
                (Vec::new(), [bytes(self.home.as_deref()?), rest].concat())
            }
            // Nothing, and the home of somebody else.
            [] | [b'~', ..] => return None,
            [b'.', b'/', rest @ ..] => ([bytes(file.parent()?), b"/"].concat(), rest.to_vec()),
            [b'/', ..] => (Vec::new(), text.to_vec()),
            _ => (Vec::new(), [b"**/", text].concat()),
        };
        if is_above {
            text.extend_from_slice(b"**");
        }
        let stars = text.find_iter("*").count();
        (stars <= STARS_MAX).then_some(Pattern { literal, text })
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// What a path has to be.
struct Pattern {
    /// What it begins with.
    literal: Vec<u8>,
    /// What the rest matches.
    text: Vec<u8>,
}

impl Pattern {
    fn matches(&self, path: &[u8], case: Mode) -> bool {
        let Some((start, rest)) = path.split_at_checked(self.literal.len()) else { return false };
        let is_any_case = case.contains(Mode::IGNORE_CASE);
        let is_begun =
            start == self.literal || is_any_case && start.eq_ignore_ascii_case(&self.literal);
        let mode = case | Mode::NO_MATCH_SLASH_LITERAL;
        is_begun && glob::wildmatch(self.text.as_bstr(), rest.as_bstr(), mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Scratch, git};

    fn holds(condition: &str, directory: &str) -> bool {
        let reading = Reading { home: Some("/home/u".into()), directories: vec![directory.into()] };
        reading.holds(condition.as_bytes(), Path::new("/home/u/conf/gitconfig"))
    }

    #[test]
    fn directories_decide() {
        let git = "/home/u/work/app/.git";
        let that_hold = [
            "gitdir:~/work/",
            "gitdir:/home/u/work/",
            "gitdir:/home/u/work/**",
            "gitdir:/home/u/work/app/.git",
            "gitdir:/home/u/*/app/.git",
            "gitdir:work/",
            "gitdir:app/.git",
            "gitdir:app/",
            "gitdir:**/work/**",
            "gitdir/i:~/WORK/",
            "gitdir/i:/HOME/u/work/",
        ];
        for condition in that_hold {
            assert!(holds(condition, git), "{condition}");
        }
        let others = [
            "gitdir:~/work",
            "gitdir:~/WORK/",
            "gitdir:~/other/",
            "gitdir:/home/u/*",
            "gitdir:/home/*/app/.git",
            "gitdir:ork/",
            "gitdir:",
            "gitdir:~other/work/",
            "gitdir",
            "Gitdir:~/work/",
            "onbranch:main",
            "hasconfig:remote.*.url:**",
        ];
        for condition in others {
            assert!(!holds(condition, git), "{condition}");
        }
        assert!(!holds(&format!("gitdir:/{}", "**/".repeat(20)), git), "too many stars");
    }

    #[test]
    fn directory_of_the_file_is_taken_as_it_is() {
        assert!(holds("gitdir:./", "/home/u/conf/app/.git"));
        assert!(holds("gitdir/i:./APP/", "/home/u/conf/app/.git"));
        assert!(!holds("gitdir:./app", "/home/u/conf/app/.git"));
        assert!(!holds("gitdir:./", "/home/u/conf2/app/.git"));
        let reading =
            Reading { home: None, directories: vec!["/a*/x/.git".into(), "/ab/x/.git".into()] };
        assert!(reading.holds(b"gitdir:./x/", Path::new("/a*/gitconfig")));
        let other = Reading { directories: vec!["/ab/x/.git".into()], ..reading };
        assert!(!other.holds(b"gitdir:./x/", Path::new("/a*/gitconfig")), "it is no pattern");
        assert!(!other.holds(b"gitdir:~/x/", Path::new("/gitconfig")), "without a home");
        assert!(!Reading::default().holds(b"gitdir:**", Path::new("/gitconfig")));
    }

    #[test]
    fn git_decides_alike() {
        let scratch = Scratch::new();
        let root = std::fs::canonicalize(scratch.path()).expect("a path");
        git(&root, &["init", "-q", "work/app"]);
        std::fs::write(root.join("found"), "[x]\n\ty = 1\n").expect("written");
        let (app, conf) = (root.join("work/app"), root.join("conf"));
        let reading = Reading { home: None, directories: vec![app.join(".git")] };
        let conditions = [
            "gitdir:ROOT/work/",
            "gitdir:ROOT/work",
            "gitdir:ROOT/work/*",
            "gitdir:ROOT/work/*/.git",
            "gitdir:ROOT/work/[a-b]pp/.git",
            "gitdir:ROOT/WORK/",
            "gitdir/i:ROOT/WORK/",
            "gitdir:./",
            "gitdir:./work/",
            "gitdir:./app/",
            "gitdir:work/",
            "gitdir:wo?k/**",
            "gitdir:**/app/.git",
            "gitdir:app",
            "gitdir/i:APP/",
        ];
        for condition in conditions {
            let condition = condition.replace("ROOT", root.to_str().expect("a text"));
            let text = format!("[includeIf \"{condition}\"]\n\tpath = found\n");
            std::fs::write(&conf, text).expect("written");
            let said = git(&app, &["config", "--includes", "--file", "../../conf", "--list"]);
            let holds = reading.holds(condition.as_bytes(), &conf);
            assert_eq!(holds, said.contains("x.y=1"), "{condition}");
        }
    }
}
