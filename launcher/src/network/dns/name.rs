//! Names of the domain name system: labels of bytes, compared without regard to case.

/// The most bytes of a name, the empty label at its end included (RFC 1035, 2.3.4).
const BYTES_MAX: usize = 255;

/// The most bytes of a label.
pub(super) const LABEL_MAX: usize = 63;

/// A name as it travels, in lower case: labels with their lengths, without the empty one.
///
/// What follows a length is any byte, so that a name need not be one of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name(Vec<u8>);

impl Name {
    /// Takes the name of a host, as in `www.example.com`; `None` when it is none.
    pub(super) fn from_host(host: &str) -> Option<Self> {
        let mut name = Self::default();
        for label in host.split('.') {
            name.push(label.as_bytes())?;
        }
        name.to_host().is_some().then_some(name)
    }

    /// Adds a label at the end; `None` when it is empty, or one of both is too long.
    pub(super) fn push(&mut self, label: &[u8]) -> Option<()> {
        let length = u8::try_from(label.len()).ok().filter(|length| *length > 0)?;
        let fits = label.len() <= LABEL_MAX && self.0.len() + label.len() + 2 <= BYTES_MAX;
        fits.then(|| {
            self.0.push(length);
            self.0.extend(label.iter().map(u8::to_ascii_lowercase));
        })
    }

    /// Returns the bytes that travel, without compression.
    pub(super) fn wire(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().copied().chain([0])
    }

    /// Returns how many bytes travel.
    pub(super) fn wire_length(&self) -> usize {
        self.0.len() + 1
    }

    /// Returns the name as text, without a dot at its end; `None` when a host can't have it.
    ///
    /// Bytes of a host's name are letters, digits, `-` and, as everywhere, `_`. It does not begin
    /// with `-`, so that it is no flag of a program.
    pub(super) fn to_host(&self) -> Option<String> {
        let mut host = String::with_capacity(self.0.len());
        for label in self.labels() {
            if !host.is_empty() {
                host.push('.');
            }
            label.iter().all(|byte| is_of_host(*byte)).then_some(())?;
            host.extend(label.iter().copied().map(char::from));
        }
        (!host.is_empty() && !host.starts_with('-')).then_some(host)
    }

    /// Returns the labels, that of the host first.
    pub(super) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first()?;
            let (label, after) = after.split_at_checked(usize::from(*length))?;
            rest = after;
            Some(label)
        })
    }
}

fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(host: &str) -> Option<String> {
        Name::from_host(host).and_then(|name| name.to_host())
    }

    #[test]
    fn a_host_reads_back_in_lower_case() {
        for host in ["example.com", "a", "_dns.x-1.example.test", "a-.b_c", "1.2.3.4"] {
            assert_eq!(read_back(host).as_deref(), Some(host), "{host}");
        }
        assert_eq!(read_back("Example.COM").as_deref(), Some("example.com"));
    }

    #[test]
    fn what_no_host_is_called_is_none() {
        let long = "a".repeat(64);
        for host in ["", ".", "a.", ".a", "a..b", "-a.b", "a b", "a\0", "ä.test", "*.a", &long] {
            assert_eq!(read_back(host), None, "{host:?}");
        }
    }

    #[test]
    fn a_name_ends_at_255_bytes() {
        let parts = |last: usize| format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(last));
        assert_eq!(read_back(&parts(61)).map(|host| host.len()), Some(253));
        assert_eq!(read_back(&parts(62)), None);
    }
}
