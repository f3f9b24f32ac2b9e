//! The order, checked: hosts with headers that can be added as they are.

use std::rc::Rc;

use endow_policy::{BrokerOrder, BrokeredHost, CARRYING, is_hop_by_hop};
use hyper::header::{HeaderName, HeaderValue};
use rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use crate::proxy::folded;
use crate::redact::{Needles, encoded};

/// A host to which requests go, and what is added to them. It is not shown: it holds a secret.
pub(crate) struct Host {
    /// As a certificate names it.
    pub(crate) server: ServerName<'static>,
    /// As people name it.
    pub(crate) name: String,
    /// What its `Host` header says.
    pub(crate) authority: HeaderValue,
    /// Where requests may go; empty for everywhere.
    pub(crate) path: String,
    /// Whether a connection may become a WebSocket.
    pub(crate) websocket: bool,
    /// The header's name.
    pub(crate) header: HeaderName,
    /// Its value, marked as sensitive.
    pub(crate) value: HeaderValue,
    /// What no response may hold.
    pub(crate) needles: Rc<Needles>,
    /// The same in small letters, as names of headers are.
    pub(crate) small_needles: Rc<Needles>,
}

/// What is wrong with an order. It names no value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// It is no order. The parser's own words may repeat what it read.
    #[error("it can't be parsed")]
    Unreadable,
    /// No certificate is for such a name.
    #[error("not a name of a server: {0}")]
    Host(String),
    /// It is no header, or not one that may be set.
    #[error("a header that can't be added: {0}")]
    Header(String),
    /// It holds what no header may.
    #[error("the value of {0} is not one of a header")]
    Value(String),
    /// It is not where requests can go.
    #[error("not a path: {0}")]
    Path(String),
}

impl Host {
    /// Reads an order.
    pub(crate) fn all_of(text: &[u8]) -> Result<Vec<Self>, OrderError> {
        let order = serde_json::from_slice(text).map_err(|_| OrderError::Unreadable)?;
        let BrokerOrder { hosts } = order;
        let sought = Sought::of(&hosts);
        hosts.into_iter().map(|host| Self::new(host, &sought)).collect()
    }

    fn new(host: BrokeredHost, sought: &Sought) -> Result<Self, OrderError> {
        let BrokeredHost { host: name, port, path, websocket, header, value, secret } = host;
        let (value, _wiped) = (Zeroizing::new(value), Zeroizing::new(secret));
        let server = ServerName::try_from(name.clone());
        let server = server.map_err(|_| OrderError::Host(name.clone()))?;
        let header = addable(&header).ok_or(OrderError::Header(header))?;
        let wanted = sensitive(&value).ok_or_else(|| OrderError::Value(header.to_string()))?;
        if !is_path(&path) {
            return Err(OrderError::Path(path));
        }
        let authority = authority(&name, port).ok_or_else(|| OrderError::Host(name.clone()))?;
        Ok(Self {
            server,
            name,
            authority,
            path,
            websocket,
            header,
            value: wanted,
            needles: Rc::clone(&sought.as_is),
            small_needles: Rc::clone(&sought.small),
        })
    }
}

/// What no response may hold, whoever sends it: what one host was told with one request, it may
/// repeat in answer to another.
struct Sought {
    as_is: Rc<Needles>,
    small: Rc<Needles>,
}

impl Sought {
    fn of(hosts: &[BrokeredHost]) -> Self {
        // The end of a header loses its blanks on the way.
        let trimmed = |text: &'_ str| text.trim_matches([' ', '\t']).to_owned();
        let texts = hosts.iter().flat_map(|it| {
            let (secret, value) = (trimmed(&it.secret), trimmed(&it.value));
            encoded::all(&Zeroizing::new(secret), &Zeroizing::new(value))
        });
        let texts: Vec<Zeroizing<String>> = texts.collect();
        let texts: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
        let small = texts.iter().map(|text| Zeroizing::new(text.to_ascii_lowercase()));
        let small: Vec<Zeroizing<String>> = small.collect();
        let small: Vec<&str> = small.iter().map(|text| text.as_str()).collect();
        Self { as_is: Rc::new(Needles::new(&texts)), small: Rc::new(Needles::new(&small)) }
    }
}

