//! Paths as people write them to absolute paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use crate::{FileKind, HostPath, PathError, PolicyFile, Vars};

/// The variable that paths of policy files may begin with.
const RUNTIME_DIR: &[u8] = b"$XDG_RUNTIME_DIR";

/// Why a written path has no absolute form here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The path itself can't be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// `~` was written and there is no home directory.
    #[error("`~` needs a home directory")]
    NoHome,
    /// `~name` was written.
    #[error("`~name` is not supported, only `~`")]
    OtherHome,
    /// `$XDG_RUNTIME_DIR` was written and is not set.
    #[error("`$XDG_RUNTIME_DIR` is not set")]
    NoRuntimeDir,
    /// Another variable was written.
    #[error("only `~` and `$XDG_RUNTIME_DIR` are replaced in paths")]
    Variable,
    /// The path is handed on as text, and the directory that it starts from can't be.
    #[error("it is not UTF-8")]
    NotUtf8,
}

impl PlaceError {
    /// Returns what to write in the place of a path, if there is something to say.
    pub(crate) fn hint(self, path: &str) -> Option<String> {
        let spelled = |names: [&str; 2], instead: &str| {
            let rest = names.iter().find_map(|name| path.strip_prefix(name))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("write `{instead}{rest}`"))
        };
        match self {
            Self::Variable => spelled(["$HOME", "${HOME}"], "~")
                .or_else(|| spelled(["${XDG_RUNTIME_DIR}"; 2], "$XDG_RUNTIME_DIR"))
                .or_else(|| {
                    Some(format!("write what it stands for; `./{path}` is such a name itself"))
                }),
            Self::OtherHome => Some("write it from the root on".to_owned()),
            Self::NoRuntimeDir => Some("set it, or write the path from the root on".to_owned()),
            Self::Path(PathError::ParentDir) => Some("write the path that it leads to".to_owned()),
            Self::Path(_) | Self::NoHome | Self::NotUtf8 => None,
        }
    }
}

/// Where the paths of one source start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    vars: &'a Vars,
    directory: &'a HostPath,
    variables: bool,
}

impl<'a> Places<'a> {
    /// Returns the places of a file: relative to its directory, or for flags to the current one.
    pub(crate) fn of(file: &'a PolicyFile, vars: &'a Vars) -> Self {
        Self {
            vars,
            directory: file.directory.as_ref().unwrap_or(&vars.cwd),
            variables: file.kind != FileKind::Flags,
        }
    }

    /// Returns the absolute form of a written path.
    pub(crate) fn absolute(&self, text: &OsStr) -> Result<HostPath, PlaceError> {
        let (start, rest) = Start::of(text.as_bytes(), self.variables)?;
        let base = match start {
            Start::Here => return relative(self.directory, Path::new(text)),
            Start::Root => return Ok(HostPath::new(Path::new(text))?),
            Start::Home => self.vars.home.as_ref().ok_or(PlaceError::NoHome)?,
            Start::RuntimeDir => self.vars.runtime_dir.as_ref().ok_or(PlaceError::NoRuntimeDir)?,
        };
        below(base, rest)
    }
}

/// Returns what is wrong with a path of a policy file, wherever it is read.
pub(crate) fn check(text: &str) -> Result<(), PlaceError> {
    let root = HostPath::root();
    let path = match Start::of(text.as_bytes(), true)? {
        (Start::Here, _) => relative(&root, Path::new(text)),
        (Start::Root, _) => HostPath::new(Path::new(text)).map_err(PlaceError::from),
        (Start::Home | Start::RuntimeDir, rest) => below(&root, rest),
    };
    path.map(drop)
}

/// What a written path starts from.
enum Start {
    Here,
    Root,
    Home,
    RuntimeDir,
}

impl Start {
    /// Returns what a written path starts from, and the rest of the path.
    fn of(text: &[u8], variables: bool) -> Result<(Self, &[u8]), PlaceError> {
        let (start, rest, other) = if let Some(rest) = text.strip_prefix(b"~") {
            (Self::Home, rest, PlaceError::OtherHome)
        } else if variables && text.starts_with(b"$") {
            let rest = text.strip_prefix(RUNTIME_DIR).ok_or(PlaceError::Variable)?;
            (Self::RuntimeDir, rest, PlaceError::Variable)
        } else if matches!(text, [] | [b'/', ..]) {
            return Ok((Self::Root, text));
        } else {
            return Ok((Self::Here, text));
        };
        if matches!(rest, [] | [b'/', ..]) { Ok((start, rest)) } else { Err(other) }
    }
}

