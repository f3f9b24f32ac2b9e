use super::*;

fn server(text: &str, expected: Result<(&str, u16, &str), ServerError>) {
    let found = Server::parse(text);
    let found = found.as_ref().map(|it| (it.host.as_str(), it.port, it.path.as_str()));
    assert_eq!(found, expected.as_ref().copied(), "{text}");
}

#[test]
fn servers() {
    server("api.example.com", Ok(("api.example.com", 443, "")));
    server("API.example.com:8443", Ok(("api.example.com", 8443, "")));
    server("api.example.com/", Ok(("api.example.com", 443, "")));
    server("api.example.com:8443/v1/", Ok(("api.example.com", 8443, "/v1")));
    server("https://api.example.com", Err(ServerError::Url));
    server("api.example.com:0", Err(ServerError::Port));
    server("api.example.com:0443", Err(ServerError::Port));
    server("api.example.com:+443", Err(ServerError::Port));
    server("api.example.com/../x", Err(ServerError::Path));
    server("api.example.com//x", Err(ServerError::Path));
    server("api.example.com/%2e%2e", Err(ServerError::Path));
    server("api.example.com/a?b", Err(ServerError::Path));
    server("localhost:8080", Err(ServerError::Loopback));
    server("127.0.0.1", Err(ServerError::Address));
    server("*.example.com", Err(ServerError::Name(crate::HostNameError::Character('*'))));
    server("", Err(ServerError::Name(crate::HostNameError::Empty)));
}

fn header(text: &str, expected: Result<&str, HeaderError>) {
    let found = Header::parse(text).map(|header| format!("{}|{}", header.name, header.with("S")));
    assert_eq!(found, expected.map(str::to_owned), "{text}");
}

#[test]
fn headers() {
    header("Authorization: Bearer {}", Ok("Authorization|Bearer S"));
    header("x-api-key:{}", Ok("x-api-key|S"));
    header("X: a {} b ", Ok("X|a S b"));
    header("Bearer {}", Err(HeaderError::NoName));
    header(": {}", Err(HeaderError::NoName));
    header("A B: {}", Err(HeaderError::Name));
    header("Ä: {}", Err(HeaderError::Name));
    header("Host: {}", Err(HeaderError::Own));
    header("Transfer-Encoding: {}", Err(HeaderError::Own));
    header("Accept-Encoding: {}", Err(HeaderError::Own));
    header("Sec-WebSocket-Key: {}", Err(HeaderError::Own));
    header("sec_websocket_extensions: {}", Err(HeaderError::Own));
    header("Transfer_Encoding: {}", Err(HeaderError::Own));
    header("proxy-authorization: {}", Err(HeaderError::Own));
    header("X: none", Err(HeaderError::Place));
    header("X: {} {}", Err(HeaderError::Place));
    header("X: {}\r\nY: z", Err(HeaderError::Value));
    header("X: ä{}", Err(HeaderError::Value));
}

fn source(text: &str, expected: Result<WrittenSource, SourceError>) {
    assert_eq!(WrittenSource::parse(text), expected, "{text}");
}

#[test]
fn sources() {
    source("env:API_KEY", Ok(WrittenSource::Variable("API_KEY".to_owned())));
    source("file:~/.key", Ok(WrittenSource::File("~/.key".into())));
    source("cmd:pass show a:b", Ok(WrittenSource::Command("pass show a:b".to_owned())));
    source("API_KEY", Err(SourceError::Kind));
    source("vault:x", Err(SourceError::Kind));
    source("env:", Err(SourceError::Empty));
    source("cmd:  ", Err(SourceError::Empty));
    source("env:A B", Err(SourceError::Variable));
    source("file:a\0b", Err(SourceError::Nul));
}
