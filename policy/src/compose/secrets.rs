//! Secrets, merged: the later entry of a name replaces the earlier.

use std::collections::BTreeMap;

use super::{ComposeError, absolute};
use crate::place::Places;
use crate::{
    NetworkMode, PolicyFile, SecretEntry, SecretSource, Stated, WrittenSource, WrittenUse,
};

/// One secret with its path made absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComposedSecret {
    pub(crate) from: SecretSource,
    /// `None` when a stronger source takes the network away that it is served in.
    pub(crate) to: Option<WrittenUse>,
}

/// The secrets by their names.
pub(crate) type ComposedSecrets = BTreeMap<String, Stated<ComposedSecret>>;

/// Adds what a stronger source says.
pub(super) fn push(
    secrets: &mut ComposedSecrets,
    file: &PolicyFile,
    places: &Places<'_>,
) -> Result<(), ComposeError> {
    if file.network.mode.as_ref().is_some_and(|mode| mode.value != NetworkMode::Allow) {
        withhold(secrets);
    }
    for (name, entry) in &file.secrets {
        match entry {
            None => drop(secrets.remove(&name.value)),
            Some(SecretEntry { from, to }) => {
                let from = source(from, name, places)?;
                let secret = ComposedSecret { from, to: Some(to.clone()) };
                secrets.insert(name.value.clone(), name.with(secret));
            }
        }
    }
    Ok(())
}

/// Makes the path of a source absolute that is stated there.
pub(super) fn source<T>(
    from: &WrittenSource,
    stated: &Stated<T>,
    places: &Places<'_>,
) -> Result<SecretSource, ComposeError> {
    Ok(match from {
        WrittenSource::Variable(name) => SecretSource::Variable(name.clone()),
        WrittenSource::Command(command) => SecretSource::Command(command.clone()),
        WrittenSource::File(path) => {
            SecretSource::File(absolute(places, &stated.with(path.clone()))?)
        }
    })
}

/// A mode without rules takes back what weaker sources allow, and so the ways by which secrets would
/// go out. The variables that hold them stay out of sight.
fn withhold(secrets: &mut ComposedSecrets) {
    for secret in secrets.values_mut() {
        secret.value.to =
            secret.value.to.take().filter(|it| matches!(it, WrittenUse::Descriptor(_)));
    }
}
