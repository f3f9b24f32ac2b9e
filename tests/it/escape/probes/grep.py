# Looks for words, given in hexadecimal, in every file below /proc that can be read.
words = [bytes.fromhex(word) for word in sys.argv[1:]]
found, read = set(), 0
for above, _, names in os.walk("/proc"):
    for path in (os.path.join(above, name) for name in names):
        text = b""
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            while len(text) < 1 << 20:
                part = os.read(file, 65536)
                if not part:
                    break
                text += part
        except OSError:
            pass
        os.close(file)
        read += 1
        found.update((os.path.basename(path), number)
                     for number, word in enumerate(words) if word in text)
print("enough", "ok" if read > 100 else read)
for name, number in sorted(found):
    print("%s-%d" % (name, number), "found")
