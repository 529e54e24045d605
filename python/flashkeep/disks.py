"""A drive with data of your own, in this process: no socket, no wall clock, the same calls give the same drive."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, NamedTuple, Union

from flashkeep import _native
from flashkeep.errors import DiskFailed
from flashkeep.settings import Experiment

Source = Union[Experiment, str, "os.PathLike[str]", None]


class Answer(NamedTuple):
    """Outcome of a request."""

    #: Its number, as it was submitted.
    request: int
    #: Bytes of a read; ``None``: it failed.
    data: bytes | None
    #: Why it failed, in words.
    failed: str | None
    #: Seconds of virtual time that it took.
    latency: float


class Happened(NamedTuple):
    """Event of a schedule."""

    #: Seconds of virtual time.
    time: float
    #: Requests that the drive had taken since the schedule began.
    requests: int
    #: What, in the words of the control socket.
    what: str
    #: Why it could not happen; ``None``: it did.
    refused: str | None


class Disk:
    """A drive of an experiment with one scheme, empty unless ``filled`` with the history that the experiment describes.

    It is in memory, and lost with the value, or in files: ``path`` and ``path.memory``, which are made if they are
    missing and mounted if they are there. Offsets and sizes are bytes, whole sectors of 512. What reads find is held
    against what was written: anything else raises :class:`DiskFailed`.
    """

    def __init__(
        self, experiment: Source = None, *, path: str | os.PathLike[str] | None = None, filled: bool = False
    ) -> None:
        where = None if path is None else os.fspath(path)
        if experiment is None or isinstance(experiment, Experiment):
            text = (experiment or Experiment()).to_toml()
            self._disk = _native.Disk("Experiment", text, where, filled)
        else:
            self._disk = _native.Disk(os.fspath(experiment), None, where, filled)

    @property
    def size(self) -> int:
        """Bytes that may be used."""
        return self._disk.size

    @property
    def page_size(self) -> int:
        """Bytes of a logical page: writes of whole pages need no read."""
        return self._disk.page_size

    @property
    def time(self) -> float:
        """Virtual time, in seconds."""
        return self._disk.time

    @property
    def settings(self) -> str:
        """All settings, as an experiment file."""
        return self._disk.settings

    @property
    def first_mismatch(self) -> str | None:
        """The first wrong read, in words; a defect, unless :meth:`silent` was asked for."""
        return self._disk.first_mismatch

    def read(self, offset: int, size: int) -> bytes:
        """Reads, and waits."""
        return self._disk.read(offset, size)

    def write(self, offset: int, data: bytes, *, fua: bool = False) -> None:
        """Writes, and waits. ``fua``: it is durable when this returns."""
        self._disk.write(offset, data, fua)

    def flush(self) -> None:
        """Makes durable what was answered."""
        self._disk.flush()

    def discard(self, offset: int, size: int) -> None:
        """Forgets whole pages: they read as zeros until the power goes, and as anything after that."""
        self._disk.discard(offset, size)

    def submit_read(self, offset: int, size: int) -> int:
        """Queues a read; its number. :meth:`run` answers it."""
        return self._disk.submit_read(offset, size)

    def submit_write(self, offset: int, data: bytes, *, fua: bool = False) -> int:
        """Queues a write; its number."""
        return self._disk.submit_write(offset, data, fua)

    def submit_flush(self) -> int:
        """Queues a flush; its number."""
        return self._disk.submit_flush()

    def run(self, *, all: bool = True) -> list[Answer]:
        """Lets the drive work on what was submitted, all at the same time: until all is answered, or else something."""
        return [Answer(*told) for told in self._disk.run(all)]

    def kill(self, what: str, number: int) -> None:
        """Loses a ``die``, ``block``, ``page`` or ``channel`` permanently; a ``worn-out`` block takes nothing any more."""
        self._disk.kill(what, number)

    def replace(self, die: int) -> None:
        """A new, erased spare die takes the place of a dead die, and its contents are rebuilt on it as time passes
        (:meth:`idle`, requests). ``raid5``, ``ppc`` and ``da-raid5`` only: other schemes raise :class:`DiskFailed`."""
        self._disk.replace(die)

    def cut_power(self) -> list[Answer]:
        """The power goes and comes back, and the drive mounts. What was submitted and not answered has failed."""
        return [Answer(*told) for told in self._disk.cut_power()]

    def age(self, time: str) -> None:
        """The drive lies switched off for so long: ``"90d"``."""
        self._disk.age(time)

    def idle(self, time: str) -> None:
        """No one asks anything for so long: GC, refresh and scrub go on."""
        self._disk.idle(time)

    def wear(self, cycles: int) -> None:
        """Every block has this many P/E cycles more."""
        self._disk.wear(cycles)

    def silent(self, chance: float) -> None:
        """From now on page reads return another page and report success with this probability."""
        self._disk.silent(chance)

    def temperature(self, celsius: float) -> None:
        """From now on the drive has this temperature: data age at its pace."""
        self._disk.temperature(celsius)

    def slow(self, die: int, factor: float) -> None:
        """From now on reads, programs and erases of the die take so many times as long; 1 undoes it."""
        self._disk.slow(die, factor)

    def pause(self, time: str) -> None:
        """The firmware does nothing for so long, in virtual time: ``"300ms"``. What was submitted waits."""
        self._disk.pause(time)

    def schedule(self, source: str | os.PathLike[str], *, name: str = "schedule") -> None:
        """From now on what a schedule says happens, in place of an earlier one: a path, or the text itself if it has a
        line end. Requests are counted and time is measured from here. docs/serve.md says how it is written."""
        if isinstance(source, str) and "\n" in source:
            self._disk.schedule(name, source)
        else:
            self._disk.schedule(os.fspath(source), Path(source).read_text(encoding="utf-8"))

    def happened(self) -> list[Happened]:
        """Events of the schedule since the last call."""
        return [Happened(*told) for told in self._disk.happened()]

    def snapshot(self, name: str = "python") -> _native.Snapshot:
        """The whole drive as it is. Of a drive in files it is a copy of them with this name, beside them."""
        return self._disk.snapshot(name)

    def restore(self, snapshot: _native.Snapshot) -> None:
        """The drive is what it was."""
        self._disk.restore(snapshot)

    @property
    def status(self) -> dict[str, Any]:
        """How the drive is: the fields of docs/serve.md."""
        return dict(json.loads(self._disk.status()))


class Control:
    """The control socket of a drive that ``flashkeep serve`` serves: its path, or the drive's directory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = Path(path)
        self.path = path / "control.sock" if path.is_dir() else path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(os.fspath(self.path))
        self._lines = self._socket.makefile("rb")

    def __call__(self, command: str) -> dict[str, Any]:
        """Sends a command, such as ``"kill die 3"``; the fields of its answer."""
        self._socket.sendall(json.dumps({"command": command}).encode() + b"\n")
        line = self._lines.readline()
        if not line:
            raise DiskFailed("the drive is not served any more")
        answer = dict(json.loads(line))
        if not answer.pop("ok"):
            raise DiskFailed(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
