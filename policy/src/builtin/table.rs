//! Constants that hold a built-in profile.

use std::ffi::OsString;
use std::sync::Arc;

use crate::{
    Access, FileKind, Made, MountEntry, MountOptions, MountSource, Origin, PolicyFile, Stated,
};

/// What a built-in profile says, as constants.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) mounts: &'static [Row],
    pub(super) deny: &'static [&'static str],
    pub(super) protect: &'static [&'static str],
    pub(super) pass: &'static [&'static str],
    pub(super) drop: &'static [&'static str],
}

/// One mount: place, source, reason.
pub(super) type Row = (&'static str, Source, &'static str);

/// What stands at a mount of a built-in profile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Host(Access),
    Copy(&'static str),
    Made(Made),
    Cgroup,
    Memory(u64, u32),
    Private(u32),
}

impl Table {
    /// Returns the profile's image.
    pub(super) fn file(&self, name: &str) -> PolicyFile {
        let name: Arc<str> = Arc::from(name);
        let origin = Origin::Profile { name: Arc::clone(&name) };
        let texts = |list: &[&str]| {
            list.iter().map(|text| Stated::new((*text).to_owned(), origin.clone())).collect()
        };
        let mut file = PolicyFile { name, kind: FileKind::Builtin, ..PolicyFile::default() };
        file.mounts = self.mounts.iter().map(|row| entry(row, &origin)).collect();
        file.deny.patterns = texts(self.deny);
        file.protect.patterns = texts(self.protect);
        file.env.pass = texts(self.pass);
        file.env.drop = texts(self.drop);
        file
    }
}

fn entry((at, source, reason): &Row, origin: &Origin) -> MountEntry {
    let access = match source {
        Source::Host(access) => *access,
        Source::Copy(_) | Source::Made(_) | Source::Cgroup => Access::Ro,
        Source::Memory(..) | Source::Private(_) => Access::Rw,
    };
    MountEntry {
        at: Stated::new(OsString::from(at), origin.clone()),
        source: match *source {
            Source::Host(_) => MountSource::Host { host: None },
            Source::Copy(host) => MountSource::Copy { host: host.into() },
            Source::Made(made) => MountSource::Made { made },
            Source::Cgroup => MountSource::Cgroup,
            Source::Memory(size_bytes, mode) => {
                MountSource::Memory { size_bytes, inodes: None, mode }
            }
            Source::Private(mode) => MountSource::Private { seed: Vec::new(), mode },
        },
        access,
        options: MountOptions { optional: true, ..MountOptions::default() },
        reason: Some((*reason).to_owned()),
    }
}

#[cfg(test)]
pub(super) use render::{render, without_places};

#[cfg(test)]
mod render {
    use std::fmt::Write;

    use super::*;

    /// Returns the source text of the constants.
    pub(in crate::builtin) fn render(file: &PolicyFile) -> String {
        let mut text = String::from(
            "//! `profiles/base.toml` as constants. Written by a test; do not edit.\n\n\
             use super::table::{Source, Table};\nuse crate::{Access, Made};\n\n\
             #[rustfmt::skip]\npub(super) const BASE: Table = Table {\n    mounts: &[\n",
        );
        for mount in &file.mounts {
            let at = mount.at.value.to_str().expect("UTF-8");
            let reason = mount.reason.as_deref().unwrap_or_default();
            writeln!(text, "        ({at:?}, {}, {reason:?}),", source(mount)).expect("a string");
        }
        text.push_str("    ],\n");
        let lists = [
            ("deny", &file.deny.patterns),
            ("protect", &file.protect.patterns),
            ("pass", &file.env.pass),
            ("drop", &file.env.drop),
        ];
        for (name, list) in lists {
            writeln!(text, "    {name}: &[").expect("a string");
            for entry in list {
                writeln!(text, "        {:?},", entry.value).expect("a string");
            }
            text.push_str("    ],\n");
        }
        text.push_str("};\n");
        text
    }

    fn source(mount: &MountEntry) -> String {
        match &mount.source {
            MountSource::Host { host: None } => format!("Source::Host(Access::{:?})", mount.access),
            MountSource::Copy { host } => format!("Source::Copy({host:?})"),
            MountSource::Made { made } => format!("Source::Made(Made::{made:?})"),
            MountSource::Cgroup => "Source::Cgroup".to_owned(),
            MountSource::Memory { size_bytes, mode, .. } => {
                format!("Source::Memory({} << 20, 0o{mode:o})", size_bytes >> 20)
            }
            MountSource::Private { mode, .. } => format!("Source::Private(0o{mode:o})"),
            other => panic!("no constant for {other:?}"),
        }
    }

    /// Returns a parsed file with the places in the text taken out.
    pub(in crate::builtin) fn without_places(mut file: PolicyFile) -> PolicyFile {
        let env = &mut file.env;
        let lists =
            [&mut file.deny.patterns, &mut file.protect.patterns, &mut env.pass, &mut env.drop];
        for entry in lists.into_iter().flatten() {
            entry.span = 0..0;
        }
        for mount in &mut file.mounts {
            mount.at.span = 0..0;
        }
        file
    }
}
