//! Tests of the policy crate through its public interface.

mod bad_files;
mod bridges;
mod flags;
mod harness;
mod layers;
mod learn;
mod learn_edit;
mod learn_world;
mod network;
mod network_properties;
mod network_words;
mod parse;
mod project_tables;
mod resolve;
#[cfg(feature = "schema")]
mod schema;
mod secrets;
mod ssh_agent;
mod trust;
mod trust_mounts;
