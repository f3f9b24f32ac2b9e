//! Of two mounts that links bring to one place, which one stands there.

use endow_policy::{MountClass, MountOptions, Origin};

use super::PlanError;
use super::place::Placed;

/// A mount, and whether its place is the one that it was given, and not where a link led.
pub(super) struct Brought {
    pub(super) placed: Placed,
    pub(super) is_by_name: bool,
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
pub(super) fn keep_stronger(mut all: Vec<Brought>) -> Result<Vec<Placed>, PlanError> {
    all.sort_by(|one, other| one.placed.spec.at.cmp(&other.placed.spec.at));
    let mut kept: Vec<Brought> = Vec::with_capacity(all.len());
    for next in all {
        match kept.last_mut().filter(|last| last.placed.spec.at == next.placed.spec.at) {
            None => kept.push(next),
            Some(last) if is_stronger(&next, last)? => *last = next,
            Some(_) => {}
        }
    }
    Ok(kept.into_iter().map(|it| it.placed).collect())
}

fn is_stronger(next: &Brought, last: &Brought) -> Result<bool, PlanError> {
    let layers = [next, last].map(|it| Layer::of(&it.placed.spec.origin));
    let [next_spec, last_spec] = [next, last].map(|it| &it.placed.spec);
    if layers == [Layer::Base; 2] {
        return Ok(next_spec.access > last_spec.access);
    }
    // A grant of the workspace's directory says more of it than what the workspace is.
    let strength = |it: &Brought, layer: Layer| {
        (layer, it.placed.spec.class != MountClass::Workspace, it.is_by_name)
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
