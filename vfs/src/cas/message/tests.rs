//! Messages against the bytes of the specification, and hostile ones.

use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::cas::{Digest, DigestError};
use crate::snapshot::NameFault;

const ANY: usize = usize::MAX;

fn file(name: &str) -> wire::FileNode {
    let digest = Some(Digest::of(name.as_bytes()).into());
    wire::FileNode { name: name.to_owned(), digest, ..wire::FileNode::default() }
}

/// Returns the length of a short record, as a message has it.
fn length(record: &[u8]) -> u8 {
    u8::try_from(record.len()).expect("a short record")
}

fn directory(name: &str) -> wire::DirectoryNode {
    wire::DirectoryNode { name: name.to_owned(), digest: Some(Digest::EMPTY.into()) }
}

fn symlink(name: &str) -> wire::SymlinkNode {
    let (name, target) = (name.to_owned(), "../target".to_owned());
    wire::SymlinkNode { name, target, node_properties: None }
}

fn decode(message: &wire::Directory) -> Result<Listing, MessageError> {
    Listing::decode(&message.encode_to_vec(), ANY)
}

fn files(names: &[&str]) -> wire::Directory {
    let files = names.iter().map(|name| file(name)).collect();
    wire::Directory { files, ..wire::Directory::default() }
}

/// Returns the error of a directory whose one file has such a digest.
fn with_digest(digest: Option<wire::Digest>) -> MessageError {
    let file = wire::FileNode { digest, ..file("a") };
    let message = wire::Directory { files: vec![file], ..wire::Directory::default() };
    decode(&message).expect_err("refused")
}

#[test]
fn empty_directory_has_no_bytes() {
    let listing = Listing::default();
    assert_eq!(listing.encode(), b"");
    assert_eq!(Digest::of(&listing.encode()), Digest::EMPTY);
    assert_eq!(Listing::decode(b"", 0), Ok(listing));
}

#[test]
fn bytes_are_those_of_the_specification() {
    let digits = Digest::EMPTY.to_hex();
    let empty = [b"\x12\x42\x0a\x40", digits.as_bytes()].concat();
    let listing = Listing::new(
        vec![
            ListedFile { name: "b".into(), digest: Digest::EMPTY, executable: true },
            ListedFile {
                name: "a".into(),
                digest: Digest { size: 300, ..Digest::EMPTY },
                executable: false,
            },
        ],
        vec![ListedDirectory { name: "d".into(), digest: Digest::EMPTY }],
        vec![ListedSymlink { name: "l".into(), target: "t".into() }],
    )
    .expect("a directory");
    let sized = [b"\x12\x45\x0a\x40", digits.as_bytes(), b"\x10\xac\x02"].concat();
    let expected = [
        [b"\x0a\x4a\x0a\x01a", sized.as_slice()].concat(),
        [b"\x0a\x49\x0a\x01b", empty.as_slice(), b"\x20\x01"].concat(),
        [b"\x12\x47\x0a\x01d", empty.as_slice()].concat(),
        b"\x1a\x06\x0a\x01l\x12\x01t".to_vec(),
    ];
    assert_eq!(listing.encode(), expected.concat());
    assert_eq!(Listing::decode(&expected.concat(), 4), Ok(listing));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let faults = [
        ("../x", NameFault::Slash),
        ("/etc", NameFault::Slash),
        ("a/b", NameFault::Slash),
        ("..", NameFault::Dots),
        (".", NameFault::Dots),
        ("", NameFault::Empty),
        ("a\0", NameFault::Nul),
    ];
    for (name, fault) in faults {
        let refused = Err(MessageError::Name { name: name.to_owned(), fault });
        assert_eq!(decode(&files(&[name])), refused);
        let directories = vec![directory(name)];
        assert_eq!(decode(&wire::Directory { directories, ..wire::Directory::default() }), refused);
        let symlinks = vec![symlink(name)];
        assert_eq!(decode(&wire::Directory { symlinks, ..wire::Directory::default() }), refused);
    }
}

