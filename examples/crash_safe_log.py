"""A log on a modelled drive in this process, under power cuts and a dead die: python examples/crash_safe_log.py.

No socket and no wall clock: each run of this file does the same.
"""

import struct
import zlib

import flashkeep as fk

SECTOR = 512


def record(number: int) -> bytes:
    """A sector: its number, a text, and a check sum of both."""
    body = struct.pack("<Q", number) + f"order {number}".encode().ljust(SECTOR - 12, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


def whole_records(disk: fk.Disk) -> int:
    """How many records from the first on are whole."""
    number = 0
    while (sector := disk.read(number * SECTOR, SECTOR)) == record(number):
        number += 1
    assert sector[:8] == bytes(8) or zlib.crc32(sector[:-4]) != struct.unpack("<I", sector[-4:])[0]
    return number


disk = fk.Disk(fk.Experiment(schemes=["ds-raid"], capacity=fk.Capacity(size="16MiB")))
flushed = written = 0
for turn in range(20):
    for _ in range(10):
        disk.submit_write(written * SECTOR, record(written))
        written += 1
    if turn % 3 == 2:
        disk.cut_power()  # what was not answered may be there or not
        written = whole_records(disk)
    else:
        disk.run()
        disk.flush()
        flushed = written
    assert written >= flushed, "what was flushed is there"

disk.kill("die", 3)
assert whole_records(disk) >= flushed
print(f"{flushed} records were flushed, {whole_records(disk)} are there after 6 power cuts and the loss of a die")
