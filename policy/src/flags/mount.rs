//! The grammar of mount flags: `GUEST=SOURCE[,OPTION...]`, exact in every byte.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::{FlagError, FlagFault, fault, origin};
use crate::decode::{DEFAULT_MEMORY_MODE, DEFAULT_MEMORY_SIZE, is_digest, parse_mode};
use crate::landing::is_discard;
use crate::nearest::hint;
use crate::sparse::{check_pattern, check_patterns};
use crate::{
    Access, Create, HostPath, Landing, LandsAt, MountEntry, MountOptions, MountSource, Stated,
    parse_size,
};

/// Which mount flag it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountFlag {
    Host(Access),
    Socket,
    Tmp,
    Git,
    Cas,
}

impl MountFlag {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Host(Access::Ro) => "--ro",
            Self::Host(Access::Rw) => "--rw",
            Self::Host(Access::Cow) => "--cow",
            Self::Socket => "--socket",
            Self::Tmp => "--tmp",
            Self::Git => "--git",
            Self::Cas => "--cas",
        }
    }

    /// Returns whether an option may stand behind this flag.
    fn takes(self, option: &str) -> bool {
        match option {
            "size" | "inodes" | "mode" => self == Self::Tmp,
            "cow" => matches!(self, Self::Git | Self::Cas),
            "sync" => matches!(self, Self::Git | Self::Host(Access::Cow)),
            "create" => matches!(self, Self::Host(Access::Rw | Access::Cow)),
            "sparse" => self == Self::Git,
            "optional" => self != Self::Tmp,
            "nodeny" => matches!(self, Self::Host(_)),
            "noexec" => self != Self::Socket,
            _ => true,
        }
    }
}

/// The options that are read from the right; with `=` they have a value.
const OPTIONS: &[&str] = &[
    "optional", "noexec", "nodeny", "cow", "size=", "inodes=", "mode=", "sync=", "sparse=",
    "create=",
];

