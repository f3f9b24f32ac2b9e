//! Some columns of the table made anew, the others as they were.

use std::fmt::Write;

/// A page taken apart.
struct Page<'a> {
    /// The cells of each row, its head first.
    rows: Vec<Vec<&'a str>>,
    /// What stands above a list, and its lines.
    lists: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Page<'a> {
    fn read(text: &'a str) -> Self {
        let (mut rows, mut lists) = (Vec::new(), Vec::<(&str, Vec<&str>)>::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(row) = line.strip_prefix('|') {
                let row = row.strip_suffix('|').unwrap_or(row);
                rows.push(row.split('|').map(str::trim).collect());
            } else if !line.starts_with("- ") {
                lists.push((line, Vec::new()));
            } else if let Some((_, items)) = lists.last_mut() {
                items.push(line);
            }
        }
        Self { rows, lists }
    }

    fn names(&self) -> &[&'a str] {
        self.rows.first().and_then(|row| row.get(1..)).unwrap_or_default()
    }

    fn cell(&self, head: &str, column: &str) -> Option<&'a str> {
        let at = self.names().iter().position(|name| *name == column)? + 1;
        self.rows.iter().find(|row| row.first() == Some(&head))?.get(at).copied()
    }

    /// The lines of a list that are about one kernel.
    fn items(&self, title: &str, name: &str) -> impl Iterator<Item = &'a str> {
        let list = self.lists.iter().find(|(above, _)| *above == title);
        let items = list.map(|(_, items)| items.as_slice()).unwrap_or_default();
        let start = format!("- {name}:");
        items.iter().copied().filter(move |line| line.starts_with(&start))
    }
}

/// Puts what was rendered of some kernels in the place of what the page says of them. What it says of
/// other kernels stays; `order` is that of the columns.
pub(super) fn merge(page: &str, made: &str, order: &[&str]) -> String {
    let (old, new) = (Page::read(page), Page::read(made));
    let source = |name: &str| if new.names().contains(&name) { &new } else { &old };
    let known = order.iter().copied();
    let names: Vec<&str> = known.filter(|name| source(name).names().contains(name)).collect();
    let rows = new.rows.iter().filter_map(|row| row.first()).map(|head| {
        let cell = |name: &&str| source(name).cell(head, name).unwrap_or("–");
        let cells: String = names.iter().map(|name| format!(" {} |", cell(name))).collect();
        format!("| {head} |{cells}\n")
    });
    let mut text: String = rows.collect();
    for (title, _) in &new.lists {
        let items = names.iter().flat_map(|name| source(name).items(title, name));
        let items: String = items.map(|line| format!("{line}\n")).collect();
        let _ = write!(text, "\n{title}\n\n{items}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::merge;

    const PAGE: &str = "\
|  | 6.1 | running |
| --- | --- | --- |
| level | full | full |
| gone | a | b |

Skipped:

- 6.1: 2: no strace
- running: 1: no root

Left out:

- 6.1: `x`: slow
";

    const MADE: &str = "\
|  | 6.1 | 6.12 |
| --- | --- | --- |
| level | none | full |
| new | c | d |

Skipped:

- 6.12: 3: no ssh

Left out:

- 6.1: `y`: slow
";

    const MERGED: &str = "\
|  | 6.1 | 6.12 | running |
| --- | --- | --- | --- |
| level | none | full | full |
| new | c | d | – |

Skipped:

- 6.12: 3: no ssh
- running: 1: no root

Left out:

- 6.1: `y`: slow
";

    #[test]
    fn other_columns_stay_as_they_were() {
        assert_eq!(merge(PAGE, MADE, &["6.1", "6.12", "running"]), MERGED);
        assert_eq!(merge("", PAGE, &["6.1", "6.12", "running"]), PAGE);
    }
}
