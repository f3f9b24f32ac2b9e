//! What the flags of `endow run` say, as the strongest source of a policy.

mod bridge;
mod mount;
mod network;
mod untyped;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::time::Duration;

use crate::decode::{LEVELS, is_hostname};
use crate::nearest::did_you_mean;
use crate::unit::UnitError;
use crate::{
    Access, AllowWord, BridgeFault, FileKind, LimitsTable, MountEntry, OnConflict, Origin,
    PatternFault, PolicyFile, SparseFault, Stated, SyncMode, WordFault, WorkspaceAccess,
    parse_duration, parse_size,
};

use mount::MountFlag;
pub use mount::meant_option;

/// The flags as typed, split into lists but not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Flags {
    /// The values of `--ro`.
    pub ro: Vec<OsString>,
    /// The values of `--rw`.
    pub rw: Vec<OsString>,
    /// The values of `--cow`.
    pub cow: Vec<OsString>,
    /// The values of `--socket`.
    pub socket: Vec<OsString>,
    /// The values of `--tmp`.
    pub tmp: Vec<OsString>,
    /// The values of `--git`.
    pub git: Vec<OsString>,
    /// The values of `--cas`.
    pub cas: Vec<OsString>,
    /// Mounts that nobody typed.
    pub mounts: Vec<MountEntry>,
    /// The value of `--workspace`.
    pub workspace: Option<String>,
    /// `--checkpoint` was given.
    pub checkpoint: bool,
    /// The values of `--deny`.
    pub deny: Vec<String>,
    /// `--no-default-deny` was given.
    pub no_default_deny: bool,
    /// The values of `--protect`.
    pub protect: Vec<String>,
    /// The values of `--unprotect`.
    pub unprotect: Vec<String>,
    /// The values of `--env`.
    pub env: Vec<OsString>,
    /// `--env-all` was given.
    pub env_all: bool,
    /// The values of `--net`.
    pub net: Vec<String>,
    /// The values of `--publish`.
    pub publish: Vec<String>,
    /// The value of `--proxy`.
    pub proxy: Option<String>,
    /// The values of `--bridge`.
    pub bridge: Vec<String>,
    /// The values of `--allow`.
    pub allow: Vec<String>,
    /// The value of `--timeout`.
    pub timeout: Option<String>,
    /// The value of `--grace`.
    pub grace: Option<String>,
    /// The value of `--memory`.
    pub memory: Option<String>,
    /// The value of `--pids`.
    pub pids: Option<String>,
    /// The value of `--open-files`.
    pub open_files: Option<String>,
    /// The value of `--file-size`.
    pub file_size: Option<String>,
    /// The value of `--cpu-time`.
    pub cpu_time: Option<String>,
    /// The value of `--hostname`.
    pub hostname: Option<String>,
    /// `--new-session` was given.
    pub new_session: bool,
    /// The value of `--require`.
    pub require: Option<String>,
    /// The values of `--best-effort`.
    pub best_effort: Vec<String>,
    /// The value of `--chdir`.
    pub chdir: Option<OsString>,
    /// The value of `--sync`.
    pub sync: Option<String>,
    /// The values of `--sync-only`.
    pub sync_only: Vec<String>,
    /// The value of `--on-conflict`.
    pub on_conflict: Option<String>,
    /// `--strict` was given.
    pub strict: bool,
}

/// A flag whose value can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}: {flag}")]
pub struct FlagError {
    /// The flag as typed; for `--env` without the value.
    pub flag: String,
    /// What is wrong with it.
    pub fault: FlagFault,
    /// What to write instead.
    pub hint: Option<String>,
}

