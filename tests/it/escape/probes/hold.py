# Makes what the probe of shared things looks for, says their names, and holds them.
KEY, IPC_CREAT = 0x65000000 | os.getpid(), 0o1000
shm = libc.shmget(KEY, 4096, IPC_CREAT | 0o600)
name = "endow-it-%d" % os.getpid()
queue = call(240, 180, name.encode(), os.O_CREAT | os.O_RDWR, 0o600, 0)
open("/dev/shm/" + name, "w").close()
print(shm, KEY, name, name, flush=True)
sys.stdin.read()
libc.shmctl(shm, 0, None)
call(241, 181, name.encode())
os.unlink("/dev/shm/" + name)
