#!/usr/bin/env python3
"""Lists the options of fio and of its engines, with the engines and the versions that have them.

    python3 tools/fio-options.py FIO.. [--source DIR] > crates/trace/data/fio-options.txt

FIO are programs of different versions: each is asked by --cmdhelp and --enghelp. Engines that they were built without are
read from DIR, the source of one of them, whose engines/*.c have the names of options. The list has a line for each option: its
name, `core` or the engines, and the first version that was seen to have it.
"""

import argparse
import pathlib
import re
import subprocess

LISTED = re.compile(r"^\s*([a-z0-9_-]+)\s*: ", re.IGNORECASE)
IN_SOURCE = re.compile(r'\.name\s*=\s*"([^"]+)",\s*(?:\.alias\s*=\s*"[^"]+",\s*)?\.lname')
ALIAS_IN_SOURCE = re.compile(r'\.alias\s*=\s*"([^"]+)"')
DEPRECATED_IN_SOURCE = re.compile(r'\.name\s*=\s*"([^"]+)",[^{}]*?FIO_OPT_(?:DEPRECATED|SOFT_DEPRECATED|UNSUPPORTED)')


def said(program, option):
    return subprocess.run([program, option], capture_output=True, text=True, check=False).stdout


def names(text):
    return [found.group(1) for found in map(LISTED.match, text.splitlines()) if found]


def of_program(program):
    """Options of a program as (name, where)."""
    for name in names(said(program, "--cmdhelp=all")):
        yield name, "core"
        alias = re.search(r"^\s*alias: (\S+)$", said(program, f"--cmdhelp={name}"), re.MULTILINE)
        if alias:
            yield alias.group(1), "core"
    for engine in said(program, "--enghelp").split("\n"):
        engine = engine.strip()
        if engine and " " not in engine:
            for name in names(said(program, f"--enghelp={engine}")):
                yield name, engine


def of_source(folder):
    """Options of the engines in the source, whatever a program was built with."""
    for file in sorted(folder.glob("engines/*.c")):
        engine = file.stem.removeprefix("lib") if file.stem != "libaio" else file.stem
        text = file.read_text(errors="replace")
        for name in IN_SOURCE.findall(text) + ALIAS_IN_SOURCE.findall(text):
            yield name, engine
    text = (folder / "options.c").read_text(errors="replace")
    for name in IN_SOURCE.findall(text) + ALIAS_IN_SOURCE.findall(text) + DEPRECATED_IN_SOURCE.findall(text):
        yield name, "core"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("fio", nargs="+")
    arguments.add_argument("--source", type=pathlib.Path)
    given = arguments.parse_args()
    programs = [(said(program, "--version").strip().removeprefix("fio-"), program) for program in given.fio]
    found = {}

    def note(name, where, version):
        places, first = found.setdefault(name, (set(), version))
        places.add(where)

    for version, program in programs:
        for name, where in of_program(program):
            note(name, where, version)
    if given.source:
        version = programs[-1][0]
        for name, where in of_source(given.source):
            if name not in found:
                note(name, where, f"{version}-source")
            elif "core" not in found[name][0]:
                note(name, where, version)
    print(f"# Options of fio {', '.join(version for version, _ in programs)}: name, core or engines, first version seen to have it.")
    print("# Written by tools/fio-options.py.")
    for name, (places, first) in sorted(found.items()):
        print(name, ",".join(sorted(places)), first)


if __name__ == "__main__":
    main()
