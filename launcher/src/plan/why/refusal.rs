//! The errors that a refused operation ends with.

use std::fmt;

macro_rules! refusals {
    ($($variant:ident $name:literal $number:literal $doc:literal;)*) => {
        /// An error number of the kernel, as far as an answer can be one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Refusal {
            $(#[doc = $doc] $variant,)*
        }

        impl Refusal {
            /// Returns the kernel's number, which the architectures of this project share.
            pub const fn number(self) -> i32 {
                match self { $(Self::$variant => $number,)* }
            }

            /// Returns the kernel's name for it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the refusal with a number.
            pub fn numbered(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

refusals! {
    Unpermitted "EPERM" 1 "Not permitted.";
    Absent "ENOENT" 2 "Nothing is there.";
    NoDevice "ENXIO" 6 "Nothing stands behind it.";
    Denied "EACCES" 13 "Forbidden.";
    NotDirectory "ENOTDIR" 20 "A part of the path is no directory.";
    Directory "EISDIR" 21 "It is a directory.";
    Busy "ETXTBSY" 26 "It is being executed.";
    ReadOnly "EROFS" 30 "The file system is read-only.";
    TooLong "ENAMETOOLONG" 36 "A name is too long.";
    NoCall "ENOSYS" 38 "There is no such call.";
    Loop "ELOOP" 40 "Too many symbolic links.";
    NoProtocol "EPROTONOSUPPORT" 93 "No socket of this protocol can be made.";
    NoFamily "EAFNOSUPPORT" 97 "No socket of this kind can be made.";
    Unreachable "ENETUNREACH" 101 "There is no way there.";
    Reset "ECONNRESET" 104 "The connection was ended.";
    Unheard "ECONNREFUSED" 111 "Nobody listens.";
    NoWay "EHOSTUNREACH" 113 "There is no way to the host.";
}

impl Refusal {
    /// Returns why what is there is nothing that this can be done with.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::NotDirectory => "a part of the path is no directory",
            Self::Busy => "it is being executed",
            Self::Loop => "too many symbolic links",
            Self::TooLong => "a name is too long",
            Self::NoDevice => "a socket can't be opened",
            Self::Unheard => "it is no socket",
            Self::Denied => "it is no regular file",
            _ => "the kernel refuses",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
