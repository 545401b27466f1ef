"""Volumes and snapshots as sparse files, what is known of them in SQLite. One request is served at a time."""

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
PRIVATE = ("asked", "holdsData", "attached")


class Storage:
    """Each operation bears the id that the OpenAPI document gives it, and returns its status and its document."""

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
        """A file that is made or deleted is called .new meanwhile: with a document it gets its name, without one it goes."""
        while self.unsettled:
            made = self.unsettled.pop()
            if self.find(made.parent.name, made.name.removesuffix(".img.new")):
                made.rename(made.with_suffix(""))
            else:
                made.unlink(missing_ok=True)

    def run(self, operation, asked):
        """Does all of an operation or nothing; what it has changed is on disk when this returns."""
        with self.lock:
            self.db.execute("begin immediate")
            try:
                answer = operation(**asked)
                self.db.execute("commit")
                return answer
            except BaseException:
                self.db.execute("rollback")
                raise
            finally:
                self.settle()

    # What the storage can do

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
        asked = {name: body.get(name, {}) for name in ("parameters", "mutableParameters")}
        asked |= {name: body[name] for name in ("name", "source") if name in body}
        found = self.find("volume", volumeId)
        if found:
            if found["asked"] == asked and is_within(found["sizeBytes"], body):
                return 200, show(found)
            raise Problem("ALREADY_EXISTS", f'volume "{volumeId}" is there, and is another')
        require_offered(body["capabilities"])
        require_known("volume", asked["parameters"])
        require_known("mutable", asked["mutableParameters"])
        source = body.get("source")
        origin = source and self.require(source["kind"], source[f"{source['kind']}Id"])
        size = self.choose_size(body, origin["sizeBytes"] if origin else 0)
        self.fill(self.path("volume", volumeId), size, source and (source["kind"], origin))
        volume = {
            **asked,
            "id": volumeId,
            "state": "ready",
            "sizeBytes": size,
            "context": {},
            "createdAt": now(),
            "asked": asked,
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
            raise Problem("ALREADY_EXISTS", f'volume "{volumeId}" is attached in another way')
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
        """While a loop device of this machine has the file open, the node can still write."""
        volume = self.find("volume", volumeId)
        attached = volume and volume["attached"]
        if not attached or attached["resource"]["nodeId"] != nodeId:
            return 204, None
        if str(self.path("volume", volumeId)) in loop_files():
            raise Problem("FAILED_PRECONDITION", f'volume "{volumeId}" is still in use')
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
            raise Problem("ALREADY_EXISTS", f'snapshot "{snapshotId}" is there, and is another')
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
            raise Problem("INVALID_ARGUMENT", f'"{base}" and "{snapshotId}" are of different volumes')
        if not 0 <= offset <= snapshot["sizeBytes"]:
            raise Problem("OUT_OF_RANGE", f"offset {offset} is outside of {snapshot['sizeBytes']} bytes")
        paths = [self.path("snapshot", one["id"]) for one in (snapshot, other) if one]
        found = differences(paths, offset)
        most = min(limit or 4096, 4096)
        blocks = [block for block, _ in zip(found, range(most))]
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
            raise Problem("ALREADY_EXISTS", f'group "{groupId}" is there, and is another')
        require_known("snapshot", body.get("parameters", {}))
        volumes = [self.require("volume", one) for one in body["volumeIds"]]
        if len(volumes) > 1 and any(is_written(one) for one in volumes):
            raise Problem("FAILED_PRECONDITION", "a volume is attached for writing, so that it is of no one time")
        if sum(one["sizeBytes"] for one in volumes) > self.free_bytes():
            raise Problem("RESOURCE_EXHAUSTED", "there is no space for all snapshots")
        group = {"id": groupId, "name": body["name"], "state": "ready", "createdAt": now()}
        named = {"name": body["name"], "groupId": groupId}
        group["snapshots"] = [self.cut(one, {"id": f"member-{uuid.uuid4()}", **named}) for one in volumes]
        self.put("group", group)
        return 201, group

    def getGroup(self, groupId):
        return 200, self.require("group", groupId)

    def deleteGroup(self, groupId):
        for member in (self.find("group", groupId) or {"snapshots": []})["snapshots"]:
            self.remove("snapshot", member["id"])
        self.remove("group", groupId)
        return 204, None

    # What operations are made of

    def cut(self, volume, named):
        size = volume["sizeBytes"]
        if size > self.free_bytes():
            raise Problem("RESOURCE_EXHAUSTED", f"less than {size} bytes are left")
        self.fill(self.path("snapshot", named["id"]), size, ("volume", volume))
        snapshot = {**named, "volumeId": volume["id"], "state": "ready", "sizeBytes": size, "createdAt": now()}
        self.put("snapshot", snapshot)
        return snapshot

    def choose_size(self, body, source_bytes, held_bytes=0):
        most = min(body.get("limitBytes") or self.capacity, self.capacity)
        least = int(body.get("requiredBytes") or source_bytes or min(2**30, most // STEP * STEP))
        size = -(-max(least, 1) // STEP) * STEP
        if size > most or least < source_bytes:
            raise Problem("OUT_OF_RANGE", f"no size of {least} to {most} bytes is possible")
        if size - held_bytes > self.free_bytes():
            raise Problem("RESOURCE_EXHAUSTED", f"less than {size} bytes are left")
        return size

    def fill(self, path, size, source=None):
        """Makes a file of zeros, or a copy with zeros behind it; it gets its name when its document is on disk."""
        made = path.with_suffix(".img.new")
        made.unlink(missing_ok=True)
        self.unsettled.add(made)
        if source:
            self.copy(*source, made)
        resize(made, size)
        sync(path.parent)

    def copy(self, kind, origin, made):
        """Of one point in time: while it may be written by sharing blocks, or not at all."""
        reflink = "always" if is_written(origin) else "auto"
        command = ["cp", f"--reflink={reflink}", "--", self.path(kind, origin["id"]), made]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=not is_written(origin)).returncode != 0:
            raise Problem("FAILED_PRECONDITION", f'"{origin["id"]}" may be written while it is copied')

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
        """Its file goes when that is committed."""
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
    """One page, whose token is the last id, marked as one of ours."""
    try:
        mark, after = base64.urlsafe_b64decode((token or "YWZ0ZXIg").encode()).decode().split(" ")
    except ValueError:
        mark = after = ""
    if mark != "after":
        raise Problem("ABORTED", "the page token is none of this list")
    left = [one for one in found if one["id"] > after]
    most = min(limit or 1000, 1000)
    answer = {name: left[:most]}
    if len(left) > most:
        answer["nextPageToken"] = base64.urlsafe_b64encode(f"after {left[most - 1]['id']}".encode()).decode()
    return 200, answer


def require_offered(capabilities):
    for one in capabilities:
        if one["accessMode"] not in MODES:
            raise Problem("INVALID_ARGUMENT", f"{one['accessMode']} is not offered")


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
            pass  # the device was freed meanwhile


def differences(paths, offset):
    """Where a file differs from another, or from zeros, behind the offset: extents in order."""
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
