//! The table `[mounts]`, short forms included.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{Above, Decoder, Entry, Section, type_word};
use crate::nearest::did_you_mean;
use crate::{Access, FileKind, Made, MountEntry, MountOptions, MountSource, Stated};

/// Bytes of a memory mount for which no size is said.
pub(crate) const DEFAULT_MEMORY_SIZE: u64 = 256 << 20;
/// Permission bits of a memory mount for which none are said.
pub(crate) const DEFAULT_MEMORY_MODE: u32 = 0o1777;
/// Permission bits of a private directory for which none are said.
pub(crate) const DEFAULT_PRIVATE_MODE: u32 = 0o700;

/// The keys of an entry in every file.
pub(crate) const MOUNT_KEYS: &[&str] = &[
    "host",
    "git",
    "rev",
    "cas",
    "memory",
    "private",
    "seed",
    "write_back",
    "access",
    "size",
    "inodes",
    "mode",
    "optional",
    "noexec",
    "nodeny",
    "socket",
    "create",
    "sparse",
    "sync",
    "sync_ignored",
    "author",
    "reason",
];
/// The further keys of an entry in a built-in profile.
pub(crate) const MAKE_KEYS: &[&str] = &["copy", "made", "cgroup"];
/// The keys that say what stands at the mount point.
const SOURCE_KEYS: &[&str] = &["host", "git", "cas", "memory", "private", "copy", "made", "cgroup"];
/// The keys of a mount of the host.
const HOST_KEYS: &[&str] = &["host", "sync", "create"];
/// The keys of a git mount.
const GIT_KEYS: &[&str] = &["git", "rev", "sparse", "sync", "sync_ignored", "author"];

pub(super) const ACCESS_WORDS: &[(&str, Access)] =
    &[("ro", Access::Ro), ("rw", Access::Rw), ("cow", Access::Cow)];
const MADE_WORDS: &[(&str, Made)] = &[
    ("passwd", Made::Passwd),
    ("group", Made::Group),
    ("gitconfig", Made::Gitconfig),
    ("gitignore", Made::Gitignore),
    ("claude", Made::Claude),
    ("codex", Made::Codex),
    ("readme", Made::Readme),
];

/// What `[mounts]` holds: the entries, and keys whose feature is missing.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    pub(super) entries: Vec<MountEntry>,
    pub(super) unavailable: Vec<Stated<String>>,
}

