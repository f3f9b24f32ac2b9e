//! BuildGrid's server.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use crate::harness::{Running, World, soon};
use crate::work::provisioned;

/// Contents in files, results in memory.
const SETTINGS: &str = "server:
  - !channel
    address: 127.0.0.1:PORT
    insecure-mode: true
description: a test's
authorization:
  method: none
monitoring:
  enabled: false
instances:
  - name: ''
    description: the only one
    storages:
      - !disk-storage &storage
        path: CONTENTS
    caches:
      - !lru-action-cache &cache
        storage: *storage
        max-cached-refs: 256
        allow-updates: true
        cache-failed-actions: false
    services:
      - !action-cache
        cache: *cache
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
thread-pool-size: 16
";

/// The server, whose files are in a world.
pub(crate) struct BuildGrid {
    port: u16,
    contents: PathBuf,
    _running: Running,
}

impl BuildGrid {
    /// Starts one; says so when it can't be.
    pub(crate) fn start(world: &World) -> Option<Self> {
        let site = provisioned("buildgrid/site")?;
        let contents = world.root().join("buildgrid");
        // It has no way to say which one it got.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = free.expect("a port").port();
        let settings = SETTINGS.replace("PORT", &port.to_string());
        let settings = settings.replace("CONTENTS", &contents.display().to_string());
        let settings = world.write("buildgrid.yml", &settings);
        let mut command = world.command("/usr/bin/python3");
        command.arg(site.join("bin/bgd")).args(["server", "start"]).arg(settings);
        let running = Running::start(command.env("PYTHONPATH", &site).env("LANG", "C.UTF-8"));
        soon("BuildGrid listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { port, contents, _running: running })
    }

    pub(crate) fn url(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// Returns where its contents are.
    pub(crate) fn contents(&self) -> PathBuf {
        self.contents.clone()
    }
}
