"""Plots show the values of the columns they say."""

from dataclasses import replace
from statistics import mean, stdev

import pytest

import flashkeep as fk

pytest.importorskip("matplotlib").use("Agg")
from flashkeep import plots  # noqa: E402


@pytest.fixture(scope="module")
def result(small):
    return fk.run(small)


def heights(ax, label):
    return [bar.get_height() for container in ax.containers if container.get_label() == label for bar in container]


def test_latency_has_a_bar_for_each_percentile(result):
    ax = plots.latency(result, kind="read")
    assert (
        heights(ax, "99 %") == result["read_latency_us_p99"] and heights(ax, "mean") == result["read_latency_us_mean"]
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


def test_lines_cross_what_cannot_be_compared():
    whole = {"scheme": "a", "x": 1, "y": 2.0, "not_comparable": None}
    rows = [whole, {**whole, "x": 2, "y": 1.0, "not_comparable": "saturated"}, {**whole, "scheme": "b", "x": 2}]
    lines = plots.lines(rows, x="x", y="y", by="scheme").get_lines()
    assert [line.get_label() for line in lines] == ["a", "b", "not comparable: saturated"]
    assert (list(lines[-1].get_xdata()), list(lines[-1].get_ydata())) == ([2], [1.0])
    assert len(plots.lines([whole], x="x", y="y").get_lines()) == 1


def test_lines_are_drawn_for_frames_and_for_studies(small):
    frame = fk.sweep(fk.Grid(experiment=small, axes=[fk.Axis(key="seed", values=[1, 2, 3])]))
    lines = plots.lines(frame, x="seed", y="waf", by="scheme").get_lines()
    assert [line.get_label() for line in lines] == ["none", "raid5"]
    assert list(lines[0].get_ydata()) == frame["waf"][::2] and list(lines[0].get_xdata()) == [1, 2, 3]
    rows = [{"x": 1, "y": 2.0}, {"x": 2, "y": None}, {"x": 3, "y": 4.0}]
    assert list(plots.lines(rows, x="x", y="y").get_lines()[0].get_xdata()) == [1, 3]


def test_lines_of_a_grid_with_seeds_are_means_with_intervals(small):
    axes = [fk.Axis(key="capacity.over_provisioning", values=[0.3, 0.5]), fk.Axis(key="seed", values=[1, 2, 3])]
    frame = fk.sweep(fk.Grid(experiment=small, axes=axes))
    assert len(frame) == 12, "every run keeps its rows"
    ax = plots.lines(frame, x="capacity.over_provisioning", y="waf", by="scheme")
    for scheme, drawn in zip(["none", "raid5"], ax.containers):
        line, _, (bars,) = drawn.lines
        for place, spare in enumerate([0.3, 0.5]):
            rows = zip(frame["scheme"], frame["capacity.over_provisioning"], frame["waf"])
            values = [waf for name, at, waf in rows if (name, at) == (scheme, spare)]
            half = 4.302653 * stdev(values) / 3**0.5
            assert line.get_ydata()[place] == pytest.approx(mean(values))
            (_, low), (_, high) = bars.get_segments()[place]
            assert (low, high) == pytest.approx((mean(values) - half, mean(values) + half))
    # The same where the sweep repeats its runs: the intervals are in the rows.
    frame = fk.sweep(fk.Grid(experiment=small, axes=axes[:1]), seeds=3)
    for scheme, drawn in zip(
        ["none", "raid5"], plots.lines(frame, x="capacity.over_provisioning", y="waf", by="scheme").containers
    ):
        rows = frame.filter(scheme=scheme)
        line, _, (bars,) = drawn.lines
        assert list(line.get_ydata()) == rows["waf"]
        assert [low for (_, low), _ in bars.get_segments()] == pytest.approx(rows["waf_low"])
        assert [high for _, (_, high) in bars.get_segments()] == pytest.approx(rows["waf_high"])


def test_lines_with_several_values_in_a_place_are_refused_and_facets_draw_them(small):
    axes = [fk.Axis(key="capacity.over_provisioning", values=[0.3, 0.5]), fk.Axis(key="generate.read_fraction", values=[0.2, 0.5])]
    frame = fk.sweep(fk.Grid(experiment=small, axes=axes))
    with pytest.raises(ValueError, match="waf has 2 values where capacity.over_provisioning is 0.3 and scheme is none") as refused:
        plots.lines(frame, x="capacity.over_provisioning", y="waf", by="scheme")
    assert "facet='generate.read_fraction'" in str(refused.value)
    drawn = plots.facets(frame, facet="generate.read_fraction", x="capacity.over_provisioning", y="waf", by="scheme")
    for fraction, ax in zip([0.2, 0.5], drawn):
        part = frame.filter(**{"generate.read_fraction": fraction})
        assert ax.get_title() == f"generate.read_fraction {fraction}"
        for line, scheme in zip(ax.get_lines(), ["none", "raid5"]):
            assert (line.get_label(), list(line.get_ydata())) == (scheme, part.filter(scheme=scheme)["waf"])
    mixed = [{"x": at, "y": value, "seed": 1} for at, value in [(1, 2.0), (1, 3.0), (2, 4.0)]]
    with pytest.raises(ValueError, match="y has 2 values where x is 1"):
        plots.lines(mixed, x="x", y="y")


def test_bars_over_several_seeds_are_means_with_error_bars(small):
    result = fk.run(replace(small, seeds=3))
    values = heights(plots.latency(result, kind="write"), "mean")
    assert values == [result.interval(scheme, "write_latency_us_mean")[0] for scheme in result.schemes]
    ax = plots.traffic(result, what="programs")
    (errors,) = [container for container in ax.containers if hasattr(container, "has_yerr")]
    (_, low), (_, high) = errors.lines[2][0].get_segments()[1]
    middle, half = result.interval("raid5", "flash_programs")
    assert (low, high) == pytest.approx((middle - half, middle + half))


def test_lines_are_drawn_for_frames_of_others():
    columns = {
        "scheme": ["a", "a", "b", "b"],
        "x": [1, 2, 1, 2],
        "y": [2.0, 1.0, 4.0, 3.0],
        "not_comparable": [None, "saturated", None, None],
    }
    frames = [columns]
    for module, made in (("polars", "DataFrame"), ("pandas", "DataFrame")):
        frames.append(getattr(pytest.importorskip(module), made)(columns))
    for frame in frames:
        lines = plots.lines(frame, x="x", y="y", by="scheme").get_lines()
        assert [line.get_label() for line in lines] == ["a", "b", "not comparable: saturated"]
        assert [list(line.get_ydata()) for line in lines] == [[2.0, 1.0], [4.0, 3.0], [1.0]]
        assert len(plots.facets(frame, facet="scheme", x="x", y="y")) == 2
    with pytest.raises(TypeError, match="found int, valid are frames of flashkeep, polars"):
        plots.lines(3, x="x", y="y")
