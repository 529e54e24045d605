# kv.py DISK [careful]: appends six records, and after each says in the first page how many there are.
import os, sys

disk = os.open(sys.argv[1], os.O_RDWR)
for n in range(1, 7):
    os.pwrite(disk, f"record {n}\n".encode(), n * 4096)
    if "careful" in sys.argv:
        os.fsync(disk)
    os.pwrite(disk, f"{n} records\n".encode(), 0)
    os.fsync(disk)
