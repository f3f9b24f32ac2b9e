//! Of two mounts that links bring to one place, which one stands there.

use endow_policy::{GuestPath, MountClass, MountOptions, Origin};

use super::PlanError;
use super::place::Placed;

/// A mount, and the place that it was given.
pub(super) struct Brought {
    pub(super) placed: Placed,
    pub(super) named: GuestPath,
}

impl Brought {
    /// Whether it stands where it was named, and not where a link led.
    fn is_by_name(&self) -> bool {
        self.placed.spec.at == self.named
    }
}

/// Who asked for a mount, the strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    /// Nobody: it is endow's own.
    Base,
    Profile,
    File,
    Flag,
}

impl Layer {
    fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Profile { name } if &**name == "base" => Self::Base,
            Origin::Default | Origin::Settings { .. } | Origin::Link { .. } => Self::Base,
            Origin::Profile { .. } => Self::Profile,
            Origin::File { .. } => Self::File,
            Origin::Flag(_) => Self::Flag,
            Origin::Word { entry, .. } => Self::of(entry),
        }
    }
}

/// Keeps one mount of each place, in the order of places: what the stronger source granted, and of one source
/// what was granted by name.
pub(super) fn keep_stronger(
    mut all: Vec<Brought>,
    start: &GuestPath,
) -> Result<Vec<Placed>, PlanError> {
    let is_workspace = |it: &&Brought| it.placed.spec.class == MountClass::Workspace;
    let workspaces: Vec<_> =
        all.iter().filter(is_workspace).map(|it| it.placed.spec.at.clone()).collect();
    all.sort_by(|one, other| one.placed.spec.at.cmp(&other.placed.spec.at));
    let mut kept: Vec<Brought> = Vec::with_capacity(all.len());
    for next in all {
        match kept.last_mut().filter(|last| last.placed.spec.at == next.placed.spec.at) {
            None => kept.push(next),
            Some(last) if is_stronger(&next, last)? => *last = next,
            Some(_) => {}
        }
    }
    kept.iter().try_for_each(|it| check_work(it, &workspaces, start))?;
    Ok(kept.into_iter().map(|it| it.placed).collect())
}

/// Refuses an empty directory that a link brought over the workspace, or over the start in it: what the command does
/// there would be lost, and nobody has named the place.
fn check_work(it: &Brought, workspaces: &[GuestPath], start: &GuestPath) -> Result<(), PlanError> {
    let spec = &it.placed.spec;
    let is_over = |root: &GuestPath| {
        spec.at == *root || (spec.at.is_within(root) && start.is_within(&spec.at))
    };
    let is_brought = !it.is_by_name() && Layer::of(&spec.origin) != Layer::Base;
    if !is_brought || !spec.backend.is_made_empty() || !workspaces.iter().any(is_over) {
        return Ok(());
    }
    Err(PlanError::EmptiedByLink {
        link: it.named.clone(),
        to: spec.at.clone(),
        origin: spec.origin.clone(),
    })
}

fn is_stronger(next: &Brought, last: &Brought) -> Result<bool, PlanError> {
    let layers = [next, last].map(|it| Layer::of(&it.placed.spec.origin));
    let [next_spec, last_spec] = [next, last].map(|it| &it.placed.spec);
    if layers == [Layer::Base; 2] {
        return Ok(next_spec.access > last_spec.access);
    }
    // A grant of the workspace's directory says more of it than what the workspace is.
    let strength = |it: &Brought, layer: Layer| {
        (layer, it.placed.spec.class != MountClass::Workspace, it.is_by_name())
    };
    let (one, other) = (strength(next, layers[0]), strength(last, layers[1]));
    // Which of two files is the stronger is not known here.
    let is_told = one.0 != other.0 || !are_of_two_files(&next_spec.origin, &last_spec.origin);
    if is_told && one != other {
        return Ok(one > other);
    }
    if layers[0] == Layer::Profile || shows_the_same(&next.placed, &last.placed) {
        return Ok(next_spec.access > last_spec.access);
    }
    Err(PlanError::MountedTwice {
        at: next_spec.at.clone(),
        first: last_spec.origin.clone(),
        second: next_spec.origin.clone(),
    })
}

fn are_of_two_files(one: &Origin, other: &Origin) -> bool {
    let file = |origin: &Origin| match origin {
        Origin::File { name, .. } => Some(std::sync::Arc::clone(name)),
        _ => None,
    };
    file(one).is_some() && file(other).is_some() && file(one) != file(other)
}

fn shows_the_same(one: &Placed, other: &Placed) -> bool {
    let source = |placed: &Placed| placed.source.as_ref().map(|source| source.path.clone());
    // Both have something to show.
    let options = |placed: &Placed| MountOptions { optional: false, ..placed.spec.options };
    one.spec.access == other.spec.access
        && options(one) == options(other)
        && one.is_physical()
        && other.is_physical()
        && source(one) == source(other)
}

#[cfg(test)]
mod tests {
    use endow_policy::{Access, BackendSpec, HostPath, MountSpec};

    use super::*;

    fn at(path: &str) -> GuestPath {
        GuestPath::new(path).expect("absolute")
    }

    fn brought(named: &str, place: &str, is_workspace: bool) -> Brought {
        let host = HostPath::new(place).expect("absolute");
        let backend = BackendSpec::Physical { host };
        let private =
            BackendSpec::Private { seed: Vec::new(), write_back: Vec::new(), mode: 0o700 };
        let file = Origin::File { name: "endow.toml".into(), line: 3 };
        let spec = MountSpec {
            at: at(place),
            backend: if is_workspace { backend } else { private },
            access: Access::Cow,
            options: MountOptions::default(),
            class: if is_workspace { MountClass::Workspace } else { MountClass::Granted },
            origin: if is_workspace { Origin::Default } else { file },
        };
        Brought { placed: Placed { spec, source: None, tree: None }, named: at(named) }
    }

    /// Returns whether a private directory of a file may stand where a link leads, in a run that starts below `/x`.
    fn may_stand(named: &str, place: &str) -> bool {
        let all = vec![brought("/x", "/x", true), brought(named, place, false)];
        keep_stronger(all, &at("/x/a/b")).is_ok()
    }

    #[test]
    fn no_link_empties_what_the_command_works_on() {
        for place in ["/x", "/x/a", "/x/a/b"] {
            assert!(!may_stand("/x/link", place), "{place}");
            assert!(may_stand(place, place), "control: {place}");
        }
        for place in ["/y", "/x/other", "/x/a/b/c"] {
            assert!(may_stand("/x/link", place), "control: {place}");
        }
    }
}
