"""Writes parity_vectors.csv beside this file: parity as pip's `bchlib` (GPL, for this only) computes it.

Run it with `bchlib` 2.1.3 installed; the file does not change unless the list below does.
"""

import csv
import pathlib

import bchlib

CODES = [
    (m, t, bits)
    for m in range(5, 17)
    for t in (1, 2, 3, 5, 8, 13, 24, 40, 50, 64)
    for bits in (8, 512, 4096)
    if m * t + bits <= 2**m - 1
]
PAGES = [(13, 8, 4200), (14, 24, 8192), (14, 40, 8192), (16, 16, 32768), (16, 50, 32768), (7, 5, 52)]
# The kernel's codec has a polynomial of its own up to m = 15.
POLYNOMIALS = {16: 0x1002D}


def data(seed, bits):
    """The high bytes of a linear congruential generator; bits behind the end are 0."""
    state, found = seed, bytearray()
    for _ in range((bits + 7) // 8):
        state = (state * 1664525 + 1013904223) % 2**32
        found.append(state >> 24)
    found[-1] &= 0xFF << (-bits % 8) & 0xFF
    return bytes(found)


def parity(m, t, bits, seed):
    """Data that does not fill its bytes moves to their end: zeros in front change nothing."""
    whole = int.from_bytes(data(seed, bits), "big") >> (-bits % 8)
    codec = bchlib.BCH(t, m=m, prim_poly=POLYNOMIALS.get(m, 0))
    return codec.encode(whole.to_bytes((bits + 7) // 8, "big")).hex()


with open(pathlib.Path(__file__).with_suffix(".csv"), "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["m", "t", "data_bits", "seed", "parity"])
    for seed, (m, t, bits) in enumerate(CODES + PAGES, start=1):
        table.writerow([m, t, bits, seed, parity(m, t, bits, seed)])
