//! The remote cache, merged.

use super::secrets::source;
use super::{ComposeError, absolute};
use crate::place::Places;
use crate::{HostPath, Remote, RemoteMode, RemoteTable, RemoteUrl, SecretSource, Stated};

/// The remote cache, as far as it is stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ComposedRemote {
    url: Option<Stated<RemoteUrl>>,
    instance: Option<String>,
    mode: Option<RemoteMode>,
    token: Option<Stated<SecretSource>>,
    ca: Option<HostPath>,
    cert: Option<HostPath>,
    key: Option<HostPath>,
}

impl ComposedRemote {
    /// Adds what a stronger source says. One that names another cache takes nothing of a weaker one: a token
    /// is for whom it was stated.
    pub(super) fn push(
        &mut self,
        table: &RemoteTable,
        places: &Places<'_>,
    ) -> Result<(), ComposeError> {
        let is_other = |url: &&Stated<RemoteUrl>| {
            self.url.as_ref().is_none_or(|current| current.value != url.value)
        };
        if let Some(url) = table.url.as_ref().filter(is_other) {
            *self = Self { url: Some(url.clone()), ..Self::default() };
        }
        let path =
            |path: &Option<Stated<_>>| path.as_ref().map(|path| absolute(places, path)).transpose();
        let token = table
            .token
            .as_ref()
            .map(|token| source(&token.value, token, places).map(|source| token.with(source)));
        take(&mut self.instance, table.instance.as_ref().map(|it| it.value.clone()));
        take(&mut self.mode, table.mode.as_ref().map(|it| it.value));
        take(&mut self.token, token.transpose()?);
        take(&mut self.ca, path(&table.ca)?);
        take(&mut self.cert, path(&table.cert)?);
        take(&mut self.key, path(&table.key)?);
        Ok(())
    }

    /// Returns the cache, when one is named.
    pub(crate) fn resolved(&self) -> Option<Remote> {
        Some(Remote {
            url: self.url.clone()?,
            instance: self.instance.clone().unwrap_or_default(),
            mode: self.mode.unwrap_or_default(),
            token: self.token.clone(),
            ca: self.ca.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
        })
    }
}

fn take<T>(current: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *current = later;
    }
}
