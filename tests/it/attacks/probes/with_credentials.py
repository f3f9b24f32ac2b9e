# Puts credentials into the settings of repositories in ROOT, and becomes the command that follows.
root = os.environ["ROOT"]
project = root + "/home/project/"
HEADER = "[http]\n\textraheader = AUTHORIZATION: basic canary\n"


def add(path, text=HEADER):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write(text)


def repository(path):
    add(path + "/HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        os.makedirs(path + "/" + name, exist_ok=True)
    return path


add(project + ".git/config", HEADER + '[remote "origin"]\n\turl = https://user:canary-word@example.com/a.git\n')
add(project + ".git/config", '[url "https://canary-token@example.com/"]\n\tinsteadOf = https://example.com/\n')
add(project + ".git/config.worktree")
add(repository(project + "below/nested/.git") + "/config")
add(repository(project + ".git/modules/part/of") + "/config")
add(repository(project + "below/bare") + "/config")
add(project + "below/settings")
os.symlink("../../settings", repository(project + "below/linked/.git") + "/config")
os.execvp(sys.argv[1], sys.argv[1:])