/// Reads the value of one mount flag.
pub(super) fn parse(flag: MountFlag, value: &OsStr) -> Result<MountEntry, FlagError> {
    let typed = origin(flag.word(), value);
    let refuse = |kind| fault(&typed.to_string(), kind);
    let (rest, words) = split_options(value.as_bytes());
    let mut options = Options::default();
    for word in words {
        options
            .add(flag, word)
            .map_err(|kind| FlagError { hint: form(flag, kind), ..refuse(kind) })?;
    }
    if options.mount.discard && options.mount.create.is_some() {
        return Err(refuse(FlagFault::DroppedAndMade));
    }
    // They were read from the right.
    options.sparse.reverse();
    options.mount.socket = flag == MountFlag::Socket;
    let (guest, source) = match unescaped(rest, b'=').next() {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    if guest.is_empty() || source.is_some_and(<[u8]>::is_empty) {
        return Err(refuse(FlagFault::Empty));
    }
    if source.is_none()
        && let Some(hint) = docker_order(flag, guest)
    {
        return Err(FlagError { hint: Some(hint), ..refuse(FlagFault::DockerOrder) });
    }
    let source = match flag {
        MountFlag::Host(_) | MountFlag::Socket => {
            Ok(MountSource::Host { host: source.map(unescape) })
        }
        MountFlag::Tmp if source.is_some() => Err(FlagFault::TakesNoSource),
        MountFlag::Tmp => Ok(options.memory()),
        MountFlag::Git if !options.cow && options.sync.is_some() => Err(FlagFault::NeedsCow),
        MountFlag::Git => source.ok_or(FlagFault::NoSource).and_then(|it| git_source(it, &options)),
        MountFlag::Cas => source.ok_or(FlagFault::NoSource).and_then(cas_source),
    };
    let source = source.map_err(|kind| FlagError { hint: form(flag, kind), ..refuse(kind) })?;
    Ok(MountEntry {
        at: Stated::new(unescape(guest), typed),
        source,
        access: options.access(flag),
        options: options.mount,
        reason: None,
    })
}

/// To tmpfs zero is no bound at all (tmpfs(5)).
fn bound(count: u64) -> Result<u64, FlagFault> {
    if count == 0 { Err(FlagFault::NoBound) } else { Ok(count) }
}

/// What stands behind the path.
#[derive(Debug, Default)]
struct Options {
    mount: MountOptions,
    cow: bool,
    sync: Option<LandsAt>,
    sparse: Vec<String>,
    size: Option<u64>,
    inodes: Option<u64>,
    mode: Option<u32>,
}

impl Options {
    fn add(&mut self, flag: MountFlag, word: &str) -> Result<(), FlagFault> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if !flag.takes(name) {
            return Err(FlagFault::OptionNotHere);
        }
        let bad = FlagFault::OptionValue(option(name));
        match name {
            "optional" => self.mount.optional = true,
            "noexec" => self.mount.noexec = true,
            "nodeny" => self.mount.nodeny = true,
            "cow" => self.cow = true,
            "size" => self.size = Some(bound(parse_size(value).map_err(FlagFault::Unit)?)?),
            "inodes" => self.inodes = Some(bound(value.parse().map_err(|_| bad)?)?),
            "mode" => self.mode = Some(parse_mode(value).ok_or(bad)?),
            "sparse" => self.sparse.push(pattern(value)?),
            "sync" if flag != MountFlag::Git => {
                self.mount.discard = is_discard(value).then_some(true).ok_or(bad)?;
            }
            "create" => self.mount.create = Some(Create::parse(value).ok_or(bad)?),
            "sync" => self.sync = Some(LandsAt::parse(value).ok_or(bad)?),
            _ => return Err(FlagFault::OptionNotHere),
        }
        Ok(())
    }

    fn memory(&self) -> MountSource {
        MountSource::Memory {
            size_bytes: self.size.unwrap_or(DEFAULT_MEMORY_SIZE),
            inodes: self.inodes,
            mode: self.mode.unwrap_or(DEFAULT_MEMORY_MODE),
        }
    }

    fn landing(&self) -> Landing {
        Landing { to: self.sync.clone().unwrap_or_default(), ..Landing::default() }
    }

    /// Returns which paths are shown.
    fn sparse(&self) -> Result<Vec<String>, FlagFault> {
        if self.sparse.is_empty() {
            return Ok(Vec::new());
        }
        if self.cow {
            return Err(FlagFault::SparseCow);
        }
        check_patterns(&self.sparse).map_err(FlagFault::Sparse)?;
        Ok(self.sparse.clone())
    }

    fn access(&self, flag: MountFlag) -> Access {
        match flag {
            MountFlag::Host(access) => access,
            MountFlag::Tmp => Access::Rw,
            MountFlag::Git | MountFlag::Cas if self.cow => Access::Cow,
            MountFlag::Socket | MountFlag::Git | MountFlag::Cas => Access::Ro,
        }
    }
}

/// Takes known options off the right end; what is no known option belongs to the path.
fn split_options(value: &[u8]) -> (&[u8], Vec<&str>) {
    let mut rest = value;
    let mut options = Vec::new();
    while let Some(comma) = unescaped(rest, b',').last() {
        let Some(word) = known_option(&rest[comma + 1..]) else { break };
        options.push(word);
        rest = &rest[..comma];
    }
    (rest, options)
}

/// Returns a hint where the end of a path that is not there looks like a mistyped option.
pub fn meant_option(path: &HostPath) -> Option<String> {
    let (_, word) = path.as_path().to_str()?.rsplit_once(',')?;
    hint(word, ["optional", "noexec", "nodeny"])
}

fn known_option(bytes: &[u8]) -> Option<&str> {
    let word = std::str::from_utf8(bytes).ok()?;
    let known =
        |option: &&str| word == *option || option.ends_with('=') && word.starts_with(option);
    OPTIONS.iter().any(known).then_some(word)
}

/// Returns the places of a byte that no backslash stands before.
fn unescaped(bytes: &[u8], wanted: u8) -> impl Iterator<Item = usize> + '_ {
    let free = move |at: usize| at == 0 || bytes[at - 1] != b'\\';
    (0..bytes.len()).filter(move |at| bytes[*at] == wanted && free(*at))
}

/// Takes the backslash from `\,` `\=` `\@`; any other stays.
fn unescape(bytes: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let escape = *first == b'\\' && matches!(tail.first(), Some(b',' | b'=' | b'@'));
        if !escape {
            plain.push(*first);
        }
        rest = tail;
    }
    OsString::from_vec(plain)
}

