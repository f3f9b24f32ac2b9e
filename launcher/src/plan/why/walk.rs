//! Resolving a path part by part, as the kernel does.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::GuestPath;

use super::entry::EntryKind;
use super::node::{Missing, Node};
use super::refusal::Refusal;
use super::rights::{self, EXECUTE};
use super::view::View;
use crate::plan::host::UserFacts;

const LINKS_MAX: usize = 40;
const NAME_MAX: usize = 255;
const PATH_MAX: usize = 4096;

/// Where a path leads.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// To something.
    Found(Node),
    /// To a name that is missing, in a directory that is there.
    Vacant {
        /// The directory.
        parent: Node,
        /// The name's place.
        at: GuestPath,
        /// Why nothing is there.
        why: Missing,
        /// The path says that it is a directory.
        slash: bool,
    },
}

/// Why a path leads nowhere.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    /// The kernel's answer; `None` when it can't be told.
    pub(super) refusal: Option<Refusal>,
    /// Where it ends.
    pub(super) at: GuestPath,
    /// The directory or name that stands in the way.
    pub(super) node: Option<Node>,
    /// Why nothing is there, when that is so.
    pub(super) why: Option<Missing>,
    /// The names that were to be followed behind what is not there.
    pub(super) rest: PathBuf,
}

/// Who walks, and where.
pub(super) struct Walk<'v, 'a> {
    pub(super) view: &'v View<'a>,
    pub(super) user: &'v UserFacts,
    /// `fs.protected_symlinks`.
    pub(super) protected_links: bool,
}

/// Names that are still to be followed.
struct Rest {
    names: VecDeque<OsString>,
    /// The path ends with a slash.
    slash: bool,
    links: usize,
}

impl Walk<'_, '_> {
    /// Follows `path` from `start`, links at its end included.
    pub(super) fn resolve(&self, start: &GuestPath, path: &Path) -> Result<Place, Box<Lost>> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() || bytes.len() >= PATH_MAX {
            let refusal = if bytes.is_empty() { Refusal::Absent } else { Refusal::TooLong };
            return Err(Box::new(Lost {
                refusal: Some(refusal),
                at: start.clone(),
                node: None,
                why: None,
                rest: PathBuf::new(),
            }));
        }
        let slash = bytes.ends_with(b"/");
        let mut rest = Rest { names: names(bytes).collect(), slash, links: 0 };
        let mut here = if bytes.starts_with(b"/") { GuestPath::root() } else { start.clone() };
        while let Some(name) = rest.names.pop_front() {
            match self.enter(&here, &name, &mut rest)? {
                Step::To(next) => here = next,
                Step::Vacant(place) => return Ok(*place),
            }
        }
        let node = self.node(&here)?;
        if rest.slash && !node.entry.is_directory() {
            return Err(refused(Refusal::NotDirectory, node));
        }
        Ok(Place::Found(node))
    }

    fn node(&self, at: &GuestPath) -> Result<Node, Box<Lost>> {
        self.view.look(at).map_err(|why| lost(at.clone(), why))
    }

    fn enter(&self, here: &GuestPath, name: &OsStr, rest: &mut Rest) -> Result<Step, Box<Lost>> {
        let directory = self.node(here)?;
        if !directory.entry.is_directory() {
            return Err(refused(Refusal::NotDirectory, directory));
        }
        if !rights::permits(&directory.entry, self.user, EXECUTE) {
            return Err(refused(Refusal::Denied, directory));
        }
        match name.as_bytes() {
            b"." => return Ok(Step::To(here.clone())),
            b".." => return Ok(Step::To(here.parent().unwrap_or_else(GuestPath::root))),
            name if name.len() > NAME_MAX => return Err(refused(Refusal::TooLong, directory)),
            _ => {}
        }
        let unusable = || refused(Refusal::Absent, directory.clone());
        let at = here.join(Path::new(name)).map_err(|_| unusable())?;
        let found = self.view.look(&at);
        if found.as_ref().err() != Some(&Missing::Hidden) && !self.shows_through(&directory) {
            return Err(refused(Refusal::Denied, directory));
        }
        match found {
            Ok(node) => self.follow(&directory, node, rest),
            Err(why @ (Missing::Unknown | Missing::Unreadable(_))) => Err(lost(at, why)),
            Err(why) if rest.names.is_empty() => {
                let slash = rest.slash;
                Ok(Step::Vacant(Box::new(Place::Vacant { parent: directory, at, why, slash })))
            }
            Err(why) => {
                let rest = rest.names.iter().collect();
                Err(Box::new(Lost { rest, ..*lost(at, why) }))
            }
        }
    }

    fn shows_through(&self, directory: &Node) -> bool {
        let behind = directory.behind.as_ref().filter(|real| real.is_directory());
        behind.is_none_or(|real| rights::permits_mounter(real, self.user, EXECUTE))
    }

    /// Goes to what was found, or to where it leads.
    fn follow(&self, directory: &Node, node: Node, rest: &mut Rest) -> Result<Step, Box<Lost>> {
        let EntryKind::Link(to) = &node.entry.kind else { return Ok(Step::To(node.at)) };
        rest.links += 1;
        if rest.links > LINKS_MAX {
            return Err(refused(Refusal::Loop, node));
        }
        if self.protected_links && self.is_planted(directory, &node) {
            return Err(refused(Refusal::Denied, node));
        }
        let bytes = to.as_os_str().as_bytes();
        rest.slash |= rest.names.is_empty() && bytes.ends_with(b"/");
        for name in names(bytes).collect::<Vec<_>>().into_iter().rev() {
            rest.names.push_front(name);
        }
        let absolute = bytes.starts_with(b"/");
        Ok(Step::To(if absolute { GuestPath::root() } else { directory.at.clone() }))
    }

    /// A link in a directory like `/tmp` is followed by its owner, or when the directory's owner
    /// made it (`fs.protected_symlinks`).
    fn is_planted(&self, directory: &Node, link: &Node) -> bool {
        const STICKY_AND_OPEN: u32 = 0o1002;
        directory.entry.mode & STICKY_AND_OPEN == STICKY_AND_OPEN
            && link.entry.uid != self.user.uid
            && link.entry.uid != directory.entry.uid
    }
}

enum Step {
    To(GuestPath),
    Vacant(Box<Place>),
}

fn names(path: &[u8]) -> impl Iterator<Item = OsString> + '_ {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.map(|name| OsStr::from_bytes(name).to_owned())
}

fn refused(refusal: Refusal, node: Node) -> Box<Lost> {
    let (at, rest) = (node.at.clone(), PathBuf::new());
    Box::new(Lost { refusal: Some(refusal), at, node: Some(node), why: None, rest })
}

fn lost(at: GuestPath, why: Missing) -> Box<Lost> {
    let refusal = match &why {
        Missing::Unknown => None,
        Missing::Unreadable(errno) => Refusal::numbered(*errno),
        Missing::NotShown | Missing::NotThere | Missing::Hidden => Some(Refusal::Absent),
    };
    Box::new(Lost { refusal, at, node: None, why: Some(why), rest: PathBuf::new() })
}