#[test]
fn names_are_sorted_by_bytes_and_unique_in_the_directory() {
    assert_eq!(decode(&files(&["B", "a", "\u{e9}"])).expect("sorted").files().len(), 3);
    let unsorted = |name: &str| Err(MessageError::Unsorted { name: name.to_owned() });
    assert_eq!(decode(&files(&["a", "B"])), unsorted("B"));
    assert_eq!(decode(&files(&["a", "c", "b"])), unsorted("b"));
    let twice = Err(MessageError::Twice { name: "a".to_owned() });
    assert_eq!(decode(&files(&["a", "a"])), twice);
    let other = wire::Directory { directories: vec![directory("a")], ..files(&["a", "b"]) };
    assert_eq!(decode(&other), twice);
    let other = wire::Directory { symlinks: vec![symlink("a")], ..files(&["a", "b"]) };
    assert_eq!(decode(&other), twice);
}

#[test]
fn digests_are_well_formed() {
    let good = wire::Digest::from(Digest::of(b"a"));
    let name = || "a".to_owned();
    let wrong = |error| MessageError::Digest { name: name(), error };
    assert_eq!(with_digest(None), MessageError::NoDigest { name: name() });
    let hash = good.hash.to_uppercase();
    let upper = wire::Digest { hash, ..good.clone() };
    assert_eq!(with_digest(Some(upper)), wrong(DigestError::Hash));
    let hash = good.hash[..62].to_owned();
    let short = wire::Digest { hash, ..good.clone() };
    assert_eq!(with_digest(Some(short)), wrong(DigestError::Hash));
    let negative = wire::Digest { size_bytes: -1, ..good };
    assert_eq!(with_digest(Some(negative)), wrong(DigestError::Size));
}

#[test]
fn other_forms_of_the_same_directory_are_refused() {
    let message = files(&["a"]).encode_to_vec();
    let inside = file("a").encode_to_vec();
    let again = |inside: &[u8]| [&[0x0a, length(inside)], inside].concat();
    assert_eq!(again(&inside), message);
    let of = |bytes: &[u8]| Listing::decode(bytes, ANY).expect_err("refused");
    let other = |name: &str| MessageError::NotCanonical { name: name.to_owned() };
    let unknown = [inside.as_slice(), b"\x7a\x01x"].concat();
    assert_eq!(of(&again(&unknown)), other("a"), "an unknown field of a file");
    let default = [inside.as_slice(), b"\x20\x00"].concat();
    assert_eq!(of(&again(&default)), other("a"), "a field with the value it has without");
    let repeated = [b"\x0a\x01x", inside.as_slice()].concat();
    assert_eq!(of(&again(&repeated)), other("a"), "a field twice");
    let long = [&[0x0a, length(&inside) | 0x80, 0], inside.as_slice()].concat();
    assert_eq!(of(&long), other(""), "a length with more bytes than needed");
    let unknown = [message.as_slice(), b"\x7a\x01x"].concat();
    assert_eq!(of(&unknown), MessageError::Field { field: 15 });
    let four = [message.as_slice(), b"\x22\x01x"].concat();
    assert_eq!(of(&four), MessageError::Field { field: 4 });
    let number = [message.as_slice(), b"\x28\x01"].concat();
    assert_eq!(of(&number), MessageError::Field { field: 5 }, "a number");
    let symlink = symlink("l").encode_to_vec();
    let back = [&[0x1a, length(&symlink)], symlink.as_slice(), &message].concat();
    assert_eq!(of(&back), MessageError::Field { field: 1 }, "lists out of order");
    let twice = [message.as_slice(), b"\x2a\x00\x2a\x00"].concat();
    assert_eq!(of(&twice), other(""), "properties twice");
    assert_eq!(of(&message[..message.len() - 1]), MessageError::Malformed);
    assert_eq!(of(b"\x0a\x03\x0a\x01\xff"), MessageError::Malformed, "no UTF-8");
    assert_eq!(of(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), MessageError::Malformed);
}

#[test]
fn properties_are_taken_and_dropped() {
    let properties = Some(wire::NodeProperties {
        properties: vec![wire::NodeProperty { name: "n".into(), value: "v".into() }],
        mtime: Some(wire::Timestamp { seconds: 1, nanos: -2 }),
        unix_mode: Some(wire::UInt32Value { value: 0o4755 }),
    });
    let with = wire::Directory {
        files: vec![wire::FileNode { node_properties: properties.clone(), ..file("a") }],
        symlinks: vec![wire::SymlinkNode { node_properties: properties.clone(), ..symlink("l") }],
        directories: Vec::new(),
        node_properties: properties,
    };
    let without = wire::Directory { symlinks: vec![symlink("l")], ..files(&["a"]) };
    assert_ne!(with.encode_to_vec(), without.encode_to_vec());
    assert_eq!(decode(&with), decode(&without));
    assert_eq!(decode(&with).expect("a directory").encode(), without.encode_to_vec());
}

