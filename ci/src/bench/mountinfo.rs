//! Reads a sandbox's mounts from the kernel, so that other launchers can make the same.

use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`, see proc(5).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountLine {
    device: String,
    /// What of the file system is mounted.
    root: PathBuf,
    /// Where it stands.
    pub(super) at: PathBuf,
    /// Whether this mount is read-only.
    pub(super) readonly: bool,
    /// The file system's type.
    pub(super) kind: String,
}

/// Reads all lines; what has no path or type is left out.
pub(super) fn parse(text: &str) -> Vec<MountLine> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<MountLine> {
    let (mount, system) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    Some(MountLine {
        device: (*fields.get(2)?).to_owned(),
        root: PathBuf::from(fields.get(3)?),
        at: PathBuf::from(fields.get(4)?),
        readonly: fields.get(5)?.split(',').any(|option| option == "ro"),
        kind: system.split(' ').next()?.to_owned(),
    })
}

impl MountLine {
    /// The path on the host that shows the same file or directory.
    pub(super) fn source(&self, host: &[Self]) -> Option<PathBuf> {
        let same_device = host.iter().filter(|other| other.device == self.device);
        let path_in = |other: &Self| {
            let below = self.root.strip_prefix(&other.root).ok()?;
            Some(if below == Path::new("") { other.at.clone() } else { other.at.join(below) })
        };
        same_device.filter_map(path_in).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                        22 21 0:5 / /dev rw - devtmpfs devtmpfs rw\n\
                        23 22 0:20 / /dev/shm rw - tmpfs tmpfs rw\n";
    const GUEST: &str = "90 80 0:50 / / ro,nosuid - tmpfs root rw\n\
                         91 90 254:0 /usr /usr ro,nosuid,nodev - ext4 /dev/vda rw\n\
                         92 90 0:5 /null /dev/null rw,nosuid - devtmpfs devtmpfs rw\n\
                         93 90 0:20 /x/work /bench/work rw - tmpfs tmpfs rw\n\
                         94 90 0:51 / /tmp rw - tmpfs tmpfs rw\n";

    #[test]
    fn lines_are_parsed() {
        let found = parse(GUEST);
        assert_eq!(found.len(), 5);
        assert_eq!(found[1].at, Path::new("/usr"));
        assert_eq!((found[1].readonly, found[1].kind.as_str()), (true, "ext4"));
        assert!(!found[3].readonly);
        assert!(parse("nonsense\n").is_empty());
    }

    #[test]
    fn sources_are_found_on_the_host() {
        let host = parse(HOST);
        let sources: Vec<Option<PathBuf>> =
            parse(GUEST).iter().map(|line| line.source(&host)).collect();
        let path = |text: &str| Some(PathBuf::from(text));
        let expected = [None, path("/usr"), path("/dev/null"), path("/dev/shm/x/work"), None];
        assert_eq!(sources, expected);
    }
}
