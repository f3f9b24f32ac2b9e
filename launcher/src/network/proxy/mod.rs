//! The proxy inside, for programs that insist on one: HTTP's `CONNECT` (RFC 9110, 9.3.6) and SOCKS 5
//! (RFC 1928) at one port, told apart by their first byte. It follows the rules that names follow.

mod clients;
mod http;
mod socks;

pub(super) use clients::Clients;

/// Where a client wants to go, as it says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// A name or an address, without brackets.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// How it wants to be answered.
    pub(super) language: Language,
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// HTTP 1.
    Http,
    /// SOCKS 5.
    Socks,
}

/// What a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// What follows goes to where it wanted.
    Connected,
    /// No rule allows it.
    NotAllowed,
    /// It can't be reached.
    Unreachable,
}

/// What the bytes so far say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing whole yet.
    More,
    /// So many bytes are a greeting, to be answered.
    Greeting(usize, &'static [u8]),
    /// So many bytes are a wish.
    Wish(usize, Wish),
    /// The bytes make no wish: this is answered, and that was all.
    Wrong(&'static [u8]),
}

/// The most bytes of a wish.
pub(super) const BYTES_MAX: usize = 8192;

/// Reads what a client has said. A greeting comes before a wish in SOCKS.
pub(super) fn said(bytes: &[u8], greeted: bool) -> Said {
    let said = match bytes {
        [] => Said::More,
        [socks::VERSION, ..] if greeted => socks::wish(bytes),
        [socks::VERSION, ..] => socks::greeting(bytes),
        _ => http::wish(bytes),
    };
    match said {
        Said::More if bytes.len() >= BYTES_MAX => Said::Wrong(b""),
        said => said,
    }
}

impl Language {
    /// Returns what to say.
    pub(super) fn reply(self, verdict: Verdict) -> &'static [u8] {
        match self {
            Self::Http => http::reply(verdict),
            Self::Socks => socks::reply(verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(host: &str, port: u16, language: Language) -> Wish {
        Wish { host: host.to_owned(), port, language }
    }

    #[test]
    fn a_wish_in_http_ends_where_its_header_ends() {
        let wishes = [
            ("CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "a.example", 443),
            ("CONNECT 10.0.0.1:22 HTTP/1.0\r\n\r\n", "10.0.0.1", 22),
            ("connect [2001:db8::1]:443 HTTP/1.1\r\n\r\n", "2001:db8::1", 443),
        ];
        for (text, host, port) in wishes {
            let expected = Said::Wish(text.len(), wish(host, port, Language::Http));
            let bytes = [text.as_bytes(), b"\x16more"].concat();
            assert_eq!(said(&bytes, false), expected, "{text:?}");
            for length in 0..text.len() {
                assert_eq!(said(&bytes[..length], false), Said::More, "{length} of {text:?}");
            }
        }
    }

    #[test]
    fn what_is_no_wish_in_http() {
        for text in [
            "GET http://a.example/ HTTP/1.1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:65536 HTTP/1.1\r\n\r\n",
            "CONNECT a b:1 HTTP/1.1\r\n\r\n",
            "CONNECT a:1\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert!(matches!(said(text.as_bytes(), false), Said::Wrong(_)), "{text:?}");
        }
        assert_eq!(said(&[b'C'; BYTES_MAX], false), Said::Wrong(b""));
    }

    #[test]
    fn a_client_of_socks_greets_first() {
        assert_eq!(said(&[5, 2, 0, 2], false), Said::Greeting(4, &[5, 0]));
        assert_eq!(said(&[5, 1, 2], false), Said::Wrong(&[5, 0xff]));
        assert_eq!(said(&[5, 2, 0], false), Said::More);
    }

    #[test]
    fn a_wish_in_socks_names_a_host_in_three_ways() {
        let name = [&[5, 1, 0, 3, 9][..], b"a.example", &[1, 187, 99]].concat();
        let fourth = [5, 1, 0, 1, 10, 0, 0, 1, 0, 22];
        let sixth = [&[5, 1, 0, 4, 0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1, 1, 187]].concat();
        let wishes: [(&[u8], usize, &str, u16); 3] = [
            (&name, name.len() - 1, "a.example", 443),
            (&fourth, fourth.len(), "10.0.0.1", 22),
            (&sixth, sixth.len(), "2001:db8::1", 443),
        ];
        for (bytes, length, host, port) in wishes {
            let expected = Said::Wish(length, wish(host, port, Language::Socks));
            assert_eq!(said(bytes, true), expected);
            for length in 1..length {
                assert_eq!(said(&bytes[..length], true), Said::More, "{length} of {host}");
            }
        }
        for bytes in
            [&[5, 2, 0, 1, 0, 0, 0, 0, 0, 1][..], &[5, 1, 0, 9, 0], &[5, 1, 0, 3, 1, 0xff, 0, 1]]
        {
            assert!(matches!(said(bytes, true), Said::Wrong(_)), "{bytes:?}");
        }
    }
}