/// Returns the right spelling of `SOURCE:GUEST` and `SOURCE:GUEST:ro`.
fn docker_order(flag: MountFlag, value: &[u8]) -> Option<String> {
    let colon = value.windows(2).position(|pair| pair == b":/")?;
    let (source, guest) = (&value[..colon], &value[colon + 1..]);
    let (guest, word) = match guest.iter().position(|byte| *byte == b':') {
        Some(end) => (&guest[..end], &guest[end + 1..]),
        None => (guest, &b""[..]),
    };
    let flag = match word {
        b"ro" => "--ro",
        b"rw" => "--rw",
        _ => flag.word(),
    };
    let text = String::from_utf8_lossy;
    Some(format!("write `{flag} {}={}`", text(guest), text(source)))
}

/// `[REPO@]TREEISH`: the last `@` that is neither escaped nor before `{` splits.
fn git_source(source: &[u8], options: &Options) -> Result<MountSource, FlagFault> {
    let split = unescaped(source, b'@').filter(|at| source.get(at + 1) != Some(&b'{')).last();
    let (repository, rev) = match split {
        // As git has it.
        _ if source == b"@" => (None, &b"HEAD"[..]),
        Some(0) => return Err(FlagFault::NoRepository),
        Some(at) => (Some(&source[..at]), &source[at + 1..]),
        None => (None, source),
    };
    let rev = unescape(rev).into_string().map_err(|_| FlagFault::NotUtf8)?;
    if rev.is_empty() {
        return Err(FlagFault::Empty);
    }
    let repository = repository.map(unescape).filter(|path| path != ".");
    Ok(MountSource::Git { repository, rev, sparse: options.sparse()?, landing: options.landing() })
}

fn pattern(value: &str) -> Result<String, FlagFault> {
    let text = unescape(value.as_bytes()).into_string().map_err(|_| FlagFault::NotUtf8)?;
    check_pattern(&text).map_err(FlagFault::Sparse)?;
    Ok(text)
}

fn cas_source(source: &[u8]) -> Result<MountSource, FlagFault> {
    let digest = unescape(source).into_string().map_err(|_| FlagFault::NotUtf8)?;
    if is_digest(&digest) { Ok(MountSource::Cas { digest }) } else { Err(FlagFault::NotADigest) }
}

/// Returns the name of an option that takes a value.
fn option(name: &str) -> &'static str {
    const ALL: [&str; 4] = ["inodes", "mode", "sync", "create"];
    ALL.into_iter().find(|it| *it == name).unwrap_or_default()
}

fn form(flag: MountFlag, fault: FlagFault) -> Option<String> {
    let form = match (flag, fault) {
        (_, FlagFault::Sparse(fault)) => return Some(fault.hint().to_owned()),
        (_, FlagFault::SparseCow) => {
            return Some("a working copy needs the whole tree: leave one of them out".to_owned());
        }
        (_, FlagFault::NoRepository) => {
            return Some(
                r"write the revision alone, or a repository before the `@`; `@~1` is `HEAD~1`, or `\@~1`".to_owned(),
            );
        }
        (MountFlag::Host(Access::Cow), FlagFault::OptionValue(_)) => {
            "--cow GUEST[=SOURCE],sync=discard"
        }
        (_, FlagFault::OptionValue("mode")) => {
            return Some("write an octal number up to 1777, such as `mode=755`".to_owned());
        }
        // What is wrong is one option, not the form.
        (_, FlagFault::OptionNotHere | FlagFault::OptionValue(_) | FlagFault::Unit(_))
        | (MountFlag::Host(_) | MountFlag::Socket, _) => return None,
        (MountFlag::Tmp, _) => "--tmp GUEST[,size=256M,inodes=N,mode=1777]",
        (MountFlag::Git, _) => {
            "--git GUEST=[REPO@]TREEISH[,sparse=PATTERN...][,cow,sync=branch:NAME]"
        }
        (MountFlag::Cas, _) => "--cas GUEST=sha256:HEX/SIZE[,cow]",
    };
    Some(format!("write `{form}`"))
}
