//! A walk along links.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::LeadsError;
use super::closed::Closable;

/// Links that are followed; the kernel follows as many (path_resolution(7)).
const LINKS: usize = 40;

/// Where a path leads.
#[derive(Default)]
pub(super) struct Way {
    /// The end, by no link. What is missing stays as it was said.
    pub(super) end: PathBuf,
    /// The links on the way, in their order, each by its own place.
    pub(super) links: Vec<PathBuf>,
    /// What `..` goes back from: a link there would lead elsewhere.
    pub(super) left: Vec<PathBuf>,
}

impl Way {
    /// Walks along an absolute path.
    ///
    /// # Errors
    /// A directory of the user's on the way is closed.
    pub(super) fn of(path: &Path, closable: &Closable) -> Result<Self, LeadsError> {
        let mut way = Self::at_the_root();
        let link = |link: &Path| closable.unless_closed(std::fs::read_link(link), link);
        way.follow(path, &link)?;
        Ok(way)
    }

    /// Walks along an absolute path; what can't be looked at is an end.
    pub(super) fn as_far_as_it_goes(path: &Path) -> Self {
        let mut way = Self::at_the_root();
        let Ok(()) = way.follow(path, &|link| Ok::<_, Infallible>(std::fs::read_link(link).ok()));
        way
    }

    fn at_the_root() -> Self {
        Self { end: PathBuf::from("/"), ..Self::default() }
    }

    fn follow<E>(&mut self, said: &Path, link: &ReadLink<'_, E>) -> Result<(), E> {
        for part in said.components() {
            match part {
                Component::ParentDir => {
                    self.left.push(self.end.clone());
                    self.end.pop();
                }
                Component::Normal(name) => self.step(name, link)?,
                Component::RootDir => self.end = PathBuf::from("/"),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(())
    }

    fn step<E>(&mut self, name: &OsStr, link: &ReadLink<'_, E>) -> Result<(), E> {
        let next = self.end.join(name);
        match link(&next)? {
            Some(said) if self.links.len() < LINKS => {
                self.links.push(next);
                self.follow(&said, link)?;
            }
            _ => self.end = next,
        }
        Ok(())
    }
}

/// Says where a link leads; `None` for what is none.
type ReadLink<'a, E> = dyn Fn(&Path) -> Result<Option<PathBuf>, E> + 'a;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_known() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("a path");
        std::fs::create_dir_all(root.join("a/b")).expect("made");
        let links =
            [("a/up", "../x"), ("x", "y"), ("y", "a/b"), ("gone", "no/../where"), ("o", "o")];
        for (link, to) in links {
            symlink(to, root.join(link)).expect("a link");
        }
        symlink(root.join("y"), root.join("z")).expect("a link");
        for (path, end, links) in [
            ("a/b", "a/b", &[][..]),
            ("a/up/f", "a/b/f", &["a/up", "x", "y"]),
            // What is above is above where the link leads.
            ("x/../f", "a/f", &["x", "y"]),
            ("z/f", "a/b/f", &["z", "y"]),
            ("gone", "where", &["gone"]),
            ("a/new/deep", "a/new/deep", &[]),
        ] {
            let way = Way::of(&root.join(path), &Closable::default()).expect("open");
            let links: Vec<PathBuf> = links.iter().map(|link| root.join(link)).collect();
            assert_eq!((way.end, way.links), (root.join(end), links), "{path}");
        }
        assert_eq!(Way::as_far_as_it_goes(&root.join("o")).links.len(), LINKS);
        assert_eq!(Way::as_far_as_it_goes(&root.join("no/../a")).left, [root.join("no")]);
    }
}
