//! The table `[remote]`.

use std::ffi::OsString;

use toml::de::DeValue;

use super::{Above, Decoder, Section};
use crate::{RemoteMode, RemoteTable, RemoteUrl, Stated, WrittenSource};

const KEYS: &[&str] = &["url", "instance", "mode", "token", "ca", "cert", "key"];
const MODES: &[(&str, RemoteMode)] =
    &[("read", RemoteMode::Read), ("read-write", RemoteMode::ReadWrite)];
/// What the source of the token stands in, in messages.
const TOKEN: Above<'static> = Above::Key("remote.token");

impl Decoder<'_> {
    /// Decodes where results are shared.
    pub(super) fn remote(&mut self, top: &Section<'_>) -> RemoteTable {
        let Some(section) = self.section(top, "remote", KEYS) else {
            return RemoteTable::default();
        };
        let hint = "write `grpcs://HOST[:PORT]`, `grpc://HOST:PORT`, `unix:PATH` or `file:DIR`";
        let url = self.read(&section, "url", RemoteUrl::parse, hint);
        let url = url.zip(section.table.get("url"));
        let url = url.map(|(url, found)| self.stated(found.span(), url));
        let instance = self.text(&section, "instance");
        let mut path = |key| {
            let path = self.word(&section, key)?;
            Some(path.with(OsString::from(path.value)))
        };
        let (ca, cert, key) = (path("ca"), path("cert"), path("key"));
        RemoteTable {
            url,
            instance: instance.map(|it| it.with(it.value.to_owned())),
            mode: self.choice(&section, "mode", MODES),
            token: self.token(&section),
            ca,
            cert,
            key,
        }
    }

    fn token(&mut self, section: &Section<'_>) -> Option<Stated<WrittenSource>> {
        let hint = "write `env:NAME`, `file:PATH` or `cmd:COMMAND`";
        let found = section.table.get("token")?;
        let source = match found.get_ref() {
            DeValue::Table(table) => {
                let token = Section { table, above: TOKEN };
                self.only_known(&token, &["from"]);
                self.needed(&token, "from", WrittenSource::parse, hint)
            }
            _ => self.read(section, "token", WrittenSource::parse, hint),
        };
        source.map(|source| self.stated(found.span(), source))
    }
}
