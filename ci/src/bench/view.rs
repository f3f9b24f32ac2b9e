//! One view in the words of each launcher, so that all of them make the same mounts.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::mountinfo;

/// The device nodes that bubblewrap's `--dev` and endow's view have.
const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Names that are links into `/usr` on most systems, and directories on some.
const USR_LINKS: &[&str] = &["bin", "sbin", "lib", "lib64"];

/// A mount besides `/proc` and `/dev`, which every view has.
#[derive(Clone, Debug)]
enum Mount {
    Ro {
        from: PathBuf,
        to: PathBuf,
    },
    Rw {
        from: PathBuf,
        to: PathBuf,
    },
    /// Buffered by endow; a plain bind for the others.
    Cow {
        from: PathBuf,
        to: PathBuf,
    },
    Memory {
        to: PathBuf,
    },
}

/// A list of mounts.
#[derive(Clone, Debug)]
pub(super) struct View {
    mounts: Vec<Mount>,
    links: Vec<(PathBuf, PathBuf)>,
    marker: String,
}

impl View {
    /// What a C compiler needs, and nothing of the project: 14 mounts with `/proc` and `/dev`.
    pub(super) fn system() -> Self {
        let mut view = Self { mounts: Vec::new(), links: Vec::new(), marker: "/usr".to_owned() };
        view.ro(Path::new("/usr"), Path::new("/usr"));
        view.ro(Path::new("/etc"), Path::new("/etc"));
        for name in USR_LINKS {
            let path = Path::new("/").join(name);
            match std::fs::read_link(&path) {
                Ok(target) => view.links.push((target, path)),
                Err(_) if path.is_dir() => view.ro(&path, &path),
                Err(_) => {}
            }
        }
        for name in ["/tmp", "/run"] {
            view.mounts.push(Mount::Memory { to: PathBuf::from(name) });
        }
        view
    }

    /// The mounts that a sandbox has, as the kernel lists them inside and on the host.
    ///
    /// What endow makes for the run alone and is gone afterwards is replaced by `private`. Covers
    /// below `/proc` are left out: each launcher has its own, and none of them is ours to count.
    pub(super) fn like(guest: &str, host: &str, wanted: &Self, private: &Path) -> Self {
        let mut view = Self { mounts: Vec::new(), ..wanted.clone() };
        let host = mountinfo::parse(host);
        for line in mountinfo::parse(guest).into_iter().filter(|line| !is_standard(&line.at)) {
            let to = line.at.clone();
            let source = line.source(&host).filter(|source| source.exists());
            let buffered = wanted.buffered(&to);
            match source {
                None if buffered.is_some() => view.mounts.extend(buffered.cloned()),
                None if line.kind == "tmpfs" => view.mounts.push(Mount::Memory { to }),
                None if line.kind == "overlay" => eprintln!("not comparable: {}", to.display()),
                None => view.mounts.push(Mount::Rw { from: private.to_owned(), to }),
                Some(from) if line.readonly => view.mounts.push(Mount::Ro { from, to }),
                Some(from) => view.mounts.push(Mount::Rw { from, to }),
            }
        }
        // A directory that stands as a mount is no link.
        let mounts = &view.mounts;
        view.links.retain(|(_, at)| !mounts.iter().any(|mount| mount.at() == at));
        view
    }

    fn buffered(&self, at: &Path) -> Option<&Mount> {
        self.mounts.iter().find(|mount| matches!(mount, Mount::Cow { to, .. } if to == at))
    }

    /// Shows a host directory whose changes endow buffers.
    pub(super) fn cow(&mut self, from: &Path, to: &Path) {
        self.marker = to.display().to_string();
        self.mounts.push(Mount::Cow { from: from.to_owned(), to: to.to_owned() });
    }

    /// Shows a host directory read-only.
    pub(super) fn ro(&mut self, from: &Path, to: &Path) {
        self.mounts.push(Mount::Ro { from: from.to_owned(), to: to.to_owned() });
    }

    /// Shows a host directory live.
    pub(super) fn rw(&mut self, from: &Path, to: &Path) {
        self.marker = to.display().to_string();
        self.mounts.push(Mount::Rw { from: from.to_owned(), to: to.to_owned() });
    }

