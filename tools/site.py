#!/usr/bin/env python3
"""The documents as a website with search: tools/site.py DIRECTORY [--stage-only].

mdBook (https://rust-lang.github.io/mdBook) makes it, and needs no network for that. Pages are those of the repository; titles of
chapters are their headings. DIRECTORY/src is what mdBook gets, DIRECTORY/html what it makes. Every link inside is followed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Sections by need, as docs/README.md has them: pages, or patterns of pages.
#: A page belongs to the first section that has it.
SECTIONS = (
    ("Documents", ("docs/README.md",)),
    (
        "Tutorials",
        (
            *(f"docs/tutorials/{name}.md" for name in "compare postgresql crash advise".split()),
            "docs/study.md",
            "examples/README.md",
        ),
    ),
    (
        "How to",
        tuple(
            f"docs/{name}.md"
            for name in (
                "install choose experiments traces fio mqsim flows sweeps python rust life advise serve crash torture reliability "
                "troubleshooting"
            ).split()
        ),
    ),
    ("Reference", ("docs/settings.md", "docs/drives.md", "docs/spec/*.md", "docs/fault-atlas.md", "GLOSSARY.md", "CHANGELOG.md")),
    ("Concepts", tuple(f"docs/{name}.md" for name in "methodology reading ldpc slc streams comparison faq".split())),
    ("Schemes", ("docs/schemes/*.md",)),
    ("Trust", ("docs/how-tested.md", "docs/validation.md", "docs/performance.md", "SECURITY.md")),
    ("Papers", ("docs/reproduction.md", "experiments/**/README.md")),
    ("Developers", ("CONTRIBUTING.md", "ARCHITECTURE.md", "docs/dev/*.md", "docs/decisions/*.md")),
    ("Further pages", ("docs/**/*.md", "examples/**/*.md", "experiments/**/*.md")),
)

BOOK = """[book]
title = "Flashkeep"
src = "src"
language = "en"

[build]
build-dir = "html"
create-missing = false

[output.html.search]
limit-results = 30
"""

_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def title(page: str) -> str:
    """The first heading."""
    heading = next(line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return heading[2:]


def found(pattern: str) -> list[str]:
    """Pages of the repository, by name; a README comes before what is below it."""
    pages = (path.relative_to(ROOT) for path in ROOT.glob(pattern))
    return [page.as_posix() for page in sorted(pages, key=lambda page: (page.parent.parts, page.name))]


def chapters() -> list[tuple[str, list[str]]]:
    """Sections with their pages; sections without any are left out."""
    listed: set[str] = set()
    sections = []
    for name, patterns in SECTIONS:
        pages = [page for pattern in patterns for page in found(pattern) if page not in listed]
        listed.update(pages)
        if pages:
            sections.append((name, pages))
    return sections


def linked(page: str, text: str) -> list[str]:
    """Files of the repository that a page links to, as paths from the root."""
    targets = (os.path.normpath(os.path.join(os.path.dirname(page), target)) for _, target, _ in _LINK.findall(text))
    return [target for target in targets if (ROOT / target).exists()]


def listing(folder: str) -> str:
    """A page for a folder that has none."""
    names = sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file() and not path.name.startswith("."))
    return f"# {folder}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)


def stage(source: Path) -> None:
    """Pages, and what they link to, as mdBook takes them."""
    sections = chapters()
    listed = ["README.md", *(page for _, pages in sections for page in pages)]
    pages, folders, left = {}, {}, list(listed)
    while left:
        page = left.pop(0)
        if page in pages:
            continue
        pages[page] = (ROOT / page).read_text(encoding="utf-8")
        for target in linked(page, pages[page]):
            if (ROOT / target).is_dir():
                if (ROOT / target / "README.md").exists():
                    left.append(f"{target}/README.md")
                else:
                    folders[target] = listing(target)
            elif target.endswith(".md"):
                left.append(target)
            else:
                copied(target, source)
    for folder, text in folders.items():
        pages[f"{folder}/README.md"] = text
        for target in linked(f"{folder}/README.md", text):
            if not target.endswith(".md"):
                copied(target, source)
    for page, text in pages.items():
        (source / page).parent.mkdir(parents=True, exist_ok=True)
        (source / page).write_text(_LINK.sub(lambda link: renamed(page, link), text), encoding="utf-8")
    summary = ["# Summary", "", "[Flashkeep](README.md)", ""]
    for name, of_section in sections:
        summary += [f"# {name}", "", *(f"- [{title(page)}]({page})" for page in of_section), ""]
    extra = sorted(set(pages) - set(listed))
    summary += ["# Folders and notes", "", *(f"- [{pages[page].splitlines()[0][2:]}]({page})" for page in extra), ""]
    (source / "SUMMARY.md").write_text("\n".join(summary), encoding="utf-8")


def copied(target: str, source: Path) -> None:
    """Copies a file that a page links to."""
    (source / target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / target, source / target)


def renamed(page: str, link: re.Match[str]) -> str:
    """A folder or a README is a page called index."""
    before, target, rest = link.groups()
    path = ROOT / os.path.dirname(page) / target
    if path.is_dir():
        target = target.rstrip("/") + "/README.md"
    if target.endswith("README.md"):
        target = target.removesuffix("README.md") + "index.html"
    return before + target + rest


def broken(html: Path) -> list[str]:
    """Links of the website to files, or to places in them, that are not there."""
    names: dict[Path, set[str]] = {}

    def has(page: Path, name: str) -> bool:
        if page not in names:
            names[page] = set(re.findall(r'id="([^"]+)"', page.read_text(encoding="utf-8")))
        return name in names[page]

    wrong = []
    for page in sorted(html.rglob("*.html")):
        if page.name in ("404.html", "print.html", "toc.html"):
            continue
        body = page.read_text(encoding="utf-8").split("<main>")[-1].split("</main>")[0]
        for target in re.findall(r'(?:href|src)="([^"]+)"', body):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, name = target.partition("#")
            to = Path(os.path.normpath(page.parent / file)) if file else page
            if not to.is_file() or (name and to.suffix == ".html" and not has(to, name)):
                wrong.append(f"{page.relative_to(html)}: {target}")
    return wrong


def main(arguments: list[str]) -> int:
    """Makes the website, or says what is missing."""
    directory = Path(arguments[0])
    shutil.rmtree(directory, ignore_errors=True)
    stage(directory / "src")
    (directory / "book.toml").write_text(BOOK, encoding="utf-8")
    if "--stage-only" in arguments:
        return 0
    mdbook = os.environ.get("MDBOOK") or shutil.which("mdbook")
    if mdbook is None:
        print("mdbook is missing: cargo install mdbook, or name it in MDBOOK", file=sys.stderr)
        return 1
    subprocess.run([mdbook, "build", directory], check=True)
    wrong = broken(directory / "html")
    for line in wrong:
        print(f"leads nowhere: {line}", file=sys.stderr)
    if not wrong:
        print(f"website: {directory / 'html' / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
