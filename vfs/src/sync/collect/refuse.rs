//! What is never written back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use crate::fs::{Attribute, Kind, Node, OVERLAYS, Special, is_acl, is_overlays};
use crate::sync::Refusal;

/// What overlayfs leaves in a layer by itself, and what does no harm outside.
const KNOWN: &[&[u8]] = &[b"uuid", b"nlink"];
const SET_ID: u32 = 0o6000;
const SET_GID: u32 = 0o2000;

/// Attributes of an entry of a layer, told apart.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) user: Vec<Attribute>,
    pub(super) has_origin: bool,
    /// A directory: something was copied up into it.
    pub(super) is_impure: bool,
    pub(super) is_opaque: bool,
    pub(super) refusal: Option<Refusal>,
}

/// Tells overlayfs' own attributes from the user's, and from what must not be.
pub(super) fn tell(attributes: Vec<Attribute>) -> Told {
    let mut told = Told::default();
    for (name, value) in attributes {
        match name.as_bytes().strip_prefix(OVERLAYS.as_bytes()) {
            Some(b"origin") => told.has_origin = true,
            Some(b"impure") => told.is_impure = true,
            Some(b"opaque") if value == b"y" => told.is_opaque = true,
            Some(b"opaque") => told.refusal = Some(Refusal::OverlayAttribute),
            Some(known) if KNOWN.contains(&known) => {}
            Some(_) => told.refusal = Some(Refusal::OverlayAttribute),
            None if is_users(&name) => told.user.push((name, value)),
            None => told.refusal = Some(Refusal::Capability),
        }
    }
    told
}

/// Tells attributes where no overlay sets any: its own would steer one that stands there later.
pub(super) fn tell_plain(attributes: Vec<Attribute>) -> Told {
    if attributes.iter().any(|(name, _)| is_overlays(name)) {
        return Told { refusal: Some(Refusal::OverlayAttribute), ..Told::default() };
    }
    tell(attributes)
}

/// Leaves the `user.*` attributes and the ACLs of a host's entry.
pub(in crate::sync) fn users(attributes: Vec<Attribute>) -> Vec<Attribute> {
    attributes.into_iter().filter(|(name, _)| is_users(name)).collect()
}

fn is_users(name: &OsStr) -> bool {
    is_acl(name) || name.as_bytes().starts_with(b"user.") && !is_overlays(name)
}

/// Returns why a node is refused whatever it contains.
pub(super) fn node(node: &Node, owner: u32) -> Option<Refusal> {
    match node.special {
        Some(Special::Whiteout | Special::Device) => return Some(Refusal::Device),
        Some(Special::Socket) => return Some(Refusal::Socket),
        Some(Special::Fifo) => return Some(Refusal::Fifo),
        None => {}
    }
    (node.status.uid != owner).then_some(Refusal::ForeignOwner)
}

/// Returns whether bits must not be given to an entry that has `host`'s bits. By set-group-id of a directory what is
/// made in it has its group, which is the user's own: nothing runs by it.
pub(super) fn set_id(kind: Kind, mode: u32, host: Option<u32>) -> Option<Refusal> {
    let allowed = if kind == Kind::Directory { SET_GID | host.unwrap_or(0) } else { 0 };
    (mode & SET_ID & !allowed != 0).then_some(Refusal::SetId)
}

/// Returns whether a link that stands at `path` may lead out of the root, by its words alone. The
/// way back from a name may begin elsewhere, when that name is a link itself.
pub(in crate::sync) fn leads_out(path: &Path, target: &OsStr) -> bool {
    let mut above = path.components().count().saturating_sub(1);
    let mut has_name = false;
    for component in Path::new(target).components() {
        match component {
            Component::Normal(_) => has_name = true,
            Component::CurDir => {}
            Component::ParentDir if above > 0 && !has_name => above -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// Returns whether a path is, or leads through, a name that write-back uses for itself at the root of a tree: what is there
/// may be the originals of another run.
pub(super) fn is_reserved(path: &Path) -> bool {
    let name = path.iter().next().unwrap_or_default().as_bytes();
    name.starts_with(b".endow-") && name.ends_with(b"-stage")
}
