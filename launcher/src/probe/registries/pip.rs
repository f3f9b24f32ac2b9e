//! pip: its variables and files, else what its own module says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::address::Named;
use super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// What pip knows by itself: where its index is, and on which host the files are.
const QUESTION: &str = "from pip._internal.models.index import PyPI; \
    print(PyPI.simple_url); print('https://' + PyPI.file_storage_domain)";

/// The options that name registries.
const INDEX: &str = "index-url";
const EXTRA: &str = "extra-index-url";

/// The sections that count for `pip install`, strongest first.
const SECTIONS: [&str; 2] = ["install", "global"];

/// Options of all files, by section and name; the strongest file's.
type Options = BTreeMap<(String, String), Named>;

/// Returns the registries of pip: its index, with the host of its files, and further ones.
pub(super) fn registries(outside: &Outside<'_>) -> Result<Vec<Named>, RegistryFault> {
    let mut options = Options::new();
    for path in files(outside) {
        let text = outside.text(&path)?.unwrap_or_default();
        let found = parse(&text).ok_or_else(|| malformed(&path))?.into_iter();
        options.extend(found.map(|(key, value)| (key, Named::new(path.display(), value))));
    }
    let index = option(outside, &options, INDEX, "PIP_INDEX_URL");
    let mut registries = index.map_or_else(|| reported(outside), |index| Ok(vec![index]))?;
    if let Some(Named { place, address }) = option(outside, &options, EXTRA, "PIP_EXTRA_INDEX_URL")
    {
        registries.extend(address.split_whitespace().map(|address| Named::new(&place, address)));
    }
    Ok(registries)
}

/// Returns the fault of a file that is no configuration of pip's. pip does not work with it either: whatever else is
/// known is not what its user means.
fn malformed(path: &Path) -> RegistryFault {
    let reason = "it is not in the form of pip's configuration".to_owned();
    RegistryFault::Unreadable { path: path.display().to_string(), reason }
}

/// The files that pip reads, weakest first. One that the user names stands for the user's own; the
/// empty device, for all.
fn files(outside: &Outside<'_>) -> Vec<PathBuf> {
    let named = outside.variable("PIP_CONFIG_FILE").map(PathBuf::from);
    if named.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let shared = outside.variable("XDG_CONFIG_DIRS").map(std::env::split_paths);
    let shared = shared.map_or_else(|| vec![PathBuf::from("/etc/xdg")], Iterator::collect);
    let mut files: Vec<PathBuf> = shared.iter().rev().map(|it| it.join("pip/pip.conf")).collect();
    files.push(PathBuf::from("/etc/pip.conf"));
    if !named.as_deref().is_some_and(Path::exists) {
        files.extend(outside.home(".pip/pip.conf"));
        let own = outside.variable("XDG_CONFIG_HOME").map(PathBuf::from);
        files.extend(own.or_else(|| outside.home(".config")).map(|own| own.join("pip/pip.conf")));
    }
    files.extend(named);
    files
}

fn option(outside: &Outside<'_>, options: &Options, name: &str, variable: &str) -> Option<Named> {
    let from_file = || {
        let key = |section: &str| (section.to_owned(), name.to_owned());
        SECTIONS.iter().find_map(|section| options.get(&key(section)).cloned())
    };
    outside.text_variable(variable).map(|value| Named::new(variable, value)).or_else(from_file)
}

/// Asks the interpreter of pip, or the usual one.
fn reported(outside: &Outside<'_>) -> Result<Vec<Named>, RegistryFault> {
    let own = ["pip3", "pip"].into_iter().find_map(|pip| interpreter(outside, pip));
    let usual = outside.program("python3");
    let answered = own.map(|own| ask(outside, &own)).filter(Result::is_ok);
    answered.unwrap_or_else(|| match usual {
        Ok(python) => ask(outside, &python),
        Err(RegistryFault::NotInstalled { .. }) => {
            Err(RegistryFault::NotInstalled { program: "pip".to_owned() })
        }
        Err(fault) => Err(fault),
    })
}

fn ask(outside: &Outside<'_>, python: &Path) -> Result<Vec<Named>, RegistryFault> {
    let lines = outside.ask(python, &["-I", "-c", QUESTION])?;
    Ok(lines.into_iter().map(|line| Named::new(python.display(), line)).collect())
}

