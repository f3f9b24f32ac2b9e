"""A cache of the Remote Execution API that tells what it is asked and can be told to fail.

`server.py SITE ADDRESS DIR [TOKEN [CERT KEY CA]]`: SITE is where BuildStream lies, whose messages are used.
In DIR it reads before each call what to do wrong (`fault`), and notes each call (`calls`). It keeps what it
has in memory, and prints its port.
"""

import ctypes
import hashlib
import os
import sys
import threading
import time
import types
from concurrent import futures

site, address, place, *secrets = sys.argv[1:]
sys.path.insert(0, site)
# Only the messages are wanted; the program around them needs more packages.
package = types.ModuleType("buildstream")
package.__path__ = [site + "/buildstream"]
sys.modules["buildstream"] = package

import grpc  # noqa: E402
import zstandard  # noqa: E402
from buildstream._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as remote  # noqa: E402
from buildstream._protos.build.bazel.remote.execution.v2 import remote_execution_pb2_grpc as calls  # noqa: E402
from buildstream._protos.google.bytestream import bytestream_pb2 as streams  # noqa: E402
from buildstream._protos.google.bytestream import bytestream_pb2_grpc as stream_calls  # noqa: E402

# It ends with the test, however that ends: PR_SET_PDEATHSIG.
ctypes.CDLL(None).prctl(1, 9)
token = secrets[0] if secrets else ""
ZSTD = 1
contents, results, lock = {}, {}, threading.Lock()
MEET = 8
# How long a worker's name is in a result: longer than one that comes with others, and so long that few have room.
WORKERS = {"fat": 3 << 20, "flood": 15 << 20}
meeting = threading.Barrier(MEET)


