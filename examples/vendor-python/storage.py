"""Volumes and snapshots: sparse files, with their state in SQLite. One request is served at a time."""

import base64
import glob
import json
import os
import sqlite3
import subprocess
import threading
import uuid
from datetime import datetime, timezone

from problem import Problem

STEP = 2**20
BLOCK = 64 * 1024
MODES = [f"SINGLE_NODE_{mode}" for mode in ("WRITER", "READER_ONLY", "SINGLE_WRITER", "MULTI_WRITER")]
FEATURES = "capacity expand modify health snapshots restore clone groups changes".split()
KNOWN = {"volume": ["department"], "mutable": ["label"], "snapshot": []}
PRIVATE = ("spec", "holdsData", "attached")


class Storage:
    """The operations. Each has its id in the OpenAPI document as its name, and returns a status and a document."""

    def __init__(self, directory, capacity):
        self.directory, self.capacity, self.lock = directory.resolve(), capacity, threading.Lock()
        for kind in ("volume", "snapshot"):
            (self.directory / kind).mkdir(parents=True, exist_ok=True)
        state = self.directory / "state.sqlite"
        self.db = sqlite3.connect(state, check_same_thread=False, isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = full")
        self.db.execute(
            "create table if not exists documents (kind text, id text, value text, primary key (kind, id))"
        )
        self.limits = {"minimumVolumeBytes": STEP, "maximumVolumeBytes": capacity, "stepBytes": STEP}
        self.unsettled = set(self.directory.glob("*/*.img.new"))
        self.settle()

    def settle(self):
        """Finishes creating or deleting files, which are named .new until then.

        A file with a document is renamed, a file without one is removed.
        """
        while self.unsettled:
            path = self.unsettled.pop()
            if self.find(path.parent.name, path.name.removesuffix(".img.new")):
                path.rename(path.with_suffix(""))
            else:
                path.unlink(missing_ok=True)

    def run(self, operation, request):
        """Runs an operation completely or not at all. Its changes are durable when this returns."""
        with self.lock:
            self.db.execute("begin immediate")
            try:
                answer = operation(**request)
                self.db.execute("commit")
                return answer
            except BaseException:
                self.db.execute("rollback")
                raise
            finally:
                self.settle()

    # Capabilities

    def getCapabilities(self):
        return 200, {
            "version": "1.0.0",
            "accessModes": MODES,
            "accessTypes": ["mount", "block"],
            "features": FEATURES,
            "protocols": ["loop"],
            "zeroed": True,
            "limits": self.limits,
            "parameters": {kind: schema_of(names) for kind, names in KNOWN.items()},
        }

    def getCapacity(self, body):
        return 200, {"availableBytes": max(0, self.free_bytes()), **self.limits}

    # Volumes

    def listVolumes(self, limit=0, pageToken=None):
        return page("volumes", [show(one) for one in self.all("volume")], limit, pageToken)

    def getVolume(self, volumeId):
        return 200, show(self.require("volume", volumeId))

    def createVolume(self, volumeId, body):
        spec = {name: body.get(name, {}) for name in ("parameters", "mutableParameters")}
        spec |= {name: body[name] for name in ("name", "source") if name in body}
        found = self.find("volume", volumeId)
        if found:
            if found["spec"] == spec and is_within(found["sizeBytes"], body):
                return 200, show(found)
            detail = f'volume "{volumeId}" exists with another name, size, source or parameters'
            raise Problem("ALREADY_EXISTS", detail)
        require_offered(body["capabilities"])
        require_known("volume", spec["parameters"])
        require_known("mutable", spec["mutableParameters"])
        source = body.get("source")
        origin = source and self.require(source["kind"], source[f"{source['kind']}Id"])
        size = self.choose_size(body, origin["sizeBytes"] if origin else 0)
        self.fill(self.path("volume", volumeId), size, source and (source["kind"], origin))
        volume = {
            **spec,
            "id": volumeId,
            "state": "ready",
            "sizeBytes": size,
            "context": {},
            "createdAt": now(),
            "spec": spec,
            "holdsData": source is not None,
            "attached": None,
        }
        self.put("volume", volume)
        return 201, show(volume)

    def deleteVolume(self, volumeId):
        found = self.find("volume", volumeId)
        if found and found["attached"]:
            raise attached_problem(found)
        self.remove("volume", volumeId)
        return 204, None

    def expandVolume(self, volumeId, body):
        volume = self.require("volume", volumeId)
        if is_within(volume["sizeBytes"], body):
            return 200, show(volume)
        size = self.choose_size(body, volume["sizeBytes"], volume["sizeBytes"])
        resize(self.path("volume", volumeId), size)
        volume |= {"sizeBytes": size, "nodeExpansionRequired": True}
        self.put("volume", volume)
        return 200, show(volume)

    def modifyVolume(self, volumeId, body):
        volume = self.require("volume", volumeId)
        require_known("mutable", body["mutableParameters"])
        volume["mutableParameters"] = {**volume["mutableParameters"], **body["mutableParameters"]}
        self.put("volume", volume)
        return 200, show(volume)

    def getVolumeHealth(self, volumeId):
        self.require("volume", volumeId)
        missing = {"status": "DATA_LOSS", "reason": "ImageMissing", "message": "its image is missing"}
        is_there = self.path("volume", volumeId).exists()
        return 200, {"volumeId": volumeId, "entries": [] if is_there else [missing]}

    # Attachments

    def attachVolume(self, volumeId, nodeId, body):
        volume, capability = self.require("volume", volumeId), body["capability"]
        require_offered([capability])
        readonly = body["readonly"] or capability["accessMode"].endswith("READER_ONLY")
        access = {"capability": capability, "readonly": readonly}
        attached = volume["attached"]
        if attached and attached["resource"]["nodeId"] != nodeId:
            raise attached_problem(volume)
        if attached and attached["access"] == access:
            return 200, attached["resource"]
        if attached:
            detail = f'volume "{volumeId}" is attached with another capability or readonly'
            raise Problem("ALREADY_EXISTS", detail)
        attachment = {
            "protocol": "loop",
            "path": str(self.path("volume", volumeId)),
            "attachmentId": str(uuid.uuid4()),
            "sizeBytes": volume["sizeBytes"],
            "readonly": readonly,
            "mayFormat": capability["accessType"] == "mount" and not volume["holdsData"],
        }
        resource = {"volumeId": volumeId, "nodeId": nodeId, "state": "attached"}
        resource |= {"readonly": readonly, "attachment": attachment}
        volume["holdsData"] = volume["holdsData"] or (capability["accessType"] == "block" and not readonly)
        volume["attached"] = {"access": access, "resource": resource}
        self.put("volume", volume)
        return 201, resource

    def getAttachment(self, volumeId, nodeId):
        attached = (self.find("volume", volumeId) or {}).get("attached")
        if attached and attached["resource"]["nodeId"] == nodeId:
            return 200, attached["resource"]
        raise Problem("NOT_FOUND", f'volume "{volumeId}" is not attached to node "{nodeId}"')

    def detachVolume(self, volumeId, nodeId):
        """Refuses while a loop device has the file open, because the node could still write."""
        volume = self.find("volume", volumeId)
        attached = volume and volume["attached"]
        if not attached or attached["resource"]["nodeId"] != nodeId:
            return 204, None
        if str(self.path("volume", volumeId)) in loop_files():
            raise Problem("FAILED_PRECONDITION", f'volume "{volumeId}" is still open on node "{nodeId}"')
        volume["attached"] = None
        self.put("volume", volume)
        return 204, None

    # Snapshots and groups

    def listSnapshots(self, limit=0, pageToken=None, volumeId=None):
        found = [one for one in self.all("snapshot") if volumeId in (None, one["volumeId"])]
        return page("snapshots", found, limit, pageToken)

    def getSnapshot(self, snapshotId):
        return 200, self.require("snapshot", snapshotId)

    def createSnapshot(self, snapshotId, body):
        found = self.find("snapshot", snapshotId)
        if found:
            if (found["name"], found["volumeId"]) == (body["name"], body["volumeId"]) and "groupId" not in found:
                return 200, found
            raise Problem("ALREADY_EXISTS", f'snapshot "{snapshotId}" exists with another name or volume')
        require_known("snapshot", body.get("parameters", {}))
        volume = self.require("volume", body["volumeId"])
        return 201, self.cut(volume, {"id": snapshotId, "name": body["name"]})

    def deleteSnapshot(self, snapshotId):
        group = (self.find("snapshot", snapshotId) or {}).get("groupId")
        if group:
            raise Problem("INVALID_ARGUMENT", f'snapshot "{snapshotId}" belongs to group "{group}"')
        self.remove("snapshot", snapshotId)
        return 204, None

    def listBlocks(self, snapshotId, base=None, offset=0, limit=0):
        snapshot = self.require("snapshot", snapshotId)
        other = base and self.require("snapshot", base)
        if other and other["volumeId"] != snapshot["volumeId"]:
            raise Problem("INVALID_ARGUMENT", f'snapshots "{base}" and "{snapshotId}" are of different volumes')
        if not 0 <= offset <= snapshot["sizeBytes"]:
            raise Problem("OUT_OF_RANGE", f"offset {offset} is outside of {snapshot['sizeBytes']} bytes")
        paths = [self.path("snapshot", one["id"]) for one in (snapshot, other) if one]
        found = differences(paths, offset)
        count = min(limit or 4096, 4096)
        blocks = [block for block, _ in zip(found, range(count))]
        answer = {"sizeBytes": snapshot["sizeBytes"], "blocks": blocks}
        if next(found, None):
            answer["nextOffset"] = blocks[-1]["offset"] + blocks[-1]["length"]
        return 200, answer

    def createGroup(self, groupId, body):
        found = self.find("group", groupId)
        if found:
            volumes = sorted(one["volumeId"] for one in found["snapshots"])
            if found["name"] == body["name"] and volumes == sorted(body["volumeIds"]):
                return 200, found
            raise Problem("ALREADY_EXISTS", f'group "{groupId}" exists with another name or other volumes')
        require_known("snapshot", body.get("parameters", {}))
        volumes = [self.require("volume", one) for one in body["volumeIds"]]
        if len(volumes) > 1 and any(is_written(one) for one in volumes):
            detail = "a volume is attached for writing: detach all volumes to snapshot them at one point in time"
            raise Problem("FAILED_PRECONDITION", detail)
        if sum(one["sizeBytes"] for one in volumes) > self.free_bytes():
            raise Problem("RESOURCE_EXHAUSTED", "there is not enough space for all snapshots")
        group = {"id": groupId, "name": body["name"], "state": "ready", "createdAt": now()}
        names = {"name": body["name"], "groupId": groupId}
        group["snapshots"] = [self.cut(one, {"id": f"member-{uuid.uuid4()}", **names}) for one in volumes]
        self.put("group", group)
        return 201, group

    def getGroup(self, groupId):
        return 200, self.require("group", groupId)

    def deleteGroup(self, groupId):
        for member in (self.find("group", groupId) or {"snapshots": []})["snapshots"]:
            self.remove("snapshot", member["id"])
        self.remove("group", groupId)
        return 204, None

    # Helpers of the operations

    def cut(self, volume, names):
        size = volume["sizeBytes"]
        self.require_free(size)
        self.fill(self.path("snapshot", names["id"]), size, ("volume", volume))
        snapshot = {**names, "volumeId": volume["id"], "state": "ready", "sizeBytes": size, "createdAt": now()}
        self.put("snapshot", snapshot)
        return snapshot

    def choose_size(self, body, source_bytes, held_bytes=0):
        maximum = min(body.get("limitBytes") or self.capacity, self.capacity)
        minimum = int(body.get("requiredBytes") or source_bytes or min(2**30, maximum // STEP * STEP))
        size = -(-max(minimum, 1) // STEP) * STEP
        if size > maximum or minimum < source_bytes:
            detail = f"no size from {max(minimum, source_bytes)} to {maximum} bytes is possible"
            raise Problem("OUT_OF_RANGE", detail)
        self.require_free(size - held_bytes)
        return size

    def require_free(self, size):
        if size > self.free_bytes():
            raise Problem("RESOURCE_EXHAUSTED", f"only {self.free_bytes()} of {size} bytes are free")

    def fill(self, path, size, source=None):
        """Creates a file of zeros, or a copy followed by zeros. It gets its final name once its document is durable."""
        target = path.with_suffix(".img.new")
        target.unlink(missing_ok=True)
        self.unsettled.add(target)
        if source:
            self.copy(*source, target)
        resize(target, size)
        sync(path.parent)

    def copy(self, kind, origin, target):
        """Copies a single point in time: a file that may be written to by sharing blocks, or not at all."""
        reflink = "always" if is_written(origin) else "auto"
        command = ["cp", f"--reflink={reflink}", "--", self.path(kind, origin["id"]), target]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=not is_written(origin)).returncode != 0:
            detail = f'volume "{origin["id"]}" is attached for writing: detach it before copying it'
            raise Problem("FAILED_PRECONDITION", detail)

    def path(self, kind, name):
        return self.directory / kind / f"{name}.img"

    def free_bytes(self):
        total = self.db.execute("select total(value ->> 'sizeBytes') from documents").fetchone()[0]
        return self.capacity - int(total)

    def all(self, kind):
        rows = self.db.execute("select value from documents where kind = ? order by id", (kind,))
        return [json.loads(value) for (value,) in rows]

    def find(self, kind, name):
        row = self.db.execute("select value from documents where kind = ? and id = ?", (kind, name)).fetchone()
        return row and json.loads(row[0])

    def require(self, kind, name):
        found = self.find(kind, name)
        if not found:
            raise Problem("NOT_FOUND", f'there is no {kind} "{name}"')
        return found

    def put(self, kind, document):
        row = (kind, document["id"], json.dumps(document))
        self.db.execute("insert or replace into documents values (?, ?, ?)", row)

    def remove(self, kind, name):
        """Removes a document. Its file is removed after the commit."""
        self.db.execute("delete from documents where kind = ? and id = ?", (kind, name))
        path = self.path(kind, name)
        if path.exists():
            self.unsettled.add(path.rename(path.with_suffix(".img.new")))


def schema_of(names):
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def show(volume):
    attached = volume["attached"]
    shown = {name: value for name, value in volume.items() if name not in PRIVATE}
    one = attached and {name: attached["resource"][name] for name in ("nodeId", "state", "readonly")}
    return {**shown, "attachments": [one] if one else []}


def page(name, found, limit, token):
    """Returns one page. The token of the next one is the last id, with a mark that tells it from foreign tokens."""
    try:
        mark, after = base64.urlsafe_b64decode((token or "YWZ0ZXIg").encode()).decode().split(" ")
    except ValueError:
        mark = after = ""
    if mark != "after":
        raise Problem("ABORTED", "the page token is not from this list: read the list again from the start")
    left = [one for one in found if one["id"] > after]
    count = min(limit or 1000, 1000)
    answer = {name: left[:count]}
    if len(left) > count:
        answer["nextPageToken"] = base64.urlsafe_b64encode(f"after {left[count - 1]['id']}".encode()).decode()
    return 200, answer


def require_offered(capabilities):
    for one in capabilities:
        if one["accessMode"] not in MODES:
            raise Problem("INVALID_ARGUMENT", f"the access mode {one['accessMode']} is not offered")


def require_known(kind, parameters):
    strays = [name for name in parameters if name not in KNOWN[kind]]
    if strays:
        raise Problem("INVALID_ARGUMENT", f"unknown parameters: {', '.join(strays)}")


def is_within(size, body):
    return size >= (body.get("requiredBytes") or 0) and size <= (body.get("limitBytes") or size)


def is_written(origin):
    attached = origin.get("attached")
    return bool(attached and not attached["access"]["readonly"])


def attached_problem(volume):
    node = volume["attached"]["resource"]["nodeId"]
    return Problem("FAILED_PRECONDITION", f'volume "{volume["id"]}" is attached to node "{node}"')


def loop_files():
    for shown in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            with open(shown, encoding="utf-8") as file:
                yield file.read().strip()
        except OSError:
            pass  # the device has just been freed


def differences(paths, offset):
    """Yields the extents, in order and from the offset on, in which the first file differs from the second or from zeros."""
    files = [open(path, "rb") for path in paths]
    size = os.fstat(files[0].fileno()).st_size
    extent = None
    at = offset
    while at < size:
        data = min(next_data(file, at, size) for file in files)
        at = max(at, data // BLOCK * BLOCK)
        end = min((at // BLOCK + 1) * BLOCK, size)
        blocks = [os.pread(file.fileno(), end - at, at).ljust(end - at, b"\0") for file in files] + [bytes(end - at)]
        if end > at and blocks[0] != blocks[1]:
            if extent and extent["offset"] + extent["length"] == at:
                extent["length"] += end - at
            else:
                if extent:
                    yield extent
                extent = {"offset": at, "length": end - at}
        at = max(end, at + 1)
    if extent:
        yield extent
    for file in files:
        file.close()


def next_data(file, at, size):
    try:
        return os.lseek(file.fileno(), at, os.SEEK_DATA)
    except OSError:
        return size


def resize(path, size):
    with open(path, "ab") as file:
        os.truncate(file.fileno(), size)
        os.fsync(file.fileno())


def sync(path):
    opened = os.open(path, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
