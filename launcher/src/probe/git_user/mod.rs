//! What goes inside of the user's git: who makes commits, settings by which git neither runs nor reads anything,
//! and which files it ignores. What git would do there by itself, collect garbage, is the host's matter.

mod carried;
mod files;
mod ignored;

use std::ffi::OsString;

use endow_policy::{BackendSpec, GuestPath, HostPath, Made, MountClass, Policy, Vars};
use endow_vfs::git_config::{self, Setting};

use super::git_dirs;
use crate::plan::host::Paths;
use files::User;

/// A collection inside would rewrite every pack into a layer, to remove nothing outside.
const NO_COLLECTION: &str = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// What goes inside.
#[derive(Debug, Default)]
pub(super) struct Inside {
    settings: Vec<Setting>,
    /// Patterns of files that git ignores in every repository.
    pub(super) ignored: Option<Vec<u8>>,
}

impl Inside {
    /// Reads the user's settings for the repository around the workspace; `paths` are those of the policy.
    pub(super) fn read(
        (policy, paths): (&Policy, &Paths),
        vars: &Vars,
        environment: &[(OsString, OsString)],
    ) -> Self {
        if place_of(policy, Made::Gitconfig).is_none() {
            return Self::default();
        }
        let user = User::new(vars, environment, around(policy, vars).as_ref());
        let all = user.settings();
        let at = place_of(policy, Made::Gitignore);
        let ignored = at.zip(ignored::text(&all, &user, (policy, paths)));
        let mut settings = carried::of(all);
        settings.extend(ignored.iter().map(|(at, _)| ignored::setting(at)));
        Self { settings, ignored: ignored.map(|(_, text)| text) }
    }

    /// Returns the text of `~/.gitconfig`.
    pub(super) fn config(&self) -> Vec<u8> {
        [git_config::render(&self.settings), NO_COLLECTION.into()].concat()
    }
}

fn place_of(policy: &Policy, file: Made) -> Option<&GuestPath> {
    let is_it =
        |backend: &BackendSpec| matches!(backend, BackendSpec::Made { made } if *made == file);
    policy.mounts.iter().find(|spec| is_it(&spec.backend)).map(|spec| &spec.at)
}

/// Returns the work tree that the command starts in.
fn around(policy: &Policy, vars: &Vars) -> Option<HostPath> {
    let workspace = policy.mounts.iter().find(|spec| spec.class == MountClass::Workspace);
    match workspace.map(|spec| &spec.backend) {
        Some(BackendSpec::Physical { host }) if !vars.cwd.is_within(host) => {
            HostPath::new(git_dirs::work_tree(host.as_path())?).ok()
        }
        _ => vars.git_root.clone(),
    }
}

/// Returns who makes commits, as `Name <address>`: the user, as far as git knows one.
pub(crate) fn author(vars: &Vars) -> String {
    let settings = carried::of(User::new(vars, &[], vars.git_root.as_ref()).settings());
    let said = |name: &[u8]| {
        let value = settings.iter().find(|it| it.name() == name)?.value.clone();
        value.and_then(|value| String::from_utf8(value).ok())
    };
    match (said(b"user.name"), said(b"user.email")) {
        (Some(name), Some(email)) => {
            let plain = |text: String| text.replace(['<', '>'], "");
            format!("{} <{}>", plain(name), plain(email))
        }
        _ => "endow <endow@localhost>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::files::tests::{home, vars};
    use super::*;

    fn author_of(files: &[(&str, &str)]) -> String {
        let home = home(files);
        author(&vars(home.path()))
    }

    #[test]
    fn author_is_whom_git_knows() {
        let whole = "[user]\nname = A <B>\nemail = a@b\n";
        assert_eq!(author_of(&[(".gitconfig", whole)]), "A B <a@b>");
        let included = [(".gitconfig", "[include]\npath = x\n"), ("x", whole)];
        assert_eq!(author_of(&included), "A B <a@b>");
        let other = "endow <endow@localhost>";
        assert_eq!(author_of(&[(".gitconfig", "[user]\nname = A\n")]), other);
        assert_eq!(author_of(&[]), other);
    }

    #[test]
    fn text_is_one_that_git_reads() {
        let setting = ignored::setting(&GuestPath::new("/run/x").expect("a path"));
        let inside = Inside { settings: vec![setting], ignored: None };
        let text = String::from_utf8(inside.config()).expect("a text");
        assert!(text.starts_with("[core]\n\texcludesfile = \"/run/x\"\n[gc]\n"), "{text}");
        assert!(git_config::parse(text.as_bytes()).is_some());
        assert_eq!(Inside::default().config(), NO_COLLECTION.as_bytes());
    }
}
