//! Go: what `go env` reports, which knows its own files and variables.

use super::address::Named;
use super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// Returns the module proxies of Go, and the database of their checksums.
pub(super) fn registries(outside: &Outside<'_>) -> Result<Vec<Named>, RegistryFault> {
    let go = outside.program("go")?;
    // As JSON, an empty value keeps its place.
    let text = outside.ask(&go, &["env", "-json", "GOPROXY", "GOSUMDB"])?.join("\n");
    let place = go.display().to_string();
    let values: serde_json::Value = serde_json::from_str(&text)
        .map_err(|_| RegistryFault::NoAddress { place: place.clone() })?;
    let value = |name: &str| values.get(name).and_then(|it| it.as_str()).unwrap_or_default();
    let addresses = proxies(value("GOPROXY")).chain(database(value("GOSUMDB")));
    Ok(addresses.map(|address| Named::new(&place, address)).collect())
}

/// Returns the addresses of a list of proxies. What is fetched `direct`ly comes from the host that a
/// module's own path names.
fn proxies(list: &str) -> impl Iterator<Item = String> {
    let words = list.split([',', '|']).map(str::trim);
    words.filter(|word| !matches!(*word, "" | "direct" | "off")).map(str::to_owned)
}

/// Returns the address of a database: `off`, its name with an optional key, or a name and an address.
fn database(value: &str) -> Option<String> {
    let mut words = value.split_whitespace();
    let name = words.next().filter(|name| *name != "off")?;
    let name = name.split('+').next().unwrap_or_default();
    Some(words.next().map_or_else(|| format!("https://{name}"), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::super::outside::testing::{Host, told};
    use super::*;

    fn check(proxy: &str, database: &str, expected: Result<&[&str], &str>) {
        let host = Host::new();
        let answer = serde_json::json!({"GOPROXY": proxy, "GOSUMDB": database});
        let answer = serde_json::to_string_pretty(&answer).expect("json");
        host.program("bin/go", &format!("cat <<'END'\n{answer}\nEND"));
        let mut host = host;
        host.set("PATH", std::env::join_paths([host.path("bin"), "/bin".into()]).expect("a path"));
        let found = told(registries(&host.outside()));
        let expected = expected.map_err(str::to_owned);
        assert_eq!(found, expected.map(|hosts| hosts.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn proxies_and_database() {
        check("https://a.example,direct", "sum.example", Ok(&["a.example:443", "sum.example:443"]));
        check(
            "http://a.example:81|https://b.example/x,off",
            "off",
            Ok(&["a.example:81", "b.example:443"]),
        );
        check(
            "off",
            "sum.example+1a2b+key= https://mirror.example/sum",
            Ok(&["mirror.example:443"]),
        );
        check("direct", "sum.example+1a2b+key=", Ok(&["sum.example:443"]));
    }

    #[test]
    fn no_proxy_names_no_host() {
        check("off", "off", Err("the configuration names no host"));
        check("direct", "", Err("the configuration names no host"));
        check("file:///srv/modules", "off", Err("the configuration names no host"));
    }

    #[test]
    fn absent_go_is_told() {
        let host = Host::new();
        let missing = RegistryFault::NotInstalled { program: "go".to_owned() };
        assert_eq!(registries(&host.outside()).err(), Some(missing));
        let go = host.program("bin/go", "echo GOPROXY=https://a.example").display().to_string();
        let fault = RegistryFault::NoAddress { place: go };
        assert_eq!(registries(&host.outside()).err(), Some(fault));
    }
}
