# Shared memory and queues of the host: their number, key and names are given.
shm, key, queue, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode(), sys.argv[4]


def error():
    raise OSError(ctypes.get_errno(), "ipc")


attempt("shmat", lambda: libc.shmat(shm, None, 0o10000) == -1 and error())
attempt("shmget", lambda: libc.shmget(key, 1, 0) == -1 and error())
attempt("mq_open", lambda: call(240, 180, queue, 0, 0, 0))
attempt("shm_open", lambda: os.close(os.open("/dev/shm/" + name, os.O_RDONLY)))
