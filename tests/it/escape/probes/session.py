# Joins a session keyring, puts a key into it and one into the user's, and becomes what is asked
# for, with their name and the number of the first as last arguments.
name = "endow-it-%d" % os.getpid()
call(250, 219, 1, ctypes.c_void_p(None))
call(250, 219, 8, -4, -3)
serial = call(248, 217, b"user", name.encode(), b"canary-key", 10, -3)
other = call(248, 217, b"user", name.encode() + b"-u", b"canary-key", 10, -4)
call(250, 219, 15, other, 60)
os.execvp(sys.argv[1], sys.argv[1:] + [name, str(serial)])
