//! The values of mount flags.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use endow_policy::{Access, FlagFault, Flags, LandsAt, MountEntry, MountSource, PolicyFile};

use super::assert_digest;

/// What is accepted has one meaning, which can be written again.
pub(super) fn specs(door: u8, input: &[u8]) -> Option<PolicyFile> {
    let flag = usize::from(door >> 3) % FLAGS.len();
    let file = layer(flag, OsStr::from_bytes(input))?;
    let [entry] = file.mounts.as_slice() else { panic!("one mount a flag") };
    assert!(!entry.at.value.is_empty());
    if let MountSource::Cas { digest } = &entry.source {
        assert_digest(digest);
    }
    assert_eq!(entry.at.origin.to_string(), typed(flag, OsStr::from_bytes(input)));
    if let Some(text) = written(entry, input) {
        let again = layer(flag, &text).expect("what is written again is accepted");
        let again = &again.mounts[0];
        assert_eq!(again.at.value, entry.at.value);
        assert_eq!((&again.source, again.access), (&entry.source, entry.access));
        assert_eq!(again.options, entry.options);
    }
    Some(file)
}

/// Chooses the list of a flag.
type List = fn(&mut Flags) -> &mut Vec<OsString>;

const FLAGS: &[(&str, List)] = &[
    ("--ro", |flags| &mut flags.ro),
    ("--rw", |flags| &mut flags.rw),
    ("--cow", |flags| &mut flags.cow),
    ("--tmp", |flags| &mut flags.tmp),
    ("--git", |flags| &mut flags.git),
    ("--cas", |flags| &mut flags.cas),
];

fn typed(flag: usize, value: &OsStr) -> String {
    format!("{} {}", FLAGS[flag].0, value.to_string_lossy())
}

fn layer(flag: usize, value: &OsStr) -> Option<PolicyFile> {
    let mut flags = Flags::default();
    FLAGS[flag].1(&mut flags).push(value.to_owned());
    match flags.layer() {
        Ok(file) => Some(file),
        Err(error) => {
            // The place is the flag as it was typed; what has a form says it.
            assert_eq!(error.flag, typed(flag, value));
            let has_form = matches!(
                error.fault,
                FlagFault::DockerOrder | FlagFault::NoSource | FlagFault::TakesNoSource
            );
            assert!(!has_form || error.hint.is_some_and(|hint| hint.starts_with("write `")));
            assert!(error.fault.to_string().len() > 4);
            None
        }
    }
}

/// Writes an entry as a flag's value; `None` where a backslash at the end of a part would make it
/// another one.
fn written(entry: &MountEntry, typed: &[u8]) -> Option<OsString> {
    let mut text = escaped(entry.at.value.as_bytes());
    let mut add = |sign: &[u8], part: &[u8]| {
        text.extend_from_slice(sign);
        text.extend_from_slice(part);
    };
    match &entry.source {
        MountSource::Host { host } => {
            if let Some(host) = host {
                add(b"=", &escaped(host.as_bytes()));
            }
        }
        MountSource::Git { repository, rev, sparse, landing } => {
            let repository = repository.as_ref().map(|it| escaped(it.as_bytes()));
            add(b"=", repository.as_deref().unwrap_or_default());
            add(if repository.is_some() { b"@" } else { b"" }, &escaped(rev.as_bytes()));
            if let LandsAt::Branch(name) = &landing.to {
                add(b",sync=branch:", name.as_bytes());
            }
            for pattern in sparse {
                add(b",sparse=", &escaped(pattern.as_bytes()));
            }
        }
        MountSource::Cas { digest } => add(b"=", digest.as_bytes()),
        MountSource::Memory { size_bytes, inodes, mode } => {
            add(b",size=", size_bytes.to_string().as_bytes());
            add(b",mode=", format!("{mode:o}").as_bytes());
            if let Some(inodes) = inodes {
                add(b",inodes=", inodes.to_string().as_bytes());
            }
        }
        other => panic!("no flag gives this: {other:?}"),
    }
    let is_cow = entry.access == Access::Cow && !matches!(entry.source, MountSource::Host { .. });
    for (is, word) in [
        (entry.options.optional, ",optional"),
        (entry.options.noexec, ",noexec"),
        (entry.options.nodeny, ",nodeny"),
        (is_cow, ",cow"),
        (entry.options.discard, ",sync=discard"),
    ] {
        if is {
            add(b"", word.as_bytes());
        }
    }
    let has_backslash = typed.contains(&b'\\');
    (!has_backslash).then(|| OsString::from_vec(text))
}

/// Puts a backslash before what separates.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b',' | b'=' | b'@' => vec![b'\\', *byte],
        byte => vec![*byte],
    };
    bytes.iter().flat_map(escape).collect()
}
