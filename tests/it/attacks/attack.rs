//! An attack, and how it is made: without a sandbox, then in each kind of one.

use super::kinds::Kind;
use super::made::made;
use super::scene::{Scene, is_root};

/// What is common to the attacks of one table.
pub(super) struct Group {
    /// The probe that makes all of them.
    pub(super) probe: &'static str,
    /// Its arguments: those of a sandbox, or of the control.
    pub(super) about: fn(&Scene, Where) -> Vec<String>,
    /// A script that prepares something and becomes the command that follows it.
    pub(super) before: Option<&'static str>,
    /// Options of `endow run`, after those of the kind.
    pub(super) options: &'static [&'static str],
    /// The kinds of sandbox that it is for.
    pub(super) kinds: &'static [Kind],
    /// What shows that one succeeded.
    pub(super) proof: Proof,
    /// Where one process may make all of them, one after the other.
    pub(super) together: Together,
}

/// Where all attacks of a table can be made by one process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// Nowhere: one leaves what is in the way of the next.
    Nowhere,
    /// Inside, where they are refused.
    Inside,
    /// Also without a sandbox.
    Anywhere,
}

/// Where an attack is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Where {
    /// Without a sandbox.
    Control,
    /// As the root of namespaces of its own, which is a control too.
    OwnNamespaces,
    /// In a sandbox.
    Inside(Kind),
}

impl Where {
    /// Returns where the project is there.
    pub(super) fn project(self, scene: &Scene) -> String {
        match self {
            Self::Inside(kind) => kind.project(scene),
            Self::Control | Self::OwnNamespaces => scene.path("home/project"),
        }
    }
}

/// What shows that an attack succeeded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// What it says itself: `ok`.
    Said,
    /// What the same probe finds outside afterwards, asked with `left:` before the name.
    Left,
}

/// What becomes of an attack without a sandbox.
#[derive(Clone, Copy)]
pub(super) enum Control {
    /// It succeeds.
    Succeeds,
    /// It succeeds for the root of a user namespace of its own, and for nobody else.
    AsRootOfNamespaces,
    /// It succeeds as root; an ordinary user has not the right.
    AsRoot,
    /// It succeeds where the kernel has what it is about, and fails in this way where not.
    WhereThere(&'static str),
    /// It is not made, by this reason.
    Not(&'static str),
}

/// One attack.
pub(super) struct Attack {
    /// Its name, and that of its test.
    pub(super) name: &'static str,
    /// What is tried.
    pub(super) what: &'static str,
    /// What becomes of it without a sandbox.
    pub(super) control: Control,
    /// What it may say in a sandbox.
    pub(super) refused: &'static [&'static str],
}

/// Makes the table of a file, and a test of each attack in it.
macro_rules! attacks {
    ($group:expr; $($name:ident: $what:literal, $control:expr, $refused:expr;)+) => {
        const GROUP: $crate::attacks::attack::Group = $group;

        pub(super) const ATTACKS: &[$crate::attacks::attack::Attack] = &[$(
            $crate::attacks::attack::Attack {
                name: stringify!($name),
                what: $what,
                control: $control,
                refused: $refused,
            }
        ),+];

        $(#[test]
        fn $name() {
            let attack = ATTACKS.iter().find(|it| it.name == stringify!($name));
            attack.expect("the attack of this name").is_refused(ATTACKS, &GROUP);
        })+
    };
}

/// A group without anything of its own.
pub(super) const PLAIN: Group = Group {
    probe: "",
    about: |_, _| Vec::new(),
    before: None,
    options: &[],
    kinds: super::kinds::KINDS,
    proof: Proof::Said,
    together: Together::Anywhere,
};

/// The table of a file.
pub(super) type Table = &'static [Attack];

/// What an attack is said to say whose run was refused, as this host can't enforce what is asked for.
pub(super) const NOT_STARTED: &str = "not-started";
const WORKED: [&str; 2] = ["ok", "secret"];

impl Attack {
    /// Shows that it works without a sandbox and is refused in each kind.
    #[track_caller]
    pub(super) fn is_refused(&self, table: Table, group: &Group) {
        if let Some(at) = self.control() {
            let word = made(table, group, self, at);
            assert!(self.works_so(&word), "{} without a sandbox says {word}", self.name);
        }
        for kind in group.kinds {
            let word = made(table, group, self, Where::Inside(*kind));
            assert!(self.refused.contains(&&*word), "{} in {kind:?} says {word}", self.name);
        }
    }

    /// Returns where it is made to show that it works, if anywhere.
    pub(super) fn control(&self) -> Option<Where> {
        match self.control {
            Control::Not(_) => None,
            Control::AsRoot if !is_root() => None,
            Control::AsRootOfNamespaces => Some(Where::OwnNamespaces),
            Control::Succeeds | Control::AsRoot | Control::WhereThere(_) => Some(Where::Control),
        }
    }

    fn works_so(&self, word: &str) -> bool {
        let absent = match self.control {
            Control::WhereThere(absent) => absent,
            _ => "",
        };
        WORKED.contains(&word) || absent.split(' ').any(|it| it == word)
    }
}
