//! The tables `[project."PATH"]`.

use std::ffi::OsString;

use toml::Spanned;
use toml::de::DeString;

use super::{Above, Decoder, Section, TOP_KEYS};
use crate::{FileKind, PolicyFile, Stated, place};

const DIRECTORY: &str = "name a directory: its table holds in all below it";

impl Decoder<'_> {
    pub(super) fn projects(&mut self, top: &Section<'_>) -> Vec<(Stated<OsString>, PolicyFile)> {
        let Some(found) = top.table.get("project") else { return Vec::new() };
        if self.kind != FileKind::User {
            self.problem(found.span(), "`project` tables belong in the user's policy.toml").key =
                Some("project".to_owned());
            return Vec::new();
        }
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(top, "project", "tables, written as `[project.\"PATH\"]`");
            return Vec::new();
        };
        let mut projects = Vec::new();
        for (path, value) in table {
            let Some(inner) = value.get_ref().as_table() else {
                self.problem(value.span(), "expected a table").key = Some("project".to_owned());
                continue;
            };
            let section = Section { table: inner, above: Above::Nothing };
            let known: Vec<&str> = TOP_KEYS[1..TOP_KEYS.len() - 1].to_vec();
            self.only_in_users_file(&section);
            self.only_known(&section, &known);
            self.project_path(path);
            let at = self.stated(path.span(), OsString::from(path.get_ref().as_ref()));
            projects.push((at, self.body(&section)));
        }
        projects
    }

    /// A table whose path says nothing would hold nowhere, and nobody would know.
    fn project_path(&mut self, path: &Spanned<DeString<'_>>) {
        let text: &str = path.get_ref();
        let (message, hint) = if let Err(fault) = place::check(text) {
            (fault.to_string(), fault.hint(text).unwrap_or_else(|| DIRECTORY.to_owned()))
        } else if text.contains(['*', '?']) {
            ("a path of a project is no pattern".to_owned(), instead_of_pattern(text))
        } else {
            return;
        };
        self.problem(path.span(), message).explain(&format!("project.\"{text}\""), hint);
    }
}

fn instead_of_pattern(path: &str) -> String {
    let before = path.split(['*', '?']).next().unwrap_or_default();
    match before.rsplit_once('/') {
        None | Some(("", _)) => DIRECTORY.to_owned(),
        Some((above, _)) => format!("write `{above}`: its table holds in all below it"),
    }
}
