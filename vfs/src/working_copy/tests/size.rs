//! What a capture costs.

use super::*;
use crate::fs::faulty::FaultyFs;

/// A repository with so many directories of a hundred files each, and a hundred edits in ten of
/// them; returns how many calls the capture makes.
fn calls(directories: usize) -> usize {
    let script = format!(
        "i=0; while [ $i -lt {directories} ]; do mkdir -p d$((i/20))/$i; cd d$((i/20))/$i\n\
         j=0; while [ $j -lt 100 ]; do echo $i.$j > f$j; j=$((j+1)); done; cd ../..; i=$((i+1)); done\n\
         git add -A; git commit -qm all; git gc -q"
    );
    let world = World::small(&script);
    world.run("for i in 0 1 2 3 4 5 6 7 8 9; do for j in 0 1 2 3 4 5 6 7 8 9; do echo x$i.$j > d0/$i/f$j; done; done");
    let (fs, upper, staging) = (FaultyFs::counting(), world.open("upper"), world.open("staging"));
    let guest = world.guest();
    let source = world.source((&upper, &staging), guest.as_ref(), Taken::Unignored);
    let begin = std::time::Instant::now();
    let captured = capture(&fs, &source).expect("captured");
    println!("{directories} directories: {:?}", begin.elapsed());
    assert_eq!((captured.changed, captured.objects), (100, 113));
    fs.calls()
}

#[test]
fn capture_costs_what_was_changed() {
    let [small, large] = [20, 60].map(calls);
    // How a tree is compressed may take a write more.
    assert!(small.abs_diff(large) < 10, "{small} {large}");
}
