//! What holds for every plan, whatever the policy and the host.

use std::cell::Cell;
use std::collections::BTreeMap;

use endow::plan::host::{ExecRequest, Found, HostFacts, PathFact};
use endow::plan::seccomp::Observe;
use endow::plan::step::{ConfineStep, FileId, HostMount, InitStep, Source};
use endow::plan::{Finding, LAYERS_MAX, Plan};
use endow_policy::{AllowWord, GuestPath, HostPath, Policy};

use super::cases::{CASES, policy_of, request};
use super::hosts::HOSTS;
use super::made::made;

/// Plans that make namespaces, and a view in them.
fn for_each_view(check: impl Fn(&str, &Plan)) {
    for_each_plan(|name, plan| {
        if plan.opening.namespaces.is_some() {
            check(name, plan);
        }
    });
}

fn for_each_plan(check: impl Fn(&str, &Plan)) {
    for made in made() {
        if let Ok(plan) = &made.plan {
            check(&made.name(), plan);
        }
    }
}

#[test]
fn plans_break_no_rule_of_their_own() {
    for_each_plan(|name, plan| assert_eq!(endow::plan::check(plan), [], "{name}"));
}

/// What is seen of a run changes neither its view nor what is refused; only where nobody is inside of
/// another endow and there is a view can anything be seen.
#[test]
fn observation_adds_nothing_but_a_file() {
    let seen = Cell::new(0);
    for made in made() {
        let observe = ExecRequest { observe: Observe::Paths, ..request() };
        let observed = endow::plan::plan(&made.policy, &made.facts, &observe);
        let (Ok(plain), Ok(mut observed)) = (&made.plan, observed) else { continue };
        let name = made.name();
        assert_eq!(endow::plan::check(&observed), [], "{name}");
        let may_be = made.facts.outer_level.is_none() && plain.opening.namespaces.is_some();
        let filter = |plan: &Plan| plan.filter().cloned().expect("a filter");
        assert_eq!(filter(&observed).observe == Observe::Paths, may_be, "{name}");
        assert_eq!(filter(&observed).unobserved(), filter(plain).unobserved(), "{name}");
        let is_own = |at: &GuestPath| {
            ["/run/endow", "/run/endow/denials.jsonl"].contains(&at.to_string().as_str())
        };
        let is_file = |step: &InitStep| match step {
            InitStep::Bind { at, .. } | InitStep::Touch { at } => is_own(at),
            _ => false,
        };
        let added = observed.init.iter().filter(|step| is_file(step)).count();
        assert!(added == if may_be { 3 } else { 0 }, "{name}: {added}");
        observed.init.retain(|step| !is_file(step));
        assert_eq!(observed.init, plain.init, "{name}");
        assert_eq!(observed.confine, plain.confine, "{name}");
        seen.set(seen.get() + usize::from(may_be));
    }
    assert!(seen.get() > 10, "{}", seen.get());
}

/// Who reads the memory of such a command waits for as long as it likes.
#[test]
fn nothing_is_observed_of_a_command_that_may_hold_readers() {
    let held = Cell::new(0);
    for made in made() {
        let mut policy = Policy::clone(&made.policy);
        policy.process.allow.insert(AllowWord::Userfaultfd);
        let observe = ExecRequest { observe: Observe::Paths, ..request() };
        let Ok(plan) = endow::plan::plan(&policy, &made.facts, &observe) else { continue };
        let filter = plan.filter().expect("a filter");
        assert_eq!(filter.observe, Observe::Nothing, "{}", made.name());
        held.set(held.get() + 1);
    }
    assert!(held.get() > 10, "{}", held.get());
}

/// A layer between stubs and their bytes could name any of these; elsewhere they read as zeros.
#[test]
fn misplaced_stubs_are_found() {
    let found = Cell::new(0);
    for_each_view(|name, plan| {
        let shown = plan.init.iter().enumerate().filter_map(|(number, step)| match step {
            InitStep::Overlay { lower, at, flags, .. } => Some((number, lower.last()?, at, *flags)),
            _ => None,
        });
        let stubs = shown.filter(|(_, source, ..)| matches!(source, Source::Stubs { .. }));
        for (number, source, at, flags) in stubs {
            let (source, at, upper) = (source.clone(), at.clone(), None);
            let lower = vec![source.clone(), source.clone()];
            let above = InitStep::Overlay { lower, upper, at: at.clone(), flags };
            for step in [above, InitStep::Bind { source, at, flags }] {
                let mut plan = plan.clone();
                plan.init[number] = step;
                let findings = endow::plan::check(&plan);
                assert!(matches!(findings[..], [Finding::MisplacedStubs(_)]), "{name}");
            }
            found.set(found.get() + 1);
        }
    });
    assert!(found.get() > 10, "{}", found.get());
}

