//! First bytes as clients send them, and as somebody sends them who wants to get past.

use super::tls::{
    CLIENT_HELLO, ENCRYPTED_HELLO, HOST_NAME, RETRY, SERVER_HELLO, SERVER_NAME, VERSION_AND_RANDOM,
};
use super::*;

/// The type of a record with a part of a handshake.
const HANDSHAKE: u8 = 22;

fn with_length<const N: usize>(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len().to_be_bytes();
    [&length[length.len() - N..], bytes].concat()
}

/// A `ClientHello` with these extensions, in records of `size` bytes.
fn hello(extensions: &[(u16, Vec<u8>)], size: usize) -> Vec<u8> {
    let extension =
        |(kind, data): &(u16, Vec<u8>)| [&kind.to_be_bytes()[..], &with_length::<2>(data)].concat();
    let extensions: Vec<u8> = extensions.iter().flat_map(extension).collect();
    let mut body = vec![3; VERSION_AND_RANDOM];
    body.extend(with_length::<1>(&[9; 32]));
    body.extend(with_length::<2>(&[0x13, 0x01]));
    body.extend(with_length::<1>(&[0]));
    body.extend(with_length::<2>(&extensions));
    let message = [&[CLIENT_HELLO][..], &with_length::<3>(&body)].concat();
    let record = |part: &[u8]| [&[HANDSHAKE, 3, 1][..], &with_length::<2>(part)].concat();
    message.chunks(size).flat_map(record).collect()
}

fn server_name(name: &str) -> (u16, Vec<u8>) {
    let entry = [&[HOST_NAME][..], &with_length::<2>(name.as_bytes())].concat();
    (SERVER_NAME, with_length::<2>(&entry))
}

/// A `ClientHello` for a server, in records of `size` bytes.
pub(in crate::network) fn hello_for(name: &str, size: usize) -> Vec<u8> {
    hello(&[(43, vec![2, 3, 4]), server_name(name)], size)
}

/// A `ServerHello` with these random bytes, in records of `size` bytes.
fn server_hello(random: &[u8], size: usize) -> Vec<u8> {
    let body = [&[3, 3], random, &[0, 0x13, 0x01, 0, 0, 0]].concat();
    let message = [&[SERVER_HELLO][..], &with_length::<3>(&body)].concat();
    let record = |part: &[u8]| [&[HANDSHAKE, 3, 3][..], &with_length::<2>(part)].concat();
    message.chunks(size).flat_map(record).collect()
}

/// What a server says that wants another `ClientHello`.
pub(in crate::network) fn retry(size: usize) -> Vec<u8> {
    server_hello(&RETRY, size)
}

#[test]
fn an_answer_that_asks_for_another_hello() {
    let warning = [21, 3, 3, 0, 2, 1, 112];
    for size in [1, 7, 100] {
        for before in [&warning[..], &[]] {
            let whole = |random: &[u8]| [before, &server_hello(random, size)].concat();
            let bytes = whole(&RETRY);
            assert_eq!(answer(&bytes), Answer::Retry, "{size}");
            assert_eq!(answer(&whole(&[7; 32])), Answer::Other, "{size}");
            assert_eq!(answer(&bytes[..bytes.len() / 2]), Answer::More, "{size}");
        }
    }
    for other in [&[21, 3, 3, 0, 2, 2, 40][..], b"220 hello\r\n", &[22, 3, 3, 0, 4, 11, 0, 0, 0]] {
        assert_eq!(answer(other), Answer::Other, "{other:?}");
    }
    assert_eq!(answer(&[]), Answer::More);
}

#[test]
fn records_before_another_hello_are_passed_over() {
    for kind in [20, 21, 23] {
        assert_eq!(again(&[kind, 3, 3, 1, 2, 9]), Again::Record(5 + 0x102));
        assert_eq!(again(&[kind, 3, 3, 1]), Again::More);
    }
    assert_eq!(again(&[]), Again::More);
    assert_eq!(again(&hello_for("a.example", 100)), Again::Hello);
    assert_eq!(again(b"GET"), Again::Hello);
}

/// A record that goes on after the first message: some server may read on.
#[test]
fn a_record_of_two_hellos_names_nobody() {
    let extensions = [server_name("a.example")];
    let hello = hello(&extensions, 16_000);
    let message = &hello[5..];
    let both = [&[HANDSHAKE, 3, 1][..], &with_length::<2>(&[message, message].concat())].concat();
    for length in hello.len()..=both.len() {
        assert_eq!(asked(&both[..length]), Asked::Nobody, "{length}");
    }
    let two = [&hello[..], &hello].concat();
    assert_eq!(asked(&two), Asked::For("a.example".to_owned()));
    assert_eq!(hello_length(&two), Some(hello.len()));
}

