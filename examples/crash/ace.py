"""Runs workloads of CrashMonkey's ACE, in its own language (`j-lang` files), and checks what they made durable.

    flashkeep crash --mount ext4 --run 'python3 ace.py run {dir} oracle.json j-lang-files/*' \\
        --check 'python3 ace.py check {dir} oracle.json'

Each workload runs in a directory of its own. At a checkpoint the oracle gets what fsync, fdatasync and sync made durable until then:
of a file its bytes and extended attributes, of a directory its names, after a sync all of them. A mark with the number of the workload follows.
The check holds an image against the oracle of all workloads whose marks were set. ACE's workloads end with their checkpoint.
"""

import ctypes
import hashlib
import json
import mmap
import os
import subprocess
import sys

from sequences import mark

LIBC = ctypes.CDLL(None, use_errno=True)
FALLOCATE = {"0": 0, "FALLOC_FL_KEEP_SIZE": 1, "FALLOC_FL_PUNCH_HOLE": 2, "FALLOC_FL_ZERO_RANGE": 16}


def seen(path):
    """Verdict of the oracle on a path."""
    if not os.path.lexists(path):
        return None
    if os.path.isdir(path):
        return sorted(os.listdir(path))
    with open(path, "rb") as file:
        data = file.read()
    attributes = {name: os.getxattr(path, name).decode() for name in os.listxattr(path) if name.startswith("user.")}
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "attributes": attributes}


class Workload:
    """A workload in a directory."""

    def __init__(self, where, lines):
        self.where, self.lines, self.open, self.durable = where, lines, {}, set()
        # A name in `define` is a path; in a call it has no slashes.
        self.paths = {}

    def path(self, name):
        return self.where if name == "test" else f"{self.where}/{self.paths.get(name, name)}"

    def file(self, name):
        return self.open[name]

    def run(self):
        section = None
        for number, line in enumerate(self.lines, 1):
            words = line.split()
            if line.startswith("#"):
                section = words[1]
            elif words and section == "define":
                self.paths[words[0].replace("/", "")] = words[0]
            elif words and section in ("setup", "run"):
                call = getattr(self, f"do_{words[0]}", None)
                if call is None:
                    sys.exit(f"line {number}: found `{words[0]}`, which is not known")
                call(*words[1:])
        for file in self.open.values():
            os.close(file)

    def oracle(self):
        return {os.path.relpath(path, self.where): seen(path) for path in sorted(self.durable)}

    def do_mkdir(self, name, mode):
        os.mkdir(self.path(name), int(mode, 8))

    def do_open(self, name, flags, mode):
        self.open[name] = os.open(self.path(name), sum(getattr(os, flag) for flag in set(flags.split("|"))), int(mode, 8))

    def do_opendir(self, name, _mode):
        self.open[name] = os.open(self.path(name), os.O_RDONLY)

    def do_close(self, name):
        os.close(self.open.pop(name))

    def do_fsync(self, name):
        os.fsync(self.file(name))
        self.durable.add(self.path(name))

    def do_fdatasync(self, name):
        os.fdatasync(self.file(name))
        self.durable.add(self.path(name))

    def do_sync(self):
        subprocess.run(["sync", "-f", self.where], check=True)
        for place, directories, files in os.walk(self.where):
            self.durable.update([place, *(f"{place}/{name}" for name in directories + files)])

    def do_checkpoint(self, _number):
        pass

    def do_write(self, name, offset, count):
        os.pwrite(self.file(name), b"w" * int(count), int(offset))

    def do_dwrite(self, name, offset, count):
        direct, room = os.open(self.path(name), os.O_WRONLY | os.O_DIRECT), mmap.mmap(-1, int(count))
        room.write(b"d" * int(count))
        os.pwrite(direct, room, int(offset))
        os.close(direct)

    def do_mmapwrite(self, name, offset, count):
        end = int(offset) + int(count)
        if os.fstat(self.file(name)).st_size < end:
            os.ftruncate(self.file(name), end)
        with mmap.mmap(self.file(name), end) as memory:
            memory[int(offset) : end] = b"m" * int(count)
            memory.flush()

    def do_falloc(self, name, flags, offset, count):
        mode = sum(FALLOCATE[flag] for flag in flags.split("|"))
        if LIBC.fallocate(self.file(name), mode, ctypes.c_long(int(offset)), ctypes.c_long(int(count))):
            raise OSError(ctypes.get_errno(), f"fallocate {name}")

    def do_truncate(self, name, count):
        os.truncate(self.path(name), int(count))

    def do_rename(self, name, to):
        os.rename(self.path(name), self.path(to))

    def do_link(self, name, to):
        os.link(self.path(name), self.path(to))

    def do_symlink(self, name, to):
        os.symlink(self.path(name), self.path(to))

    def do_unlink(self, name):
        os.unlink(self.path(name))

    def do_remove(self, name):
        os.remove(self.path(name))

    def do_rmdir(self, name):
        os.rmdir(self.path(name))

    def do_fsetxattr(self, name):
        os.setxattr(self.path(name), "user.xattr1", b"val1")

    def do_removexattr(self, name):
        os.removexattr(self.path(name), "user.xattr1")


def run(where, oracle, *files):
    found = {}
    for number, name in enumerate(files):
        with open(name) as file:
            lines = file.read().splitlines()
        os.mkdir(f"{where}/{number}")
        workload = Workload(f"{where}/{number}", lines)
        workload.run()
        found[number] = {"workload": name, "paths": workload.oracle()}
        with open(oracle, "w") as file:
            json.dump(found, file)
        mark(number)


def check(where, oracle):
    with open(oracle) as file:
        found = json.load(file)
    for number in os.environ["FLASHKEEP_MARKS"].split():
        for path, expected in found[number]["paths"].items():
            now = seen(os.path.normpath(f"{where}/{number}/{path}"))
            if now != expected:
                sys.exit(f"{found[number]['workload']}: {path} is {now}, made durable was {expected}")


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](*sys.argv[2:])
