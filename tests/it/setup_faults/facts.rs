//! Facts that the command told of its confinement, beside those of a run without a fault.
//!
//! A fact is a line: what it is about, and what was found. Grants may be missing, since what can't be
//! looked at is not shown; nothing else may differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Facts beside those of a run without a fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Equal,
    /// Something that was granted is not there.
    Narrower,
    /// Something is there that was not, or is otherwise.
    Wider(Vec<String>),
}

/// Names of which another source may tell something else, and which confine nothing.
const NAMES: [&str; 3] = ["variable USER", "variable LOGNAME", "variable SHELL"];

pub(super) fn compare(sound: &BTreeSet<String>, found: &BTreeSet<String>) -> Compared {
    if sound == found {
        return Compared::Equal;
    }
    let (sound, found) = (by_subject(sound), by_subject(found));
    let added = found.iter().filter(|(about, _)| !sound.contains_key(*about));
    let added =
        added.filter(|(about, what)| !is_cover(about, what) && !is_part(about, what, &sound));
    let added = added.filter(|(about, what)| !is_copied(about, what));
    let added = added.map(|(about, what)| format!("+ {about} = {what}"));
    let lost =
        sound.iter().filter(|(about, what)| !allows(about, what, found.get(*about).copied()));
    let lost = lost.filter(|(about, _)| !is_of_copy(about, &found));
    let lost = lost.map(|(about, what)| format!("{about} = {what} -> {:?}", found.get(about)));
    let wider: Vec<String> = added.chain(lost).collect();
    if wider.is_empty() { Compared::Narrower } else { Compared::Wider(wider) }
}

/// Parts facts into what they are about and what was found.
fn by_subject(facts: &BTreeSet<String>) -> BTreeMap<&str, &str> {
    facts.iter().map(|fact| fact.split_once(" = ").unwrap_or((fact, ""))).collect()
}

/// Whether a mount takes away: one that lets nobody write in the project, or hides a name there, or shows an
/// empty copy in the place of settings that could not be read, which may hold credentials.
fn is_cover(about: &str, what: &str) -> bool {
    let is_copy = about.starts_with("mount ROOT/home/project/.git/config of /endow/git/link-");
    is_copy || about.starts_with("mount ROOT/home/project/") && what.starts_with("ro,")
}

/// Whether an attempt is at such a copy, which is the command's own: it reaches no file of the user's.
fn is_of_copy(about: &str, found: &BTreeMap<&str, &str>) -> bool {
    let path = about.strip_prefix("may write ").or(about.strip_prefix("may change the mode of "));
    let is_copied = |path: &str| {
        let mount = format!("mount {path} of /endow/git/link-");
        found.keys().any(|about| about.starts_with(&mount))
    };
    path.is_some_and(is_copied)
}

/// Whether a stored tree stands there in its other form: where the kernel can't be asked whether it takes
/// layers of data, the tree is copied whole. What is in it is compared by itself.
fn is_copied(about: &str, what: &str) -> bool {
    let of_tree = about.starts_with("mount /ref of ROOT/cache/trees/v1/sha256-");
    of_tree && what.starts_with("ro,nosuid,nodev,")
}

/// Whether a mount shows a part of what is shown without the fault, and in the same way.
fn is_part(about: &str, what: &str, sound: &BTreeMap<&str, &str>) -> bool {
    let Some((at, source)) = places(about) else { return false };
    let shows = |(other, as_what): (&&str, &&str)| {
        let places = places(other).filter(|_| *as_what == what);
        places.is_some_and(|(above, of)| at.starts_with(above) && source.starts_with(of))
    };
    sound.iter().any(shows)
}

/// Returns the mount point of a mount, and what of a file system stands there.
fn places(about: &str) -> Option<(&Path, &Path)> {
    let (at, source) = about.strip_prefix("mount ")?.split_once(" of ")?;
    Some((Path::new(at), Path::new(source)))
}

