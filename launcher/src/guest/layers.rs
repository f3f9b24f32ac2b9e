//! How many Landlock layers hold this process.

/// The most layers that the kernel stacks on one process.
const LAYERS_MAX: usize = 16;

/// Counts the layers that held this process before, by adding empty ones until no more fit: the
/// kernel has no question for it. Everything that this process does afterwards is held by them.
pub(crate) fn layers_by_trying() -> usize {
    let added = (0..LAYERS_MAX).take_while(|_| add_layer().is_ok()).count();
    LAYERS_MAX - added
}

fn add_layer() -> Result<(), landlock::RulesetError> {
    use landlock::{AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let created = ruleset.handle_access(AccessFs::MakeBlock)?.create()?;
    created.set_compatibility(CompatLevel::HardRequirement).restrict_self().map(drop)
}