impl Decoder<'_> {
    pub(super) fn mounts(&mut self, top: &Section<'_>) -> Mounts {
        let mut mounts = Mounts::default();
        let Some(found) = top.table.get("mounts") else { return mounts };
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(top, "mounts", "a table");
            return mounts;
        };
        self.no_duplicates(table);
        for entry in table {
            if let Some(entry) = self.mount(entry, &mut mounts.unavailable) {
                mounts.entries.push(entry);
            }
        }
        mounts.entries.sort_by_key(|entry| entry.at.span.start);
        mounts
    }

    /// Two spellings of one path in a file are a mistake: which counts would be a guess. The same
    /// spelling twice is none of TOML's.
    fn no_duplicates(&mut self, table: &DeTable<'_>) {
        if table.keys().all(|key| is_lexical(key.get_ref())) {
            return;
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut keys: Vec<_> = table.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        for key in keys {
            let line = self.lines.line(key.span().start);
            let Some(first) = seen.insert(lexical(key.get_ref()), line) else { continue };
            let path: &str = key.get_ref();
            self.problem(key.span(), format!("`{path}` is mounted twice")).explain(
                &format!("mounts.\"{path}\""),
                format!("the first entry is on line {first}"),
            );
        }
    }

    fn mount(
        &mut self,
        (at, value): Entry<'_>,
        unavailable: &mut Vec<Stated<String>>,
    ) -> Option<MountEntry> {
        let path: &str = at.get_ref();
        if path.is_empty() {
            self.problem(at.span(), "path is empty").key = Some("mounts".to_owned());
            return None;
        }
        let place = self.stated(at.span(), OsString::from(path));
        match value.get_ref() {
            DeValue::Boolean(false) => Some(entry(place, MountSource::Removed, Access::Ro)),
            DeValue::Boolean(true) => {
                let hint = "write `\"ro\"`, `\"rw\"` or `\"cow\"`".to_owned();
                self.problem(value.span(), "`true` says no access").explain(&quoted(path), hint);
                None
            }
            DeValue::String(word) => self.short(place, word, value.span()),
            DeValue::Table(table) => self.long(place, table, value.span(), unavailable),
            other => {
                let message =
                    format!("expected an access, a table or false, found {}", type_word(other));
                self.problem(value.span(), message).key = Some(quoted(path));
                None
            }
        }
    }

    fn short(
        &mut self,
        at: Stated<OsString>,
        word: &str,
        span: Range<usize>,
    ) -> Option<MountEntry> {
        if let Some((_, access)) = ACCESS_WORDS.iter().find(|(known, _)| *known == word) {
            return Some(self.finish(entry(at, MountSource::Host { host: None }, *access)));
        }
        let hint = if word.starts_with(['/', '~', '.']) {
            format!("for another host path write `{{ host = \"{word}\" }}`")
        } else {
            did_you_mean(word, &["ro", "rw", "cow"])
        };
        self.problem(span, format!("unknown access `{word}`"))
            .explain(&quoted(&at.value.to_string_lossy()), hint);
        None
    }

    fn long(
        &mut self,
        at: Stated<OsString>,
        table: &DeTable<'_>,
        span: Range<usize>,
        unavailable: &mut Vec<Stated<String>>,
    ) -> Option<MountEntry> {
        let path = at.value.to_string_lossy();
        let section = Section { table, above: Above::Mount(&path) };
        let before = self.problems.len();
        self.known_mount_keys(&section);
        let source = self.source(&section, span);
        let mut options = self.options(&section);
        if matches!(source, Some(MountSource::Host { .. })) {
            options.discard = self.discards(&section);
        }
        let access = self.mount_access(&section, source.as_ref());
        if options.socket {
            self.only_a_socket(&section, (source.as_ref(), access));
        }
        options.create = self.creates(&section, access, options);
        let reason = self.text(&section, "reason").map(|reason| reason.value.to_owned());
        self.later(&section, "write_back", unavailable);
        if self.problems.len() > before {
            return None;
        }
        Some(self.finish(MountEntry { at, source: source?, access, options, reason }))
    }

    fn known_mount_keys(&mut self, section: &Section<'_>) {
        if self.kind == FileKind::Builtin {
            self.only_known(section, &[MOUNT_KEYS, MAKE_KEYS].concat());
        } else {
            self.only_known(section, MOUNT_KEYS);
        }
        let is_source = |key: &&str| SOURCE_KEYS.contains(key);
        if section.table.keys().map(|key| key.get_ref().as_ref()).filter(is_source).count() < 2 {
            return;
        }
        let spoken: Vec<&str> =
            SOURCE_KEYS.iter().copied().filter(|key| section.table.contains_key(*key)).collect();
        if let [first, second, ..] = spoken.as_slice()
            && let Some((key, _)) = section.table.get_key_value(*second)
        {
            let message = format!("`{second}` can't stand beside `{first}`");
            self.problem(key.span(), message).key = Some(section.key(second));
        }
    }

    fn source(&mut self, section: &Section<'_>, span: Range<usize>) -> Option<MountSource> {
        let has = |key: &str| section.table.contains_key(key);
        let (kind, allowed): (_, &[&str]) = if has("host") {
            let host = self.word(section, "host").map(|host| host.value.into());
            (Some(MountSource::Host { host }), HOST_KEYS)
        } else if has("git") {
            (self.git_source(section, span), GIT_KEYS)
        } else if has("cas") {
            (self.cas_source(section), &["cas"])
        } else if has("memory") {
            (Some(self.memory_source(section)), &["memory", "size", "inodes", "mode"])
        } else if has("private") {
            (Some(self.private_source(section)), &["private", "seed", "write_back", "mode"])
        } else if has("copy") {
            let copy = self.word(section, "copy");
            (copy.map(|copy| MountSource::Copy { host: copy.value.into() }), &["copy"])
        } else if has("made") {
            let made = self.choice(section, "made", MADE_WORDS);
            (made.map(|made| MountSource::Made { made: made.value }), &["made"])
        } else if has("cgroup") {
            (Some(MountSource::Cgroup), &["cgroup"])
        } else {
            (Some(MountSource::Host { host: None }), HOST_KEYS)
        };
        self.only_for_source(section, allowed);
        kind
    }

    /// Keys of one source beside another would be ignored, so they are refused.
    fn only_for_source(&mut self, section: &Section<'_>, allowed: &[&str]) {
        const BOUND: &[&str] = &[
            "rev",
            "sparse",
            "sync",
            "sync_ignored",
            "author",
            "create",
            "size",
            "inodes",
            "mode",
            "seed",
            "write_back",
        ];
        for (key, _) in section.table {
            let name: &str = key.get_ref();
            if BOUND.contains(&name) && !allowed.contains(&name) {
                let owner = match name {
                    "sync" => "host and git",
                    "create" => "host",
                    git if GIT_KEYS.contains(&git) => "git",
                    "size" | "inodes" => "memory",
                    "mode" => "memory or private",
                    _ => "private",
                };
                let message = format!("`{name}` is for {owner} mounts only");
                self.problem(key.span(), message).key = Some(section.key(name));
            }
        }
    }

    pub(super) fn git_source(
        &mut self,
        section: &Section<'_>,
        span: Range<usize>,
    ) -> Option<MountSource> {
        let repository = self.word(section, "git")?;
        if !section.table.contains_key("rev") {
            self.problem(span, "`git` needs `rev`")
                .explain(&section.key("rev"), "add `rev = \"HEAD\"`".to_owned());
        }
        let rev = self.word(section, "rev")?.value.to_owned();
        let repository = (repository.value != ".").then(|| repository.value.into());
        let (sparse, landing) = (self.sparse(section), self.landing(section));
        Some(MountSource::Git { repository, rev, sparse, landing })
    }

    pub(super) fn cas_source(&mut self, section: &Section<'_>) -> Option<MountSource> {
        let digest = self.word(section, "cas")?;
        if !is_digest(digest.value) {
            self.problem(digest.span, "not a digest")
                .explain(&section.key("cas"), "write `sha256:<64 hex digits>/<size>`".to_owned());
            return None;
        }
        Some(MountSource::Cas { digest: digest.value.to_owned() })
    }

    fn memory_source(&mut self, section: &Section<'_>) -> MountSource {
        self.must_be_true(section, "memory");
        let size = self.unit(section, "size", crate::parse_size);
        let inodes = self.count(section, "inodes");
        for (key, zero) in [("size", &size), ("inodes", &inodes)] {
            if let (Some(Stated { value: 0, .. }), Some(found)) = (zero, section.table.get(key)) {
                self.problem(found.span(), "zero is no bound of memory")
                    .explain(&section.key(key), "leave the key out for the usual bound".to_owned());
            }
        }
        MountSource::Memory {
            size_bytes: size.map_or(DEFAULT_MEMORY_SIZE, |size| size.value),
            inodes: inodes.map(|inodes| inodes.value),
            mode: self.mode(section).unwrap_or(DEFAULT_MEMORY_MODE),
        }
    }

    fn private_source(&mut self, section: &Section<'_>) -> MountSource {
        self.must_be_true(section, "private");
        MountSource::Private {
            seed: self.texts(section, "seed"),
            mode: self.mode(section).unwrap_or(DEFAULT_PRIVATE_MODE),
        }
    }

    fn must_be_true(&mut self, section: &Section<'_>, key: &str) {
        if let Some(flag) = self.flag(section, key)
            && !flag.value
        {
            let message = format!("`{key}` can only be true");
            self.problem(flag.span, message).key = Some(section.key(key));
        }
    }

    /// Reads permission bits: `"1777"` or `0o1777`; a decimal number would be a trap.
    fn mode(&mut self, section: &Section<'_>) -> Option<u32> {
        let found = section.table.get("mode")?;
        let text = match found.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) if number.radix() == 8 => number.as_str(),
            _ => "",
        };
        let mode = parse_mode(text);
        if mode.is_none() {
            self.problem(found.span(), "not permission bits")
                .explain(&section.key("mode"), "write `\"1777\"` or `0o1777`".to_owned());
        }
        mode
    }

    fn options(&mut self, section: &Section<'_>) -> MountOptions {
        let mut read = |key| self.flag(section, key).is_some_and(|flag| flag.value);
        let mut options = MountOptions {
            optional: read("optional"),
            noexec: read("noexec"),
            nodeny: read("nodeny"),
            socket: read("socket"),
            discard: false,
            create: None,
        };
        if self.kind == FileKind::Builtin && !section.table.contains_key("optional") {
            options.optional = true;
        }
        options
    }

    /// A socket is the host's, and nothing is written to it as to a file.
    fn only_a_socket(
        &mut self,
        section: &Section<'_>,
        (source, access): (Option<&MountSource>, Access),
    ) {
        let problem = match source {
            Some(MountSource::Host { .. }) if access == Access::Ro => return,
            Some(MountSource::Host { .. }) => "a socket is mounted read-only",
            _ => "`socket` is for paths of the host only",
        };
        if let Some((key, _)) = section.table.get_key_value("socket") {
            self.problem(key.span(), problem).key = Some(section.key("socket"));
        }
    }

    fn mount_access(&mut self, section: &Section<'_>, source: Option<&MountSource>) -> Access {
        let default = source.map_or(Access::Ro, default_access);
        let Some(said) = self.choice(section, "access", ACCESS_WORDS) else { return default };
        let problem = match source {
            Some(MountSource::Memory { .. } | MountSource::Private { .. })
                if said.value != Access::Rw =>
            {
                "memory and private mounts are always writable"
            }
            Some(MountSource::Git { .. } | MountSource::Cas { .. }) if said.value == Access::Rw => {
                "a stored tree can't be written live"
            }
            Some(MountSource::Copy { .. } | MountSource::Made { .. } | MountSource::Cgroup)
                if said.value != Access::Ro =>
            {
                "what endow makes is read-only"
            }
            _ => return said.value,
        };
        self.problem(said.span, problem).key = Some(section.key("access"));
        default
    }

    fn finish(&self, mut entry: MountEntry) -> MountEntry {
        entry.options.optional |= self.kind == FileKind::Builtin
            && matches!(entry.source, MountSource::Host { host: None });
        entry
    }
}

