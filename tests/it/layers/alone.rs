//! The three ways in which each attack is run.

use crate::escape::prober::{Attempts, script};
use crate::harness::World;

/// An attack: one attempt of a probe, which succeeds when it says the word.
pub(super) struct Attack<'a> {
    /// Options before `--`.
    pub(super) options: &'a [&'a str],
    /// The probe's script.
    pub(super) probe: &'a str,
    /// Its arguments.
    pub(super) about: &'a [&'a str],
    /// The attempt that counts.
    pub(super) attempt: &'a str,
    /// What it says when the attack works.
    pub(super) works: &'a str,
}

impl Attack<'_> {
    /// Returns whether the attack works with these layers taken away.
    fn works(&self, world: &World, without: &[&str]) -> (bool, Attempts) {
        let mut command = world.endow(["run"]);
        command.args(self.options);
        command.args(without.iter().flat_map(|layer| ["--test-without", layer]));
        command.arg("--").args(script(self.probe, self.about));
        let attempts = Attempts::of(&mut command);
        (attempts.get(self.attempt) == self.works, attempts)
    }

    /// Asserts that each of `layers` holds while all the others are taken away, and that without
    /// any of them the attack works. `open` are layers that are in the way of trying at all.
    #[track_caller]
    pub(super) fn is_refused_by_each(&self, world: &World, layers: &[&str], open: &[&str]) {
        let (works, attempts) = self.works(world, &[]);
        assert!(!works, "{} with all layers: {attempts:?}", self.attempt);
        for layer in layers {
            let others = layers.iter().filter(|other| *other != layer).chain(open);
            let others: Vec<&str> = others.copied().collect();
            let (works, attempts) = self.works(world, &others);
            assert!(!works, "{} with {layer} alone: {attempts:?}", self.attempt);
        }
        let all: Vec<&str> = layers.iter().chain(open).copied().collect();
        let (works, attempts) = self.works(world, &all);
        assert!(works, "{} without any layer does not work: {attempts:?}", self.attempt);
    }
}