#[test]
fn the_name_of_a_client_hello_whole_and_in_pieces() {
    let extensions = [(43, vec![2, 3, 4]), server_name("Web.Example.test"), (0xff01, vec![0])];
    for size in [1, 7, 100, 16_000] {
        let bytes = hello(&extensions, size);
        let expected = Asked::For("web.example.test".to_owned());
        assert_eq!(asked(&bytes), expected, "{size}");
        for length in 0..bytes.len() {
            assert_eq!(asked(&bytes[..length]), Asked::More, "{length} of {size}");
        }
    }
}

#[test]
fn a_client_hello_that_names_nobody() {
    let two = [server_name("a.example").1, b"\0\0\x01b".to_vec()].concat();
    let mut two_names = two;
    two_names[1] += 4;
    for extensions in [vec![], vec![(43, vec![1])], vec![(SERVER_NAME, two_names)]] {
        assert_eq!(asked(&hello(&extensions, 1000)), Asked::Nobody, "{extensions:?}");
    }
    let outer = server_name("a.example");
    let inner = (ENCRYPTED_HELLO, vec![0; 40]);
    for extensions in [[outer.clone(), inner.clone()], [inner, outer]] {
        assert_eq!(asked(&hello(&extensions, 1000)), Asked::Nobody, "{extensions:?}");
    }
    assert_eq!(asked(&[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]), Asked::Nobody);
    let alert = [21, 3, 1, 0, 2, 1, 90];
    let hidden = [&alert[..], &hello(&[server_name("a.example")], 1000)].concat();
    assert_eq!(asked(&hidden), Asked::Nobody);
    let endless = [HANDSHAKE, 3, 1, 0, 0].repeat(BYTES_MAX / 5 + 1);
    assert_eq!(asked(&endless), Asked::Nobody);
}

#[test]
fn the_host_of_a_request() {
    let hosts = [
        ("GET / HTTP/1.1\r\nHost: A.example\r\n\r\n", Asked::For("a.example".to_owned())),
        ("GET / HTTP/1.1\nhost:a.example:8080\n\n", Asked::For("a.example".to_owned())),
        ("\r\n\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n", Asked::For("b.example".to_owned())),
        ("POST /x HTTP/1.0\r\nX: y\r\nHost: [::1]:80\r\n\r\n", Asked::For("[::1]".to_owned())),
        ("GET / HTTP/1.1\r\nX: y\r\n\r\n", Asked::Nobody),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Asked::Nobody),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Asked::Nobody),
        ("GET / HTTP/1.1\r\nno header\r\n\r\n", Asked::Nobody),
        ("PRI * HTTP/2.0\r\n", Asked::Nobody),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", Asked::For("a".to_owned())),
        ("_X / HTTP/1.1\r\nHost: a\r\n\r\n", Asked::For("a".to_owned())),
        ("GET http://a:80/x HTTP/1.1\r\nHost: A\r\n\r\n", Asked::For("a".to_owned())),
        ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
        ("GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
        ("GET http://b\\/ HTTP/1.1\r\nHost: b\\\r\n\r\n", Asked::Nobody),
        ("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
        ("GET / HTTP/1.1\r\nHost : b\r\nHost: a\r\n\r\n", Asked::Nobody),
        ("GET / HTTP/1.1\r\nX: y\r\n Host: b\r\nHost: a\r\n\r\n", Asked::Nobody),
        ("GET /\tHTTP/1.1\r\nHost: b\r\n\r\n", Asked::Nobody),
        ("GET  / HTTP/1.1\r\nHost: b\r\n\r\n", Asked::Nobody),
        ("GET http://b/\r\n", Asked::Nobody),
        ("EHLO client.example\r\n", Asked::Other),
    ];
    for (text, expected) in hosts {
        assert_eq!(asked(text.as_bytes()), expected, "{text:?}");
    }
    for more in ["G", "GET / HTT", "GET / HTTP/1.1\r\nHost: a.exam", ""] {
        assert_eq!(asked(more.as_bytes()), Asked::More, "{more:?}");
    }
    let long = format!("GET /{} HTTP/1.1", "a".repeat(BYTES_MAX));
    assert_eq!(asked(long.as_bytes()), Asked::Nobody);
    assert_eq!(asked("\r\n".as_bytes()), Asked::More);
    assert_eq!(asked(&[b'\n'; BYTES_MAX]), Asked::Nobody);
}

