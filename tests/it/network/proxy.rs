//! The proxy inside keeps the same rules as names do.

use super::world::{NetWorld, authority};
use crate::harness::{debian_program, said};

/// What curl prints of a request through a proxy: the answer's status, or curl's own.
fn through(world: &NetWorld, rule: &str, proxy: &str, place: &str) -> String {
    let script = format!("curl -sS -o /dev/null -w '%{{http_code}}' -x {proxy} {place} 2>&1; true");
    let files = world.files();
    let authority = authority(files).display().to_string();
    let certificates = format!("CURL_CA_BUNDLE={authority}");
    let options = ["run", "--net", rule, "--proxy", "3128", "--ro", &authority, "--env"];
    let rest = [certificates.as_str(), "--", "sh", "-c", &script];
    said(&mut world.endow(options.into_iter().chain(rest))).ok().to_owned()
}

#[test]
fn proxy_leads_where_a_rule_leads_in_both_languages() {
    let Some(world) = NetWorld::start().filter(|_| debian_program("curl").is_some()) else {
        return;
    };
    for proxy in ["http://127.0.0.1:3128", "socks5h://localhost:3128"] {
        let printed = through(&world, "web.example.test", proxy, "https://web.example.test/");
        assert_eq!(printed, "200", "{proxy}");
        let printed = through(&world, "203.0.113.20:443", proxy, "-k https://203.0.113.20/");
        assert_eq!(printed, "200", "{proxy}");
    }
}

#[test]
fn proxy_leads_nowhere_else() {
    let Some(world) = NetWorld::start().filter(|_| debian_program("curl").is_some()) else {
        return;
    };
    let places = [
        "https://other.example.test/",
        "https://web.example.test:8443/",
        "https://203.0.113.20/",
        "https://203.0.113.10/",
        "https://127.0.0.1:8080/",
        "https://localhost:8080/",
        "https://[::1]:8080/",
        "https://198.18.0.1:53/",
        "https://169.254.169.254/",
        "https://private.example.test/",
    ];
    for proxy in ["http://127.0.0.1:3128", "socks5h://127.0.0.1:3128"] {
        for place in places {
            let printed = through(&world, "web.example.test", proxy, place);
            assert!(printed.ends_with("000"), "{proxy} {place}: {printed}");
        }
        // Without a tunnel there is no way at all.
        let printed = through(&world, "web.example.test:80", proxy, "http://web.example.test/");
        let expected = if proxy.starts_with("http:") { "501" } else { "200" };
        assert_eq!(printed, expected, "{proxy}");
    }
    let reached = world.reached();
    assert!(reached.iter().all(|it| it == "203.0.113.10:80"), "{reached:?}");
}
