//! The tables of a policy file other than `[mounts]`.

use std::ffi::OsString;

use toml::de::DeTable;

use super::mounts::ACCESS_WORDS;
use super::{Above, Decoder, Section};
use crate::nearest::did_you_mean;
use crate::pattern::Reach;
use crate::{
    AllowWord, EnvTable, Expectation, FileKind, LOSSES, Level, LimitsTable, OnConflict, PolicyFile,
    Probe, ProcessTable, RequireTable, StateTable, Stated, SyncMode, SyncTable, Verdict,
    WorkspaceAccess, WorkspaceRoot, WorkspaceTable, parse_duration, parse_size, server,
};

/// The keys of a file.
pub(crate) const TOP_KEYS: &[&str] = &[
    "version",
    "extends",
    "workspace",
    "mounts",
    "deny",
    "protect",
    "env",
    "network",
    "secrets",
    "ssh_agent",
    "bridges",
    "limits",
    "process",
    "sync",
    "require",
    "state",
    "expect",
    "build",
    "action",
    "remote",
    "project",
];
const LIMIT_KEYS: &[&str] = &[
    "timeout",
    "grace",
    "memory",
    "pids",
    "open_files",
    "file_size",
    "cpu_time",
    "layer_size",
    "layer_files",
];
pub(crate) const LEVELS: &[(&str, Level)] = &[
    (Level::Full.word(), Level::Full),
    (Level::Namespaces.word(), Level::Namespaces),
    (Level::Landlock.word(), Level::Landlock),
];

