//! What processes share without files: memory, queues and semaphores of System V and POSIX.

use super::attack::{Control::*, Group, PLAIN, Together};

attacks! {
    Group {
        probe: include_str!("probes/ipc.py"),
        about: |scene, _| scene.facts(&["shm", "sem", "msg", "key", "name"]),
        together: Together::Inside,
        ..PLAIN
    };
    shm_by_number: "attaching memory of System V by its number", Succeeds, &["EINVAL"];
    shm_by_key: "attaching it by its key", Succeeds, &["ENOENT"];
    shm_listed: "reading a list of all such memory", Succeeds, &["absent"];
    shm_removed: "removing it", Succeeds, &["EINVAL"];
    sem_by_number: "changing semaphores by their number", Succeeds, &["EINVAL"];
    sem_by_key: "finding them by their key", Succeeds, &["ENOENT"];
    msg_by_number: "sending to a queue of System V by its number", Succeeds, &["EINVAL"];
    msg_by_key: "finding it by its key", Succeeds, &["ENOENT"];
    mq_open: "opening a POSIX queue", Succeeds, &["ENOENT"];
    mq_unlink: "removing a POSIX queue", Succeeds, &["ENOENT"];
    shm_open: "opening POSIX memory", Succeeds, &["ENOENT"];
    shm_unlink: "removing POSIX memory", Succeeds, &["ENOENT"];
}
