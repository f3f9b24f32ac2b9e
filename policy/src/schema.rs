//! The JSON Schema of policy files, for editors. It describes the keys and the types; the
//! parser knows more (paths, patterns, digests) and accepts nothing that the schema refuses.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, json_schema};

/// Returns the JSON Schema of a policy file.
pub fn schema() -> serde_json::Value {
    SchemaGenerator::default().into_root_schema_for::<File>().to_value()
}

/// A policy file of endow.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "PolicyFile")]
#[expect(dead_code, reason = "read by the derive only")]
struct File {
    /// The version of the file's language.
    version: Version,
    #[schemars(flatten)]
    body: Body,
    /// In the user's file: what holds below one directory.
    project: Option<BTreeMap<String, Body>>,
    state: Option<State>,
}

/// What a file and a `[project]` table may say.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Body {
    /// Profiles below this file; `!name` takes one out.
    extends: Option<Vec<Word>>,
    workspace: Option<Workspace>,
    /// Places in the sandbox and what stands there.
    #[expect(clippy::zero_sized_map_values, reason = "only the type's schema counts")]
    mounts: Option<BTreeMap<String, Mount>>,
    deny: Option<Deny>,
    protect: Option<Protect>,
    env: Option<Env>,
    network: Option<Network>,
    limits: Option<Limits>,
    process: Option<Process>,
    require: Option<Require>,
    /// What `endow verify` checks.
    expect: Option<Vec<Expect>>,
    #[expect(clippy::zero_sized_map_values, reason = "only the type's schema counts")]
    secrets: Option<BTreeMap<String, Secret>>,
    ssh_agent: Option<SshAgent>,
    bridges: Option<Bridges>,
    sync: Option<Sync>,
    build: Option<Build>,
    action: Option<Vec<Action>>,
    remote: Option<Remote>,
}

macro_rules! image {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[expect(dead_code, reason = "read by the derive only")]
        struct $name { $($(#[$field_doc])* $field: Option<$type>,)* }
    };
}

macro_rules! words {
    ($name:ident: $($word:literal)|*) => {
        struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
                json_schema!({ "type": "string", "enum": [$($word),*] })
            }
        }
    };
}

macro_rules! shape {
    ($name:ident: $($json:tt)+) => {
        struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
                json_schema!($($json)+)
            }
        }
    };
}

shape!(Version: { "type": "integer", "const": 1 });
shape!(Word: { "type": "string", "minLength": 1 });
shape!(Size: {
    "description": "bytes: a number, or a number with K, M, G or T",
    "type": ["integer", "string"], "minimum": 0,
    "pattern": "^\\s*[0-9]+\\s*([kKmMgGtT]([iI]?[bB])?|[bB])?\\s*$",
});
shape!(Time: {
    "description": "seconds: a number, or a number with ms, s, m, h or d",
    "type": ["integer", "string"], "minimum": 0,
    "pattern": "^\\s*[0-9]+\\s*(ms|s|m|min|h|d)?\\s*$",
});
shape!(Bits: {
    "description": "permission bits in octal: \"1777\" or 0o1777",
    "type": ["integer", "string"], "minimum": 0, "maximum": 1023, "pattern": "^[0-7]+$",
});
shape!(Yes: { "const": true });
shape!(TextOrTable: { "type": ["string", "object"] });
words!(Access: "ro" | "rw" | "cow");
words!(Create: "file" | "directory");
words!(WorkspaceAccess: "ro" | "rw" | "cow" | "none");
words!(Mode: "none" | "allow" | "host");
shape!(Descriptor: { "type": "integer", "minimum": 3, "maximum": 255 });
shape!(Port: { "type": "integer", "minimum": 1, "maximum": 65535 });
words!(Level: "full" | "namespaces" | "landlock");
words!(Loss: "deny" | "memory" | "pids" | "protect" | "!deny" | "!memory" | "!pids" | "!protect");
words!(Is: "absent" | "denied" | "allowed");
words!(SyncMode: "apply" | "apply-ok" | "review" | "discard");
words!(OnConflict: "host" | "guest" | "merge" | "abort");
words!(RemoteMode: "read" | "read-write");

/// What stands at a place: an access for the same path, a table, or false for nothing.
struct Mount;

impl JsonSchema for Mount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mount".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let access = generator.subschema_for::<Access>();
        let table = generator.subschema_for::<MountTable>();
        json_schema!({ "anyOf": [access, table, { "const": false }] })
    }
}

/// What the command uses and never sees: a table, or false for nothing.
struct Secret;

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<SecretTable>();
        json_schema!({ "anyOf": [table, { "const": false }] })
    }
}

