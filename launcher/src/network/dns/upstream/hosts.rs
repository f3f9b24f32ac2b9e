//! The table of names of this machine, hosts(5).

use std::net::IpAddr;

use super::ADDRESSES_MAX;

/// The text of the table, read anew for every name: most are short, few names are asked, and a launch that asks
/// none pays nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    text: String,
}

impl Hosts {
    /// Takes the text. Whoever read the file has limited it.
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// Returns the addresses of a name in lower case: IPv4 first, each as it stands.
    pub(super) fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let found = || self.text.lines().filter_map(|line| address(line, name));
        let v4 = found().filter(IpAddr::is_ipv4).take(ADDRESSES_MAX);
        v4.chain(found().filter(IpAddr::is_ipv6).take(ADDRESSES_MAX)).collect()
    }
}

/// Returns the address of a line that lists the name.
fn address(line: &str, name: &str) -> Option<IpAddr> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_ascii_whitespace();
    let address = words.next()?;
    let is_it = |word: &str| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name);
    words.any(is_it).then(|| address.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expected: &[&str]) {
        let found: Vec<String> =
            Hosts::new(text).addresses(name).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn hosts_all_lines_of_a_name_count() {
        let text = "127.0.0.1 localhost\n::1 a.test b.test\n10.0.0.1\ta.test # b.test\n";
        check(text, "a.test", &["10.0.0.1", "::1"]);
        check(text, "b.test", &["::1"]);
        check(text, "c.test", &[]);
    }

    #[test]
    fn hosts_are_compared_without_case_and_dot() {
        check("10.0.0.1 A.Test.\r\n", "a.test", &["10.0.0.1"]);
    }

    #[test]
    fn hosts_lines_that_are_none_are_left_out() {
        let text = "\n#10.0.0.1 a.test\nx a.test\nfe80::1%lo a.test\n10.0.0 a.test\na.test\n\0";
        check(text, "a.test", &[]);
    }

    #[test]
    fn hosts_of_one_name_are_limited() {
        let text: String = (0..99).map(|i| format!("10.0.0.{i} a.test\n")).collect();
        assert_eq!(Hosts::new(&text).addresses("a.test").len(), ADDRESSES_MAX);
    }
}
