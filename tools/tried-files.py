#!/usr/bin/env python3
"""Counts which files of others are accepted: tools/tried-files.py FLASHKEEP FOLDER.. [--fio FIO] [--refused].

Each FOLDER is a copy of a repository, or a part of one, under the name that the table shall have (`owner+name`); nothing is fetched. Job files of fio (`*.fio`, `*.job`) and
descriptions of MQSim (XML) are tried by `flashkeep inspect`, device files of MQSim, SimpleSSD and NVMeVirt by `flashkeep list schemes --drive`. With --fio, job files whose
jobs are alone and of fixed size are run by that program with its null engine, and kinds and sizes of requests are compared; at a queue depth of 1, since fio's
log has requests twice that its null engine puts off. The table is Markdown.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import tempfile
from pathlib import Path

#: Seconds for one file.
LIMIT = 20


def run(words, **given):
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False, **given)
    except subprocess.TimeoutExpired:
        return None


def kind(file):
    """Kind as which a file is tried."""
    if file.suffix in (".fio", ".job"):
        return "jobs"
    if file.suffix == ".xml":
        head = file.read_text(errors="replace")[:4096]
        if "<Execution_Parameter_Set" in head:
            return "devices"
        if "<MQSim_IO_Scenarios" in head:
            return "flows"
    if (file.suffix == ".cfg" and "[pal]" in file.read_text(errors="replace")) or file.name == "ssd_config.h":
        return "devices"
    return None


def tried(flashkeep, what, file):
    """None where the file is accepted, else what was said."""
    words = {
        "jobs": ["inspect", "--format", "fio-job", "--first", "1000", str(file)],
        "flows": ["inspect", "--format", "mqsim", "--first", "1000", str(file)],
        "devices": ["list", "schemes", "--drive", str(file)],
    }[what]
    done = run([flashkeep, *words])
    if done is None:
        return f"no answer in {LIMIT} s"
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["nothing was said"])[0]


def counts(log):
    """Kinds and sizes of the requests of a log of fio."""
    found = collections.Counter()
    for line in log.read_text(errors="replace").splitlines():
        words = line.split()
        if len(words) == 5 and words[2] in ("read", "write", "trim"):
            found[words[2], words[4]] += 1
    return found


def equal(flashkeep, fio, file):
    """Whether fio's null engine sends the same kinds and sizes; None where it is not compared."""
    text = file.read_text(errors="replace")
    jobs = re.findall(r"^\s*\[([^\]]+)\]", text, re.MULTILINE)
    drawn = r"^\s*(numjobs|runtime|timeout|rate|rw\s*=\s*(rand)?(rw|readwrite)|readwrite\s*=\s*(rand)?rw|bsrange|bssplit|include|time_based)"
    if sum(job != "global" for job in jobs) != 1 or re.search(drawn, text, re.MULTILINE) or not re.search(r"^\s*size\s*=\s*\d", text, re.MULTILINE):
        return None
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        changed = re.sub(r"^\s*(ioengine|iodepth|io_submit_mode|directory|filename|thread)\s*=.*$", "", text, flags=re.MULTILINE)
        (here / "job.fio").write_text(re.sub(r"^(\s*\[(?!global)[^\]]+\])", r"\1\nioengine=null", changed, flags=re.MULTILINE))
        theirs = run([fio, "--write_iolog=theirs", "job.fio"], cwd=here)
        ours = run([flashkeep, "convert", "job.fio", "--to", "fio-iolog", "--out", "ours"], cwd=here)
        if theirs is None or ours is None or theirs.returncode or ours.returncode or not (here / "theirs").exists():
            return None
        return counts(here / "theirs") == counts(here / "ours")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("flashkeep")
    arguments.add_argument("folders", nargs="+", type=Path)
    arguments.add_argument("--fio")
    arguments.add_argument("--refused", action="store_true", help="list what was refused, and why")
    given = arguments.parse_args()
    print("| repository | files | tried | accepted | compared | equal |\n|---|---|---|---|---|---|")
    refused = []
    for folder in given.folders:
        found = collections.defaultdict(list)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and (what := kind(file)):
                found[what].append(file)
        for what, files in sorted(found.items()):
            said = [(file, tried(given.flashkeep, what, file)) for file in files]
            refused += [(file, text) for file, text in said if text]
            good = [file for file, text in said if not text]
            held = [equal(given.flashkeep, given.fio, file) for file in good] if given.fio and what == "jobs" else []
            compared = [one for one in held if one is not None]
            print(f"| {str(folder).replace('+', '/')} | {what} | {len(files)} | {len(good)} | {len(compared)} | {sum(compared)} |")
    if given.refused:
        for file, text in refused:
            print(f"{file}: {text}")


if __name__ == "__main__":
    main()
