//! Who may use whom: the folders of the crates, and who prints.
//!
//! The tables below are the page `docs/architecture.md` in a form that a machine can check.

use super::tree::{Complaint, File, Tree};

/// What the code below one folder may and may not name.
struct Folder {
    /// Where it stands.
    path: &'static str,
    /// The modules of its own crate that it may name; `None` for all.
    modules: Option<&'static [&'static str]>,
    /// Crates and types it may not name.
    no_names: &'static [&'static str],
    /// Modules of `std` it may not name.
    no_std: &'static [&'static str],
}

/// What has effects, or looks at the world.
const EFFECTS: &[&str] = &["fs", "env", "process", "net", "thread"];

const FOLDERS: &[Folder] = &[
    Folder {
        path: "policy/src/",
        modules: None,
        no_names: &["libc", "nix", "rustix", "endow_vfs", "endow", "Instant", "SystemTime"],
        no_std: EFFECTS,
    },
    Folder {
        path: "vfs/src/",
        modules: None,
        no_names: &["libc", "nix", "landlock", "seccompiler", "clap", "endow"],
        no_std: &["env", "process", "net"],
    },
    Folder { path: "launcher/src/cli/", modules: None, no_names: &["libc", "nix"], no_std: &[] },
    Folder {
        path: "launcher/src/probe/",
        modules: Some(&["probe", "plan", "sys"]),
        no_names: &["clap"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/plan/",
        modules: Some(&["plan"]),
        no_names: &["nix", "rustix", "clap", "Instant", "SystemTime"],
        no_std: EFFECTS,
    },
    Folder {
        path: "launcher/src/confined/",
        // Its filter is made of the table of calls.
        modules: Some(&["plan", "sys"]),
        no_names: &["clap", "endow_policy", "endow_vfs"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/trees/",
        modules: Some(&["trees", "confined", "probe", "plan"]),
        no_names: &["clap"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/apply/",
        // It asks `probe` why the kernel refused a namespace, after the refusal.
        modules: Some(&["apply", "trees", "probe", "plan", "sys"]),
        no_names: &["clap"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/supervise/",
        // It takes over what `apply` started, and reads the messages of that side and of bridges.
        modules: Some(&["supervise", "adapters", "apply", "network", "plan", "sys"]),
        no_names: &["clap"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/network/",
        modules: Some(&["network", "adapters", "plan", "sys"]),
        no_names: &["clap"],
        no_std: &["env", "process", "thread"],
    },
    Folder {
        path: "launcher/src/adapters/",
        modules: Some(&["adapters", "sys"]),
        no_names: &["clap"],
        no_std: &["thread"],
    },
    Folder {
        // It runs inside, after the last step: it knows no policy and no plan, and looks up names
        // as the supervisor does.
        path: "launcher/src/guest/",
        modules: Some(&["guest", "network", "sys"]),
        no_names: &["clap", "endow_policy", "endow_vfs"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/finish/",
        modules: Some(&["trees", "finish", "apply", "supervise", "plan", "sys"]),
        no_names: &["clap"],
        no_std: &[],
    },
    Folder {
        // A program of its own beside endow, with none of its code.
        path: "launcher/adapters/broker/src/",
        modules: None,
        no_names: &["clap", "endow", "endow_vfs"],
        no_std: &["fs", "thread"],
    },
    Folder {
        path: "launcher/adapters/",
        modules: None,
        no_names: &["clap", "endow", "endow_vfs"],
        no_std: &[],
    },
    Folder {
        path: "launcher/src/sys/",
        modules: Some(&["sys"]),
        no_names: &["clap", "landlock", "seccompiler", "serde", "endow_policy"],
        no_std: &[],
    },
];

/// The files at a crate's root, which join its modules, are under no folder's rule.
const ROOTS: &[&str] = &["launcher/src/lib.rs", "launcher/src/main.rs"];

/// Macros that print.
const PRINTING: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];

/// Where endow prints.
const PRINTERS: &[&str] = &["launcher/src/cli/", "launcher/src/main.rs"];

/// Each folder names only what its row allows.
pub(super) fn follow_the_table(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.rust().filter(|file| !is_test_file(&file.path)) {
        match FOLDERS.iter().find(|folder| is_below(&file.path, folder.path)) {
            Some(folder) => complaints.extend(against(file, folder)),
            None if file.path.starts_with("launcher/src/")
                && !ROOTS.contains(&file.path.as_str()) =>
            {
                let message = "a folder without a row in ci/src/tidy/imports.rs";
                complaints.push(Complaint::missing(&file.path, message));
            }
            None => {}
        }
    }
    complaints
}

/// Each row is about a folder that exists.
pub(super) fn rows_have_folders(tree: &Tree) -> Vec<Complaint> {
    let exists = |folder: &&Folder| tree.rust().any(|file| is_below(&file.path, folder.path));
    let gone = FOLDERS.iter().filter(|folder| !exists(folder));
    let message = |folder: &Folder| format!("a row for `{}`, which does not exist", folder.path);
    gone.map(|folder| Complaint::missing("ci/src/tidy/imports.rs", message(folder))).collect()
}

/// Only the command line prints: everything else returns values.
pub(super) fn only_cli_prints(tree: &Tree) -> Vec<Complaint> {
    let silent = |file: &&File| {
        let product = ["policy/src/", "vfs/src/", "launcher/src/", "launcher/adapters/"];
        let starts = |places: &[&str]| places.iter().any(|place| file.path.starts_with(place));
        starts(&product) && !starts(PRINTERS) && !is_test_file(&file.path)
    };
    let mut complaints = Vec::new();
    for file in tree.rust().filter(silent) {
        for word in PRINTING {
            let found = file.product_code().match_indices(word);
            let whole = found.filter(|(at, _)| starts_word(file.product_code(), *at));
            complaints.extend(whole.map(|(at, _)| file.complain(at, "prints outside cli")));
        }
    }
    complaints
}

/// A module may be a folder or, while it is small, one file.
fn is_below(path: &str, folder: &str) -> bool {
    let single = folder.strip_suffix('/').and_then(|folder| path.strip_prefix(folder));
    path.starts_with(folder) || single == Some(".rs")
}

fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "tests.rs" || name == "testing.rs" || path.contains("/tests/")
}

fn against(file: &File, folder: &Folder) -> Vec<Complaint> {
    let code = file.product_code();
    let mut complaints = Vec::new();
    if let Some(allowed) = folder.modules {
        let used =
            named_below(code, "crate").into_iter().chain(named_through_super(code, &file.path));
        for (at, module) in used.filter(|(_, module)| !allowed.contains(module)) {
            complaints
                .push(file.complain(at, format!("{} may not use crate::{module}", folder.path)));
        }
    }
    for (at, module) in named_below(code, "std") {
        if folder.no_std.contains(&module) {
            complaints
                .push(file.complain(at, format!("{} may not use std::{module}", folder.path)));
        }
    }
    for name in folder.no_names {
        for (at, _) in named_below(code, name) {
            complaints.push(file.complain(at, format!("{} may not use {name}", folder.path)));
        }
    }
    complaints
}

/// What stands right below `root::`, groups taken apart: (where, name).
fn named_below<'a>(code: &'a str, root: &str) -> Vec<(usize, &'a str)> {
    let path = format!("{root}::");
    let mut names = Vec::new();
    for (at, found) in code.match_indices(&path) {
        if starts_word(code, at) && !code[..at].ends_with("::") {
            names.extend(first_names(&code[at + found.len()..]).into_iter().map(|name| (at, name)));
        }
    }
    names
}

/// The modules below the crate's root that a chain of `super::` reaches.
fn named_through_super<'a>(code: &'a str, path: &str) -> Vec<(usize, &'a str)> {
    let chain = "super::".repeat(depth(path));
    let mut names = Vec::new();
    for (at, found) in code.match_indices(&chain) {
        if starts_word(code, at) && !code[..at].ends_with("::") {
            names.extend(first_names(&code[at + found.len()..]).into_iter().map(|name| (at, name)));
        }
    }
    names
}

/// How deep below its crate's root the module of a file is.
fn depth(path: &str) -> usize {
    let below = path.split_once("/src/").map_or(path, |(_, below)| below);
    let module = below.trim_end_matches(".rs");
    module.strip_suffix("/mod").unwrap_or(module).split('/').count()
}

/// `a::b` names `a`; `{a::b, c::{d, e}}` names `a` and `c`.
fn first_names(rest: &str) -> Vec<&str> {
    let Some(group) = rest.strip_prefix('{') else { return vec![first_word(rest)] };
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                names.push(first_word(group[start..at].trim_start()));
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
        if c == '}' && start == at + 1 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

fn starts_word(code: &str, at: usize) -> bool {
    !code[..at].ends_with(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Complaint>, path: &str, text: &str) -> usize {
        rule(&Tree::of(&[(path, text)])).len()
    }

    fn table(path: &str, text: &str) -> usize {
        found(follow_the_table, path, text)
    }

    #[test]
    fn groups_are_taken_apart() {
        assert_eq!(first_names("a::b;"), ["a"]);
        assert_eq!(first_names("{a::b, c::{d, e}, f};\nuse x, y}"), ["a", "c", "f"]);
        assert_eq!(first_names("{\n    a,\n    b::{c},\n}; d}"), ["a", "b"]);
    }

    #[test]
    fn a_broker_that_uses_endow_is_found() {
        let path = "launcher/adapters/broker/src/serve/mod.rs";
        assert_eq!(table(path, "use endow::sys;\nuse std::thread::spawn;\n"), 2);
        assert_eq!(table(path, "use endow_policy::BrokerOrder;\nuse std::process::ExitCode;\n"), 0);
        assert_eq!(found(only_cli_prints, path, "fn f() { eprintln!(); }\n"), 1);
    }

    #[test]
    fn a_plan_that_looks_at_the_world_is_found() {
        let path = "launcher/src/plan/mounts.rs";
        assert_eq!(table(path, "use std::fs;\n"), 1);
        assert_eq!(table(path, "use std::{collections::BTreeMap, env::var};\n"), 1);
        assert_eq!(table(path, "fn f() { std::process::id(); }\n"), 1);
        assert_eq!(table(path, "use rustix::fs::open;\n"), 1);
        assert_eq!(table(path, "use std::path::Path;\nuse super::step;\n// std::fs\n"), 0);
    }

    #[test]
    fn a_plan_that_uses_a_later_stage_is_found() {
        let path = "launcher/src/plan/mounts.rs";
        for module in ["probe", "apply", "supervise", "sys", "cli"] {
            assert_eq!(table(path, &format!("use crate::{module}::x;\n")), 1, "{module}");
            assert_eq!(table(path, &format!("use crate::{{plan::a, {module}}};\n")), 1, "{module}");
            assert_eq!(table(path, &format!("use super::super::{module}::x;\n")), 1, "{module}");
        }
        assert_eq!(table("launcher/src/plan/mod.rs", "use super::sys;\n"), 1);
        assert_eq!(table("launcher/src/plan/seccomp/tree.rs", "use super::super::step;\n"), 0);
    }

    #[test]
    fn only_cli_and_the_root_use_cli() {
        let text = "use crate::cli::output;\n";
        for folder in ["probe", "apply", "supervise", "finish", "sys"] {
            assert_eq!(table(&format!("launcher/src/{folder}/a.rs"), text), 1, "{folder}");
        }
        assert_eq!(table("launcher/src/cli/commands/run.rs", text), 0);
        assert_eq!(table("launcher/src/finish.rs", text), 1);
    }

    #[test]
    fn a_pure_module_that_reads_the_clock_is_found() {
        let text = "use std::time::{Duration, Instant};\nfn f() -> Instant { Instant::now() }\n";
        assert_eq!(table("policy/src/limits.rs", text), 1);
        assert_eq!(table("policy/src/limits.rs", "use std::time::Duration;\n"), 0);
    }

    #[test]
    fn crates_that_a_folder_may_not_use_are_found() {
        assert_eq!(table("policy/src/file.rs", "use nix::mount;\n"), 1);
        assert_eq!(table("policy/src/file.rs", "use std::fs;\n"), 1);
        assert_eq!(table("vfs/src/fs/os.rs", "fn f() { libc::getuid(); }\n"), 1);
        assert_eq!(table("launcher/src/sys/fd.rs", "use endow_policy::GuestPath;\n"), 1);
        assert_eq!(table("launcher/src/sys/fd.rs", "use crate::plan::Plan;\n"), 1);
        assert_eq!(table("launcher/src/sys/fd.rs", "use super::check;\nuse rustix::io;\n"), 0);
    }

    #[test]
    fn a_stage_that_uses_a_later_one_is_found() {
        assert_eq!(table("launcher/src/apply/a.rs", "use crate::supervise::run;\n"), 1);
        assert_eq!(table("launcher/src/probe/a.rs", "use crate::apply::spawn;\n"), 1);
        assert_eq!(table("launcher/src/supervise/a.rs", "use crate::finish::x;\n"), 1);
        assert_eq!(table("launcher/src/supervise/a.rs", "use crate::apply::Sandbox;\n"), 0);
    }

    #[test]
    fn a_folder_without_a_row_is_found() {
        assert_eq!(table("launcher/src/helpers/a.rs", ""), 1);
        assert_eq!(table("launcher/src/main.rs", ""), 0);
    }

    #[test]
    fn a_row_without_a_folder_is_found() {
        let paths: Vec<String> = FOLDERS.iter().map(|it| format!("{}mod.rs", it.path)).collect();
        let samples: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert!(rows_have_folders(&Tree::of(&samples)).is_empty());
        let found = rows_have_folders(&Tree::of(&samples[1..]));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains(FOLDERS[0].path), "{}", found[0]);
    }

    #[test]
    fn unit_tests_may_use_anything() {
        let text = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(table("launcher/src/plan/a.rs", text), 0);
        assert_eq!(table("launcher/src/plan/tests.rs", "use std::fs;\n"), 0);
    }

    #[test]
    fn printing_outside_cli_is_found() {
        for word in PRINTING {
            let text = format!("fn f() {{ {word}(\"x\"); }}\n");
            assert_eq!(found(only_cli_prints, "launcher/src/apply/a.rs", &text), 1, "{word}");
            assert_eq!(found(only_cli_prints, "launcher/src/cli/output.rs", &text), 0, "{word}");
        }
    }
}
