//! The table of the documentation: what each kernel enforces, and what became of the tests.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::column::{Column, Row};
use super::kernel::NAMES;
use super::machine::MACHINES;
use super::merge::merge;
use crate::workspace;

pub(super) const PAGE: &str = "docs/reference/kernels.md";
const BEGIN: &str = "<!-- made by `cargo ci kernels --write` -->\n";
const END: &str = "<!-- end of what is made -->\n";

/// The findings of `endow doctor` that depend on the kernel.
const FINDINGS: [&str; 8] = [
    "landlock",
    "seccomp",
    "overlay",
    "cgroup",
    "userns-sysctl",
    "userns-count",
    "apparmor",
    "terminal",
];

/// Writes these columns into the page, between its marks; those of other kernels stay.
pub(super) fn write(columns: &[Column], left_out: &[(String, String)]) -> Result<()> {
    let page = workspace::root().join(PAGE);
    let text = fs::read_to_string(&page).with_context(|| format!("no {PAGE}"))?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no mark")?;
    let (old, after) = rest.split_once(END).context("the page has no second mark")?;
    let order: Vec<&str> = NAMES.iter().copied().chain([super::RUNNING]).collect();
    let made = merge(old, &render(columns, left_out), &order);
    fs::write(page, format!("{before}{BEGIN}\n{made}\n{END}{after}"))?;
    Ok(())
}

/// Renders everything that is made.
pub(super) fn render(columns: &[Column], left_out: &[(String, String)]) -> String {
    let mut text = String::new();
    row(&mut text, "", columns, |it| it.name.clone());
    row(&mut text, "---", columns, |_| "---".to_owned());
    row(&mut text, "kernel", columns, |it| format!("{} ({})", it.release, it.package));
    row(&mut text, "endow", columns, |it| it.commit.clone());
    row(&mut text, "run", columns, |it| it.how.clone());
    row(&mut text, "level", columns, |it| plain(it).map_or_else(String::new, Row::levels));
    for name in FINDINGS {
        row(&mut text, &format!("`{name}`"), columns, |it| {
            let diagnosis = plain(it).and_then(|row| row.diagnoses.first());
            diagnosis.map_or_else(String::new, |it| details(it, name))
        });
    }
    for machine in MACHINES {
        row(&mut text, machine.what, columns, |it| cell(it, machine.name));
    }
    text + &skips(columns) + &outs(left_out)
}

fn plain(column: &Column) -> Option<&Row> {
    column.machines.iter().find(|row| row.name == MACHINES[0].name)
}

fn row(text: &mut String, head: &str, columns: &[Column], cell: impl Fn(&Column) -> String) {
    let cells: String = columns.iter().map(|it| format!(" {} |", cell(it))).collect();
    let _ = writeln!(text, "| {head} |{cells}");
}

/// What was found under a name; `-` where the kernel has no such thing.
fn details(diagnosis: &Value, name: &str) -> String {
    let checks = diagnosis["checks"].as_array().into_iter().flatten();
    let details = checks.filter(|check| check["name"] == name);
    let details: Vec<&str> = details.filter_map(|check| check["detail"].as_str()).collect();
    if details.is_empty() { "–".to_owned() } else { details.join("; ") }
}

fn cell(column: &Column, machine: &str) -> String {
    let Some(row) = column.machines.iter().find(|row| row.name == machine) else {
        return "–".to_owned();
    };
    let failed: String =
        row.counts.failures.iter().map(|name| format!("; failed: `{name}`")).collect();
    format!("level {}: {}{failed}", row.levels(), row.counts)
}

fn skips(columns: &[Column]) -> String {
    let mut text =
        "\nTests that could not run on the first kind of machine, by reason:\n\n".to_owned();
    for column in columns {
        let skips = plain(column).into_iter().flat_map(Row::skips);
        for (reason, number) in skips {
            let _ = writeln!(text, "- {}: {number}: {reason}", column.name);
        }
    }
    text
}

fn outs(left_out: &[(String, String)]) -> String {
    let mut text = "\nLeft out by name:\n\n".to_owned();
    for (name, reason) in left_out {
        let _ = writeln!(text, "- {name}: {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_a_column_for_each_kernel() {
        let diagnosis = serde_json::json!({ "level": "full", "checks": [
            { "name": "landlock", "detail": "ABI 2" }, { "name": "landlock", "detail": "no more" },
        ] });
        let mut counts = crate::test::Counts::default();
        counts.add_skips("a::b: no strace\nc: no strace\n");
        let row = Row { name: "plain", diagnoses: vec![diagnosis], counts };
        let column = Column {
            name: "6.1".to_owned(),
            commit: "0123456789".to_owned(),
            package: "linux-image".to_owned(),
            how: "emulated".to_owned(),
            release: "6.1.0".to_owned(),
            machines: vec![row],
        };
        let text = render(&[column], &[("`work::`".to_owned(), "big".to_owned())]);
        for line in [
            "|  | 6.1 |",
            "| level | full |",
            "| `landlock` | ABI 2; no more |",
            "| `apparmor` | – |",
            "- 6.1: 2: no strace",
            "- `work::`: big",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }
}