/// Whether nothing was gained where something else was found.
fn allows(about: &str, sound: &str, found: Option<&str>) -> bool {
    match found {
        Some(found) if found == sound || NAMES.contains(&about) => true,
        // A tree is whole.
        Some(_) if about.contains(" /ref") => false,
        Some(found) if about.starts_with("may ") => is_less(sound, found),
        Some(found) if about == "variable PATH" => {
            found.split(':').all(|it| sound.split(':').any(|other| other == it))
        }
        None => about.starts_with("mount ") && !about.starts_with("mount /proc/"),
        Some(_) => false,
    }
}

/// Whether an attempt was refused, or a list is a part of the other.
fn is_less(sound: &str, found: &str) -> bool {
    let is_refusal = found.starts_with('E');
    let names = |list: &str| -> Option<BTreeSet<String>> {
        let list = list.strip_prefix('[')?.strip_suffix(']')?;
        Some(list.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect())
    };
    is_refusal || names(found).zip(names(sound)).is_some_and(|(some, all)| some.is_subset(&all))
}

#[test]
fn facts_that_differ_are_told_apart() {
    let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<_>>();
    let sound = set(&[
        "may read ROOT/a = yes",
        "may read ROOT/b = ENOENT",
        "may list ROOT = ['a', 'b']",
        "may list /ref = ['a', 'b']",
        "mount /usr of /usr = ro,nosuid ext4",
        "mount /proc/sys of /sys = ro proc",
        "self NoNewPrivs = 1",
    ]);
    let with = |removed: &str, added: &[&str]| {
        let mut facts: BTreeSet<_> = sound.iter().filter(|it| *it != removed).cloned().collect();
        facts.extend(set(added));
        compare(&sound, &facts)
    };
    let is_wider = |compared| matches!(compared, Compared::Wider(_));
    assert_eq!(compare(&sound, &sound), Compared::Equal);
    assert_eq!(with("may read ROOT/a = yes", &["may read ROOT/a = EACCES"]), Compared::Narrower);
    assert_eq!(with("may list ROOT = ['a', 'b']", &["may list ROOT = ['a']"]), Compared::Narrower);
    assert_eq!(with("may list ROOT = ['a', 'b']", &["may list ROOT = []"]), Compared::Narrower);
    assert_eq!(with("mount /usr of /usr = ro,nosuid ext4", &[]), Compared::Narrower);
    let part = "mount /usr/bin of /usr/bin = ro,nosuid ext4";
    assert_eq!(with("mount /usr of /usr = ro,nosuid ext4", &[part]), Compared::Narrower);
    assert!(is_wider(with("", &["mount /usr/bin of /usr/bin = rw,nosuid ext4"])));
    assert!(is_wider(with("may list /ref = ['a', 'b']", &["may list /ref = ['a']"])));
    assert!(is_wider(with("may read ROOT/b = ENOENT", &["may read ROOT/b = yes"])));
    assert!(is_wider(with("may list ROOT = ['a', 'b']", &["may list ROOT = ['a', 'c']"])));
    assert!(is_wider(with(
        "mount /usr of /usr = ro,nosuid ext4",
        &["mount /usr of /usr = rw,nosuid ext4"]
    )));
    assert!(is_wider(with("mount /proc/sys of /sys = ro proc", &[])));
    assert!(is_wider(with("self NoNewPrivs = 1", &["self NoNewPrivs = 0"])));
    assert!(is_wider(with("self NoNewPrivs = 1", &[])));
    assert!(is_wider(with("", &["mount /home of /home = rw ext4"])));
    let config = "mount ROOT/home/project/.git/config of /endow/git/link-1 = rw tmpfs";
    let written = |about: &str, more: &[&str]| {
        let before = set(&[&format!("may write {about} = EROFS")]);
        let mut after = set(&[&format!("may write {about} = yes")]);
        after.extend(set(more));
        compare(&before, &after)
    };
    assert_eq!(written("ROOT/home/project/.git/config", &[config]), Compared::Narrower);
    assert!(is_wider(written("ROOT/home/project/.git/config", &[])));
    assert!(is_wider(written("ROOT/home/project/.git/hooks", &[config])));
}
