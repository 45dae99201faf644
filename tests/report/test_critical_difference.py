"""Critical-difference diagrams, judged by what they say: positions, bars, levels, names."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import stats
from mlfs_dask.errors import InputError
from mlfs_dask.report.critical_difference import (
    critical_difference_diagram,
    critical_difference_svg,
    stacked,
)
from mlfs_dask.report.fitting import fit_lines, text_width
from reference import stats as twin

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert('1')</script> & \"ö\"\x00\x07"


class Picture:
    """What a diagram shows, in ranks instead of coordinates."""

    def __init__(self, text):
        self.root = ET.fromstring(text)
        self.width = float(self.root.get("width"))
        self.height = float(self.root.get("height"))
        (axis,) = self.by_class("cd-axis")
        low, self.axis_y, high = map(
            float, re.match(r"M([\d.]+),([\d.]+)H([\d.]+)", axis.get("d")).groups()
        )
        self.n = len(self.by_class("cd-method"))
        self.scale = (high - low) / (self.n - 1)
        self.low = low

    def by_class(self, name):
        return [e for e in self.root.iter() if e.get("class") == name]

    def rank(self, x):
        return (x - self.low) / self.scale + 1

    @property
    def methods(self):
        """Name -> (rank where its dot stands, whether it is filled)."""
        return {
            g.get("data-name"): (
                self.rank(float(g.find(f"{SVG}circle").get("cx"))),
                g.find(f"{SVG}circle").get("fill") != "none",
            )
            for g in self.by_class("cd-method")
        }

    def bars(self, kind="cd-group"):
        """(first rank, last rank, y) of each bar, without its overhang."""
        found = []
        for path in self.by_class(kind):
            low, y, high = map(
                float, re.match(r"M([\d.-]+),([\d.]+)H([\d.]+)", path.get("d")).groups()
            )
            found.append((self.rank(low + 3), self.rank(high - 3), y))
        return found

    @property
    def texts(self):
        return [t.text for t in self.root.iter(f"{SVG}text")]


def draw(ranks, limit, **options):
    names = options.pop("names", [f"m{i}" for i in range(len(ranks))])
    return Picture(critical_difference_svg(names, ranks, limit, **options))


def test_methods_that_all_differ_have_no_bar():
    picture = draw([1, 2, 3, 4, 5], 0.9)
    assert picture.bars() == []
    assert "All methods differ." in picture.root.find(f"{SVG}title").text
    assert {name: round(rank, 1) for name, (rank, _) in picture.methods.items()} == {
        "m0": 1,
        "m1": 2,
        "m2": 3,
        "m3": 4,
        "m4": 5,
    }


def test_overlapping_groups_lie_on_levels_of_their_own():
    picture = draw([1.0, 1.8, 2.6, 4.0], 1.0)
    (first_low, first_high, first_y), (low, high, y) = picture.bars()
    assert (first_low, first_high) == pytest.approx((1.0, 1.8), abs=0.01)
    assert (low, high) == pytest.approx((1.8, 2.6), abs=0.01)
    assert first_y != y
    assert [e.find(f"{SVG}title").text for e in picture.by_class("cd-group")] == [
        "no difference among m0, m1",
        "no difference among m1, m2",
    ]


def test_groups_apart_share_a_level():
    bars = draw([1.0, 1.4, 3.4, 3.8], 0.5).bars()
    assert len(bars) == 2
    assert bars[0][2] == bars[1][2]


@given(
    halves=st.lists(st.integers(2, 40), min_size=2, max_size=40),
    limit=st.floats(0.05, 45),
    width=st.sampled_from([360, 560]),
)
def test_the_picture_says_what_the_ranks_say(halves, limit, width):
    n = len(halves)
    ranks = [1 + (half - 2) * (n - 1) / 38 for half in halves]
    picture = draw(ranks, limit, width=width)
    for i, rank in enumerate(ranks):
        place, filled = picture.methods[f"m{i}"]
        assert place == pytest.approx(rank, abs=0.02 / picture.scale + 1e-6)
        assert filled
    expected = {
        (min(ranks[i] for i in group), max(ranks[i] for i in group))
        for group in twin.maximal_groups(ranks, limit)
    }
    near = sorted(limit - (b - a) for a in ranks for b in ranks)
    if min(map(abs, near)) > 1e-9:
        found = sorted((low, high) for low, high, _ in picture.bars())
        assert len(found) == len(expected)
        np.testing.assert_allclose(
            np.array(found).reshape(-1, 2),
            np.array(sorted(expected)).reshape(-1, 2),
            atol=0.03 / picture.scale + 1e-6,
        )
    levels = {}
    for low, high, y in sorted(picture.bars()):
        assert low > levels.get(y, -1)  # no two bars of a level touch
        assert y > picture.axis_y
        levels[y] = high
    rows = [float(t.get("y")) for g in picture.by_class("cd-method") for t in g.iter(f"{SVG}text")]
    assert max([*levels, 0]) + 4 < min(rows)
    assert max(rows) < picture.height
    ends = [
        float(re.search(r"H([\d.]+)", g.find(f"{SVG}path").get("d"))[1])
        for g in picture.by_class("cd-method")
    ]
    assert all(0 < end < width for end in ends)


@given(
    ranks=st.lists(st.floats(1, 9), min_size=9, max_size=9),
    names=st.lists(st.text(min_size=1, max_size=60), min_size=9, max_size=9, unique=True),
)
def test_names_fit_and_break_nothing(ranks, names):
    text = critical_difference_svg(names, ranks, 2.0, title=names[0], width=360)
    root = ET.fromstring(text)
    methods = [e for e in root.iter() if e.get("class") == "cd-method"]
    assert len(methods) == 9
    for group in methods:
        for line in group.findall(f"{SVG}text"):
            x, size = float(line.get("x")), float(line.get("font-size"))
            width = text_width(line.text or "", size)
            left = x - width if line.get("text-anchor") == "end" else x
            assert left >= -1e-6 - size
            assert left + width <= 360 + size


def test_names_are_escaped():
    picture = draw([1, 2], 3, names=[EVIL, "b"], title=EVIL)
    assert not picture.by_class("script")
    assert list(picture.root.iter(f"{SVG}script")) == []
    assert "<script>alert('1')</script> & \"ö\"��" in picture.methods
    inline = critical_difference_diagram([EVIL, "b"], [1, 2], 3).inline()
    assert "<script" not in inline
    assert ET.fromstring(inline).get("aria-label").startswith("average ranks, 1 is best: <script>")


def test_a_file_needs_nothing_else_and_stands_on_white():
    text = critical_difference_svg(["A", "B"], [1, 2], 0.5)
    assert not re.search(r"href|url\(|@import|<style|<image", text)
    assert text.count("http") == 1  # the name space
    assert 'fill="#ffffff"' in text


def test_alpha_changes_numbers_and_drawing():
    table = stats.rank_table(
        np.random.default_rng(0).normal(size=(8, 6)) + np.arange(6) / 2, higher_is_better=False
    )
    drawn = []
    for alpha in (0.05, 0.1):
        found = stats.nemenyi(table, alpha=alpha)
        picture = draw(table.average_ranks, found.critical_difference, names=table.names)
        (ruler,) = picture.by_class("cd-ruler")
        assert float(ruler.get("data-length")) == found.critical_difference
        assert f"CD = {found.critical_difference:.3f}" in picture.texts
        start, _, end = map(
            float, re.match(r"M([\d.]+),([\d.]+)v8M.*H([\d.]+)M", ruler.get("d")).groups()
        )
        assert (end - start) / picture.scale == pytest.approx(found.critical_difference, abs=0.01)
        assert len(picture.bars()) == len(found.groups)
        drawn.append(ruler.get("d"))
    assert drawn[0] != drawn[1]


def test_a_critical_difference_longer_than_the_picture_is_cut_and_says_so():
    picture = draw([1.2, 1.8], 30)
    assert any("longer than this" in text for text in picture.texts)
    (ruler,) = picture.by_class("cd-ruler")
    assert max(map(float, re.findall(r"H([\d.]+)", ruler.get("d")))) <= picture.width


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_the_words_of_the_ruler_stay_inside_the_picture(n):
    """With long names the axis begins far to the right."""
    names = [f"wrapper-Relief [order {i}]" for i in range(n)]
    picture = draw([1.0 + i for i in range(n)], float(n), names=names)
    (words,) = [e for e in picture.root.iter(f"{SVG}text") if e.text.startswith("CD = ")]
    wide = text_width(words.text, float(words.get("font-size")))
    low = float(words.get("x")) - (wide if words.get("text-anchor") == "end" else 0.0)
    assert low >= 0
    assert low + wide <= picture.width


@pytest.mark.parametrize("control", [None, "Control of a name"])
@pytest.mark.parametrize("width", [360, 560])
def test_names_keep_off_the_edges(control, width):
    """Fonts differ from the estimate, and the control stands in bold letters."""
    names = ["Control of a name", "B", "MMMMM", "D"]
    text = critical_difference_svg(names, [1, 2, 3, 4], 0.5, control=control, width=width)
    for group in ET.fromstring(text).iter():
        if group.get("class") != "cd-method":
            continue
        for line in group.findall(f"{SVG}text")[1:]:
            bold = 1.1 if line.get("font-weight") else 1
            wide, x = (
                bold * text_width(line.text, float(line.get("font-size"))),
                float(line.get("x")),
            )
            left = x - wide if line.get("text-anchor") == "end" else x
            assert left >= 3
            assert left + wide <= width - 3


def test_a_control_has_a_span_and_filled_dots_differ():
    picture = draw([1.5, 2.0, 3.0, 3.5], 1.2, control="m1")
    assert picture.bars() == []
    ((low, high, _),) = picture.bars("cd-span")
    assert (low, high) == pytest.approx((1.0, 3.2), abs=0.12)
    assert {name for name, (_, filled) in picture.methods.items() if filled} == {"m3"}
    assert any("differs from m1" in text for text in picture.texts)
    assert "Different from m1: m3." in picture.root.find(f"{SVG}title").text


def test_tests_without_a_critical_difference():
    holm = draw([1.5, 2.0, 3.0, 3.5], None, control="m1", differing=["m0"])
    assert holm.by_class("cd-ruler") == holm.bars("cd-span") == []
    assert {name for name, (_, filled) in holm.methods.items() if filled} == {"m0"}
    groups = draw([1.5, 2.0, 3.0, 3.5], None, groups=[["m0", "m1"], ["m1", "m2", "m3"]])
    assert [(round(a, 1), round(b, 1)) for a, b, _ in groups.bars()] == [(1.5, 2.0), (2.0, 3.5)]


def test_several_diagrams_in_one_file():
    one = critical_difference_diagram(["A", "B"], [1, 2], 0.5, title="first")
    two = critical_difference_diagram(["C", "D", "E"], [1, 2, 3], 0.5, title="second", width=560)
    root = ET.fromstring(stacked([one, two]))
    assert float(root.get("height")) > one.height + two.height
    assert root.get("width") == "560"
    names = [e.get("data-name") for e in root.iter() if e.get("class") == "cd-method"]
    assert names == ["A", "B", "C", "D", "E"]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((["A"], [1], 1), {}, "1 name and"),
        ((["A", "B"], [1], 1), {}, "2 names and 1 average rank\n"),
        ((["A", "A"], [1, 2], 1), {}, "2 names"),
        ((["A", "B"], [1, 2], None), {}, "neither"),
        ((["A", "B"], [1, 2], None), {"control": "A", "groups": []}, "neither"),
        ((["A", "B"], [1, 2], 1), {"control": "C"}, "the control 'C'"),
    ],
)
def test_impossible_diagrams_are_refused(arguments, options, words):
    with pytest.raises(InputError, match=words):
        critical_difference_svg(*arguments, **options)


@given(text=st.text(max_size=80), room=st.floats(20, 300), lines=st.integers(1, 3))
def test_lines_fit_and_keep_the_order_of_the_text(text, room, lines):
    found = fit_lines(text, room, 12, lines)
    assert len(found) <= lines
    assert all(text_width(line, 12) <= room + 1e-9 or len(line) <= 3 for line in found)
    whole = "".join(text.split())
    shown = "".join("".join(found).split())
    head, _, tail = shown.partition("…")
    assert shown == whole or (whole.startswith(head) and whole.endswith(tail) and len(tail) > 0)
