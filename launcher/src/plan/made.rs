//! Files that endow makes in places of its own choice: where a mount of the host stands, or a link of
//! the host leads, that counts and nothing is made.

use endow_policy::{BackendSpec, Made};

use super::place::{Placed, Placement};

/// Returns whether a mount is a file that endow makes in a place of its own choice, where there is no room for it.
pub(super) fn is_without_room(placed: &Placed, placement: &Placement) -> bool {
    let at = &placed.spec.at;
    let has_room = || at.parent().is_some_and(|above| placement.is_writable_and_empty(&above));
    let is_covered = || placement.above(at).is_some() && !has_room();
    match placed.spec.backend {
        BackendSpec::Made { made: Made::Readme | Made::Gitignore } => is_covered(),
        BackendSpec::Made { made: Made::Codex | Made::Claude } => {
            is_covered() || placement.links.keys().any(|link| at.is_within(link))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use endow_policy::{Access, GuestPath, HostPath, MountClass, MountOptions, MountSpec, Origin};

    use super::*;

    fn at(path: &str) -> GuestPath {
        GuestPath::new(path).expect("a path")
    }

    fn placed(path: &str, backend: BackendSpec) -> Placed {
        let spec = MountSpec {
            at: at(path),
            backend,
            access: Access::Ro,
            options: MountOptions::default(),
            class: MountClass::System,
            origin: Origin::Default,
        };
        Placed { spec, source: None, tree: None }
    }

    #[test]
    fn settings_of_the_machine_count() {
        let file = placed("/etc/x/settings", BackendSpec::Made { made: Made::Claude });
        let host =
            |path: &str| BackendSpec::Physical { host: HostPath::new(path).expect("a path") };
        let with = |mounts: &[Placed], links: &[&str]| {
            let all = mounts.iter().chain([&file]).cloned().collect();
            let mut placement = Placement::default().with_mounts(all, Vec::new());
            placement.links.extend(links.iter().map(|link| (at(link), "/opt/x".into())));
            is_without_room(&file, &placement)
        };
        assert!(!with(&[], &[]) && !with(&[placed("/etc/y", host("/etc/y"))], &["/etc/y"]));
        assert!(with(&[placed("/etc/x", host("/etc/x"))], &[]));
        assert!(with(&[placed("/etc", host("/etc"))], &[]));
        assert!(with(&[placed("/opt/x", host("/opt/x"))], &["/etc/x"]), "it is there by a link");
    }
}
