//! What stands in the directory of a run, by name.

/// The record.
pub(super) const RECORD: &str = "record.json";
/// The record that is to take its place.
pub(super) const NEW_RECORD: &str = "record.new";
/// The file whose time of change is the start of the command.
pub const STARTED: &str = "started";
/// Layers that cover names in mounts that can't be written.
pub const MASK: &str = "mask";
/// The sockets of programs beside endow.
pub const SOCKETS: &str = "sockets";
/// The layers of copy-on-write mounts and private directories.
pub const LAYERS: &str = "layers";
/// What was refused while the command ran.
pub const DENIALS: &str = "denials.jsonl";
/// The live mounts of a run that goes on, as paths.
pub const LIVE: &str = "live";
/// What was taken out of live mounts.
pub const HELD: &str = "held";
/// Objects that commands left one after another.
pub const STAGED: &str = "staged";
/// What tells of a write-back or an undo under way.
pub const JOURNAL: &str = "journal";
/// What an undo gives back.
pub const UNDO: &str = "undo";
/// A part of a run that goes.
pub(super) const ASIDE: &str = "aside";
/// What the name of a run begins with while it is made.
pub(super) const BEING_MADE: &str = ".new-";
/// What the name of a run begins with when it goes.
pub(super) const GOING: &str = ".gone-";
/// All parts that a run may have and that no write-back under way needs.
pub(super) const PARTS: [&str; 14] = [
    RECORD,
    NEW_RECORD,
    STARTED,
    MASK,
    SOCKETS,
    LAYERS,
    DENIALS,
    LIVE,
    HELD,
    STAGED,
    UNDO,
    TOLD,
    ASIDE,
    crate::sync::checkpoint::PLACE,
];
/// What marks a dead run of which it was told what may be left in its live mounts.
pub(super) const TOLD: &str = "told";