    /// How many mounts the kernel makes for it: root, proc, dev, its nodes and terminals included.
    pub(super) fn len(&self) -> usize {
        self.mounts.len() + 4 + NODES.len()
    }

    /// A path that exists only in this view or shows that it stands.
    pub(super) fn marker(&self) -> &str {
        &self.marker
    }

    /// Steps for `floor.c`.
    pub(super) fn floor_list(&self) -> String {
        let mut list = FloorList::default();
        list.mount("proc", Path::new("-"), Path::new("/proc"));
        list.mount("tmpfs", Path::new("-"), Path::new("/dev"));
        for node in NODES {
            let path = Path::new("/dev").join(node);
            list.line("file", &[], &path);
            list.line("rw", &[&path], &path);
        }
        list.mount("devpts", Path::new("-"), Path::new("/dev/pts"));
        for (target, at) in &self.links {
            list.line("link", &[target], at);
        }
        for mount in &self.mounts {
            match mount {
                Mount::Ro { from, to } => list.mount("ro", from, to),
                Mount::Rw { from, to } | Mount::Cow { from, to } => list.mount("rw", from, to),
                Mount::Memory { to } => list.mount("tmpfs", Path::new("-"), to),
            }
        }
        list.text
    }

    /// bubblewrap's command line.
    pub(super) fn bwrap(&self) -> Vec<String> {
        let mut words: Vec<String> = ["bwrap", "--unshare-all", "--proc", "/proc", "--dev", "/dev"]
            .map(str::to_owned)
            .to_vec();
        let mut add = |flag: &str, paths: &[&Path]| {
            words.push(flag.to_owned());
            words.extend(paths.iter().map(|path| path.display().to_string()));
        };
        for (target, at) in &self.links {
            add("--symlink", &[target, at]);
        }
        for mount in &self.mounts {
            match mount {
                Mount::Ro { from, to } => add("--ro-bind", &[from, to]),
                Mount::Rw { from, to } | Mount::Cow { from, to } => add("--bind", &[from, to]),
                Mount::Memory { to } => add("--tmpfs", &[to]),
            }
        }
        words.extend(["--chdir", "/", "--"].map(str::to_owned));
        words
    }