/// What can be wrong with the value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlagFault {
    /// A word is not one of the known ones.
    #[error("unknown word")]
    UnknownWord,
    /// A bridge can't be opened by it.
    #[error(transparent)]
    Bridge(BridgeFault),
    /// A size or a duration can't be read.
    #[error(transparent)]
    Unit(UnitError),
    /// A limit lets nothing run.
    #[error("{0}")]
    TooLow(&'static str),
    /// A pattern can't be used.
    #[error(transparent)]
    Pattern(PatternFault),
    /// The value is empty, or one side of it.
    #[error("empty value")]
    Empty,
    /// The source stands first, as `docker run` has it.
    #[error("the place in the sandbox stands first")]
    DockerOrder,
    /// A revision begins with the `@` that ends a repository's path.
    #[error("no repository before the `@`")]
    NoRepository,
    /// `GUEST=SOURCE` is needed.
    #[error("no source")]
    NoSource,
    /// A memory mount has no source.
    #[error("takes no source")]
    TakesNoSource,
    /// An option doesn't belong to this flag.
    #[error("option is not for this flag")]
    OptionNotHere,
    /// What is dropped is not made on the host.
    #[error("`create` and `sync=discard` can't stand together")]
    DroppedAndMade,
    /// An option's value can't be used.
    #[error("bad value of the option `{0}`")]
    OptionValue(&'static str),
    /// A bound of memory that is none.
    #[error("zero is no bound of memory")]
    NoBound,
    /// A digest is not `sha256:<hex>/<size>`.
    #[error("not a digest")]
    NotADigest,
    /// The value must be UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The name of a variable can't be used.
    #[error("not a variable's name")]
    NotAName,
    /// The host name can't be used.
    #[error("not a host name")]
    NotAHostname,
    /// Where changes go, and there can be none.
    #[error("`sync` needs `cow`")]
    NeedsCow,
    /// A pattern of shown paths can't be used.
    #[error(transparent)]
    Sparse(SparseFault),
    /// A part of a tree can't be changed.
    #[error("`sparse` and `cow` exclude each other")]
    SparseCow,
    /// A host, an address or a port can't be used.
    #[error(transparent)]
    Network(WordFault),
    /// A host is allowed where all are.
    #[error("`--net host` allows every host")]
    BesideHost,
    /// The value is no port.
    #[error("not a port from 1 to 65535")]
    Port,
}

impl Flags {
    /// Returns what the flags say as a source of a policy.
    ///
    /// # Errors
    /// The first flag whose value can't be used.
    pub fn layer(&self) -> Result<PolicyFile, FlagError> {
        let mut file = PolicyFile { kind: FileKind::Flags, ..PolicyFile::default() };
        self.push_mounts(&mut file)?;
        self.push_patterns(&mut file)?;
        self.push_env(&mut file)?;
        self.push_process(&mut file)?;
        file.network = self.network()?;
        file.ssh_agent = self.keys()?;
        file.bridges = self.bridges()?;
        file.limits = self.limits()?;
        if let Some(word) = &self.workspace {
            let access = choice("--workspace", word, WORKSPACE_WORDS)?;
            file.workspace.access = Some(access);
        }
        if self.checkpoint {
            file.workspace.checkpoint = Some(switch("--checkpoint", true));
        }
        self.push_sync(&mut file)?;
        if let Some(chdir) = &self.chdir {
            file.chdir = Some(Stated::new(chdir.clone(), origin("--chdir", chdir)));
        }
        Ok(file)
    }

    fn push_mounts(&self, file: &mut PolicyFile) -> Result<(), FlagError> {
        let lists = [
            (MountFlag::Host(Access::Ro), &self.ro),
            (MountFlag::Host(Access::Rw), &self.rw),
            (MountFlag::Host(Access::Cow), &self.cow),
            (MountFlag::Socket, &self.socket),
            (MountFlag::Tmp, &self.tmp),
            (MountFlag::Git, &self.git),
            (MountFlag::Cas, &self.cas),
        ];
        for (flag, values) in lists {
            for value in values {
                file.mounts.push(mount::parse(flag, value)?);
            }
        }
        file.mounts.extend(self.mounts.iter().cloned());
        Ok(())
    }

    fn push_patterns(&self, file: &mut PolicyFile) -> Result<(), FlagError> {
        file.deny.patterns = patterns("--deny", "", &self.deny)?;
        file.protect.patterns = patterns("--protect", "", &self.protect)?;
        file.protect.patterns.extend(patterns("--unprotect", "!", &self.unprotect)?);
        if self.no_default_deny {
            file.deny.defaults = Some(switch("--no-default-deny", false));
        }
        Ok(())
    }

    fn push_env(&self, file: &mut PolicyFile) -> Result<(), FlagError> {
        for entry in &self.env {
            let bytes = entry.as_bytes();
            let equals = bytes.iter().position(|byte| *byte == b'=');
            let name = &bytes[..equals.unwrap_or(bytes.len())];
            let origin = origin("--env", OsStr::from_bytes(name));
            if name.is_empty() || bytes.contains(&0) {
                return Err(fault(&origin.to_string(), FlagFault::NotAName));
            }
            if let Some(equals) = equals {
                let value = OsString::from_vec(bytes[equals + 1..].to_vec());
                let name = OsString::from_vec(name.to_vec());
                file.env.set.push((Stated::new(name, origin), value));
            } else {
                let name = std::str::from_utf8(name)
                    .map_err(|_| fault(&origin.to_string(), FlagFault::NotUtf8))?;
                file.env.pass.push(Stated::new(name.to_owned(), origin));
            }
        }
        file.env.pass_all = self.env_all.then(|| switch("--env-all", true));
        Ok(())
    }

    fn push_process(&self, file: &mut PolicyFile) -> Result<(), FlagError> {
        let known: Vec<&str> = AllowWord::ALL.iter().map(|word| word.word()).collect();
        for word in &self.allow {
            if word.parse::<AllowWord>().is_err() {
                return Err(unknown("--allow", word, &known));
            }
            file.process.allow.push(Stated::new(word.clone(), origin("--allow", word)));
        }
        if let Some(name) = &self.hostname {
            let origin = origin("--hostname", name);
            if !is_hostname(name) {
                return Err(fault(&origin.to_string(), FlagFault::NotAHostname));
            }
            file.process.hostname = Some(Stated::new(name.clone(), origin));
        }
        file.process.new_session = self.new_session.then(|| switch("--new-session", true));
        if let Some(word) = &self.require {
            file.require.level = Some(choice("--require", word, LEVELS)?);
        }
        for word in &self.best_effort {
            if word.is_empty() {
                return Err(fault("--best-effort", FlagFault::Empty));
            }
            let entry = Stated::new(word.clone(), origin("--best-effort", word));
            file.require.best_effort.push(entry);
        }
        Ok(())
    }

    fn push_sync(&self, file: &mut PolicyFile) -> Result<(), FlagError> {
        if let Some(word) = &self.sync {
            let modes: Vec<_> = SyncMode::ALL.iter().map(|mode| (mode.word(), *mode)).collect();
            file.sync.mode = Some(choice("--sync", word, &modes)?);
        }
        if let Some(word) = &self.on_conflict {
            let choices: Vec<_> = OnConflict::ALL.iter().map(|it| (it.word(), *it)).collect();
            file.sync.on_conflict = Some(choice("--on-conflict", word, &choices)?);
        }
        file.sync.only = patterns("--sync-only", "", &self.sync_only)?;
        file.sync.strict = self.strict.then(|| switch("--strict", true));
        Ok(())
    }

    fn limits(&self) -> Result<LimitsTable, FlagError> {
        let limits = LimitsTable {
            timeout: time("--timeout", self.timeout.as_ref())?,
            grace: time("--grace", self.grace.as_ref())?,
            memory: unit("--memory", self.memory.as_ref(), parse_size)?,
            pids: unit("--pids", self.pids.as_ref(), parse_count)?,
            open_files: unit("--open-files", self.open_files.as_ref(), parse_count)?,
            file_size: unit("--file-size", self.file_size.as_ref(), parse_size)?,
            cpu_time: time("--cpu-time", self.cpu_time.as_ref())?,
            ..LimitsTable::default()
        };
        let flag = |key: &str| format!("--{}", key.replace('_', "-"));
        match limits.too_low().first() {
            Some((key, limit, why)) => {
                Err(fault(&format!("{} {limit}", flag(key)), FlagFault::TooLow(why)))
            }
            None => Ok(limits),
        }
    }
}

const WORKSPACE_WORDS: &[(&str, WorkspaceAccess)] = &[
    ("cow", WorkspaceAccess::Granted(Access::Cow)),
    ("rw", WorkspaceAccess::Granted(Access::Rw)),
    ("ro", WorkspaceAccess::Granted(Access::Ro)),
    ("none", WorkspaceAccess::None),
];

/// The origin of what a flag says: the flag as typed.
fn origin(flag: &str, value: impl AsRef<OsStr>) -> Origin {
    Origin::Flag(Arc::from(format!("{flag} {}", value.as_ref().to_string_lossy())))
}

fn switch(flag: &str, value: bool) -> Stated<bool> {
    Stated::new(value, Origin::Flag(Arc::from(flag)))
}

fn fault(flag: &str, fault: FlagFault) -> FlagError {
    FlagError { flag: flag.to_owned(), fault, hint: None }
}

fn unknown(flag: &str, word: &str, known: &[&str]) -> FlagError {
    let hint = Some(did_you_mean(word, known));
    FlagError { hint, ..fault(&format!("{flag} {word}"), FlagFault::UnknownWord) }
}

fn choice<T: Copy>(flag: &str, word: &str, words: &[(&str, T)]) -> Result<Stated<T>, FlagError> {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let found = words.iter().find(|(known, _)| *known == word);
    let (_, value) = found.ok_or_else(|| unknown(flag, word, &known))?;
    Ok(Stated::new(*value, origin(flag, word)))
}

fn patterns(flag: &str, mark: &str, globs: &[String]) -> Result<Vec<Stated<String>>, FlagError> {
    let checked = globs.iter().map(|glob| {
        let origin = origin(flag, glob);
        let pattern = format!("{mark}{glob}");
        match crate::pattern::check(&pattern) {
            Ok(()) => Ok(Stated::new(pattern, origin)),
            Err(error) => Err(fault(&origin.to_string(), FlagFault::Pattern(error))),
        }
    });
    checked.collect()
}

fn time(flag: &str, text: Option<&String>) -> Result<Option<Stated<Duration>>, FlagError> {
    unit(flag, text, parse_duration)
}

fn unit<T>(
    flag: &str,
    text: Option<&String>,
    read: fn(&str) -> Result<T, UnitError>,
) -> Result<Option<Stated<T>>, FlagError> {
    let Some(text) = text else { return Ok(None) };
    let origin = origin(flag, text);
    match read(text) {
        Ok(value) => Ok(Some(Stated::new(value, origin))),
        Err(error) => Err(FlagError {
            hint: Some(format!("write it as in `{flag} {}`", example(flag))),
            ..fault(&origin.to_string(), FlagFault::Unit(error))
        }),
    }
}

/// A value that the flag takes.
fn example(flag: &str) -> &'static str {
    match flag {
        "--timeout" | "--cpu-time" => "10m",
        "--grace" => "5s",
        "--pids" | "--open-files" => "512",
        _ => "256M",
    }
}

fn parse_count(text: &str) -> Result<u64, UnitError> {
    text.trim().parse().map_err(|_| UnitError::NoNumber)
}
