"""Output for a reader: help, notebooks, colours, the command."""

import pydoc
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
from conftest import ROOT

import flashkeep as fk

SECTIONS = {
    fk.Geometry: "drive.geometry",
    fk.Energy: "drive.energy",
    fk.Capacity: "capacity",
    fk.Gc: "gc",
    fk.Wear: "wear",
    fk.Buffer: "buffer",
    fk.Precondition: "precondition",
    fk.Age: "age",
    fk.Faults: "faults",
    fk.Errors: "errors",
    fk.Refresh: "refresh",
    fk.Ecc: "ecc",
}


@pytest.mark.parametrize("of", SECTIONS, ids=lambda of: of.__name__)
def test_help_says_of_each_field_what_the_page_of_settings_says(of):
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    rows = (line[2:-2].split(" | ") for line in page.splitlines() if line.startswith("| `"))
    rows = {row[0].strip("`"): row[1:] for row in rows}
    said = " ".join(pydoc.plain(pydoc.render_doc(of)).replace("|", " ").split())
    for field in fields(of):
        key = f"{SECTIONS[of]}.{field.name}"
        if any(row.startswith(f"{key}.") for row in rows):
            assert f"{field.name} Settings of the section {key}." in said
            continue
        meaning, kind, default, _ = rows[key]
        told = f"{field.name} {meaning} {kind}; default: {default.strip('`')}"
        assert " ".join(told.replace("\\|", " ").split()) in said, told


def test_a_setting_is_explained_and_a_slip_is_guessed():
    assert fk.explain("buffer.size").startswith("buffer.size: ") and 'default: "auto"' in fk.explain("buffer.size")
    with pytest.raises(fk.BadInput) as refused:
        fk.explain("gc.choises")
    assert refused.value.meant == "gc.choices"


@pytest.fixture(scope="module")
def result(small):
    return fk.run(replace(small, schemes=["none", "ds-raid"]))


def test_a_notebook_shows_the_answer_and_a_row_for_each_scheme(result):
    shown = result._repr_html_()
    for scheme, colour in (("none", "#7d838c"), ("ds-raid", "#d55e00")):
        row = next(row for row in shown.split("<tr>") if f"</span> {scheme}" in row)
        assert colour in row and f"<td>{result.of(scheme)['waf']:.4g}</td>" in row
    assert "<b>ds-raid</b>" in shown and shown.count("<tr>") == shown.count("</tr>") == 3
    assert repr(result).startswith("<Result of none, ds-raid;")


def test_a_notebook_shows_intervals_of_several_seeds(small):
    result = fk.run(replace(small, seeds=2))
    mean, half = result.interval("raid5", "waf")
    assert f"<td>{mean:.4g} &plusmn; {half:.2g}</td>" in result._repr_html_()


def test_frames_say_what_their_columns_are_and_show_their_first_rows(result):
    kinds = {"text": str, "whole number": int, "number": float, "truth value": bool}
    assert list(result.types) == result.columns == list(result.frame.types)
    for name, kind in result.types.items():
        assert all(value is None or type(value) is kinds[kind] for value in result[name]), name
    shown = result.series._repr_html_()
    assert shown.count("<tr>") == 21 and f"{len(result.series)} rows, of which 20 are shown" in shown
    assert repr(result.frame).startswith(f"Frame of 2 rows and {len(result.columns)} columns: scheme, ")


def test_studies_show_their_tables():
    study = fk.study("uper", t=[1, 4])
    shown = study._repr_html_()
    assert shown.count("<table>") == len(study.tables) and study.title in repr(study)


def test_plots_have_the_colours_of_reports(result):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.colors import to_hex

    from flashkeep import plots

    report = (ROOT / "crates/report/assets/report.js").read_text(encoding="utf-8")
    theirs = re.search(r"CAUSE_COLOURS = \{(.*?)\}", report, re.DOTALL)[1]
    assert dict(re.findall(r'"?([\w-]+)"?: "(#\w+)"', theirs)) == plots._CAUSE_COLOURS
    lines = plots.cdf(result).get_lines()
    assert [to_hex(line.get_color()) for line in lines] == ["#7d838c", "#d55e00"]
    bars = plots.traffic(result).containers
    assert all(to_hex(bar.patches[0].get_facecolor()) == plots._CAUSE_COLOURS[bar.get_label()] for bar in bars)
    rows = [{"scheme": name, "x": x, "y": 1.0} for name in ("raid5", "none") for x in (1, 2)]
    drawn = plots.lines(rows, x="x", y="y", by="scheme").get_lines()
    assert [to_hex(line.get_color()) for line in drawn] == ["#0072b2", "#7d838c"]


def test_the_package_installs_the_program_as_a_command(program, tmp_path):
    command = Path(sys.executable).with_name("flashkeep")
    typed = ["compare", "zipf", "--drive", "mlc-2014", "--schemes", "none", "--set", "generate.requests=500"]
    for words in (["list", "schemes"], ["--version"], ["lst"], ["settings", "gc.choises"], typed):
        ours, theirs = (
            subprocess.run([*start, *words], capture_output=True, cwd=tmp_path, text=True)
            for start in ([command], program)
        )
        assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout), words
        assert words == typed or ours.stderr == theirs.stderr
    module = subprocess.run([sys.executable, "-m", "flashkeep", "list"], capture_output=True, check=True)
    assert b"schemes" in module.stdout
