//! A server that can be told what to do wrong.

use std::fs;
use std::process::Stdio;

use crate::harness::{Running, World};
use crate::work::provisioned;

const SERVER: &str = include_str!("server.py");

/// The server, whose files are in a world.
pub(super) struct Server<'w> {
    world: &'w World,
    port: String,
    _running: Running,
}

impl<'w> Server<'w> {
    /// Starts one; says so when it can't be.
    pub(super) fn start(world: &'w World) -> Option<Self> {
        Self::start_at(world, "127.0.0.1:0", &[])
    }

    /// Starts one at an address, with what it asks for.
    pub(super) fn start_at(world: &'w World, address: &str, secrets: &[&str]) -> Option<Self> {
        let site = provisioned("casd/site")?;
        let script = world.write("server.py", SERVER);
        world.write("fault", "");
        world.write("calls", "");
        let mut command = world.command("/usr/bin/python3");
        command.arg(script).arg(site).arg(address).arg(world.root()).args(secrets);
        let running = Running::start(command.stdin(Stdio::null()));
        let port = running.line();
        Some(Self { world, port, _running: running })
    }

    pub(super) fn url(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    pub(super) fn port(&self) -> &str {
        &self.port
    }

    /// Has it do something wrong from now on.
    pub(super) fn fault(&self, word: &str) {
        self.world.write("fault", word);
    }

    /// Returns what it was asked, a line a call.
    pub(super) fn calls(&self) -> String {
        fs::read_to_string(self.world.root().join("calls")).expect("calls")
    }
}
