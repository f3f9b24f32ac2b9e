//! The table `[build]`.

use toml::de::DeValue;

use super::{Above, Decoder, Section};
use crate::{BuildRoot, MountSource, PolicyFile};

const KEYS: &[&str] = &["root", "share_host_root"];
const ROOT_KEYS: &[&str] = &["cas", "git", "rev"];
/// What the keys of the root stand in, in messages.
const ROOT: Above<'static> = Above::Key("build.root");

impl Decoder<'_> {
    /// Decodes what all actions have in common.
    pub(super) fn build(&mut self, top: &Section<'_>, file: &mut PolicyFile) {
        let Some(section) = self.section(top, "build", KEYS) else { return };
        file.share_host_root = self.flag(&section, "share_host_root");
        let Some(found) = section.table.get("root") else { return };
        match found.get_ref() {
            DeValue::String(_) => {
                let word = self.choice(&section, "root", &[("host", ())]);
                file.build_root = word.map(|word| word.with(BuildRoot::Host));
            }
            DeValue::Table(table) => {
                let root = Section { table, above: ROOT };
                self.only_known(&root, ROOT_KEYS);
                if table.contains_key("git") {
                    self.missing(&root, "git", file);
                } else if let Some(MountSource::Cas { digest }) = self.cas_source(&root) {
                    file.build_root = Some(self.stated(found.span(), BuildRoot::Tree(digest)));
                }
            }
            _ => self.wrong_type(&section, "root", "`\"host\"`, or a table with `cas`"),
        }
    }

    fn missing(&mut self, section: &Section<'_>, key: &'static str, file: &mut PolicyFile) {
        let Some((at, _)) = section.table.get_key_value(key) else { return };
        file.unavailable.push(self.stated(at.span(), section.key(key)));
    }
}
