//! `endow why HOST:PORT`.

use core::net::IpAddr;

use endow_policy::{
    HostName, HostPattern, HostRule, Nearby, Network, NetworkMode, Origin, Policy, Protocol, Stated,
};

use super::Operation;
use super::answer::{Answer, Layer, Verdict};
use super::refusal::Refusal;
use crate::plan::Plan;

/// Answers whether a connection to `host` at `port` can be made; `udp:` before the host asks about
/// datagrams. The run is on a machine that is itself, and beside, what `nearby` says.
pub fn connection(
    plan: &Plan,
    policy: &Policy,
    (host, port): (&str, u16),
    nearby: &Nearby,
) -> Answer {
    let question = Question::new(host, port);
    // Its registries have names.
    let network = plan.supervise.network.as_ref().unwrap_or(&policy.network);
    let said = match (network.mode, plan.opening.namespaces.is_some()) {
        (NetworkMode::Host, _) => Said::allowed("the network is the host's", "network = host")
            .remedy("leave out --net host"),
        (mode, false) => Said::refused(
            Refusal::NoFamily,
            "at level `landlock` no socket of the network can be made: the loopback is the host's too",
            mode,
        )
        .kept_by(Layer::Seccomp)
        .remedy("--net host"),
        (_, true) => question.inside(network, nearby),
    };
    said.answer(format!("{host}:{port}"))
}

/// Returns the mode of a network in which the loopback at a TCP port is the sandbox's own.
pub(super) fn mode_of_own_loopback(plan: &Plan, policy: &Policy, port: u16) -> Option<NetworkMode> {
    let network = plan.supervise.network.as_ref().unwrap_or(&policy.network);
    let is_apart = network.mode != NetworkMode::Host && plan.opening.namespaces.is_some();
    let is_own = is_apart && hosts_loopback(network, Protocol::Tcp, port).is_none();
    is_own.then_some(network.mode)
}

/// Returns the rule by which the loopback at a port is the host's.
pub fn hosts_loopback(
    network: &Network,
    protocol: Protocol,
    port: u16,
) -> Option<&Stated<HostRule>> {
    network
        .allow
        .iter()
        .find(|rule| rule.value.host == HostPattern::Loopback && rule.value.is_for(protocol, port))
}

/// What is asked.
struct Question<'q> {
    protocol: Protocol,
    host: &'q str,
    port: u16,
}

/// What is answered, without what was asked.
struct Said {
    verdict: Verdict,
    refusal: Option<Refusal>,
    reason: String,
    rule: String,
    layer: Option<Layer>,
    remedy: Option<String>,
}

impl Said {
    fn allowed(reason: impl Into<String>, rule: impl Into<String>) -> Self {
        let (reason, rule) = (reason.into(), rule.into());
        Self { verdict: Verdict::Allowed, refusal: None, reason, rule, layer: None, remedy: None }
    }

    fn by(reason: String, rule: &Stated<HostRule>) -> Self {
        let remedy = match &rule.origin {
            Origin::Flag(flag) => format!("leave out {flag}"),
            Origin::Word { word, entry } => format!("take `{word}` out of {entry}"),
            origin => format!("take `{}` out of {origin}", rule.value),
        };
        Self::allowed(reason, format!("{} ({})", rule.value, rule.origin)).remedy(remedy)
    }

    fn refused(refusal: Refusal, reason: impl Into<String>, mode: NetworkMode) -> Self {
        let said = Self::denied(reason, mode);
        Self { verdict: Verdict::of(Some(refusal)), refusal: Some(refusal), ..said }
    }

    /// By endow's own resolver or listener, whose error depends on how a program asks.
    fn denied(reason: impl Into<String>, mode: NetworkMode) -> Self {
        let rule = format!("network = {}", mode.word());
        let (verdict, layer) = (Verdict::Denied, Some(Layer::Network));
        Self { verdict, refusal: None, reason: reason.into(), rule, layer, remedy: None }
    }

    fn kept_by(self, layer: Layer) -> Self {
        Self { layer: Some(layer), ..self }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn answer(self, subject: String) -> Answer {
        Answer {
            subject,
            operation: Some(Operation::Connect),
            answer: self.verdict,
            errno: self.refusal,
            leads_to: None,
            reason: self.reason,
            rule: Some(self.rule),
            layers: self.layer.into_iter().collect(),
            remedy: self.remedy,
        }
    }
}

impl<'q> Question<'q> {
    fn new(host: &'q str, port: u16) -> Self {
        let (protocol, host) = match host.strip_prefix("udp:") {
            Some(host) => (Protocol::Udp, host),
            None => (Protocol::Tcp, host),
        };
        let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        Self { protocol, host: bare.unwrap_or(host), port }
    }

    /// Returns what is asked as the word that would allow it.
    fn word(&self) -> String {
        let udp = if self.protocol == Protocol::Udp { "udp:" } else { "" };
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.to_owned(),
        };
        format!("{udp}{host}:{}", self.port)
    }

    /// Returns the word that would make the port the host's.
    fn host_word(&self) -> String {
        Self { host: "localhost", ..*self }.word()
    }

