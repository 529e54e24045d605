"""Small sequences of file system calls, in the manner of the seq-1 and seq-2 workloads of CrashMonkey's ACE.

    flashkeep crash --mount ext4 --run 'python3 examples/crash/sequences.py run {dir}' \\
        --check 'python3 examples/crash/sequences.py check {dir}'

Each sequence has a directory of its own: one call, or two, on files that are there, then fsync, fdatasync or a sync of the file
system; then a mark with its number. From then on a power cut must leave what the sequence made durable, whatever comes after it.
The check looks at the sequences whose marks were set. `hasty {dir}` in place of `run {dir}` makes nothing durable, and is to be found.
"""

import json
import os
import socket
import subprocess
import sys

OLD, NEW = b"old " * 1500, b"new " * 1500


def put(path, data, at=0):
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.pwrite(file, data, at)
    os.close(file)


IS_HASTY = sys.argv[1:2] == ["hasty"]


def durable(path, sync=os.fsync):
    if IS_HASTY:
        return
    file = os.open(path, os.O_RDONLY)
    sync(file)
    os.close(file)


def all_durable(path):
    """Syncs the file system."""
    if not IS_HASTY:
        subprocess.run(["sync", "-f", path], check=True)


def old(path, *names):
    """Files with old contents, which are durable."""
    for name in names:
        put(f"{path}/{name}", OLD)
        durable(f"{path}/{name}")
    durable(path)


def has(path, data):
    try:
        with open(path, "rb") as file:
            found = file.read()
    except FileNotFoundError:
        return "is not there"
    return None if found == data else f"has {len(found)} bytes, which are not those made durable"


def gone(path):
    return "is there" if os.path.lexists(path) else None


def is_directory(path):
    return None if os.path.isdir(path) else "is no directory"


class Sequence:
    """Operations in a directory, and the contents that it must have from then on."""

    def __init__(self, about, do, expect):
        self.about, self.do, self.expect = about, do, expect


SEQUENCES = []


def sequence(about, **expect):
    """Files that must be there, by name: their bytes, False: none, True: a directory. Two underscores stand for a slash."""

    def take(do):
        SEQUENCES.append(Sequence(about, do, {name.replace("__", "/"): what for name, what in expect.items()}))
        return do

    return take


# One call.


@sequence("creat, fsync", a=b"")
def _(d):
    put(f"{d}/a", b"")
    durable(f"{d}/a")


@sequence("write, fsync", a=NEW)
def _(d):
    put(f"{d}/a", NEW)
    durable(f"{d}/a")


@sequence("append, fdatasync", a=OLD + NEW)
def _(d):
    old(d, "a")
    put(f"{d}/a", NEW, len(OLD))
    durable(f"{d}/a", os.fdatasync)


@sequence("overwrite, fdatasync", a=NEW)
def _(d):
    old(d, "a")
    put(f"{d}/a", NEW)
    durable(f"{d}/a", os.fdatasync)


@sequence("truncate to less, fsync", a=OLD[:5000])
def _(d):
    old(d, "a")
    os.truncate(f"{d}/a", 5000)
    durable(f"{d}/a")


@sequence("truncate to more, fsync", a=OLD + bytes(3000))
def _(d):
    old(d, "a")
    os.truncate(f"{d}/a", len(OLD) + 3000)
    durable(f"{d}/a")


@sequence("fallocate, fsync", a=OLD + bytes(4000))
def _(d):
    old(d, "a")
    file = os.open(f"{d}/a", os.O_RDWR)
    os.posix_fallocate(file, len(OLD), 4000)
    os.close(file)
    durable(f"{d}/a")


@sequence("mkdir, fsync of it", a=True)
def _(d):
    os.mkdir(f"{d}/a")
    durable(f"{d}/a")


@sequence("rmdir, fsync of the directory", a=False)
def _(d):
    os.mkdir(f"{d}/a")
    durable(d)
    os.rmdir(f"{d}/a")
    durable(d)


@sequence("rename, fsync of the file", a=False, b=OLD)
def _(d):
    old(d, "a")
    os.rename(f"{d}/a", f"{d}/b")
    durable(f"{d}/b")


@sequence("rename over a file, fsync of the directory", a=False, b=OLD)
def _(d):
    old(d, "a")
    put(f"{d}/b", NEW)
    os.rename(f"{d}/a", f"{d}/b")
    durable(d)


@sequence("link, fsync", a=OLD, b=OLD)
def _(d):
    old(d, "a")
    os.link(f"{d}/a", f"{d}/b")
    durable(f"{d}/b")


@sequence("unlink, fsync of the directory", a=False, b=OLD)
def _(d):
    old(d, "a", "b")
    os.unlink(f"{d}/a")
    durable(d)


@sequence("write, sync", a=NEW, b=OLD)
def _(d):
    old(d, "b")
    put(f"{d}/a", NEW)
    all_durable(d)


# Two calls.


@sequence("mkdir, write in it, fsync of the file", a=True, a__b=NEW)
def _(d):
    os.mkdir(f"{d}/a")
    put(f"{d}/a/b", NEW)
    durable(f"{d}/a/b")


@sequence("rename, write of a new file with the old name, fsync of it", a=NEW, b=OLD)
def _(d):
    old(d, "a")
    os.rename(f"{d}/a", f"{d}/b")
    put(f"{d}/a", NEW)
    durable(f"{d}/a")


@sequence("link, unlink of the first name, fsync of the directory", a=False, b=OLD)
def _(d):
    old(d, "a")
    os.link(f"{d}/a", f"{d}/b")
    os.unlink(f"{d}/a")
    durable(d)


@sequence("mkdir, rename into it, fsync of the file", a=False, b=True, b__a=OLD)
def _(d):
    old(d, "a")
    os.mkdir(f"{d}/b")
    os.rename(f"{d}/a", f"{d}/b/a")
    durable(f"{d}/b/a")


@sequence("unlink, write of a new file with that name, fsync", a=NEW)
def _(d):
    old(d, "a")
    os.unlink(f"{d}/a")
    put(f"{d}/a", NEW)
    durable(f"{d}/a")


@sequence("append, truncate, fsync", a=OLD[:100])
def _(d):
    old(d, "a")
    put(f"{d}/a", NEW, len(OLD))
    os.truncate(f"{d}/a", 100)
    durable(f"{d}/a")


def mark(name):
    """As `flashkeep ctl DRIVE mark NAME` does, without a process for each."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(os.environ["FLASHKEEP_DRIVE"] + "/control.sock")
        control.sendall(json.dumps({"command": f"mark {name}"}).encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    if not answer["ok"]:
        sys.exit(answer["error"])


def run(where):
    for number in range(len(SEQUENCES)):
        os.mkdir(f"{where}/{number}")
    all_durable(where)
    for number, one in enumerate(SEQUENCES):
        one.do(f"{where}/{number}")
        mark(number)


def check(where):
    for number in (int(name) for name in os.environ["FLASHKEEP_MARKS"].split()):
        one = SEQUENCES[number]
        for name, expected in one.expect.items():
            path = f"{where}/{number}/{name}"
            wrong = is_directory(path) if expected is True else gone(path) if expected is False else has(path, expected)
            if wrong:
                sys.exit(f"sequence {number} ({one.about}): {name} {wrong}")


if __name__ == "__main__":
    {"run": run, "hasty": run, "check": check}[sys.argv[1]](sys.argv[2])
