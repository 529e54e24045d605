"""Plots show the values of the columns they say."""

import pytest

import flashkeep as fk

pytest.importorskip("matplotlib").use("Agg")
from flashkeep import plots  # noqa: E402


@pytest.fixture(scope="module")
def result(small):
    return fk.run(small)


def heights(ax, label):
    return [bar.get_height() for container in ax.containers if container.get_label() == label for bar in container]


def test_response_has_a_bar_for_each_percentile(result):
    ax = plots.response(result, kind="read")
    assert (
        heights(ax, "99 %") == result["read_response_us_p99"] and heights(ax, "mean") == result["read_response_us_mean"]
    )
    assert [text.get_text() for text in ax.get_xticklabels()] == ["none", "raid5"]


def test_cdf_ends_at_one_for_each_scheme(result):
    lines = plots.cdf(result, kind="write").get_lines()
    assert [line.get_label() for line in lines] == ["none", "raid5"]
    assert all(line.get_ydata()[-1] == 1.0 and sorted(line.get_ydata()) == list(line.get_ydata()) for line in lines)


@pytest.mark.parametrize("what", ["reads", "programs", "erases"])
def test_traffic_adds_up(result, what):
    ax = plots.traffic(result, what=what)
    tops = [sum(heights(ax, c.get_label())[row] for c in ax.containers) for row in range(2)]
    assert tops == result[f"flash_{what}"]


def test_energy_adds_up(result):
    ax = plots.energy(result)
    tops = [sum(heights(ax, c.get_label())[row] for c in ax.containers) for row in range(2)]
    assert tops == pytest.approx(result["energy_j"])


def test_wear_shows_means(result):
    ax = plots.wear(result)
    assert [patch.get_height() for patch in ax.patches] == result["pe_added_mean"]


def test_lines_are_drawn_for_frames_and_for_studies(small):
    frame = fk.sweep(fk.Grid(experiment=small, axes=[fk.Axis(key="seed", values=[1, 2, 3])]))
    lines = plots.lines(frame, x="seed", y="waf", by="scheme").get_lines()
    assert [line.get_label() for line in lines] == ["none", "raid5"]
    assert list(lines[0].get_ydata()) == frame["waf"][::2] and list(lines[0].get_xdata()) == [1, 2, 3]
    rows = [{"x": 1, "y": 2.0}, {"x": 2, "y": None}, {"x": 3, "y": 4.0}]
    assert list(plots.lines(rows, x="x", y="y").get_lines()[0].get_xdata()) == [1, 3]
