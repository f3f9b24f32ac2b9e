//! Making it so: from a policy to a kernel-enforced view, and a supervisor outside it.
pub mod plan;
