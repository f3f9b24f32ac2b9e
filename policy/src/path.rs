//! Two path types for two worlds: a path inside the sandbox and a path on the host never mix.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Why a path can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    #[error("path is empty")]
    Empty,
    /// The path has no leading slash where one is needed.
    #[error("path is not absolute")]
    Relative,
    /// The path contains `..`, which would mean another place after a symbolic link.
    #[error("path contains `..`")]
    ParentDir,
    /// The path contains a NUL byte, which no kernel call can take.
    #[error("path contains a NUL byte")]
    Nul,
}

/// A place in the view of the sandboxed command: absolute and lexically normal.
#[derive(Clone)]
pub struct GuestPath(Arc<Path>);

/// A place on the host: absolute and lexically normal, symbolic links not resolved.
#[derive(Clone)]
pub struct HostPath(Arc<Path>);

macro_rules! path_type {
    ($name:ident) => {
        impl $name {
            /// Accepts an absolute path without `..`; drops `.` and doubled slashes.
            pub fn new(path: impl AsRef<Path>) -> Result<Self, PathError> {
                normalize(path.as_ref()).map(Self)
            }

            /// Returns the root directory.
            pub fn root() -> Self {
                Self(Arc::from(Path::new("/")))
            }

            /// Returns whether it is the root directory.
            pub fn is_root(&self) -> bool {
                self.as_bytes() == b"/"
            }

            /// Returns the path for calls that take one.
            pub fn as_path(&self) -> &Path {
                &self.0
            }

            /// Returns the exact bytes.
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_os_str().as_bytes()
            }

            /// Returns whether `self` is `ancestor` or below it.
            pub fn is_within(&self, ancestor: &Self) -> bool {
                self.below(ancestor).is_some()
            }

            /// Returns the directory above, or `None` for the root.
            pub fn parent(&self) -> Option<Self> {
                let parent = parent(self.as_bytes())?;
                Some(Self(Arc::from(Path::new(OsStr::from_bytes(parent)))))
            }

            /// Returns the bytes of this path and of all directories above it, deepest first.
            pub fn way_up(&self) -> impl Iterator<Item = &[u8]> {
                std::iter::successors(Some(self.as_bytes()), |path| parent(path))
            }

            /// Returns the last name, or `None` for the root.
            pub fn file_name(&self) -> Option<&OsStr> {
                self.0.file_name()
            }

            /// Returns the path of `relative` below this one.
            pub fn join(&self, relative: impl AsRef<Path>) -> Result<Self, PathError> {
                Self::new(self.0.join(relative))
            }

            /// Returns this path seen from `ancestor`: empty when they are equal, `None` when
            /// it lies elsewhere.
            pub fn below(&self, ancestor: &Self) -> Option<&Path> {
                let rest = below(self.as_bytes(), ancestor.as_bytes())?;
                Some(Path::new(OsStr::from_bytes(rest)))
            }
        }

        // Both sides are normal, so bytes decide; `Path` would split into components each time.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_bytes() == other.as_bytes()
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_bytes().hash(state);
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        /// By components: a directory comes right before what is below it.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                by_components(self.as_bytes(), other.as_bytes())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.display())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0.to_string_lossy())
            }
        }
    };
}

path_type!(GuestPath);
path_type!(HostPath);

fn parent(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    path.get(..slash.max(1)).filter(|parent| *parent != path)
}

/// Both are normal, so bytes decide.
fn below<'a>(path: &'a [u8], ancestor: &[u8]) -> Option<&'a [u8]> {
    match (ancestor, path.strip_prefix(ancestor)?) {
        (b"/", rest) | (_, rest @ [] | [b'/', rest @ ..]) => Some(rest),
        _ => None,
    }
}

impl GuestPath {
    /// Returns the host path of the same spelling (an identity mount).
    pub fn to_host(&self) -> HostPath {
        HostPath(Arc::clone(&self.0))
    }
}

impl HostPath {
    /// Returns the guest path of the same spelling (an identity mount).
    pub fn to_guest(&self) -> GuestPath {
        GuestPath(Arc::clone(&self.0))
    }
}

fn normalize(path: &Path) -> Result<Arc<Path>, PathError> {
    let bytes = path.as_os_str().as_bytes();
    match bytes {
        [] => return Err(PathError::Empty),
        [b'/', ..] => {}
        _ => return Err(PathError::Relative),
    }
    if bytes.contains(&0) {
        return Err(PathError::Nul);
    }
    if is_normal(bytes) {
        return Ok(Arc::from(path));
    }
    let parts: Vec<Component<'_>> = path.components().collect();
    if parts.contains(&Component::ParentDir) {
        return Err(PathError::ParentDir);
    }
    let path: PathBuf = parts.into_iter().collect();
    Ok(Arc::from(path))
}

/// Returns whether an absolute path has no `.`, `..` or empty part.
fn is_normal(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| *byte == b'/').skip(1);
    bytes == b"/" || parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Compares with the slash below every other byte.
#[inline]
fn by_components(a: &[u8], b: &[u8]) -> Ordering {
    let same = common_length(a, b);
    match (a.get(same), b.get(same)) {
        (Some(b'/'), Some(_)) => Ordering::Less,
        (Some(_), Some(b'/')) => Ordering::Greater,
        (a, b) => a.cmp(&b),
    }
}

/// Returns how many bytes are the same at the beginning: eight at a time, since most paths that
/// are compared have a directory in common.
#[inline]
fn common_length(a: &[u8], b: &[u8]) -> usize {
    let (a_words, b_words) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    for (number, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return number * 8 + differing.trailing_zeros() as usize / 8;
        }
    }
    let whole = a_words.len().min(b_words.len()) * 8;
    let (a, b) = (a.get(whole..).unwrap_or_default(), b.get(whole..).unwrap_or_default());
    whole + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Result<&str, PathError>) {
        let got = GuestPath::new(path).map(|path| path.to_string());
        assert_eq!(got, expected.map(str::to_owned));
    }

    #[test]
    fn normal_forms() {
        check("/", Ok("/"));
        check("/a//b/./c/", Ok("/a/b/c"));
        check("", Err(PathError::Empty));
        check("a/b", Err(PathError::Relative));
        check("/a/../b", Err(PathError::ParentDir));
        check("/a\0b", Err(PathError::Nul));
    }

    #[test]
    fn order_is_that_of_components() {
        let texts = [
            "/",
            "/a",
            "/a/b",
            "/a/b/c",
            "/a-b",
            "/a.b",
            "/ab",
            "/b",
            "/a/-",
            "/a!",
            "/é",
            "/usr/lib",
            "/usr/lib/x",
            "/usr/libexec/long/name",
            "/usr/libexec/long-name",
            "/usr/libexec/long/name/below",
        ];
        for a in texts {
            for b in texts {
                let (left, right) = (GuestPath::new(a).expect("a path"), GuestPath::new(b));
                let order = left.cmp(&right.expect("a path"));
                assert_eq!(order, Path::new(a).cmp(Path::new(b)), "{a} {b}");
            }
        }
    }

    #[test]
    fn below_is_by_whole_names() {
        let parent = GuestPath::new("/a/b").expect("a path");
        let child = GuestPath::new("/a/b/c").expect("a path");
        let sibling = GuestPath::new("/a/bc").expect("a path");
        assert!(child.is_within(&parent));
        assert!(!sibling.is_within(&parent));
        assert_eq!(child.below(&parent), Some(Path::new("c")));
    }
}
