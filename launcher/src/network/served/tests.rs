//! How many connections are taken.

use std::net::{TcpListener, TcpStream};

use endow_policy::Network;

use super::*;
use crate::network::dns::upstream::ResolverConfig;

#[test]
fn sockets_with_news_at_once_take_no_more_than_there_may_be() {
    let upstream = Upstream::new(ResolverConfig::new("", "")).expect("made");
    let nearby = Surroundings::new().expect("read");
    let mut served = Served::new(Network::default(), upstream, nearby).expect("made");
    served.connections_max = 1;
    let far = TcpListener::bind("127.0.0.1:0").expect("bound");
    let target = Target::HostLoopback(far.local_addr().expect("an address").port());
    let mut connect = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        listener.set_nonblocking(true).expect("set");
        let client = TcpStream::connect(listener.local_addr().expect("an address"));
        served.listeners.add(&served.poll, listener.into(), target.clone()).expect("watched");
        client.expect("connected")
    };
    let _clients = [connect(), connect(), connect()];
    served.look(None);
    assert_eq!(served.relay.len() + served.outgoing.len(), 1);
}