#[test]
fn bounds_hold_before_entries_are_kept() {
    let message = files(&["a", "b", "c"]).encode_to_vec();
    assert!(Listing::decode(&message, 3).is_ok());
    assert_eq!(Listing::decode(&message, 2), Err(MessageError::ManyEntries { limit: 2 }));
    let mut large = symlink("l");
    large.target = "x".repeat(17 << 10);
    let large = wire::Directory { symlinks: vec![large], ..wire::Directory::default() };
    assert!(matches!(decode(&large), Err(MessageError::LargeEntry { .. })));
}

#[test]
fn tree_has_one_root_and_its_directories() {
    let root = Listing::new(
        Vec::new(),
        vec![ListedDirectory { name: "d".into(), digest: Digest::EMPTY }],
        Vec::new(),
    );
    let root = root.expect("a directory");
    let bytes = TreeMessage::encode(&root, &[Listing::default()]);
    let oracle = wire::Tree {
        root: Some(wire::Directory::decode(root.encode().as_slice()).expect("a message")),
        children: vec![wire::Directory::default()],
    };
    assert_eq!(bytes, oracle.encode_to_vec());
    let tree = TreeMessage::decode(&bytes, 1).expect("a tree");
    assert_eq!(tree.root(), root.encode());
    assert_eq!(tree.directory(&Digest::EMPTY), Some(&b""[..]));
    assert_eq!(tree.directory(&Digest::of(b"x")), None);
    let of = |bytes: &[u8]| TreeMessage::decode(bytes, 1).map(drop).expect_err("refused");
    assert_eq!(of(b""), MessageError::Root);
    assert_eq!(of(b"\x12\x00"), MessageError::Root);
    assert_eq!(of(b"\x0a\x00\x0a\x00"), MessageError::Root);
    assert_eq!(of(b"\x0a\x00\x1a\x00"), MessageError::Field { field: 3 });
    assert_eq!(of(b"\x12\x00\x0a\x00"), MessageError::Field { field: 1 });
    assert_eq!(of(b"\x0a\x00\x12\x00\x12\x01x"), MessageError::ManyEntries { limit: 1 });
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let name = "[a-zA-Z0-9._ \u{e9}\u{1f600}-]{1,12}";
    let names = prop::collection::btree_set(name, 0..12);
    names.prop_map(|names| {
        names.into_iter().filter(|name| !matches!(name.as_str(), "." | "..")).collect()
    })
}

/// A listing in which a name is of a kind that its place in the list chooses.
fn listings() -> impl Strategy<Value = Listing> {
    (names(), any::<u64>(), any::<[u8; 32]>()).prop_map(|(names, size, hash)| {
        let digest = Digest { hash, size: size >> 1 };
        let (mut files, mut directories, mut symlinks) = (Vec::new(), Vec::new(), Vec::new());
        for (place, name) in names.into_iter().enumerate().rev() {
            match place % 4 {
                0 => directories.push(ListedDirectory { name, digest }),
                1 => symlinks.push(ListedSymlink { target: name.clone(), name }),
                kind => files.push(ListedFile { name, digest, executable: kind == 2 }),
            }
        }
        Listing::new(files, directories, symlinks).expect("names are good")
    })
}

proptest! {
    #[test]
    fn listing_comes_back(listing in listings()) {
        let bytes = listing.encode();
        let whole = wire::Directory::decode(bytes.as_slice()).expect("a message");
        prop_assert_eq!(whole.encode_to_vec(), bytes.clone());
        prop_assert_eq!(Listing::decode(&bytes, ANY), Ok(listing));
    }

    /// Whatever is taken has the one form that the whole message would be encoded to.
    #[test]
    fn changed_bytes_are_taken_in_canonical_form_only(
        listing in listings(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = listing.encode();
        for (place, byte) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        if Listing::decode(&bytes, ANY).is_ok() {
            let whole = wire::Directory::decode(bytes.as_slice()).expect("a message");
            prop_assert_eq!(whole.encode_to_vec(), bytes);
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes: Vec<u8>) {
        let taken = Listing::decode(&bytes, ANY);
        if let Ok(listing) = taken {
            prop_assert!(Listing::decode(&listing.encode(), ANY).is_ok());
        }
        drop(TreeMessage::decode(&bytes, ANY));
    }
}