    /// endow's policy file; `/proc`, `/dev` and the links are its own.
    pub(super) fn endow_policy(&self) -> String {
        let mut text = "version = 1\n\n[workspace]\naccess = \"none\"\n\n[deny]\ndefaults = false\n\n[mounts]\n".to_owned();
        for mount in &self.mounts {
            let line = match mount {
                Mount::Ro { from, to } => host_mount(from, to, "ro"),
                Mount::Rw { from, to } => host_mount(from, to, "rw"),
                Mount::Cow { from, to } => host_mount(from, to, "cow"),
                Mount::Memory { to } => format!("\"{}\" = {{ memory = true }}", to.display()),
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

impl Mount {
    fn at(&self) -> &Path {
        match self {
            Self::Ro { to, .. } | Self::Rw { to, .. } => to,
            Self::Cow { to, .. } | Self::Memory { to } => to,
        }
    }
}

/// What every view has without being told: the root, `/proc` and the usual nodes of `/dev`.
fn is_standard(at: &Path) -> bool {
    let below = |root: &str| at.starts_with(root);
    at == Path::new("/") || below("/proc") || (below("/dev") && !below("/dev/shm"))
}

fn host_mount(from: &Path, to: &Path, access: &str) -> String {
    format!("\"{}\" = {{ host = \"{}\", access = \"{access}\" }}", to.display(), from.display())
}

/// Lines for `floor.c`, with each directory made once, before what stands in it.
#[derive(Default)]
struct FloorList {
    text: String,
    made: BTreeSet<PathBuf>,
    /// Host directories that stand: what is below them exists or does not.
    shown: Vec<PathBuf>,
}

impl FloorList {
    fn mount(&mut self, kind: &str, from: &Path, to: &Path) {
        if from.is_absolute() && !from.is_dir() {
            if let Some(parent) = to.parent() {
                self.directories(parent);
            }
            if !self.is_shown(to) {
                self.line("file", &[], to);
            }
        } else {
            self.directories(to);
        }
        self.line(kind, &[from], to);
        if from.is_absolute() {
            self.shown.push(to.to_owned());
        }
    }

    fn is_shown(&self, path: &Path) -> bool {
        self.shown.iter().any(|shown| path.starts_with(shown))
    }

    fn line(&mut self, kind: &str, from: &[&Path], to: &Path) {
        let from: Vec<String> = from.iter().map(|path| format!(" {}", path.display())).collect();
        let to = to.strip_prefix("/").unwrap_or(to).display();
        // Writing to a String does not fail.
        let _: std::fmt::Result = writeln!(self.text, "{kind}{} {to}", from.concat());
    }

    fn directories(&mut self, path: &Path) {
        let mut missing: Vec<&Path> = path.ancestors().collect();
        missing.pop(); // the root
        for dir in missing.into_iter().rev() {
            if !self.is_shown(dir) && self.made.insert(dir.to_owned()) {
                self.line("dir", &[], dir);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        let mut view = View { mounts: Vec::new(), links: Vec::new(), marker: "/usr".to_owned() };
        view.links.push((PathBuf::from("usr/bin"), PathBuf::from("/bin")));
        view.ro(Path::new("/usr"), Path::new("/usr"));
        view.rw(Path::new("/var"), Path::new("/b/w"));
        view.mounts.push(Mount::Memory { to: PathBuf::from("/b/tmp") });
        view
    }

    #[test]
    fn floor_makes_each_directory_once_and_in_order() {
        let list = view().floor_list();
        let lines: Vec<&str> = list.lines().skip_while(|line| !line.starts_with("link")).collect();
        assert_eq!(
            lines,
            [
                "link usr/bin bin",
                "dir usr",
                "ro /usr usr",
                "dir b",
                "dir b/w",
                "rw /var b/w",
                "dir b/tmp",
                "tmpfs - b/tmp",
            ]
        );
        assert!(list.starts_with("dir proc\nproc - proc\ndir dev\ntmpfs - dev\nfile dev/null\n"));
    }

    #[test]
    fn floor_makes_files_and_nothing_below_what_is_shown() {
        let mut view = view();
        view.mounts.clear();
        view.ro(Path::new("/etc"), Path::new("/etc"));
        view.ro(Path::new("/etc/passwd"), Path::new("/etc/passwd"));
        view.ro(Path::new("/etc/passwd"), Path::new("/x/y"));
        let list = view.floor_list();
        let lines: Vec<&str> = list.lines().skip_while(|line| *line != "dir etc").collect();
        assert_eq!(
            lines,
            [
                "dir etc",
                "ro /etc etc",
                "ro /etc/passwd etc/passwd",
                "dir x",
                "file x/y",
                "ro /etc/passwd x/y",
            ]
        );
    }

    #[test]
    fn a_view_is_read_from_the_kernel() {
        let host = "21 1 254:0 / / rw - ext4 /dev/vda rw\n";
        let guest = "90 80 0:50 / / ro - tmpfs root rw\n\
                     91 90 254:0 /usr /bin ro - ext4 /dev/vda rw\n\
                     92 90 254:0 /gone/run/home /home/u rw - ext4 /dev/vda rw\n\
                     93 90 0:51 / /tmp rw - tmpfs tmpfs rw\n\
                     94 90 0:52 / /proc rw - proc proc rw\n";
        let found = View::like(guest, host, &view(), Path::new("/var"));
        assert!(found.links.is_empty());
        let words = found.bwrap().join(" ");
        assert!(
            words.contains("--ro-bind /usr /bin --bind /var /home/u --tmpfs /tmp --chdir"),
            "{words}"
        );
    }

    #[test]
    fn launchers_get_the_same_mounts() {
        let words = view().bwrap().join(" ");
        assert!(words.contains(
            "--symlink usr/bin /bin --ro-bind /usr /usr --bind /var /b/w --tmpfs /b/tmp"
        ));
        let policy = view().endow_policy();
        assert!(policy.contains("\"/usr\" = { host = \"/usr\", access = \"ro\" }\n"));
        assert!(policy.contains("\"/b/w\" = { host = \"/var\", access = \"rw\" }\n"));
        assert!(policy.contains("\"/b/tmp\" = { memory = true }\n"));
    }

    #[test]
    fn len_counts_every_mount() {
        assert_eq!(view().len(), 3 + 10);
        assert_eq!(view().marker(), "/b/w");
    }
}
