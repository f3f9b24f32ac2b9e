//! What stands where: the mount table of a sandbox and the file trees behind it.
