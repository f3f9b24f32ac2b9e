//! An authority of the world's own, and the certificate of its servers.

use std::path::PathBuf;

use crate::harness::{World, said};

/// What the certificate of every TLS server names.
const NAMES: &str = "subjectAltName=DNS:example.test,DNS:*.example.test";

/// Makes `keys/ca.crt` and what the servers prove themselves with.
pub(super) fn make(files: &World) {
    std::fs::create_dir_all(files.root().join("keys")).expect("a directory");
    let authority = "req -x509 -subj /CN=tests -keyout keys/ca.secret -out keys/ca.crt";
    openssl(files, authority, &["keyUsage=keyCertSign"]);
    let server = "req -x509 -subj /CN=servers -keyout keys/server.secret -out keys/server.crt \
                  -CA keys/ca.crt -CAkey keys/ca.secret";
    openssl(files, server, &[NAMES, "basicConstraints=CA:FALSE"]);
}

fn openssl(files: &World, arguments: &str, extensions: &[&str]) {
    let mut command = files.command("openssl");
    command.current_dir(files.root()).args(arguments.split_whitespace());
    command.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    command.args(["-days", "36500"]);
    command.args(extensions.iter().flat_map(|it| ["-addext", it]));
    said(&mut command).ok();
}

/// Returns the certificate that clients must trust.
pub(in crate::network) fn authority(files: &World) -> PathBuf {
    files.root().join("keys/ca.crt")
}