    /// Answers for a network of the run's own.
    fn inside(&self, network: &Network, nearby: &Nearby) -> Said {
        if is_loopback(self.host) {
            return self.loopback(network);
        }
        let mode = network.mode;
        let wanted = match HostRule::parse(&self.word()) {
            Ok(wanted) => wanted,
            Err(error) => {
                let said = Said::refused(Refusal::Unreachable, error.fault.to_string(), mode);
                return Said { remedy: error.hint, ..said };
            }
        };
        let said = match (mode, self.host.parse::<IpAddr>(), HostName::parse(self.host)) {
            (NetworkMode::Allow, Ok(address), _) => self.address(network, address, nearby),
            (NetworkMode::Allow, Err(_), Ok(name)) => self.name(network, &name),
            _ => {
                let reason = "the sandbox has a network of its own, with a loopback alone";
                Said::refused(Refusal::Unreachable, reason, mode)
            }
        };
        let remedy = said.remedy.clone().unwrap_or_else(|| format!("--net {wanted}"));
        said.remedy(remedy)
    }

    /// The sandbox's own, but for ports at which it is the host's.
    fn loopback(&self, network: &Network) -> Said {
        if let Some(rule) = hosts_loopback(network, self.protocol, self.port) {
            return Said::by("at this port the loopback is the host's".to_owned(), rule);
        }
        let own =
            "the loopback is the sandbox's own: what listens there runs inside, never on the host";
        let published = network.publish.iter().find(|it| it.value.port == self.port);
        let reason = match published.filter(|_| self.protocol == Protocol::Tcp) {
            Some(port) if port.value.host_port == 0 => {
                format!("{own}; the host reaches it at a free port ({})", port.origin)
            }
            Some(port) => {
                format!("{own}; the host reaches it at {} ({})", port.value.at(), port.origin)
            }
            None => format!("{own}, unless `--net {}` is asked for", self.host_word()),
        };
        Said::allowed(reason, format!("network = {}", network.mode.word()))
    }

    fn address(&self, network: &Network, address: IpAddr, nearby: &Nearby) -> Said {
        let rules = network.rules_for_address(address);
        let rules = rules.filter(|rule| rule.value.is_for(self.protocol, self.port));
        let rule = rules.max_by_key(|rule| rule.value.host.prefix());
        let may = network.may_dial(self.protocol, address, self.port, nearby);
        let refused = |reason: String| Said::refused(Refusal::Unreachable, reason, network.mode);
        match (rule, may) {
            (Some(rule), Ok(())) => Said::by("the address is allowed".to_owned(), rule),
            (Some(rule), Err(special)) => {
                let wide = &rule.value;
                refused(format!("`{wide}` is wider than what the address belongs to ({special})"))
            }
            (None, _) => match nearby.special_range(address) {
                Some(special) => refused(format!("no rule names the address ({special})")),
                None => refused("no rule names the address".to_owned()),
            },
        }
    }

