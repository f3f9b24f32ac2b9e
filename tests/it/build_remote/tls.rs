//! TLS: who the server is, and who asks.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::server::Server;
use crate::build_shared::{Builder, SCRIPT};
use crate::harness::World;

/// One who says who others are.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Writes a certificate for a name, and its key.
    fn write(&self, world: &World, name: &str) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        world.write(format!("{name}.crt"), &certificate.pem());
        world.write(format!("{name}.key"), &key.serialize_pem());
    }
}

#[test]
fn server_and_client_know_each_other_by_certificates() {
    let world = World::new();
    let (ours, theirs) = (Authority::new(), Authority::new());
    let path = |name: &str| world.root().join(name).display().to_string();
    world.write("ca", &ours.0.pem());
    world.write("other-ca", &theirs.0.pem());
    ours.write(&world, "localhost");
    ours.write(&world, "client");
    theirs.write(&world, "stranger");
    let secrets = ["", &path("localhost.crt"), &path("localhost.key"), &path("ca")];
    let Some(server) = Server::start_at(&world, "127.0.0.1:0", &secrets) else { return };
    let built = |host: &str, ca: &str, client: &str| {
        let builder = Builder::at("");
        let text = format!(
            "version = 1\n[remote]\nurl = \"grpcs://{host}:{}\"\nca = \"{}\"\n{}",
            server.port(),
            path(ca),
            match client {
                "" => String::new(),
                name => format!("cert = \"{}.crt\"\nkey = \"{}.key\"\n", path(name), path(name)),
            }
        );
        let file = builder.project.world.write("policy", &text).display().to_string();
        let said = builder.build_with(&["-p", &file], SCRIPT);
        (builder.executed(&said), said.stderr)
    };
    assert!(built("localhost", "ca", "client").0);
    let (executed, told) = built("localhost", "ca", "client");
    assert!(!executed, "it is shared: {told}");
    for (host, ca, client) in [
        ("localhost", "other-ca", "client"),
        ("127.0.0.1", "ca", "client"),
        ("localhost", "ca", "stranger"),
        ("localhost", "ca", ""),
    ] {
        let (executed, told) = built(host, ca, client);
        let refused = executed && told.contains("the remote cache is not used");
        assert!(refused, "{host} {ca} {client}: {told}");
    }
}
