//! The network's rules, merged.

use super::{ComposeError, replace};
use crate::network::{Edit, NetworkTable};
use crate::{HostRule, NetworkMode, PublishedPort, Stated};

/// What all sources say of the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComposedNetwork {
    pub(crate) mode: Option<Stated<NetworkMode>>,
    pub(crate) allow: Vec<Stated<HostRule>>,
    pub(crate) publish: Vec<Stated<PublishedPort>>,
    pub(crate) proxy: Option<Stated<u16>>,
    pub(crate) match_server_name: Option<Stated<bool>>,
}

impl ComposedNetwork {
    /// Returns the mode that holds so far.
    pub(crate) fn mode(&self) -> NetworkMode {
        self.mode.as_ref().map(|mode| mode.value).unwrap_or_default()
    }

    /// Adds what a stronger source says.
    ///
    /// # Errors
    /// An entry that is taken back and that a wider one still allows.
    pub(super) fn push(&mut self, table: &NetworkTable) -> Result<(), ComposeError> {
        if let Some(mode) = &table.mode {
            self.begin(mode);
        }
        for entry in &table.allow {
            self.edit(entry);
        }
        for entry in &table.allow {
            self.still_allowed(entry)?;
        }
        for entry in &table.publish {
            edit_ports(&mut self.publish, entry);
        }
        replace(&mut self.proxy, table.proxy.as_ref());
        replace(&mut self.match_server_name, table.match_server_name.as_ref());
        Ok(())
    }

    /// A mode that knows no rules takes those of weaker sources back, so that an entry of a still
    /// stronger one brings back itself alone.
    fn begin(&mut self, mode: &Stated<NetworkMode>) {
        if mode.value != NetworkMode::Allow {
            self.allow.clear();
        }
        if mode.value == NetworkMode::Host {
            self.publish.clear();
            self.proxy = None;
        }
        self.mode = Some(mode.clone());
    }

    fn edit(&mut self, entry: &Stated<Edit<HostRule>>) {
        match &entry.value {
            Edit::Add(rule) => {
                self.mode = Some(entry.with(NetworkMode::Allow));
                if !self.allow.iter().any(|known| known.value == *rule) {
                    self.allow.push(entry.with(rule.clone()));
                }
            }
            Edit::Remove(removed) => {
                let rules = std::mem::take(&mut self.allow);
                self.allow = rules.into_iter().filter_map(|rule| without(rule, removed)).collect();
            }
        }
    }

    /// `!a.example.com` can't hold where `*.example.com` is allowed: rules only add.
    fn still_allowed(&self, entry: &Stated<Edit<HostRule>>) -> Result<(), ComposeError> {
        let Edit::Remove(removed) = &entry.value else { return Ok(()) };
        let still = self.allow.iter().find(|rule| rule.value.overlaps(removed));
        let Some(by) = still else { return Ok(()) };
        Err(ComposeError::StillAllowed {
            removed: Box::new(removed.clone()),
            by: Box::new(by.clone()),
            origin: entry.origin.clone(),
        })
    }
}

/// Returns what is left of a rule.
fn without(rule: Stated<HostRule>, removed: &HostRule) -> Option<Stated<HostRule>> {
    let of_same = rule.value.protocol == removed.protocol && rule.value.host == removed.host;
    if !of_same {
        return Some(rule);
    }
    let ports = rule.value.ports.without(&removed.ports)?;
    Some(rule.with(HostRule { ports, ..rule.value.clone() }))
}

fn edit_ports(list: &mut Vec<Stated<PublishedPort>>, entry: &Stated<Edit<PublishedPort>>) {
    match entry.value {
        Edit::Remove(removed) => list.retain(|known| known.value != removed),
        Edit::Add(port) if list.iter().any(|known| known.value == port) => {}
        Edit::Add(port) => list.push(entry.with(port)),
    }
}