/// Servers drop warnings before the first message, some whatever version they have.
#[test]
fn an_alert_before_a_client_hello_is_tls() {
    for version in [[3, 1], [3, 3], [2, 1], [0, 0], [15, 3], [0x7f, 0x7f]] {
        let alert = [&[21][..], &version, &[0, 2, 1, 90]].concat();
        let hidden = [&alert[..], &hello(&[server_name("a.example")], 1000)].concat();
        assert_eq!(asked(&hidden), Asked::Nobody, "{version:?}");
        for length in 1..6 {
            assert!(!passes(&alert[..length]), "{length} of {version:?}");
        }
    }
    for other in [&b"\x15\x00\x00\x00hello"[..], b"\x15\x02\x00\x02\x00\x02"] {
        assert!(matches!(asked(other), Asked::Other | Asked::Unlikely), "{other:?}");
    }
}

/// A `ClientHello` as SSL 2 had it, with so many bytes of padding said before it.
fn old_hello(padding: Option<u8>, ciphers: usize) -> Vec<u8> {
    let lengths = [ciphers.to_be_bytes(), 0_usize.to_be_bytes(), 32_usize.to_be_bytes()];
    let lengths = lengths.iter().flat_map(|it| &it[it.len() - 2..]).copied();
    let mut body = vec![CLIENT_HELLO, 3, 3];
    body.extend(lengths.chain(vec![7; ciphers + 32 + usize::from(padding.unwrap_or(0))]));
    let mut length = u16::try_from(body.len()).expect("short").to_be_bytes();
    if padding.is_none() {
        length[0] |= 0x80;
    }
    [&length[..], padding.as_slice(), &body].concat()
}

#[test]
fn an_old_client_hello_names_nobody() {
    for padding in [None, Some(0), Some(5)] {
        for ciphers in [3, 21, 9_000] {
            let bytes = old_hello(padding, ciphers);
            assert_eq!(asked(&bytes), Asked::Nobody, "{padding:?} {ciphers}");
            for length in 1..12 {
                assert!(!passes(&bytes[..length]), "{length} of {padding:?} {ciphers}");
            }
        }
    }
    // An option of telnet, a call of msgpack, a length of four bytes.
    for other in [
        &b"\xff\xfd\x01\xff\xfd\x03\xff\xfb"[..],
        b"\x94\x00\x01\xa5hello\x90",
        b"\x00\x2e\x00\x01\x00\x03\x00\x00\x00\x00\x00\x07hello\x00",
    ] {
        assert!(matches!(asked(other), Asked::Other | Asked::Unlikely), "{other:?}");
    }
}

/// Whether bytes go on with all that follow.
fn passes(bytes: &[u8]) -> bool {
    matches!(asked(bytes), Asked::Other | Asked::For(_))
}

/// Each is served for `b` by a server in wide use, in one of its versions or settings.
#[test]
fn what_a_tolerant_server_takes_for_a_request_is_one_in_every_piece() {
    let mut requests: Vec<Vec<u8>> = [
        &b"GET /\xc3\xa9 HTTP/1.1\r\n"[..],
        b"GET /\xa0\x85 HTTP/1.1\r\n",
        b"GET /\x01\x7f HTTP/1.1\r\n",
        b"GET /\0 HTTP/1.1\r\n",
        b"GET\t/\tHTTP/1.1\r\n",
        b"GET\x0b/\x1cHTTP/1.1\r\n",
        b"GET\xa0/\x85HTTP/1.1\r\n",
        b"FOO\x0c/\0 HTTP/1.1\r\n",
        b"GET / http/1.1\r\n",
        b"GET / HTTP/1.1 \r\n",
        b"GET / HTTP/1.10\r\n",
        b"GET\t/\r\n",
        b"HEAD http://b/\r\n",
        b"GET / RTSP/1.0\r\n",
        b"SOURCE / ICE/1.0\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\nGET / HTTP/1.1\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x00GET / HTTP/1.1\r\n",
    ]
    .map(<[u8]>::to_vec)
    .into();
    for lead in (0..=b' ').chain(0x7f..=0xa0) {
        requests.push([&[lead], &b"GET / HTTP/1.1\r\n"[..]].concat());
        requests.push([&[lead, lead, b'\r'], &b"x-own / HTTP/1.1\r\n"[..]].concat());
    }
    for request in requests {
        let whole = [&request[..], b"Host: b\r\n\r\n"].concat();
        let found = asked(&whole);
        let is_told = found == Asked::Nobody || found == Asked::For("b".to_owned());
        assert!(is_told, "{}: {found:?}", request.escape_ascii());
        for length in 1..whole.len() {
            let part = asked(&whole[..length]);
            assert!(part != Asked::Other, "{length} of {}", request.escape_ascii());
        }
    }
}

