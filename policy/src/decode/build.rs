//! The table `[build]`.

use std::ffi::OsString;
use std::ops::Range;

use toml::de::DeValue;

use super::{Above, Decoder, Section};
use crate::{BuildRoot, MountSource, PolicyFile};

const KEYS: &[&str] = &["root", "share_host_root"];
const ROOT_KEYS: &[&str] = &["cas", "git", "rev"];
/// What the keys of the root stand in, in messages.
const ROOT_KEY: &str = "build.root";
const ROOT: Above<'static> = Above::Key(ROOT_KEY);

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
                let tree = self.tree_as_root(&root, found.span());
                file.build_root = tree.map(|tree| self.stated(found.span(), tree));
            }
            _ => self.wrong_type(&section, "root", "`\"host\"`, or a table with `cas` or `git`"),
        }
    }

    fn tree_as_root(
        &mut self,
        root: &Section<'_>,
        span: Range<usize>,
    ) -> Option<BuildRoot<Option<OsString>>> {
        let [is_git, is_cas] = ["git", "cas"].map(|key| root.table.contains_key(key));
        if is_git && is_cas {
            self.problem(span, "the root is a tree of a repository, or of the store")
                .explain(ROOT_KEY, "leave `cas` or `git` out".to_owned());
            return None;
        }
        let source = if is_git { self.git_source(root, span) } else { self.cas_source(root) };
        match source? {
            MountSource::Git { repository, rev, .. } => Some(BuildRoot::Git { repository, rev }),
            MountSource::Cas { digest } => Some(BuildRoot::Tree(digest)),
            _ => None,
        }
    }
}
