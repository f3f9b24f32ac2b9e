//! The table of mounts that a process sees (proc_pid_mountinfo(5)).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its number, which statx(2) tells of files in it.
    pub(crate) number: u64,
    /// The device of its file system: major and minor number.
    pub(crate) device: (u32, u32),
    /// What of the file system it shows.
    pub(crate) root: PathBuf,
    /// Where it stands.
    pub(crate) place: PathBuf,
    /// The type of the file system.
    pub(crate) kind: OsString,
    /// What it was mounted from.
    pub(crate) source: OsString,
    /// The options of the file system, not those of the mount.
    options: Vec<u8>,
}

impl Mount {
    /// Returns whether the whole file system is read-only, and not the mount alone.
    pub(crate) fn is_file_system_readonly(&self) -> bool {
        self.options.split(|byte| *byte == b',').any(|option| option == b"ro")
    }
}

/// Returns the mounts that this process sees; `None` where the table can't be read.
pub(crate) fn own() -> Option<Vec<Mount>> {
    std::fs::read("/proc/self/mountinfo").ok().map(|table| parse(&table))
}

/// Reads a table. Lines of another form are left out.
pub(crate) fn parse(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = number(fields.next()?)?;
    let device = fields.nth(1)?;
    let colon = device.iter().position(|byte| *byte == b':')?;
    let device = (self::number(&device[..colon])?, self::number(&device[colon + 1..])?);
    let (root, place) = (path(fields.next()?), path(fields.next()?));
    // How the mount passes on others stands in fields of any number before the separator.
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, source) = (text(fields.next()?), text(fields.next()?));
    let options = fields.next().unwrap_or_default().to_vec();
    Some(Mount { number, device, root, place, kind, source, options })
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(field)))
}

fn text(field: &[u8]) -> OsString {
    OsStr::from_bytes(field).to_owned()
}

/// Returns a field in which blanks stand as octal numbers.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = octal.and_then(|octal| u8::from_str_radix(octal, 8).ok());
        plain.push(byte.unwrap_or(*first));
        rest = byte.and_then(|_| after.get(3..)).unwrap_or(after);
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_are_read_field_by_field() {
        let table = br"36 35 98:0 /of\040it /mnt\040a/\134x rw,noatime shared:1 master:2 - ext4 /dev/root ro,errors=continue
37 36 0:45 / /work ro - overlay endow rw
36 35
38 36 x:1 / / rw - ext4 none rw
39 36 0:46 / / rw";
        let found = parse(table);
        assert_eq!(found.iter().map(|it| it.number).collect::<Vec<_>>(), [36, 37]);
        let first = found.first().expect("a mount");
        assert_eq!((first.device, first.root.as_path()), ((98, 0), Path::new("/of it")));
        assert_eq!((first.place.as_path(), &first.kind), (Path::new(r"/mnt a/\x"), &"ext4".into()));
        assert_eq!((&first.source, first.is_file_system_readonly()), (&"/dev/root".into(), true));
        assert!(!found[1].is_file_system_readonly());
    }

    #[test]
    fn own_table_has_a_root() {
        let own = own().expect("readable");
        assert!(own.iter().any(|it| it.place == Path::new("/")), "{own:?}");
    }
}
