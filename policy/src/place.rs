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
    /// It is handed on as text, and the directory that it starts from can't be.
    #[error("it is not UTF-8")]
    NotUtf8,
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
        let bytes = text.as_bytes();
        if let Some(rest) = bytes.strip_prefix(b"~") {
            let home = self.vars.home.as_ref().ok_or(PlaceError::NoHome)?;
            return below(home, rest).ok_or(PlaceError::OtherHome)?;
        }
        if self.variables && bytes.starts_with(b"$") {
            let rest = bytes.strip_prefix(RUNTIME_DIR).ok_or(PlaceError::Variable)?;
            let base = self.vars.runtime_dir.as_ref().ok_or(PlaceError::NoRuntimeDir)?;
            return below(base, rest).ok_or(PlaceError::Variable)?;
        }
        if bytes.is_empty() || bytes.starts_with(b"/") {
            return Ok(HostPath::new(Path::new(text))?);
        }
        self.relative(Path::new(text))
    }

    /// Joins a path to the directory. Leading `..` are taken off the directory, whose symbolic
    /// links are resolved; a later `..` could mean another place and is refused.
    fn relative(&self, path: &Path) -> Result<HostPath, PlaceError> {
        let mut base = self.directory.clone();
        let mut parts = path.components().peekable();
        while let Some(Component::ParentDir | Component::CurDir) = parts.peek() {
            if parts.next() == Some(Component::ParentDir) {
                base = base.parent().unwrap_or(base);
            }
        }
        let rest: std::path::PathBuf = parts.collect();
        Ok(base.join(rest)?)
    }
}

/// Joins what follows a variable; `None` when it is not a path of its own.
fn below(base: &HostPath, rest: &[u8]) -> Option<Result<HostPath, PlaceError>> {
    match rest {
        [] => Some(Ok(base.clone())),
        [b'/', tail @ ..] => {
            // Joining an absolute path would replace the base.
            let slashes = tail.iter().take_while(|byte| **byte == b'/').count();
            let relative = OsStr::from_bytes(&tail[slashes..]);
            Some(base.join(relative).map_err(PlaceError::from))
        }
        _ => None,
    }
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
}