impl Decoder<'_> {
    /// Decodes a whole file.
    pub(crate) fn file(&mut self, table: &DeTable<'_>) -> PolicyFile {
        let top = Section { table, above: Above::Nothing };
        self.only_known(&top, TOP_KEYS);
        self.version(&top);
        let mut file = self.body(&top);
        file.project = self.projects(&top);
        file.state = self.state(&top);
        file
    }

    fn version(&mut self, top: &Section<'_>) {
        let Some(found) = top.table.get("version") else {
            self.problem(0..0, "no `version`")
                .explain("version", "add `version = 1` as the first line".to_owned());
            return;
        };
        let Some(version) = self.count(top, "version") else { return };
        if version.value == 0 {
            self.problem(found.span(), "no such version: 0")
                .explain("version", "write `version = 1`".to_owned());
        } else if version.value > 1 {
            let message = format!("written for a newer endow: version {}", version.value);
            self.problem(found.span(), message)
                .explain("version", "this endow reads version 1".to_owned());
        }
    }

    /// Decodes all keys that a file and a `[project]` table share.
    pub(super) fn body(&mut self, top: &Section<'_>) -> PolicyFile {
        let mounts = self.mounts(top);
        let mut file = PolicyFile {
            name: self.file.clone(),
            kind: self.kind,
            extends: self.texts(top, "extends"),
            mounts: mounts.entries,
            deny: self.patterns(top, ("deny", "patterns"), Reach::Names),
            protect: self.patterns(top, ("protect", "names"), Reach::NamesAndWays),
            env: self.env(top),
            limits: self.limits(top),
            process: self.process(top),
            require: self.require(top),
            sync: self.sync(top),
            expect: self.expectations(top),
            actions: self.actions(top),
            unavailable: mounts.unavailable,
            ..PolicyFile::default()
        };
        file.workspace = self.workspace(top);
        file.network = self.network(top);
        file.secrets = self.secrets(top);
        file.ssh_agent = self.ssh_agent(top);
        file.bridges = self.bridges(top);
        self.build(top, &mut file);
        file.remote = self.remote(top);
        file
    }

    /// Decodes how long runs are kept: those of all projects, so it is no project's to say.
    fn state(&mut self, top: &Section<'_>) -> StateTable {
        let Some(section) = self.section(top, "state", &["runs", "days", "size", "cache"]) else {
            return StateTable::default();
        };
        if self.kind != FileKind::User {
            self.only_in_users_file(top);
        }
        StateTable {
            runs: self.count(&section, "runs"),
            days: self.count(&section, "days"),
            size: self.unit(&section, "size", parse_size),
            cache: self.unit(&section, "cache", parse_size),
        }
    }

    pub(super) fn only_in_users_file(&mut self, section: &Section<'_>) {
        if let Some((at, _)) = section.table.get_key_value("state") {
            self.problem(at.span(), "`state` belongs at the top of the user's policy.toml").key =
                Some("state".to_owned());
        }
    }

    fn workspace(&mut self, top: &Section<'_>) -> WorkspaceTable {
        let Some(section) = self.section(top, "workspace", &["access", "root", "checkpoint"])
        else {
            return WorkspaceTable::default();
        };
        let mut words: Vec<_> = ACCESS_WORDS
            .iter()
            .map(|(word, access)| (*word, WorkspaceAccess::Granted(*access)))
            .collect();
        words.push(("none", WorkspaceAccess::None));
        let checkpoint = self.flag(&section, "checkpoint");
        let root = self.word(&section, "root").map(|root| {
            let value = match root.value {
                "git" => WorkspaceRoot::Git,
                "cwd" => WorkspaceRoot::Cwd,
                path => WorkspaceRoot::Path(path.into()),
            };
            root.with(value)
        });
        WorkspaceTable { access: self.choice(&section, "access", &words), root, checkpoint }
    }

    fn env(&mut self, top: &Section<'_>) -> EnvTable {
        let Some(section) = self.section(top, "env", &["pass", "set", "drop"]) else {
            return EnvTable::default();
        };
        EnvTable {
            pass: self.variable_names(&section, "pass"),
            set: self.assignments(&section),
            drop: self.variable_names(&section, "drop"),
            pass_all: None,
        }
    }

    /// Decodes names and patterns of variables. One with a value would match nothing.
    fn variable_names(&mut self, section: &Section<'_>, key: &str) -> Vec<Stated<String>> {
        let names = self.texts(section, key);
        for name in names.iter().filter(|name| name.value.contains(['=', '\0'])) {
            self.problem(name.span.clone(), "not a variable's name").explain(
                &section.key(key),
                "write the name alone: a value stands in `set = { NAME = \"VALUE\" }`".to_owned(),
            );
        }
        names
    }

    fn assignments(&mut self, env: &Section<'_>) -> Vec<(Stated<OsString>, OsString)> {
        let Some(found) = env.table.get("set") else { return Vec::new() };
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(env, "set", "a table");
            return Vec::new();
        };
        let section = Section { table, above: Above::Key("env.set") };
        let named = self.named(&section);
        named
            .into_iter()
            .map(|(name, value)| (name.with(name.value.into()), value.into()))
            .collect()
    }

    /// Decodes a table of variables.
    pub(super) fn named<'d>(&mut self, section: &Section<'d>) -> Vec<(Stated<&'d str>, &'d str)> {
        let mut named = Vec::new();
        for key in section.table.keys() {
            let name: &str = key.get_ref();
            let Some(value) = self.text(section, name) else { continue };
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(key.span(), "not a variable's name").key = section.above.key();
            } else if value.value.contains('\0') {
                self.problem(value.span, "value contains a NUL byte").key = Some(section.key(name));
            } else {
                named.push((self.stated(key.span(), name), value.value));
            }
        }
        named
    }

    fn limits(&mut self, top: &Section<'_>) -> LimitsTable {
        let Some(section) = self.section(top, "limits", LIMIT_KEYS) else {
            return LimitsTable::default();
        };
        let limits = LimitsTable {
            timeout: self.unit(&section, "timeout", parse_duration),
            grace: self.unit(&section, "grace", parse_duration),
            memory: self.unit(&section, "memory", parse_size),
            pids: self.count(&section, "pids"),
            open_files: self.count(&section, "open_files"),
            file_size: self.unit(&section, "file_size", parse_size),
            cpu_time: self.unit(&section, "cpu_time", parse_duration),
            layer_size: self.unit(&section, "layer_size", parse_size),
            layer_files: self.count(&section, "layer_files"),
        };
        self.none_too_low(&section, &limits);
        limits
    }

    /// What would end or starve the command at once is taken for a mistake.
    fn none_too_low(&mut self, section: &Section<'_>, limits: &LimitsTable) {
        for (key, _, why) in limits.too_low() {
            let Some(found) = section.table.get(key) else { continue };
            self.problem(found.span(), why)
                .explain(&section.key(key), "leave the key out for no limit".to_owned());
        }
    }

    fn process(&mut self, top: &Section<'_>) -> ProcessTable {
        let known = ["allow", "new_session", "hostname"];
        let Some(section) = self.section(top, "process", &known) else {
            return ProcessTable::default();
        };
        let allow = self.texts(&section, "allow");
        let known: Vec<&str> = AllowWord::ALL.iter().map(|word| word.word()).collect();
        self.only_known_words("process.allow", &allow, &known);
        let hostname = self.word(&section, "hostname").map(|name| name.with(name.value.to_owned()));
        if let Some(name) = &hostname
            && !is_hostname(&name.value)
        {
            self.problem(name.span.clone(), "not a host name").key = Some(section.key("hostname"));
        }
        ProcessTable { allow, new_session: self.flag(&section, "new_session"), hostname }
    }

    fn require(&mut self, top: &Section<'_>) -> RequireTable {
        let Some(section) = self.section(top, "require", &["level", "best_effort"]) else {
            return RequireTable::default();
        };
        let best_effort = self.texts(&section, "best_effort");
        self.only_known_words("require.best_effort", &best_effort, &LOSSES);
        RequireTable { level: self.choice(&section, "level", LEVELS), best_effort }
    }

    /// Notes each word that is not among `known`, also of those that `!` takes back.
    fn only_known_words(&mut self, key: &str, words: &[Stated<String>], known: &[&str]) {
        for word in words {
            let name = word.value.strip_prefix('!').unwrap_or(&word.value);
            if !known.contains(&name) {
                self.problem(word.span.clone(), format!("unknown word `{name}`"))
                    .explain(key, did_you_mean(name, known));
            }
        }
    }

    fn sync(&mut self, top: &Section<'_>) -> SyncTable {
        let Some(section) = self.section(top, "sync", &["mode", "on_conflict", "only"]) else {
            return SyncTable::default();
        };
        let modes: Vec<_> = SyncMode::ALL.iter().map(|mode| (mode.word(), *mode)).collect();
        let choices: Vec<_> = OnConflict::ALL.iter().map(|it| (it.word(), *it)).collect();
        SyncTable {
            mode: self.choice(&section, "mode", &modes),
            on_conflict: self.choice(&section, "on_conflict", &choices),
            only: self.globs(&section, "only", Reach::Names),
            strict: None,
        }
    }

    fn expectations(&mut self, top: &Section<'_>) -> Vec<Expectation> {
        let sections = self.sections(top, "expect");
        let mut expectations = Vec::with_capacity(sections.len());
        for (span, section) in sections {
            self.only_known(&section, &["read", "write", "execute", "connect", "is"]);
            let asked: Vec<_> = Probe::ALL
                .iter()
                .filter_map(|(key, probe)| Some((*probe, self.word(&section, key)?)))
                .collect();
            let [(probe, object)] = asked.as_slice() else {
                self.problem(span, "needs exactly one of `read`, `write`, `execute`, `connect`")
                    .key = Some("expect".to_owned());
                continue;
            };
            if !section.table.contains_key("is") {
                self.problem(span.clone(), "needs `is`")
                    .explain("expect.is", "add `is = \"absent\"`".to_owned());
            }
            let Some(is) = self.choice(&section, "is", Verdict::ALL) else { continue };
            if *probe == Probe::Connect && server(object.value).is_none() {
                self.problem(object.span.clone(), "no server: a host and a TCP port are needed")
                    .explain("expect.connect", "write `connect = \"HOST:PORT\"`".to_owned());
            }
            expectations.push(Expectation {
                probe: *probe,
                object: object.value.to_owned(),
                is: is.value,
                origin: object.origin.clone(),
            });
        }
        expectations
    }
}

/// Returns whether a text may be a host name for sethostname(2): at most 64 bytes.
pub(crate) fn is_hostname(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(fine)
}