image!(
    /// One mount in full.
    MountTable {
        /// A path of the host; the same as inside when left out.
        host: Word,
        /// A git repository; `.` is the workspace's.
        git: Word,
        /// The tree-ish of the repository.
        rev: Word,
        /// `sha256:<hex>/<size>`.
        cas: Word,
        /// A file system in memory.
        memory: Yes,
        /// An empty directory on disk, gone at exit.
        private: Yes,
        /// Host files copied in before the start.
        seed: Vec<Word>,
        /// Files published on the host.
        write_back: Vec<Word>,
        access: Access,
        size: Size,
        inodes: u64,
        mode: Bits,
        /// A missing source is skipped.
        optional: bool,
        /// Nothing below may be executed.
        noexec: bool,
        /// Deny patterns don't apply below.
        nodeny: bool,
        /// The host's Unix socket that stands there can be connected to.
        socket: bool,
        /// Where the host has nothing, what the command makes there is brought to it.
        create: Create,
        /// Which paths of a git tree are shown, as in git's sparse-checkout file.
        sparse: Vec<Word>,
        /// Where a git tree's changes go; `discard` drops those of a host path.
        sync: Word,
        /// What git ignores goes there, too.
        sync_ignored: bool,
        /// `Name <address>` of a commit of what was not committed.
        author: Word,
        /// Why it is there; for readers.
        reason: String,
    }
);
image!(
    /// What the workspace is and what may be done to it.
    Workspace { access: WorkspaceAccess, /** `git`, `cwd` or a path. */ root: Word, checkpoint: bool, }
);
image!(
    /// Names that are hidden in the host's directories.
    Deny { patterns: Vec<Word>, /** Whether the built-in list counts. */ defaults: bool, }
);
image!(
    /// Names that somebody else runs later.
    Protect { names: Vec<Word>, /** Whether the built-in list counts. */ defaults: bool, }
);
image!(
    /// Which variables the command receives.
    Env { pass: Vec<Word>, set: BTreeMap<String, String>, drop: Vec<Word>, }
);
image!(
    /// What the command reaches.
    Network {
        /// `none`, `allow` (which entries of `allow` imply) or `host`.
        mode: Mode,
        /// `HOST[:PORT,...]`; `!X` takes X back.
        allow: Vec<Word>,
        /// `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`; `!X` takes X back.
        publish: Vec<Word>,
        /// The port of a proxy inside, for programs that insist on one.
        proxy: Port,
        /// Whether the name in TLS's first message or HTTP's `Host` must be the allowed one.
        match_server_name: bool,
    }
);
image!(
    /// What the run may use.
    Limits {
        timeout: Time,
        grace: Time,
        memory: Size,
        pids: u64,
        open_files: u64,
        file_size: Size,
        cpu_time: Time,
        layer_size: Size,
        layer_files: u64,
    }
);
image!(
    /// What the processes may ask of the kernel.
    Process { allow: Vec<Word>, new_session: bool, hostname: Word, }
);
image!(
    /// How much must hold.
    Require { level: Level, best_effort: Vec<Loss>, }
);
image!(
    /// One check of `endow verify`.
    Expect { read: Word, write: Word, execute: Word, connect: Word, is: Is, }
);
image!(
    /// A secret in full.
    SecretTable {
        /// `env:NAME`, `file:PATH` or `cmd:COMMAND`.
        from: Word,
        /// The server: `HOST[:PORT][/PATH]`.
        r#for: Word,
        /// `NAME: TEXT {} TEXT`, with `{}` in the secret's place.
        header: Word,
        /// The address or range in which the server's must be.
        address: Word,
        /// The port inside.
        port: Port,
        /// The variable that names the place inside.
        url: Word,
        /// A connection may become a WebSocket.
        websocket: bool,
        /// The descriptor from which the command reads it.
        fd: Descriptor,
    }
);
image!(
    /// Keys of the user's ssh-agent that the command may use.
    SshAgent {
        /// `SHA256:...`, a comment, or `*` for all; `!X` takes X back.
        keys: Vec<Word>,
        /// The program that asks before a key is used, with its arguments.
        confirm: Vec<Word>,
        /// The agent's socket; the one that `SSH_AUTH_SOCK` names when left out.
        agent: Word,
    }
);
image!(
    /// Ways to what the user has on the desktop.
    Bridges {
        /// `browser`, `browser:HOST[:PORT]`, `oauth[:PORT]`, `clipboard` or `notify`; `!X` takes X back.
        open: Vec<Word>,
    }
);
image!(
    /// How the changes of copy-on-write mounts are written back.
    Sync { mode: SyncMode, on_conflict: OnConflict, only: Vec<Word>, }
);
image!(
    /// How long runs that were written back can be undone, and how much is kept in the cache. In the user's file only.
    State { runs: u64, days: u64, size: Size, cache: Size, }
);
image!(
    /// What all actions of `endow build` have in common.
    Build { root: TextOrTable, share_host_root: bool, }
);
image!(
    /// One action of `endow build`: a command with declared inputs and outputs.
    Action {
        name: Word,
        command: Vec<String>,
        inputs: Vec<Word>,
        outputs: Vec<Word>,
        tools: Vec<Word>,
        needs: Vec<Word>,
        env: BTreeMap<String, String>,
        timeout: Time,
        cache: bool,
    }
);
image!(
    /// Where builds share results.
    Remote {
        url: Word,
        instance: String,
        mode: RemoteMode,
        token: TextOrTable,
        ca: Word,
        cert: Word,
        key: Word,
    }
);