#[test]
fn headers_that_servers_split_differently_name_nobody() {
    for (first, headers) in [
        ("GET / HTTP/1.1\r\n", "X: y\rHost: b\r\nHost: a\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "X: y\x0bHost: b\r\nHost: a\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "X: y\0\r\nHost: a\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "X:\nHost: a\n\n\r\nHost: b\r\n\r\n"),
        ("GET / HTTP/1.1\n", "X: y\r\nHost: a\n\n"),
        ("GET / HTTP/1.1\r\n", "Host: a\r\n \r\nHost: b\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "Host: a\r\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "Host: a:80@b\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "Host: a@b\r\n\r\n"),
        ("GET / HTTP/1.1\rHost:b\r\n", "Host: a\r\n\r\n"),
        ("GET b/x://a/ HTTP/1.1\r\n", "Host: a\r\n\r\n"),
    ] {
        let text = [first, headers].concat();
        assert_eq!(asked(text.as_bytes()), Asked::Nobody, "{text:?}");
    }
}

/// The first messages of other protocols; none of them has to wait for more.
#[test]
fn what_is_neither_is_not_waited_for() {
    for bytes in [
        &b"SSH-2.0-client\r\n"[..],
        b"EHLO client.example\r\n",
        b"get key\r\n",
        b"get service/1\r\n",
        b"/office/http/x\r\n",
        b"CONNECT {\"name\":\"service/x\"}\r\nPING\r\n",
        b"{\"path\":\"/device/1\"}\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"PING\r\n",
        b"AMQP\x00\x00\x09\x01",
        b"PRI\x01",
        // PostgreSQL asks for TLS, and begins; MySQL answers; LDAP binds, in two lengths.
        b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
        b"\x00\x00\x00\x21\x00\x03\x00\x00user\x00me\x00",
        b"\xb9\x00\x00\x01\x85\xa6\xff\x01\x00\x00\x00\x01",
        b"0\x0e\x02\x01\x01\x60\x09\x02\x01\x03\x04\x00\x80\x00",
        b"0\x84\x00\x00\x00\x0c\x02\x01",
        // MQTT, SMB, SOCKS.
        b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05hello",
        b"\x00\x00\x00\x45\xffSMBr",
    ] {
        assert_eq!(asked(bytes), Asked::Other, "{}", bytes.escape_ascii());
    }
    for bytes in [
        &b"\x05\x01\x00"[..],
        b"0032git-upload-pack /project\x00host=a\x00",
        b"0\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00",
        // Kafka and Cassandra ask what there is.
        b"\x00\x00\x00\x16\x00\x12\x00\x00\x00\x00\x00\x01\x00\x0ckafka-python",
        b"\x04\x00\x00\x00\x05\x00\x00\x00\x00",
        b"\x15\x02",
        b"\x00\x01",
    ] {
        assert_eq!(asked(bytes), Asked::Unlikely, "{}", bytes.escape_ascii());
    }
    assert_eq!(asked(b"OPTIONS rtsp://a/ RTSP/1.0\r\nCSeq: 1\r\n\r\n"), Asked::Other);
}

#[test]
fn what_may_stand_before_a_request_is_never_too_much() {
    assert_eq!(asked(&[0; BYTES_MAX]), Asked::Unlikely);
    let gone = remembered(vec![0; BYTES_MAX]);
    assert_eq!(asked(&[&gone[..], b"GET / HTTP/1.1\r\n"].concat()), Asked::Nobody);
    assert_eq!(asked(&[&gone[..], b"word-without-an-end"].concat()), Asked::Unlikely);
    let line = [&b"word \0"[..], &vec![b'a'; UNLIKELY_MAX]].concat();
    assert_eq!(asked(&line[..UNLIKELY_MAX - 1]), Asked::Unlikely);
    assert_eq!(asked(&line), Asked::Other);
}
