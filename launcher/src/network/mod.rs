//! The network of a sandbox, served from outside: names, connections, ports.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the relay that asks and answers is not joined to it yet")
)]
pub(crate) mod dns;
