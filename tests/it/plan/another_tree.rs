//! A plan that is changed to show another tree is the plan that would be made for that.

use std::ffi::OsString;

use endow::plan::host::{ExecRequest, HostFacts};
use endow::plan::{Another, Plan, Presented, TreeFact, WhyCopied, plan, tree_name};
use endow_policy::{BackendSpec, GuestPath, HostPath, MountSpec, Policy};

use super::cases::{CASES, Case, request};
use super::hosts::HOSTS;

const PLACE: &str = "/ref";

/// What a run shows and executes.
struct Run {
    policy: Policy,
    host: HostFacts,
    request: ExecRequest,
}

impl Run {
    /// Returns a run that shows a tree of this number, in so many layers.
    fn new(case: &Case, host: &super::hosts::Host, (number, layers): (u8, u8)) -> Self {
        let mut policy = case.policy();
        let mut facts = host.facts(&policy);
        for spec in policy.mounts.iter_mut().filter(|spec| is_tree(spec)) {
            let known = tree_name(spec).and_then(|name| facts.trees.remove(&name));
            let known = known.expect("known").expect("a tree");
            let fact = other(&known, (number, layers));
            let digests = fact.parts.iter().map(|it| it.id.clone()).collect();
            spec.backend = BackendSpec::Cas { digest: fact.id.clone(), layers: digests };
            facts.trees.insert(tree_name(spec).expect("a name"), Ok(fact));
        }
        let argv = ["tool".to_owned(), number.to_string()].map(OsString::from).to_vec();
        let request = ExecRequest { argv, is_repeatable: true, ..request() };
        Self { policy, host: facts, request }
    }

    fn plan(&self) -> Option<Plan> {
        plan(&self.policy, &self.host, &self.request).ok()
    }

    /// Changes a plan so that it is of this run.
    fn show_in(&self, plan: &mut Plan) -> bool {
        let spec = self.policy.mounts.iter().find(|spec| is_tree(spec)).expect("a tree");
        let fact = tree_name(spec).and_then(|name| self.host.trees.get(&name));
        let fact = fact.expect("known").as_ref().expect("a tree");
        let argv = &self.request.argv;
        plan.show(&Another { at: &spec.at, backend: &spec.backend, fact, argv })
    }
}

fn is_tree(spec: &MountSpec) -> bool {
    let is_content = matches!(spec.backend, BackendSpec::Cas { .. });
    is_content && spec.at == GuestPath::new(PLACE).expect("a path")
}

/// A tree that is presented as another one is.
fn other(fact: &TreeFact, (number, layers): (u8, u8)) -> TreeFact {
    let root = format!("/home/user/.cache/endow/trees/v1/{number}-{layers}/root");
    let part = |layer: u8| other(fact, (10 * number + layer, 0));
    let data = format!("/home/user/.cache/endow/trees/v1/{number}-{layers}/data");
    let presented_as = match &fact.presented_as {
        Presented::Stubs { .. } => Presented::Stubs { data: HostPath::new(data).expect("a path") },
        Presented::Copy(_) if number % 3 == 0 => Presented::Copy(WhyCopied::Made),
        Presented::Copy(_) => Presented::Copy(WhyCopied::Refused),
    };
    TreeFact {
        id: format!("sha256:{}/{layers}", format!("{number:x}").repeat(64)),
        key: format!("sha256-{number}-{layers}"),
        root: HostPath::new(root).expect("a path"),
        is_made: number % 2 == 0,
        parts: (1..=layers).map(part).collect(),
        presented_as,
        ..fact.clone()
    }
}

fn each(check: impl Fn(&str, &Case, &super::hosts::Host)) {
    for case in CASES.iter().filter(|case| case.policy().mounts.iter().any(is_tree)) {
        for host in HOSTS {
            if Run::new(case, host, (1, 0)).plan().is_some() {
                check(&format!("{} on {}", case.name, host.name), case, host);
            }
        }
    }
}

/// Whether a plan names no run, and has a view.
fn is_repeatable(plan: &Plan) -> bool {
    plan.opening.namespaces.is_some() && !format!("{:?}", plan.prepare).contains("Cgroup")
}

#[test]
fn another_tree_makes_the_plan_that_it_would_have() {
    let tried = std::cell::Cell::new(0);
    each(|name, case, host| {
        for layers in [0, 1, 3] {
            let (old, new) = (Run::new(case, host, (1, layers)), Run::new(case, host, (3, layers)));
            let (mut plan, wanted) = (old.plan().expect("a plan"), new.plan().expect("a plan"));
            assert_ne!(plan, wanted, "{name}");
            if !is_repeatable(&plan) {
                continue;
            }
            assert!(new.show_in(&mut plan), "{name}, {layers} layers");
            assert_eq!(plan, wanted, "{name}, {layers} layers");
            assert!(old.show_in(&mut plan), "and back: {name}");
            assert_eq!(Some(plan), old.plan(), "{name}");
            tried.set(tried.get() + 1);
        }
    });
    assert!(tried.get() >= 30, "{}", tried.get());
}

/// What is another run in more than its tree is refused, and nothing is changed.
#[test]
fn what_differs_in_more_is_planned_anew() {
    let refused = |name: &str, old: &Run, new: &Run| {
        let plan = old.plan().expect("a plan");
        let mut changed = plan.clone();
        assert!(!new.show_in(&mut changed), "{name}");
        assert_eq!(changed, plan, "{name}");
    };
    each(|name, case, host| {
        let new = |shape| Run::new(case, host, shape);
        refused(&format!("{name}: layers"), &new((1, 0)), &new((2, 1)));
        refused(&format!("{name}: number of layers"), &new((1, 2)), &new((2, 3)));
        let mut other = new((2, 0));
        other.request.argv = vec!["another".into()];
        refused(&format!("{name}: command"), &new((1, 0)), &other);
        let mut other = new((2, 0));
        for fact in other.host.trees.values_mut().flatten() {
            fact.presented_as = match &fact.presented_as {
                Presented::Copy(_) => Presented::Stubs { data: fact.root.clone() },
                Presented::Stubs { .. } => Presented::Copy(WhyCopied::Refused),
            };
        }
        refused(&format!("{name}: presented"), &new((1, 0)), &other);
        let mut told = new((1, 0));
        told.request.is_repeatable = false;
        refused(&format!("{name}: name of the run"), &told, &new((2, 0)));
    });
}
