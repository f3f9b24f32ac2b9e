//! The table `[network]`.

use super::{Decoder, Section};
use crate::network::{Edit, NetworkTable, WordError};
use crate::{HostRule, NetworkMode, PublishedPort, Stated};

const KEYS: &[&str] = &["mode", "allow", "publish", "proxy", "match_server_name"];

impl Decoder<'_> {
    pub(super) fn network(&mut self, top: &Section<'_>) -> NetworkTable {
        let Some(section) = self.section(top, "network", KEYS) else {
            return NetworkTable::default();
        };
        let modes: Vec<_> = NetworkMode::ALL.iter().map(|mode| (mode.word(), *mode)).collect();
        let table = NetworkTable {
            mode: self.choice(&section, "mode", &modes),
            allow: self.network_words(&section, "allow", HostRule::parse),
            publish: self.network_words(&section, "publish", PublishedPort::parse),
            proxy: self.port(&section, "proxy"),
            match_server_name: self.flag(&section, "match_server_name"),
        };
        self.of_one_mode(&section, &table);
        table
    }

    fn network_words<T>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        read: fn(&str) -> Result<T, WordError>,
    ) -> Vec<Stated<Edit<T>>> {
        let mut entries = Vec::new();
        for text in self.texts(section, key) {
            match Edit::parse(&text.value, read) {
                Ok(entry) => entries.push(text.with(entry)),
                Err(error) => {
                    let problem = self.problem(text.span.clone(), error.to_string());
                    problem.key = Some(section.key(key));
                    problem.hint = error.hint;
                }
            }
        }
        entries
    }

    pub(super) fn port(&mut self, section: &Section<'_>, key: &str) -> Option<Stated<u16>> {
        let count = self.count(section, key)?;
        let port = u16::try_from(count.value).ok().filter(|port| *port != 0);
        if port.is_none() {
            self.problem(count.span.clone(), "not a port from 1 to 65535").key =
                Some(section.key(key));
        }
        port.map(|port| count.with(port))
    }

    /// Entries beside a mode that has none of them would be read by nobody.
    fn of_one_mode(&mut self, section: &Section<'_>, table: &NetworkTable) {
        let Some(mode) = &table.mode else { return };
        let allow = table.allow.iter().find(|entry| entry.value.added().is_some());
        let allow = allow.filter(|_| mode.value != NetworkMode::Allow);
        let publish = table.publish.iter().find(|entry| entry.value.added().is_some());
        let of_host = mode.value == NetworkMode::Host;
        let entries = [
            ("allow", allow.map(|entry| &entry.span)),
            ("publish", publish.map(|entry| &entry.span).filter(|_| of_host)),
            ("proxy", table.proxy.as_ref().map(|port| &port.span).filter(|_| of_host)),
        ];
        for (key, span) in entries {
            let Some(span) = span else { continue };
            let message = format!("`{key}` has no meaning with mode `{}`", mode.value.word());
            let hint = match key {
                "allow" => "leave `mode` out: entries of `allow` imply it",
                _ => "leave `mode` out, or this: the host's network has it already",
            };
            self.problem(span.clone(), message).explain(&section.key(key), hint.to_owned());
        }
    }
}
