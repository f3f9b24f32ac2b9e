//! Messages in a text of their own: a message that names another holds its digest, which no mutation
//! finds.

use endow_vfs::cas::Digest;
use endow_vfs::cas::message::wire;

/// Stands between the entries of a directory.
const NEXT: u8 = 0xfe;

/// Makes a message: entries are a kind, a number and a name. Directories name those before them by
/// number. The first entry also says whether all are sorted in the end.
pub(super) fn described(part: &[u8], digests: &[Digest]) -> wire::Directory {
    let mut message = wire::Directory::default();
    for entry in part.split(|byte| *byte == NEXT) {
        let [kind, number, name @ ..] = entry else { continue };
        add(&mut message, *kind, *number, &String::from_utf8_lossy(name), digests);
    }
    if part.first().is_some_and(|byte| byte & 128 == 0) {
        sort(&mut message);
    }
    message
}

fn add(message: &mut wire::Directory, kind: u8, number: u8, name: &str, digests: &[Digest]) {
    let of_a_file = Digest { hash: [number; 32], size: u64::from(number) * 16 };
    let place = usize::from(number) % digests.len().max(1);
    match kind & 7 {
        0 | 1 => message.files.push(wire::FileNode {
            name: name.to_owned(),
            digest: Some(of_a_file.into()),
            is_executable: kind & 1 == 1,
            node_properties: (kind & 8 != 0).then(properties),
        }),
        2 | 3 => message.directories.push(wire::DirectoryNode {
            name: name.to_owned(),
            digest: digests.get(place).map(|digest| (*digest).into()),
        }),
        4 => {
            let (name, target) = name.split_once('\n').unwrap_or((name, ""));
            let (name, target) = (name.to_owned(), target.to_owned());
            message.symlinks.push(wire::SymlinkNode { name, target, node_properties: None });
        }
        _ => message.node_properties = Some(properties()),
    }
}

fn sort(message: &mut wire::Directory) {
    message.files.sort_by(|one, other| one.name.cmp(&other.name));
    message.directories.sort_by(|one, other| one.name.cmp(&other.name));
    message.symlinks.sort_by(|one, other| one.name.cmp(&other.name));
}

fn properties() -> wire::NodeProperties {
    wire::NodeProperties {
        properties: Vec::new(),
        mtime: Some(wire::Timestamp { seconds: 1, nanos: 0 }),
        unix_mode: Some(wire::UInt32Value { value: 0o644 }),
    }
}
