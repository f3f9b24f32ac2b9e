# Memory, semaphores and queues of a process outside: numbers, the key of all and the name of all.
shm, sem, msg, key = (int(it) for it in sys.argv[1:5])
name = sys.argv[5]
libc.shmat.restype = ctypes.c_void_p


def made(result):
    if result in (-1, None) or result == (1 << 64) - 1:
        raise OSError(ctypes.get_errno(), "ipc")


def listed():
    text = open("/proc/sysvipc/shm").read()
    return "ok" if str(key) in text or str(ctypes.c_int(key).value) in text else "absent"


attempt("shm-by-number", lambda: made(libc.shmat(shm, None, 0)))
attempt("shm-by-key", lambda: made(libc.shmget(key, 1, 0)))
attempt("shm-listed", listed)
attempt("shm-removed", lambda: made(libc.shmctl(shm, 0, None)))
attempt("sem-by-number", lambda: made(libc.semctl(sem, 0, 16, 1)))
attempt("sem-by-key", lambda: made(libc.semget(key, 1, 0)))
attempt("msg-by-number", lambda: made(libc.msgsnd(msg, ctypes.c_buffer(b"\1" + bytes(15)), 4, 0)))
attempt("msg-by-key", lambda: made(libc.msgget(key, 0)))
attempt("mq_open", lambda: call(240, 180, name.encode(), 0, 0, 0))
attempt("mq_unlink", lambda: call(241, 181, name.encode()))
attempt("shm_open", lambda: os.close(os.open("/dev/shm/" + name, os.O_RDONLY)))
attempt("shm_unlink", lambda: os.unlink("/dev/shm/" + name))
