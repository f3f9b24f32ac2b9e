//! One change as a patch in git's format.

use std::path::Path;

use endow_policy::is_invisible;
use endow_vfs::git_tree::Algorithm;

use super::binary;
use super::blob::{Blob, Pair, object_name};
use super::hunks::{Mark, hunks};
use super::quote::quoted;

/// How a patch is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// With colour.
    pub(crate) color: bool,
    /// On a terminal: nothing in a file drives it. Elsewhere bytes are bytes.
    pub(crate) escaped: bool,
    /// As lines that git skips, of what it takes from no patch; binary contents are named only.
    pub(crate) remark: bool,
    /// How the repository that a patch is for names contents.
    pub(crate) algorithm: Algorithm,
}

/// Returns whether git takes a path from no patch: it is a repository's own, or would be where case is no matter.
pub(crate) fn is_git_s_own(path: &Path) -> bool {
    path.iter().any(|name| name.eq_ignore_ascii_case(".git"))
}

/// Characters of an object name that identify a text; a binary needs all.
const SHORT: usize = 10;

const HEAD: &str = "1";
const PLACE: &str = "36";
const REMOVED: &str = "31";
const ADDED: &str = "32";

/// Returns the patch of a change; empty when git would see none.
pub(crate) fn patch(path: &Path, pair: &Pair, look: Look) -> Vec<u8> {
    let mut patch = Patch { bytes: Vec::new(), look };
    match (&pair.old, &pair.new) {
        // A file in place of a link, or the other way round, is a removal and a new name.
        (Some(old), Some(new)) if old.is_link() != new.is_link() => {
            patch.file(path, Some(old), None);
            patch.file(path, None, Some(new));
        }
        (None, None) => {}
        (Some(old), Some(new)) if old == new && old.bytes().is_some() => {}
        (old, new) => patch.file(path, old.as_ref(), new.as_ref()),
    }
    patch.bytes
}

struct Patch {
    bytes: Vec<u8>,
    look: Look,
}

impl Patch {
    fn file(&mut self, path: &Path, old: Option<&Blob>, new: Option<&Blob>) {
        let (a, b) = (quoted("a/", path), quoted("b/", path));
        self.line(HEAD, &format!("diff --git {a} {b}"));
        self.modes(old, new);
        let is_text = [old, new].into_iter().flatten().all(Blob::is_text);
        let [was, is] = [old, new].map(|blob| object_name(blob, self.look.algorithm));
        let is_known = [old, new].into_iter().flatten().all(|blob| blob.bytes().is_some());
        if was == is && is_known {
            return;
        }
        let short = |name: &str| if is_text { name[..SHORT].to_owned() } else { name.to_owned() };
        let mode = match (old, new) {
            (Some(old), Some(new)) if old.mode == new.mode => format!(" {:o}", old.mode),
            _ => String::new(),
        };
        // By the name of no content git would empty the file; without the line it refuses the patch.
        if is_known {
            self.line(HEAD, &format!("index {}..{}{mode}", short(&was), short(&is)));
        }
        if is_text {
            self.text(path, old, new);
        } else {
            self.binary(path, old, new);
        }
    }

    fn modes(&mut self, old: Option<&Blob>, new: Option<&Blob>) {
        match (old, new) {
            (Some(old), None) => self.line(HEAD, &format!("deleted file mode {:o}", old.mode)),
            (None, Some(new)) => self.line(HEAD, &format!("new file mode {:o}", new.mode)),
            (Some(old), Some(new)) if old.mode != new.mode => {
                self.line(HEAD, &format!("old mode {:o}", old.mode));
                self.line(HEAD, &format!("new mode {:o}", new.mode));
            }
            _ => {}
        }
    }

    fn text(&mut self, path: &Path, old: Option<&Blob>, new: Option<&Blob>) {
        let bytes =
            |blob: Option<&'_ Blob>| blob.and_then(Blob::bytes).unwrap_or_default().to_vec();
        let (was, is) = (bytes(old), bytes(new));
        let hunks = hunks(&was, &is);
        if hunks.is_empty() {
            return;
        }
        self.line(HEAD, &format!("--- {}", side("a/", path, old)));
        self.line(HEAD, &format!("+++ {}", side("b/", path, new)));
        for hunk in hunks {
            self.line(PLACE, &hunk.head);
            for (mark, line) in hunk.lines {
                self.content(mark, line);
            }
        }
    }

    fn binary(&mut self, path: &Path, old: Option<&Blob>, new: Option<&Blob>) {
        // A terminal is told that there is something; whoever applies it needs all of it.
        let is_named = self.look.escaped || self.look.remark;
        let body = if is_named { None } else { binary::body(old, new) };
        if let Some(body) = body {
            self.bytes.extend_from_slice(body.as_bytes());
        } else {
            let (a, b) = (side("a/", path, old), side("b/", path, new));
            self.line("", &format!("Binary files {a} and {b} differ"));
        }
    }

    fn content(&mut self, mark: Mark, line: &[u8]) {
        let (sign, style) = match mark {
            Mark::Same => (' ', ""),
            Mark::Removed => ('-', REMOVED),
            Mark::Added => ('+', ADDED),
        };
        let (text, is_whole) = match line.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (line, false),
        };
        self.begin(style);
        self.bytes.push(u8::try_from(sign).unwrap_or(b' '));
        if self.look.escaped {
            self.bytes.extend_from_slice(shown(text).as_bytes());
        } else {
            self.bytes.extend_from_slice(text);
        }
        self.end(style);
        if !is_whole {
            self.line("", "\\ No newline at end of file");
        }
    }

    fn line(&mut self, style: &str, text: &str) {
        self.begin(style);
        self.bytes.extend_from_slice(text.as_bytes());
        self.end(style);
    }

    fn begin(&mut self, style: &str) {
        if self.look.remark {
            self.bytes.extend_from_slice(b"# ");
        }
        if self.look.color && !style.is_empty() {
            self.bytes.extend_from_slice(format!("\x1b[{style}m").as_bytes());
        }
    }

    fn end(&mut self, style: &str) {
        if self.look.color && !style.is_empty() {
            self.bytes.extend_from_slice(b"\x1b[m");
        }
        self.bytes.push(b'\n');
    }
}

/// The name of one side; a name with a space is ended by a tab, or other readers cut it there.
fn side(prefix: &str, path: &Path, blob: Option<&Blob>) -> String {
    if blob.is_none() {
        return "/dev/null".to_owned();
    }
    let name = quoted(prefix, path);
    if name.contains(' ') && !name.starts_with('"') { name + "\t" } else { name }
}

/// A line of a file for a terminal: what would drive it is shown as what it is.
fn shown(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => text.push(c),
                c if is_invisible(c) => text.extend(c.escape_unicode()),
                c => text.push(c),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests;
