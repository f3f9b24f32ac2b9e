//! Names that deny patterns hide.

use std::collections::BTreeMap;
use std::path::Path;

use endow_policy::{HostPath, Policy};

use crate::plan::host::{HiddenNames, PathFact};

/// How names are looked for.
#[derive(Debug)]
pub(crate) struct HiddenOptions<'a> {
    /// Where earlier walks are remembered.
    pub(crate) cache: Option<&'a Path>,
}

pub(super) fn find(
    _policy: &Policy,
    _paths: &BTreeMap<HostPath, PathFact>,
    _options: &HiddenOptions<'_>,
) -> BTreeMap<HostPath, HiddenNames> {
    BTreeMap::new()
}