/// What lies in a layer that is not mounted would be missing.
#[test]
fn overlay_of_too_many_layers_is_found() {
    let found = Cell::new(0);
    for_each_view(|name, plan| {
        for number in 0..plan.init.len() {
            let mut plan = plan.clone();
            let InitStep::Overlay { lower, .. } = &mut plan.init[number] else { continue };
            let top = lower[0].clone();
            if matches!(top, Source::Stubs { .. }) {
                continue;
            }
            while lower.len() < LAYERS_MAX {
                lower.insert(0, top.clone());
            }
            assert_eq!(endow::plan::check(&plan), [], "{name}");
            let InitStep::Overlay { lower, .. } = &mut plan.init[number] else { continue };
            lower.insert(0, top);
            let findings = endow::plan::check(&plan);
            assert!(matches!(findings[..], [Finding::TooManyLayers(_)]), "{name}");
            found.set(found.get() + 1);
        }
    });
    assert!(found.get() > 10, "{}", found.get());
}

#[test]
fn no_variable_with_a_secret_name_passes_by_itself() {
    for_each_plan(|name, plan| {
        let text = serde_json::to_string(plan).expect("json");
        assert!(!text.contains("canary"), "{name}");
        assert!(!plan.to_string().contains("canary"), "{name}");
        let passed = |variable: &str| {
            plan.environment.variables.contains_key(variable.as_ref() as &std::ffi::OsStr)
        };
        assert!(passed("LANG") && !passed("API_TOKEN") && !passed("UNKNOWN"), "{name}");
    });
}

#[test]
fn landlock_takes_part_wherever_the_kernel_has_it() {
    for_each_plan(|name, plan| {
        let has = plan.confine.iter().any(|step| matches!(step, ConfineStep::Landlock(_)));
        assert_eq!(has, plan.enforcement.landlock_abi > 0, "{name}");
    });
}

#[test]
fn mounts_go_below_an_attached_root_before_linux_6_15() {
    for_each_view(|name, plan| {
        let place = |wanted: &InitStep| plan.init.iter().position(|step| step == wanted);
        let attached = place(&InitStep::AttachRoot).expect("attached");
        let old = name.ends_with("linux 6.1");
        assert_eq!(attached == 0, old, "{name}");
    });
}

#[test]
fn an_endow_inside_is_told_the_level_that_is_reached() {
    for_each_view(|name, plan| {
        let told = plan.init.iter().find_map(|step| match step {
            InitStep::Write { at, content, .. } if at.as_bytes() == b"/run/endow/level" => {
                Some(content)
            }
            _ => None,
        });
        let level = format!("{}\n", plan.enforcement.level.word());
        assert_eq!(told.map(Vec::as_slice), Some(level.as_bytes()), "{name}");
    });
}

/// pid 1 builds a part of the view before the run is prepared.
#[test]
fn what_is_built_ahead_takes_nothing_prepared() {
    let takes_prepared = |step: &InitStep| match step {
        InitStep::Bind { source, .. } => !matches!(source, Source::Host { .. } | Source::Guest(_)),
        step => matches!(step, InitStep::Overlay { .. }),
    };
    let mut further = 0;
    for made in made() {
        let name = made.name();
        let Some((ahead, plan)) = in_halves(&made.policy, &made.facts) else { continue };
        let rest = plan.init.strip_prefix(ahead.as_slice()).expect("the plan begins with it");
        assert!(!ahead.iter().any(takes_prepared), "{name}");
        assert!(rest.first().is_none_or(takes_prepared), "{name}");
        let is_etc = |step: &InitStep| matches!(step, InitStep::Bind { at, .. } if at.as_path().starts_with("/etc"));
        further += usize::from(ahead.iter().any(is_etc));
    }
    assert!(further > 10, "{further}");
}

