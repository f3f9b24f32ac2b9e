//! What is proposed, judged by what `endow why` says of it.

use std::path::Path;

use endow::plan::host::HostFacts;
use endow::plan::why::{Operation, Questions, Verdict, connection};
use endow_policy::learn::{Around, Need, PathNeed, Usage, What, edited, propose};
use endow_policy::{GuestPath, HostPath, HostRule, Nearby, Policy};

use super::cases::{policy_of, request, vars};
use super::hosts::HOSTS;
use super::tree::PaperTree;

const NEW: &str = "version = 1\n";

fn needs() -> Vec<Need> {
    let path = |at: &str, usage, what| {
        let at = GuestPath::new(at).expect("a path");
        Need::Path(PathNeed { at, usage, what, leads_to: None, hidden: false })
    };
    vec![
        path("/srv/data", Usage::Read, What::Directory),
        path("/srv/data/sub", Usage::Write, What::Directory),
        path("/srv/docs", Usage::Write, What::Directory),
        path("/home/user/docs", Usage::Read, What::Directory),
        path("/home/user/notes.txt", Usage::Read, What::File),
        path("/srv/services/bus", Usage::Connect, What::Socket),
        path("/srv/services/db/socket", Usage::Connect, What::Socket),
        Need::Host(HostRule::parse("a.example.com:8080").expect("a host")),
    ]
}

/// What the kernel would say to each need, as `endow why` has it.
fn allowed(policy: &Policy, needs: &[Need]) -> Vec<bool> {
    let host: HostFacts = HOSTS.iter().find(|it| it.name == "full").expect("a host").facts(policy);
    let plan = endow::plan::plan(policy, &host, &request()).expect("a plan");
    let questions = Questions::new(&plan, policy, &host, &PaperTree, true);
    let verdict = |need: &Need| match need {
        Need::Path(need) => {
            let operation = match need.usage {
                Usage::Read => Operation::Read,
                Usage::Write => Operation::Write,
                Usage::Connect => Operation::Connect,
            };
            questions.path(Path::new(&need.at.to_string()), operation).answer
        }
        Need::Host(_) => {
            connection(&plan, policy, ("a.example.com", 8080), &Nearby::default()).answer
        }
        Need::Call(_) => unreachable!("none is asked for"),
    };
    needs.iter().map(|need| verdict(need) == Verdict::Allowed).collect()
}

fn proposed(text: &str, needs: &[Need]) -> String {
    let (vars, policy) = (vars(), policy_of(text));
    let proposal = propose(needs, &Around { vars: &vars, policy: &policy, registries: &[] });
    let directory = HostPath::new("/home/user/src/app").expect("a path");
    edited(Some(text), &proposal.lines, (&directory, &vars)).expect("edited")
}

/// Whatever listens at a socket acts outside: no proposal grants one.
fn is_socket(need: &Need) -> bool {
    matches!(need, Need::Path(need) if need.usage == Usage::Connect)
}

/// Every choice of needs: none is given before, all of it but sockets after, and then nothing is left to
/// propose.
#[test]
fn proposal_gives_what_was_asked_for() {
    let all = needs();
    assert_eq!(allowed(&policy_of(NEW), &all), vec![false; all.len()]);
    for choice in 1_u32..1 << all.len() {
        let chosen = (0..).zip(&all).filter(|(bit, _)| choice >> bit & 1 == 1);
        let chosen: Vec<Need> = chosen.map(|(_, need)| need.clone()).collect();
        let text = proposed(NEW, &chosen);
        let given = allowed(&policy_of(&text), &chosen);
        let granted: Vec<bool> = chosen.iter().map(|need| !is_socket(need)).collect();
        assert_eq!(given, granted, "{chosen:?}\n{text}");
        assert_eq!(proposed(&text, &[]), text);
    }
}

/// Each line that is left out leaves something unmet. A directory that is to be listed is not the one in
/// which there are mount points alone, which is allowed as well.
#[test]
fn no_line_is_too_many() {
    let mut all = needs().split_off(1);
    all.retain(|need| !is_socket(need));
    let text = proposed(NEW, &all);
    let is_grant = |line: &str| line.starts_with('"') || line.starts_with("allow");
    let grants: Vec<&str> = text.lines().filter(|line| is_grant(line)).collect();
    assert!(grants.len() > 4, "{text}");
    for grant in grants {
        let fewer = text.replace(&format!("{grant}\n"), "");
        let given = allowed(&policy_of(&fewer), &all);
        assert!(given.contains(&false), "needless: {grant}\n{text}");
    }
}
