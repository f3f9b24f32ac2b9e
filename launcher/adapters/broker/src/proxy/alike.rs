//! Names of headers as servers may read them: gateways to programs (CGI, WSGI, PHP) make `_` of `-`,
//! and some of every other mark, so that two names become one.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// Returns a name with `-` for every mark, as it is compared with others. Letters are small in it.
pub(crate) fn folded(name: &HeaderName) -> String {
    let fold = |it: char| if it.is_ascii_alphanumeric() { it } else { '-' };
    name.as_str().chars().map(fold).collect()
}

/// Takes away the headers that a server may read as one of a kind.
pub(super) fn remove(headers: &mut HeaderMap, is_one: impl Fn(&str) -> bool) {
    remove_where(headers, |name| is_one(&folded(name)));
}

/// The same for those that are not written with `-` alone: others know them by another name.
pub(super) fn remove_disguised(headers: &mut HeaderMap, is_one: impl Fn(&str) -> bool) {
    remove_where(headers, |name| {
        let plain = folded(name);
        plain != name.as_str() && is_one(&plain)
    });
}

fn remove_where(headers: &mut HeaderMap, is_one: impl Fn(&HeaderName) -> bool) {
    let gone: Vec<HeaderName> = headers.keys().filter(|name| is_one(name)).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers() -> HeaderMap {
        let names = ["x-a-b", "x_a-b", "x.a~b", "x-ab", "x-a-b-c"].map(HeaderName::from_static);
        names.into_iter().map(|name| (name, HeaderValue::from_static("1"))).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_mark_is_one() {
        let mut left = headers();
        remove(&mut left, |name| name == "x-a-b");
        assert_eq!(names(&left), ["x-a-b-c", "x-ab"]);
        let mut left = headers();
        remove_disguised(&mut left, |name| name == "x-a-b");
        assert_eq!(names(&left), ["x-a-b", "x-a-b-c", "x-ab"]);
    }

    #[test]
    fn letters_are_small() {
        let name = HeaderName::from_bytes(b"X_Original.URL").expect("a name");
        assert_eq!(folded(&name), "x-original-url");
    }
}
