# replaced.py DIR: the file is one of its versions, and the last one that was told, or newer.
import os, sys

told = int(os.environ["FLASHKEEP_MARK"] or 0)
try:
    text = open(f"{sys.argv[1]}/conf").read()
except FileNotFoundError:
    sys.exit(f"version {told} was told, there is none") if told else sys.exit()
whole = [n for n in range(1, 4) if text == f"{n} " * 2000]
if not whole:
    sys.exit(f"a file of {len(text)} bytes is no version")
if whole[0] < told:
    sys.exit(f"version {told} was told, {whole[0]} is there")
