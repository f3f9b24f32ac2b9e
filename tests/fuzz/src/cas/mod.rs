//! The target `directory_messages`: messages of a store, the trees in it, and texts that name both.

mod described;
mod manifest;
mod tree;

use endow_vfs::cas::message::{Listing, TreeMessage, wire};
use endow_vfs::cas::{Digest, PinName};
use endow_vfs::trees::{ContentName, TreeKey};
use prost::Message as _;

/// The most entries of one directory here.
const ENTRIES: usize = 32;

/// Reads messages, and compares with what another decoder makes of them.
pub(crate) fn directory_messages(input: &[u8]) {
    let Some((door, input)) = input.split_first() else { return };
    match door & 7 {
        0 | 1 => directory(input),
        2 => tree_message(input),
        3 => texts(input),
        4 => manifest::manifest(input),
        _ => tree::tree(*door, input),
    }
}

/// What is accepted is what any decoder reads, and its only form.
fn directory(bytes: &[u8]) {
    let listing = match Listing::decode(bytes, ENTRIES) {
        Ok(listing) => listing,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut message = wire::Directory::decode(bytes).expect("another decoder takes it");
    assert_eq!(message.encode_to_vec(), bytes, "another form of the same directory");
    let is_bare = without_properties(&mut message);
    let encoded = listing.encode();
    assert_eq!(message.encode_to_vec(), encoded, "another directory");
    assert!(!is_bare || encoded == bytes);
    assert_eq!(Listing::decode(&encoded, ENTRIES).as_ref(), Ok(&listing));
    assert_listing(&listing);
}

fn assert_listing(listing: &Listing) {
    let files: Vec<_> = listing.files().iter().map(|it| it.name.as_str()).collect();
    let directories: Vec<_> = listing.directories().iter().map(|it| it.name.as_str()).collect();
    let symlinks: Vec<_> = listing.symlinks().iter().map(|it| it.name.as_str()).collect();
    for list in [&files, &directories, &symlinks] {
        assert!(list.is_sorted_by(|one, other| one.as_bytes() < other.as_bytes()));
    }
    let mut all = [files, directories, symlinks].concat();
    assert!(all.len() <= ENTRIES);
    for name in &all {
        assert!(!matches!(*name, "" | "." | "..") && name.len() <= 255, "{name:?}");
        assert!(!name.contains(['/', '\0']), "{name:?}");
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a name twice");
    let backwards = Listing::new(
        listing.files().iter().rev().cloned().collect(),
        listing.directories().iter().rev().cloned().collect(),
        listing.symlinks().iter().rev().cloned().collect(),
    );
    assert_eq!(backwards.as_ref(), Ok(listing));
}

/// Takes out what a listing doesn't keep; returns whether there was nothing of it.
fn without_properties(message: &mut wire::Directory) -> bool {
    let mut taken = message.node_properties.take().is_some();
    for file in &mut message.files {
        taken |= file.node_properties.take().is_some();
    }
    for symlink in &mut message.symlinks {
        taken |= symlink.node_properties.take().is_some();
    }
    !taken
}

/// All directories of a message are found by their digests.
fn tree_message(bytes: &[u8]) {
    let Ok(tree) = TreeMessage::decode(bytes, ENTRIES) else { return };
    let message = wire::Tree::decode(bytes);
    let mut count = 0;
    for directory in tree.directories() {
        assert_eq!(tree.directory(&Digest::of(directory)), Some(directory));
        count += 1;
    }
    assert!(count <= ENTRIES);
    let Ok(message) = message else { return };
    assert!(message.children.len() >= count);
    let Ok(root) = Listing::decode(tree.root(), ENTRIES) else { return };
    let children = message.children.iter().map(|it| Listing::decode(&it.encode_to_vec(), ENTRIES));
    let Ok(children) = children.collect::<Result<Vec<_>, _>>() else { return };
    let again = TreeMessage::encode(&root, &children);
    let again = TreeMessage::decode(&again, ENTRIES).expect("its own form");
    assert_eq!(Listing::decode(again.root(), ENTRIES), Ok(root));
}

/// A text that is accepted is the only one for what it names.
fn texts(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string(), text);
        assert_eq!(Digest::from_hex(&digest.to_hex(), digest.size), Ok(digest));
    }
    if let Ok(name) = text.parse::<ContentName>() {
        assert_eq!(name.to_string(), text);
    }
    if let Ok(name) = text.parse::<PinName>() {
        assert_eq!(name.to_string(), text);
        assert!(!text.starts_with('.') && !text.contains(['/', '\0']) && text.len() <= 255);
    }
    if let Some(key) = TreeKey::new("cas", text) {
        assert!(key.as_str().len() <= 250 && !key.as_str().contains(['/', '.', '\0']));
    }
}
