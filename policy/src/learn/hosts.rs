//! Hosts that were refused, as words of `[network] allow`.

use std::collections::BTreeMap;

use super::suggestion::{Suggested, Suggestion};
use crate::{HostPattern, HostRule, Ports, Protocol, Registry, special_range};

/// Returns a line for each host, with all its ports, or for the registry of a tool.
pub(super) fn suggest(
    needs: &[&HostRule],
    registries: &[(Registry, Vec<HostRule>)],
) -> Vec<Suggestion> {
    let mut suggestions: BTreeMap<Suggested, Suggestion> = BTreeMap::new();
    for rule in merged(needs) {
        let suggestion = of_registry(&rule, registries).unwrap_or_else(|| of_host(rule));
        suggestions.entry(suggestion.gives.clone()).or_insert(suggestion);
    }
    suggestions.into_values().collect()
}

/// Ports of one host are one word.
fn merged(needs: &[&HostRule]) -> Vec<HostRule> {
    let mut ports: BTreeMap<(Protocol, &HostPattern), Ports> = BTreeMap::new();
    for rule in needs {
        let all = ports.entry((rule.protocol, &rule.host)).or_insert_with(|| rule.ports.clone());
        *all = joined(all, &rule.ports);
    }
    let rule = |((protocol, host), ports): ((Protocol, &HostPattern), Ports)| HostRule {
        protocol,
        host: host.clone(),
        ports,
    };
    ports.into_iter().map(rule).collect()
}

fn joined(one: &Ports, other: &Ports) -> Ports {
    match (one, other) {
        (Ports::Some(one), Ports::Some(other)) => Ports::Some(one.union(other).copied().collect()),
        _ => Ports::Any,
    }
}

fn of_registry(rule: &HostRule, registries: &[(Registry, Vec<HostRule>)]) -> Option<Suggestion> {
    let knows = |hosts: &[HostRule]| hosts.iter().any(|host| host.covers(rule));
    let (registry, _) = registries.iter().find(|(_, hosts)| knows(hosts))?;
    let word = format!("registry:{}", registry.word());
    Some(Suggestion {
        gives: Suggested::Host(HostRule::parse(&word).ok()?),
        reason: format!("{} is where your {} leads to", rule.host, registry.word()),
        danger: None,
    })
}

fn of_host(rule: HostRule) -> Suggestion {
    let danger = danger(&rule.host);
    Suggestion { gives: Suggested::Host(rule), reason: "connected to".to_owned(), danger }
}

/// An address that is not on the internet is behind the user's own door.
fn danger(host: &HostPattern) -> Option<String> {
    match host {
        HostPattern::Range(range) => {
            special_range(range.first()).map(|special| format!("not on the internet: {special}"))
        }
        HostPattern::Loopback => Some("a service of your machine".to_owned()),
        HostPattern::Below(_) => Some("every host below a name".to_owned()),
        HostPattern::Name(_) | HostPattern::Registry(_) => None,
    }
}