def fault(call, context):
    """Notes a call and returns what is to go wrong with it; some of that happens here."""
    with lock:
        with open(f"{place}/calls", "a") as file:
            file.write(call + "\n")
        with open(f"{place}/fault") as file:
            word, _, count = file.read().strip().partition(" ")
        if word == "busy" and int(count) > 0:
            with open(f"{place}/fault", "w") as file:
                file.write(f"busy {int(count) - 1}")
            context.abort(grpc.StatusCode.UNAVAILABLE, "too much to do")
    who = dict(context.invocation_metadata()).get("authorization", "")
    if token and who != f"Bearer {token}":
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you")
    if word == "die" and call in ("BatchReadBlobs", "Read", "BatchUpdateBlobs"):
        os._exit(1)
    if word == "refuse" and call == "UpdateActionResult":
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not \x1b[31mthis\x1b[m one\n")
    return word


def served(digest, word):
    """What is said to be the content of a digest; None: it is not there."""
    data = contents.get(digest.hash)
    if word == "lost" or data is None or word == "lost-one" and data.endswith(b"\n3\n"):
        return None
    if word == "lie":
        return data[::-1] if data != data[::-1] else bytes(len(data))
    if word == "short":
        return data[:-1]
    if word == "long":
        return data + b"x"
    return data


class Capabilities(calls.CapabilitiesServicer):
    def GetCapabilities(self, request, context):
        word = fault("GetCapabilities", context)
        cache = remote.CacheCapabilities(max_batch_total_size_bytes=4000)
        cache.digest_functions.append(remote.DigestFunction.MD5 if word == "md5" else remote.DigestFunction.SHA256)
        cache.action_cache_update_capabilities.update_enabled = word != "closed"
        if word == "zstd":
            cache.supported_compressors.append(ZSTD)
            cache.supported_batch_update_compressors.append(ZSTD)
        return remote.ServerCapabilities(cache_capabilities=cache)


class ActionCache(calls.ActionCacheServicer):
    def GetActionResult(self, request, context):
        word = fault("GetActionResult", context)
        if word == "together":
            # Nobody gets an answer before all have asked.
            try:
                meeting.wait(20)
            except threading.BrokenBarrierError:
                fault("alone", context)
        name = next(iter(results), "") if word == "other" else request.action_digest.hash
        if name not in results:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such result")
        result = remote.ActionResult()
        result.CopyFrom(results[name])
        if word == "path":
            result.output_files[0].path = "../out"
        if word == "huge":
            result.output_files[0].digest.size_bytes = 1 << 62
        if word in WORKERS:
            result.execution_metadata.worker = "w" * WORKERS[word]
        return result

    def UpdateActionResult(self, request, context):
        fault("UpdateActionResult", context)
        results[request.action_digest.hash] = request.action_result
        return request.action_result


class Storage(calls.ContentAddressableStorageServicer):
    def FindMissingBlobs(self, request, context):
        word = fault("FindMissingBlobs", context)
        lacking = [it for it in request.blob_digests if it.hash not in contents]
        if word == "echo":
            lacking = list(request.blob_digests) * 300
        if word == "stray":
            lacking.append(remote.Digest(hash="0" * 64, size_bytes=1 << 40))
        return remote.FindMissingBlobsResponse(missing_blob_digests=lacking)

    def BatchReadBlobs(self, request, context):
        word = fault("BatchReadBlobs", context)
        answer = remote.BatchReadBlobsResponse()
        for digest in request.digests:
            data = served(digest, word)
            part = answer.responses.add(digest=digest)
            if data is None:
                part.status.code = grpc.StatusCode.NOT_FOUND.value[0]
            else:
                part.data = data
                if ZSTD in request.acceptable_compressors:
                    part.compressor, part.data = ZSTD, zstandard.compress(data)
        if word == "chatty":
            for part in answer.responses:
                part.status.code, part.status.message = 13, "\N{GRINNING FACE}" * 300
        if word == "silent":
            del answer.responses[:]
        return answer

    def BatchUpdateBlobs(self, request, context):
        fault("BatchUpdateBlobs", context)
        answer = remote.BatchUpdateBlobsResponse()
        for part in request.requests:
            data = part.data
            if part.compressor == ZSTD:
                fault("compressed", context)
                data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
            answer.responses.add(digest=part.digest).status.code = keep(part.digest.hash, data)
        return answer


class Streams(stream_calls.ByteStreamServicer):
    def Read(self, request, context):
        word = fault("Read", context)
        if word == "hang":
            time.sleep(600)
        data = served(remote.Digest(hash=request.resource_name.split("/")[-2]), word)
        if data is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such content")
        if "compressed-blobs/zstd/" in request.resource_name:
            # Two frames, as one who compresses in pieces sends them.
            half = len(data) // 2
            data = zstandard.compress(data[:half]) + zstandard.compress(data[half:])
        for start in range(0, len(data), 1000):
            yield streams.ReadResponse(data=data[start:start + 1000])

    def Write(self, requests, context):
        word = fault("Write", context)
        data, name = b"", ""
        for part in requests:
            name = name or part.resource_name
            assert part.write_offset == len(data), (part.write_offset, len(data))
            data += part.data
        length = len(data)
        if "compressed-blobs/zstd/" in name:
            fault("compressed", context)
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        if keep(name.split("/")[-2], data):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "another content")
        return streams.WriteResponse(committed_size=length - (word == "half"))


def keep(name, data):
    if hashlib.sha256(data).hexdigest() != name:
        return grpc.StatusCode.INVALID_ARGUMENT.value[0]
    contents[name] = data
    return 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


server = grpc.server(futures.ThreadPoolExecutor(8))
calls.add_CapabilitiesServicer_to_server(Capabilities(), server)
calls.add_ActionCacheServicer_to_server(ActionCache(), server)
calls.add_ContentAddressableStorageServicer_to_server(Storage(), server)
stream_calls.add_ByteStreamServicer_to_server(Streams(), server)
if len(secrets) == 4:
    certificate, key, ca = map(read, secrets[1:])
    mutual = grpc.ssl_server_credentials([(key, certificate)], ca, True)
    port = server.add_secure_port(address, mutual)
else:
    port = server.add_insecure_port(address)
server.start()
print(port, flush=True)
server.wait_for_termination()
