//! Git repositories, from objects to names.

mod delta;
mod index;
mod object;
mod pack;
mod ref_names;
mod tree_model;
mod tree_objects;

pub(crate) use ref_names::ref_names;
pub(crate) use tree_objects::tree_objects;
