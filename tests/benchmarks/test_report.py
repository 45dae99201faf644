"""BENCHMARKS.md: sections are renewed one by one, and never mixed with those of other machines."""

from benchmarks import report
from benchmarks.report import Section
from benchmarks.side_by_side import Row

ROW = Row("a|b", "1 s", "peer", "2 s", "2x faster", "at least 3x faster", met=False)
FACTS = {"Processor": "one"}
FILES = {"test_a.py", "test_b.py"}


def test_the_machine_is_named() -> None:
    facts = report.machine()
    assert {"Processor", "BLAS", "Packages"} <= facts.keys()
    assert "kernels" in facts["BLAS"]
    assert facts["Processor"] in report.head(facts)
    assert facts == report.machine()


def test_cells_are_kept_apart() -> None:
    text = Section("Title", "Measured now.", [ROW]).text("test_a.py")
    assert text.startswith("<!-- test_a.py -->\n## Title\n\nMeasured now.\n\n| what |")
    assert r"| a\|b | 1 s | peer | 2 s | 2x faster | at least 3x faster | **no** |" in text


def both() -> str:
    sections = {"test_b.py": Section("B", "early", [ROW]), "test_a.py": Section("A", "early")}
    return report.renewed("", FACTS, sections, FILES)


def test_sections_stand_in_the_order_of_their_files() -> None:
    text = both()
    assert text.startswith(report.head(FACTS))
    assert 0 < text.index("## A") < text.index("## B")


def test_one_section_is_renewed_and_the_others_stay() -> None:
    text = report.renewed(both(), FACTS, {"test_b.py": Section("B", "late", [ROW])}, FILES)
    assert text == both().replace("## B\n\nearly", "## B\n\nlate")
    assert report.renewed(text, FACTS, {}, FILES) == text


def test_sections_of_files_that_are_gone_go() -> None:
    assert "## B" not in report.renewed(both(), FACTS, {}, {"test_a.py"})


def test_sections_of_another_machine_are_dropped() -> None:
    text = report.renewed(both(), {"Processor": "two"}, {"test_b.py": Section("B", "late")}, FILES)
    assert "## A" not in text
    assert "late" in text