/// Returns the access that a source has when nothing is said.
pub(crate) fn default_access(source: &MountSource) -> Access {
    match source {
        MountSource::Memory { .. } | MountSource::Private { .. } => Access::Rw,
        _ => Access::Ro,
    }
}

/// Reads permission bits in octal digits.
pub(crate) fn parse_mode(text: &str) -> Option<u32> {
    let mode = u32::from_str_radix(text, 8).ok()?;
    (mode <= 0o1777 && !text.starts_with('+')).then_some(mode)
}

/// Returns whether a text is `sha256:<hex>/<size>`.
pub(crate) fn is_digest(text: &str) -> bool {
    let Some((hex, size)) = text.strip_prefix("sha256:").and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    // With zeros or a sign in front it would be another text of the same digest.
    let is_size = size.parse::<u64>().is_ok_and(|number| number.to_string() == size);
    hex.len() == 64 && hex.bytes().all(lower_hex) && is_size
}

fn entry(at: Stated<OsString>, source: MountSource, access: Access) -> MountEntry {
    MountEntry { at, source, access, options: MountOptions::default(), reason: None }
}

fn quoted(path: &str) -> String {
    format!("mounts.\"{path}\"")
}

/// Returns whether a path is written without doubled and trailing slashes and `.` parts.
fn is_lexical(path: &str) -> bool {
    let rest = path.strip_prefix('/').unwrap_or(path);
    !rest.is_empty() && rest.split('/').all(|part| !matches!(part, "" | "."))
}

/// The text of a path without doubled and trailing slashes and `.` parts.
fn lexical(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, parts.join("/"))
}
