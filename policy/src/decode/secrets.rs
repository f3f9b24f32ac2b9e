//! The table `[secrets]`.

use toml::de::DeValue;

use super::{Above, Decoder, Section, type_word};
use crate::secret::{DESCRIPTORS, is_variable};
use crate::{
    AddressRange, Header, SecretEntry, SecretTable, Server, Stated, WrittenSource, WrittenUse,
};

const KEYS: &[&str] = &["from", "for", "header", "address", "port", "url", "websocket", "fd"];
/// What only a header has.
const OF_HEADER: &[&str] = &["for", "header", "address", "port", "url", "websocket"];

impl Decoder<'_> {
    pub(super) fn secrets(&mut self, top: &Section<'_>) -> SecretTable {
        let Some(found) = top.table.get("secrets") else { return SecretTable::new() };
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(top, "secrets", "a table");
            return SecretTable::new();
        };
        let mut secrets = SecretTable::new();
        for (name, value) in table {
            let key = format!("secrets.{}", name.get_ref());
            if !is_variable(name.get_ref()) {
                let hint = "write letters, digits and `_`: the name is part of a variable's";
                self.problem(name.span(), "not a name for a secret").explain(&key, hint.to_owned());
                continue;
            }
            let entry = match value.get_ref() {
                DeValue::Boolean(false) => None,
                DeValue::Table(table) => {
                    match self.secret(&Section { table, above: Above::Key(&key) }) {
                        Some(entry) => Some(entry),
                        None => continue,
                    }
                }
                other => {
                    let message = format!("expected a table or false, found {}", type_word(other));
                    self.problem(value.span(), message).key = Some(key);
                    continue;
                }
            };
            secrets.push((self.stated(name.span(), name.get_ref().as_ref().to_owned()), entry));
        }
        secrets
    }

    fn secret(&mut self, section: &Section<'_>) -> Option<SecretEntry> {
        self.only_known(section, KEYS);
        let hint = "write `env:NAME`, `file:PATH` or `cmd:COMMAND`";
        let from = self.needed(section, "from", WrittenSource::parse, hint);
        let is_handed = section.table.contains_key("fd");
        let to = if is_handed { self.descriptor(section) } else { self.in_header(section) };
        Some(SecretEntry { from: from?, to: to? })
    }

    fn in_header(&mut self, section: &Section<'_>) -> Option<WrittenUse> {
        let hint = "write the server, such as `api.example.com` (or `fd = 3` for a descriptor)";
        let server = self.needed(section, "for", Server::parse, hint);
        let hint = "write it with `{}` in the secret's place: \"Authorization: Bearer {}\"";
        let header = self.needed(section, "header", Header::parse, hint);
        let hint = "write an address or a range, such as `10.1.0.0/16`";
        let address = self.read(section, "address", AddressRange::parse, hint);
        let port = self.port(section, "port").map(|port| port.value);
        let url = self.variable(section);
        let websocket = self.flag(section, "websocket").is_some_and(|it| it.value);
        let (server, header) = (server?, header?);
        Some(WrittenUse::Header { server, header, address, port, url, websocket })
    }

    fn descriptor(&mut self, section: &Section<'_>) -> Option<WrittenUse> {
        for key in OF_HEADER {
            let Some(found) = section.table.get(*key) else { continue };
            let hint = "a secret goes into a header, or to a descriptor: leave one out";
            self.problem(found.span(), format!("`{key}` has no meaning beside `fd`"))
                .explain(&section.key(key), hint.to_owned());
        }
        let count = self.count(section, "fd")?;
        let number = u16::try_from(count.value).ok().filter(|it| DESCRIPTORS.contains(it));
        if number.is_none() {
            let hint = "0, 1 and 2 are the standard streams".to_owned();
            self.problem(count.span, "not a descriptor from 3 to 255")
                .explain(&section.key("fd"), hint);
        }
        number.map(WrittenUse::Descriptor)
    }

    fn variable(&mut self, section: &Section<'_>) -> Option<String> {
        let name = self.word(section, "url")?;
        if !is_variable(name.value) {
            self.problem(name.span, "not a variable's name").key = Some(section.key("url"));
            return None;
        }
        Some(name.value.to_owned())
    }

    /// Reads a text that must be there.
    pub(super) fn needed<T, E: std::fmt::Display>(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
        read: fn(&str) -> Result<T, E>,
        hint: &str,
    ) -> Option<T> {
        if !section.table.contains_key(key) {
            let at = section.table.keys().map(toml::Spanned::span).min_by_key(|span| span.start);
            self.problem(at.unwrap_or(0..0), format!("needs `{key}`"))
                .explain(&section.key(key), hint.to_owned());
        }
        self.read(section, key, read, hint)
    }

    pub(super) fn read<T, E: std::fmt::Display>(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
        read: fn(&str) -> Result<T, E>,
        hint: &str,
    ) -> Option<T> {
        let text: Stated<&str> = self.word(section, key)?;
        match read(text.value) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(text.span, error.to_string())
                    .explain(&section.key(key), hint.to_owned());
                None
            }
        }
    }
}