fn addable(name: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let plain = folded(&name);
    let taken = CARRYING.contains(&plain.as_str()) || is_hop_by_hop(&plain);
    (!taken).then_some(name)
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn is_path(path: &str) -> bool {
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
    path.is_empty() || (plain && path.starts_with('/') && !path.ends_with('/'))
}

/// An address of IPv6 stands in brackets; 443 goes without saying.
fn authority(name: &str, port: u16) -> Option<HeaderValue> {
    let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
    let text = if port == 443 { name } else { format!("{name}:{port}") };
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
pub(crate) mod testing {
    //! An order for other tests.

    use super::*;

    /// A host at the given path, with a header `x-key: Bearer secret-of-mine`.
    pub(crate) fn host(path: &str) -> Host {
        let host = BrokeredHost {
            host: "api.example.com".to_owned(),
            port: 443,
            path: path.to_owned(),
            websocket: true,
            header: "X-Key".to_owned(),
            value: "Bearer secret-of-mine".to_owned(),
            secret: "secret-of-mine".to_owned(),
        };
        let sought = Sought::of(std::slice::from_ref(&host));
        Host::new(host, &sought).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut BrokeredHost)) -> String {
        let mut host = BrokeredHost {
            host: "api.example.com".to_owned(),
            port: 443,
            path: "/v1".to_owned(),
            websocket: false,
            header: "Authorization".to_owned(),
            value: "Bearer hidden".to_owned(),
            secret: "hidden".to_owned(),
        };
        change(&mut host);
        let sought = Sought::of(std::slice::from_ref(&host));
        Host::new(host, &sought).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn order_is_taken_as_it_is() {
        assert_eq!(refused(|_| ()), "");
        assert_eq!(refused(|host| host.path = String::new()), "");
        assert_eq!(refused(|host| host.host = "192.0.2.1".to_owned()), "");
    }

    #[test]
    fn header_that_carries_the_message_is_refused() {
        for name in [
            "Host",
            "content-length",
            "Content_Length",
            "Transfer-Encoding",
            "transfer_encoding",
            "TE",
            "Proxy-Authorization",
            "Proxy_Authorization",
        ] {
            let wanted = format!("a header that can't be added: {name}");
            assert_eq!(refused(|host| host.header = name.to_owned()), wanted);
        }
        assert_ne!(refused(|host| host.header = "a b".to_owned()), "");
        assert_ne!(refused(|host| host.header = String::new()), "");
    }

    #[test]
    fn value_that_ends_a_line_is_refused_and_not_repeated() {
        for value in ["hidden\r\nHost: other", "hidden\0", "hidden\n", "hid\u{7f}den"] {
            let said = refused(|host| host.value = value.to_owned());
            assert_eq!(said, "the value of authorization is not one of a header");
        }
    }

    #[test]
    fn host_and_path_are_checked() {
        for name in ["", "a b", "a/b", "-a-", "a:1"] {
            assert_ne!(refused(|host| host.host = name.to_owned()), "", "{name}");
        }
        for path in ["v1", "/", "/v1/", "/a?b", "/a#b", "/a b", "/a\r\n"] {
            assert_ne!(refused(|host| host.path = path.to_owned()), "", "{path}");
        }
    }

    #[test]
    fn unreadable_order_is_not_repeated() {
        let text = br#"{"hosts":[{"host":"a","port":"hidden"}]}"#;
        let error = Host::all_of(text).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("it can't be parsed"));
    }

    #[test]
    fn authority_names_other_ports() {
        let shown = |name, port| authority(name, port).expect("a value");
        assert_eq!(shown("a.example", 443), "a.example");
        assert_eq!(shown("a.example", 8443), "a.example:8443");
        assert_eq!(shown("2001:db8::1", 443), "[2001:db8::1]");
    }
}
