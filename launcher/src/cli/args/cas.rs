//! The arguments of `endow cas`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Style;

/// `endow cas`
#[derive(Args, Debug)]
pub(crate) struct CasArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(subcommand)]
    pub(crate) command: CasCommand,
}

/// The commands of `endow cas`.
#[derive(Debug, Subcommand)]
pub(crate) enum CasCommand {
    /// Put files and directories into the store and print the digest of each
    Put {
        /// Keep them until the name is released
        #[arg(long, value_name = "NAME")]
        retain: Option<String>,
        /// A file, a directory, or `-` for what is read from stdin
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Make a tree of the store a directory of yours
    Get {
        /// The digest of the tree
        digest: String,
        /// The directory to make
        directory: PathBuf,
    },
    /// List a tree, or a directory of it
    Ls {
        /// List what is in the directories, too
        #[arg(short, long)]
        recursive: bool,
        /// The digest of the tree
        digest: String,
        /// A directory of it
        path: Option<PathBuf>,
    },
    /// Print a content, or a file of a tree
    Cat {
        /// The digest of the content, or of the tree
        digest: String,
        /// A file of the tree
        path: Option<PathBuf>,
    },
    /// Compare contents with their digests and trees with their names; what is damaged is removed
    Verify {
        /// Contents; left out, all of them and all cached trees
        #[arg(value_name = "DIGEST")]
        digests: Vec<String>,
    },
    /// Keep contents, and the trees that they name, until the name is released
    Retain {
        /// The name; what it kept before is kept no longer
        name: String,
        /// What is kept
        #[arg(required = true, value_name = "DIGEST")]
        digests: Vec<String>,
    },
    /// Keep what a name kept no longer
    Release {
        /// The name
        name: String,
    },
    /// Copy contents, and the trees that they name, out of another store
    Import {
        /// The directory of a Bazel disk cache, a BuildBox store or an OCI image
        store: PathBuf,
        /// What is copied
        #[arg(required = true, value_name = "DIGEST")]
        digests: Vec<String>,
    },
    /// Remove what was not used for longest, until store and cached trees are small enough
    Gc {
        /// The bytes that each of the two may take; left out, `cache` in `[state]` of the policy
        #[arg(long, value_name = "SIZE")]
        max_size: Option<String>,
    },
}