/// Returns the Python that a script's first line names.
fn interpreter(outside: &Outside<'_>, pip: &str) -> Option<PathBuf> {
    let script = outside.program(pip).ok()?;
    let text = outside.text(&script).ok()??;
    let python = PathBuf::from(named_in(&text)?);
    outside.look(&python).ok()?.map(|_| python)
}

fn named_in(script: &str) -> Option<&str> {
    let line = script.lines().next()?.strip_prefix("#!")?.trim();
    let name = line.rsplit('/').next()?;
    (line.starts_with('/') && name.starts_with("python") && !line.contains(' ')).then_some(line)
}

/// The options of one file, by section and name.
type Found = Vec<((String, String), String)>;

/// Reads a `pip.conf`, as Python's `configparser` does: what is indented more goes on with the
/// value above. In a name `_` and `-` are one. `None` where a line is neither a section nor an option of one.
fn parse(text: &str) -> Option<Found> {
    let mut options = Found::new();
    let mut section: Option<&str> = None;
    let mut above: Option<usize> = None;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with(['#', ';']) || bare.is_empty() {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        if above.is_some_and(|above| indent > above) {
            options.last_mut().into_iter().for_each(|(_, value)| value.extend([" ", bare]));
            continue;
        }
        let name = bare.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((name, _)) = name.filter(|(name, _)| !name.is_empty()) {
            (section, above) = (Some(name), None);
            continue;
        }
        let (key, value) = bare.split_once(['=', ':'])?;
        let key = Some(key.trim().to_lowercase().replace('_', "-")).filter(|it| !it.is_empty())?;
        let key = (section?.to_owned(), key.trim_start_matches('-').to_owned());
        options.push((key, value.trim().to_owned()));
        above = Some(indent);
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::super::outside::testing::{Host, told};
    use super::*;

    const PYTHON: &str =
        "test \"$1\" = -I && echo https://i.example/simple && echo https://f.example";

    /// Checks the hosts, or the fault. The machine's own files are left out.
    fn check(host: &mut Host, expected: Result<&[&str], &str>) {
        host.set("XDG_CONFIG_DIRS", host.path("etc"));
        let found = told(registries(&host.outside()));
        let expected = expected.map_err(str::to_owned);
        assert_eq!(found, expected.map(|hosts| hosts.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn options_of_a_file() {
        let text = "; comment\n[global]\n# comment\nIndex_URL: https://a.example/x\n\
            extra-index-url =\n    https://b.example\n    ; comment\n\n    https://c.example\n[install]\n\
            \x20 trusted-host = x\n\x20 timeout = 9\n--index-url=https://d.example\n";
        let found = parse(text).expect("options");
        let expected = [
            ("global", "index-url", "https://a.example/x"),
            ("global", "extra-index-url", " https://b.example https://c.example"),
            ("install", "trusted-host", "x"),
            ("install", "timeout", "9"),
            ("install", "index-url", "https://d.example"),
        ];
        let expected = expected
            .map(|(section, key, value)| ((section.to_owned(), key.to_owned()), value.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn options_of_odd_texts_are_read() {
        let rows: [(&str, Option<&[[&str; 3]]>); 16] = [
            ("", Some(&[])),
            ("[a]", Some(&[])),
            ("[", None),
            ("]", None),
            ("[]", None),
            ("=", None),
            (":", None),
            (" x", None),
            ("[a\n b", None),
            ("\0=\0\n \0", None),
            ("a=b\n\tc\n[d]\n e", None),
            ("[d]\n e", None),
            ("[a]]\n=", None),
            ("[a]\n\0=\0\n \0", Some(&[["a", "\0", "\0 \0"]])),
            ("[a]b\nc:=d", Some(&[["a", "c", "=d"]])),
            ("[a\u{e9}]\r\n--=", Some(&[["a\u{e9}", "", ""]])),
        ];
        for (text, expected) in rows {
            let owned = |[section, key, value]: &[&str; 3]| {
                (((*section).to_owned(), (*key).to_owned()), (*value).to_owned())
            };
            let expected = expected.map(|rows| rows.iter().map(owned).collect::<Found>());
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    /// `configparser` raises an error at each.
    #[test]
    fn file_that_pip_cannot_read_is_a_fault() {
        for text in [
            "[global\nindex-url = https://a.example\n",
            "index-url = https://a.example\n[global]\n",
            "[global]\nindex-url\n",
            "[global]\n= https://a.example\n",
            "[]\nindex-url = https://a.example\n",
            "  x\n",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let mut host = Host::new();
        host.program("bin/python3", PYTHON);
        let file = host.write("home/.config/pip/pip.conf", "[global\nindex-url = x\n");
        let reason = "it is not in the form of pip's configuration";
        check(&mut host, Err(&format!("can't be read: {}: {reason}", file.display())));
        host.set("PIP_INDEX_URL", "https://a.example");
        check(&mut host, Err(&format!("can't be read: {}: {reason}", file.display())));
    }

    #[test]
    fn interpreter_is_named_in_the_first_line() {
        let check = |script: &str, expected: Option<&str>| {
            assert_eq!(named_in(script), expected, "{script}");
        };
        check("#!/opt/venv/bin/python3.13\nimport x", Some("/opt/venv/bin/python3.13"));
        check("#! /usr/bin/python3\n", Some("/usr/bin/python3"));
        for script in
            ["", "#!", "#!/usr/bin/env python3\n", "#!/bin/sh\n", "#!python3\n", "\u{7f}ELF"]
        {
            check(script, None);
        }
    }

    #[test]
    fn stronger_files_and_sections_win() {
        let mut host = Host::new();
        host.write("etc/pip/pip.conf", "[global]\nindex-url = https://machine.example/\n");
        check(&mut host, Ok(&["machine.example:443"]));
        host.write("home/.pip/pip.conf", "[global]\nindex-url = https://old.example/\n");
        check(&mut host, Ok(&["old.example:443"]));
        host.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://new.example/\n");
        check(&mut host, Ok(&["new.example:443"]));
        host.write("home/.pip/pip.conf", "[install]\nindex-url = https://section.example/\n");
        check(&mut host, Ok(&["section.example:443"]));
        let own = host
            .write("own.conf", "[global]\nextra-index-url = https://x.example http://y.example\n");
        host.set("PIP_CONFIG_FILE", own);
        check(&mut host, Ok(&["machine.example:443", "x.example:443", "y.example:80"]));
        host.set("PIP_INDEX_URL", "https://name:secret@variable.example/");
        check(&mut host, Ok(&["variable.example:443", "x.example:443", "y.example:80"]));
        host.set("PIP_CONFIG_FILE", "/dev/null");
        check(&mut host, Ok(&["variable.example:443"]));
    }

    #[test]
    fn pip_reports_what_nobody_configured() {
        let mut host = Host::new();
        host.set("PIP_CONFIG_FILE", "/dev/null");
        check(&mut host, Err("no configuration names a registry, and pip is not installed"));
        host.program("bin/python3", "exit 1");
        let python = host.path("bin/python3").display().to_string();
        check(&mut host, Err(&format!("{python} has failed when it was asked")));
        let own = host.program("opt/python3.13", PYTHON).display().to_string();
        host.program("bin/pip3", "");
        host.write("bin/pip3", &format!("#!{own}\n"));
        check(&mut host, Ok(&["i.example:443", "f.example:443"]));
        host.set("PIP_EXTRA_INDEX_URL", "https://extra.example");
        check(&mut host, Ok(&["i.example:443", "f.example:443", "extra.example:443"]));
    }

    #[test]
    fn python_of_the_project_is_not_asked() {
        let mut host = Host::new();
        host.set("PIP_CONFIG_FILE", "/dev/null");
        host.program("project/bin/python3", "echo https://evil.example");
        let own = host.path("project/bin/python3").display().to_string();
        host.program("bin/pip3", "");
        host.write("bin/pip3", &format!("#!{own}\n"));
        host.program("bin/python3", PYTHON);
        check(&mut host, Ok(&["evil.example:443"]));
        host.open("project");
        check(&mut host, Ok(&["i.example:443", "f.example:443"]));
    }

    #[test]
    fn index_on_disk_names_no_host() {
        let mut host = Host::new();
        host.write("etc/pip/pip.conf", "[global]\nindex-url = file:///srv/index\n");
        check(&mut host, Err("the configuration names no host"));
    }
}