/// What the host replaces between the cover and the first look at a name would be in view.
#[test]
fn what_the_supervisor_watches_is_not_covered_ahead() {
    let case = CASES.iter().find(|case| case.name == "rw").expect("a case");
    let policy = case.policy();
    let mut facts = HOSTS.first().expect("a host").facts(&policy);
    let file = HostPath::new("/srv/data/policy.toml").expect("a path");
    let mount = HostMount::default();
    let found = Found::File(FileId { dev: 1, ino: 99, born: 0 });
    facts
        .paths
        .insert(file.clone(), PathFact { resolved: file.clone(), links: vec![], found, mount });
    facts.policies.push(file.clone());
    let (ahead, plan) = in_halves(&policy, &facts).expect("a plan");
    let covers =
        |step: &InitStep| matches!(step, InitStep::Bind { at, .. } if *at == file.to_guest());
    assert_eq!(plan.supervise.renew.len(), 1);
    assert!(plan.init.iter().any(covers) && !ahead.iter().any(covers), "{ahead:?}");
}

/// NixOS has its settings in a store.
#[test]
fn what_links_of_the_system_lead_to_is_in_the_view() {
    let policy = policy_of("version = 1\n");
    let mut facts = HOSTS.first().expect("a host").facts(&policy);
    let path = |text: &str| HostPath::new(text).expect("a path");
    let (at, to) = ("/etc/static", "/nix/store/etc");
    let (links, mount) = (vec![(path(at), to.into())], HostMount::default());
    let found = Found::Directory(FileId { dev: 1, ino: 1000, born: 0 });
    facts.paths.insert(path(at), PathFact { resolved: path(to), links, found, mount });
    let placement = endow::plan::plan(&policy, &facts, &request()).expect("a plan").placement;
    assert!(placement.shows(&path(to)));
    let links: Vec<String> = placement.links.keys().map(ToString::to_string).collect();
    assert!(links.contains(&at.to_owned()), "{links:?}");
}

/// pid 1 begins with mounts before anybody knows what is protected, and would begin again if the plan did otherwise.
#[test]
fn what_is_known_before_protected_names_is_the_beginning() {
    let (mut all, mut mounts) = (0, 0);
    for made in made() {
        let (name, policy) = (made.name(), &made.policy);
        let Some((_, plan)) = in_halves(policy, &made.facts) else { continue };
        let earlier = HostFacts {
            live_names: BTreeMap::new(),
            led: BTreeMap::new(),
            repositories: BTreeMap::new(),
            ..made.facts.clone()
        };
        let first = endow::plan::ahead(policy, &earlier, request().observe);
        let Some(first) = first else { continue };
        assert_eq!(*first.opening(), plan.opening, "{name}");
        assert!(plan.init.starts_with(first.ahead()), "{name}: {:#?}", first.ahead());
        all += 1;
        let is_etc = |step: &InitStep| matches!(step, InitStep::Bind { at, .. } if at.as_path().starts_with("/etc"));
        mounts += usize::from(first.ahead().iter().any(is_etc));
    }
    assert!(all > 30 && mounts > 10, "{all} {mounts}");
}

/// The steps that are carried out ahead, and the plan.
fn in_halves(policy: &Policy, facts: &HostFacts) -> Option<(Vec<InitStep>, Plan)> {
    let sketch = endow::plan::sketch(policy, facts, &request()).ok()?;
    let ahead = sketch.ahead().to_vec();
    Some((ahead, endow::plan::complete(sketch, policy, facts, &request()).ok()?))
}

/// What a namespace would keep apart, other layers must.
#[test]
fn without_namespaces_the_other_layers_are_whole() {
    let count = Cell::new(0);
    for_each_plan(|name, plan| {
        if plan.opening.namespaces.is_some() {
            return;
        }
        count.set(count.get() + 1);
        assert!(plan.init.is_empty(), "{name}");
        let landlock = plan.confine.iter().find_map(|step| match step {
            ConfineStep::Landlock(landlock) => Some(landlock),
            _ => None,
        });
        let landlock = landlock.expect("a ruleset");
        assert!(landlock.scope_signal && landlock.scope_abstract, "{name}");
        let listed = landlock.rules.iter().map(|rule| rule.at.to_string());
        let too_much = ["/", "/proc", "/dev", "/etc", "/run", "/tmp", "/home/user"];
        assert_eq!(listed.filter(|at| too_much.contains(&at.as_str())).count(), 0, "{name}");
        let unseen = landlock.rules.iter().filter(|rule| rule.expect.is_none()).count();
        assert_eq!(unseen, 1, "{name}: the run's own directory alone is made later");
    });
    assert!(count.get() > 10, "{}", count.get());
}
