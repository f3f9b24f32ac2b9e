//! What is allowed: policy files, their layers, and the resolved [`Policy`], as pure values.
//!
//! The pipeline of this crate is `parse` (text to [`PolicyFile`]), `compose` (layers to one
//! file, with the origin of every entry) and `resolve` (variables out, [`Policy`] in). Nothing
//! here reads a file, the environment or the clock: callers hand in text and [`Vars`].

#![deny(missing_docs)]

mod action;
mod adapter;
mod bridge;
mod broker;
pub mod builtin;
mod causes;
mod compose;
mod decode;
mod diagnostic;
mod environment;
mod expect;
mod explain;
mod file;
mod flags;
mod landing;
pub mod learn;
mod limits;
mod mount;
mod nearest;
mod network;
mod origin;
mod parse;
mod path;
mod pattern;
mod place;
mod policy;
mod port;
mod process;
mod remote;
mod require;
mod resolve;
#[cfg(feature = "schema")]
mod schema;
mod secret;
mod sparse;
mod ssh_agent;
mod starter;
mod state;
mod stated;
mod sync;
#[cfg(test)]
mod testing;
mod trust;
mod unit;
mod vars;
mod visible;
mod workspace;

pub use action::{
    Action, BuildRoot, Graph, GraphError, InputFault, InputPattern, InputSet, Output, TreePath,
    TreePathError,
};
pub use adapter::{AdapterAnswer, ORDER_MAX};
pub use bridge::{
    BRIDGE_PROGRAMS, BRIDGE_SOCKET, Bridge, BridgeFault, BridgeKind, BridgeNews, BridgeOrder,
    BridgesTable, LOGIN_LASTS,
};
pub use broker::{BrokerOrder, BrokeredHost};
pub use causes::{causes, in_one_line};
pub use compose::{ComposeError, Composed, ProfileText, Sources, compose, project_directories};
pub use diagnostic::Diagnostic;
pub use environment::{EnvironmentRules, name_is_dropped, name_matches};
pub use expect::{Expectation, Expected, Probe, Tried, Verdict, server};
pub use explain::{Cover, explain};
pub use file::{
    EnvTable, FileKind, LimitsTable, MountEntry, MountSource, PatternTable, PolicyFile,
    ProcessTable, RequireTable, StateTable, WorkspaceAccess, WorkspaceRoot, WorkspaceTable,
};
pub use flags::{FlagError, FlagFault, Flags, meant_option};
pub use landing::{Landing, LandsAt};
pub use limits::Limits;
pub use mount::{Access, BackendSpec, Create, Made, MountClass, MountOptions, MountSpec};
pub use network::{
    AddressRange, AddressRangeError, Edit, HostName, HostNameError, HostPattern, HostRule, Nearby,
    Network, NetworkMode, NetworkTable, Ports, Protocol, PublishedPort, Registry, SpecialRange,
    WordError, WordFault, special_range,
};
pub use origin::Origin;
pub use parse::{ParseError, PolicyText, parse};
pub use path::{GuestPath, HostPath, PathError};
pub use pattern::{
    Decision, PatternError, PatternFault, PatternRule, PatternSet, ProtectSet, is_name,
};
pub use place::PlaceError;
pub use policy::Policy;
pub use process::{AllowWord, Ids, ProcessRules};
pub use remote::{
    Remote, RemoteAnswer, RemoteContent, RemoteFound, RemoteMode, RemoteOrder, RemoteProblem,
    RemoteRequest, RemoteTable, RemoteTls, RemoteUrl, RemoteUrlError,
};
pub use require::{LOSSES, Level, Require};
pub use resolve::{ErrorKind, ResolveError, resolve};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use secret::{
    CARRYING, Endpoint, Header, HeaderError, Secret, SecretEntry, SecretSource, SecretTable,
    SecretUse, Server, ServerError, SourceError, WrittenSource, WrittenUse, is_hop_by_hop,
};
pub use sparse::SparseFault;
pub use ssh_agent::{SshAgent, SshAgentOrder, SshAgentTable};
pub use starter::{Starter, starter};
pub use state::StateRules;
pub use stated::Stated;
pub use sync::{OnConflict, SyncMode, SyncRules, SyncTable};
pub use trust::{Grant, Judgement, TrustError, View, judge, narrowed};
pub use unit::{UnitError, parse_duration, parse_size};
pub use vars::Vars;
pub use visible::{is_invisible, printable};
pub use workspace::{DEFAULT_WORKSPACE_ACCESS, default_workspace, projects};
