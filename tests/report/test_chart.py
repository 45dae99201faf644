"""Charts: where things stand, and that colours can be told apart."""

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.report.chart import STYLES, Sample, Series, make_chart, mark_outline, nice_ticks

CSS = (files("mlfs_dask.report") / "templates" / "report.css").read_text(encoding="utf-8")

# Linear RGB as seen with normal eyes, protanopia, deuteranopia, tritanopia
# (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(0, 1e6).filter(lambda span: span == 0 or span > 1e-6),
)
def test_ticks_span_the_values(low, span):
    high = low + span
    ticks = nice_ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 9
    assert np.all(np.diff(ticks) > 0)


def test_lines_stand_where_the_values_are():
    samples = [Sample(0.0, 1.0, 0.5, "a"), Sample(1.0, 3.0, 0.5, "b", True, True)]
    chart = make_chart("m", "higher is better", [Series("s", 0, samples)])
    assert [tick.text for tick in chart.y_ticks] == ["0", "1", "2", "3", "4"]
    assert [tick.text for tick in chart.x_ticks] == [f"{p} %" for p in (0, 20, 40, 60, 80, 100)]
    first, last = chart.lines[0].marks
    assert (first.x, last.x) == (chart.left, chart.right)
    assert first.y == pytest.approx(chart.bottom - (chart.bottom - chart.top) / 4, abs=0.1)
    assert last.y == pytest.approx(chart.bottom - 3 * (chart.bottom - chart.top) / 4, abs=0.1)
    assert (first.is_enough, last.is_enough) == (False, True)
    assert (first.is_beyond, last.is_beyond) == (False, True)
    assert chart.lines[0].band.count(",") == 4


def test_the_axis_ends_at_the_largest_share_and_the_baseline_goes_across():
    samples = [Sample(0.01, 1.0, None, ""), Sample(0.034, 2.0, None, "")]
    baseline = Series("all features", 0, [Sample(1.0, 1.5, 9.0, "")], is_baseline=True)
    chart = make_chart("m", "higher is better", [Series("s", 0, samples), baseline])
    assert [tick.text for tick in chart.x_ticks] == ["0 %", "1 %", "2 %", "3 %", "4 %"]
    xs = [float(x) for x in re.findall(r"[ML]([\d.]+),", chart.lines[1].path)]
    assert xs == [chart.left, chart.right]
    assert chart.lines[1].marks == ()
    assert chart.y_ticks[-1].text == "2.0"  # its spread is not drawn and takes no room


def test_a_chart_of_undefined_values_is_empty():
    chart = make_chart("m", "higher is better", [Series("s", 0, [])])
    assert chart.lines == ()


def test_marks_differ():
    assert len({mark_outline(number) for number in range(STYLES)}) == STYLES


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_differ_for_all_eyes_and_stand_out(scheme):
    names = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", CSS.split("@media")[scheme == "dark"]))
    series = np.array([linear(names[f"s{number}"]) for number in range(STYLES)])
    for sight, matrix in SIGHT.items():
        seen = oklab(np.clip(series @ np.array(matrix).T, 0, 1))
        pairs = itertools.combinations(seen, 2)
        nearest = min(float(np.linalg.norm(a - b)) for a, b in pairs)
        assert nearest > (0.15 if sight == "normal" else 0.08), sight
    card, page = linear(names["card"]), linear(names["page"])
    assert min(contrast(colour, card) for colour in series) > 3
    for text, least in (("text", 7), ("soft", 4.5), ("link", 4.5)):
        assert min(contrast(linear(names[text]), ground) for ground in (card, page)) > least


def linear(colour):
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """WCAG 2 contrast ratio of two colours in linear RGB."""
    lights = sorted(float(c @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (one, other))
    return lights[1] / lights[0]


def oklab(colours):
    """Ottosson's OKLab of linear RGB: distances as eyes see them."""
    lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.cbrt(colours @ lms.T) @ lab.T