    fn name(&self, network: &Network, name: &HostName) -> Said {
        let matched = ", if its first bytes name no other server";
        let matched = if network.match_server_name { matched } else { "" };
        let mut rules = network.rules_for(name).peekable();
        let is_known = rules.peek().is_some();
        match rules.find(|rule| rule.value.is_for(self.protocol, self.port)) {
            Some(rule) => {
                let reason = format!(
                    "the name is allowed{matched}; it leads to no address that a rule must name"
                );
                Said::by(reason, rule)
            }
            None if is_known => {
                Said::denied("the name is allowed at other ports alone", network.mode)
            }
            None => Said::denied("no rule has the name: inside, it does not exist", network.mode),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host.parse::<IpAddr>().map_or_else(
        |_| HostName::parse(host).is_ok_and(|name| name.is_loopback()),
        |address| address.to_canonical().is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use endow_policy::{AddressRange, PublishedPort};

    use super::*;

    #[test]
    fn loopback_by_name_and_address() {
        for host in
            ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "a.localhost"]
        {
            assert!(is_loopback(Question::new(host, 1).host), "{host}");
        }
        for host in ["example.com", "10.0.0.1", "localhost.example.com", "::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    /// Says whether it is allowed, why, by which rule, and what would change it.
    fn why(mode: NetworkMode, rules: &[&str], host: &str, port: u16) -> String {
        let rule = |word: &&str| {
            let flag = Origin::Flag(format!("--net {word}").into());
            Stated::new(HostRule::parse(word).expect("a rule"), flag)
        };
        let published = PublishedPort::parse("8080:3000").expect("a port");
        let network = Network {
            mode,
            allow: rules.iter().map(rule).collect(),
            publish: vec![Stated::new(published, Origin::Default)],
            ..Network::default()
        };
        let own = ["203.0.113.9", "10.0.0.9"];
        let own = own.map(|text| AddressRange::parse(text).expect("a range"));
        let nearby = Nearby::new(own, []);
        let said = Question::new(host, port).inside(&network, &nearby);
        let remedy = said.remedy.as_deref().unwrap_or("-");
        format!("{}: {} | {} | {remedy}", said.verdict.words(), said.reason, said.rule)
    }

    #[test]
    fn without_a_rule_the_word_is_told() {
        let none = |host, port| why(NetworkMode::None, &[], host, port);
        insta::assert_snapshot!([
            none("example.com", 443), none("10.0.0.5", 22), none("[fd00::1]", 80),
            none("udp:time.example.com", 123), none("127.1", 80), none("localhost", 80),
            none("localhost", 3000),
        ].join("\n"), @r"
        denied: the sandbox has a network of its own, with a loopback alone | network = none | --net example.com:443
        denied: the sandbox has a network of its own, with a loopback alone | network = none | --net 10.0.0.5:22
        denied: the sandbox has a network of its own, with a loopback alone | network = none | --net [fd00::1]:80
        denied: the sandbox has a network of its own, with a loopback alone | network = none | --net udp:time.example.com:123
        denied: neither a host name nor an address in full | network = none | write an address as four decimal numbers, such as `192.0.2.1`
        allowed: the loopback is the sandbox's own: what listens there runs inside, never on the host, unless `--net localhost:80` is asked for | network = none | -
        allowed: the loopback is the sandbox's own: what listens there runs inside, never on the host; the host reaches it at 127.0.0.1:8080 (default) | network = none | -
        ");
    }

    #[test]
    fn rules_are_named() {
        let rules = &[
            "*.example.com",
            "10.0.0.0/8:22",
            "0.0.0.0/0:80",
            "localhost:5432",
            "udp:a.example.com:53",
        ];
        let allow = |host, port| why(NetworkMode::Allow, rules, host, port);
        insta::assert_snapshot!([
            allow("A.example.com.", 443), allow("a.example.com", 80), allow("example.com", 443),
            allow("udp:a.example.com", 53), allow("10.0.0.5", 22), allow("10.0.0.5", 80),
            allow("169.254.169.254", 80), allow("203.0.113.1", 80), allow("203.0.113.1", 81),
            allow("203.0.113.9", 80), allow("10.0.0.9", 22), allow("10.0.0.9", 80),
            allow("127.0.0.1", 5432), allow("localhost", 3000), allow("udp:localhost", 5432),
        ].join("\n"), @r"
        allowed: the name is allowed; it leads to no address that a rule must name | *.example.com:443 (--net *.example.com) | leave out --net *.example.com
        denied: the name is allowed at other ports alone | network = allow | --net a.example.com:80
        denied: no rule has the name: inside, it does not exist | network = allow | --net example.com:443
        allowed: the name is allowed; it leads to no address that a rule must name | udp:a.example.com:53 (--net udp:a.example.com:53) | leave out --net udp:a.example.com:53
        allowed: the address is allowed | 10.0.0.0/8:22 (--net 10.0.0.0/8:22) | leave out --net 10.0.0.0/8:22
        denied: `0.0.0.0/0:80` is wider than what the address belongs to (private addresses: 10.0.0.0/8) | network = allow | --net 10.0.0.5:80
        denied: `0.0.0.0/0:80` is wider than what the address belongs to (a cloud's metadata service: 169.254.169.254) | network = allow | --net 169.254.169.254:80
        allowed: the address is allowed | 0.0.0.0/0:80 (--net 0.0.0.0/0:80) | leave out --net 0.0.0.0/0:80
        denied: no rule names the address | network = allow | --net 203.0.113.1:81
        denied: `0.0.0.0/0:80` is wider than what the address belongs to (this host's own addresses: 203.0.113.9) | network = allow | --net 203.0.113.9:80
        denied: `10.0.0.0/8:22` is wider than what the address belongs to (this host's own addresses: 10.0.0.9) | network = allow | --net 10.0.0.9:22
        denied: `0.0.0.0/0:80` is wider than what the address belongs to (this host's own addresses: 10.0.0.9) | network = allow | --net 10.0.0.9:80
        allowed: at this port the loopback is the host's | localhost:5432 (--net localhost:5432) | leave out --net localhost:5432
        allowed: the loopback is the sandbox's own: what listens there runs inside, never on the host; the host reaches it at 127.0.0.1:8080 (default) | network = allow | -
        allowed: the loopback is the sandbox's own: what listens there runs inside, never on the host, unless `--net udp:localhost:5432` is asked for | network = allow | -
        ");
    }

    #[test]
    fn word_of_a_host_is_taken_out_of_its_entry() {
        let said = |origin: Origin| {
            let rule = HostRule::parse("npm.example.com").expect("a rule");
            let rule = Stated::new(rule, origin.of_word("registry:npm"));
            let said = Said::by(String::new(), &rule);
            format!("{} | {}", said.rule, said.remedy.unwrap_or_default())
        };
        let flag = Origin::Flag("--net registry:npm".into());
        let file = Origin::File { name: "endow.toml".into(), line: 2 };
        insta::assert_snapshot!([said(flag), said(file)].join("\n"), @r"
        npm.example.com:443 (--net registry:npm) | leave out --net registry:npm
        npm.example.com:443 (registry:npm, endow.toml:2) | take `registry:npm` out of endow.toml:2
        ");
    }
}