/// Joins a path to a directory. Leading `..` are taken off the directory, whose symbolic
/// links are resolved; a later `..` could mean another place and is refused.
fn relative(directory: &HostPath, path: &Path) -> Result<HostPath, PlaceError> {
    let mut base = directory.clone();
    let mut parts = path.components().peekable();
    while let Some(Component::ParentDir | Component::CurDir) = parts.peek() {
        if parts.next() == Some(Component::ParentDir) {
            base = base.parent().unwrap_or(base);
        }
    }
    let rest: std::path::PathBuf = parts.collect();
    Ok(base.join(rest)?)
}

/// Joins what follows a variable. Joining an absolute path would replace the base.
fn below(base: &HostPath, rest: &[u8]) -> Result<HostPath, PlaceError> {
    let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
    let relative = rest.get(slashes..).unwrap_or_default();
    Ok(base.join(OsStr::from_bytes(relative))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vars;

    fn check(text: &str, expected: Result<&str, PlaceError>) {
        let vars = vars();
        let places = Places { vars: &vars, directory: &vars.cwd, variables: true };
        let got = places.absolute(OsStr::new(text)).map(|path| path.to_string());
        assert_eq!(got, expected.map(str::to_owned), "{text}");
        assert_eq!(super::check(text), expected.map(drop), "{text}: wherever it is read");
    }

    #[test]
    fn written_paths() {
        check("/a//b/", Ok("/a/b"));
        check("~", Ok("/home/u"));
        check("~/x", Ok("/home/u/x"));
        check("~//x/", Ok("/home/u/x"));
        check(".", Ok("/home/u/src/app"));
        check("x", Ok("/home/u/src/app/x"));
        check("./x/./y", Ok("/home/u/src/app/x/y"));
        check("..", Ok("/home/u/src"));
        check("../../x", Ok("/home/u/x"));
        check("../../../../../..", Ok("/"));
        check("$XDG_RUNTIME_DIR/bus", Ok("/run/user/1000/bus"));
        check("./$x", Ok("/home/u/src/app/$x"));
        check("x~", Ok("/home/u/src/app/x~"));
    }

    #[test]
    fn written_paths_refused() {
        check("", Err(PathError::Empty.into()));
        check("a/../b", Err(PathError::ParentDir.into()));
        check("~/../x", Err(PathError::ParentDir.into()));
        check("/a/..", Err(PathError::ParentDir.into()));
        check("~other/x", Err(PlaceError::OtherHome));
        check("$HOME/x", Err(PlaceError::Variable));
        check("$XDG_RUNTIME_DIRX", Err(PlaceError::Variable));
        check("a\0", Err(PathError::Nul.into()));
    }

    #[test]
    fn what_depends_on_the_surroundings_is_no_mistake_of_the_text() {
        let vars = Vars { home: None, runtime_dir: None, ..vars() };
        let places = Places { vars: &vars, directory: &vars.cwd, variables: true };
        for (text, error) in
            [("~/x", PlaceError::NoHome), ("$XDG_RUNTIME_DIR", PlaceError::NoRuntimeDir)]
        {
            assert_eq!(places.absolute(OsStr::new(text)), Err(error));
            assert_eq!(super::check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn hints_are_what_was_meant() {
        for (text, hint) in [
            ("$HOME", "write `~`"),
            ("${HOME}/x", "write `~/x`"),
            ("${XDG_RUNTIME_DIR}/x", "write `$XDG_RUNTIME_DIR/x`"),
            ("$HOMES/x", "write what it stands for; `./$HOMES/x` is such a name itself"),
            ("~u/x", "write it from the root on"),
            ("/a/../b", "write the path that it leads to"),
        ] {
            let fault = super::check(text).expect_err(text);
            assert_eq!(fault.hint(text).as_deref(), Some(hint), "{text}");
        }
    }
}
