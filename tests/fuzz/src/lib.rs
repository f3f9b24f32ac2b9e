//! What the fuzz targets do with an input.
//!
//! A target takes any bytes, hands them to code that reads what others wrote, and asserts what has
//! to hold of the answer. It uses public functions only. The first byte chooses a door.

mod cas;
mod git;
mod policy;
mod safe;
mod scratch;

/// Reads git objects, loose and packed, and the trees that they make.
pub fn tree_objects(input: &[u8]) {
    git::tree_objects(input);
}

/// Reads messages of the store, the trees that they make, and the manifests of made ones.
pub fn directory_messages(input: &[u8]) {
    cas::directory_messages(input);
}

/// Resolves revisions by the files of a git directory.
pub fn ref_names(input: &[u8]) {
    git::ref_names(input);
}

/// Reads the values of mount flags, policy files, patterns and paths.
pub fn mount_specs(input: &[u8]) {
    policy::mount_specs(input);
}
