"""The report in headless Chromium: at desktop and phone width, light and dark, without scripts."""

import pytest
from chromium import MESSAGES, Chromium, find_chromium
from made_runs import HOSTILE, MadeRun, compared_run, hostile_run, method

from mlfs_dask.report import write_report

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)
UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true; })"


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    with Chromium(program) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Name -> a report of one run, of hostile names, of a sweep, of two runs."""
    folder = tmp_path_factory.mktemp("pages")
    plain, sweep, second = MadeRun("plain"), MadeRun("sweep"), MadeRun("second", seed=1)
    sweep.select = [method("spec", f"filter-SPEC Jaccard [phi={i}]", phi=i) for i in range(30)]
    sweep.classifiers = [method("mlknn", f"ML-kNN [n_neighbors={i}]") for i in range(5)]
    made = {run.name: run.write(folder) for run in (plain, sweep, second, hostile_run())}
    files = {name: folder / f"{name}.html" for name in ("plain", "sweep", "hostile", "two")}
    for name, file in files.items():
        runs = [made["plain"], made["second"]] if name == "two" else [made[name]]
        write_report(runs, file)
    return files


PAGES = pytest.mark.parametrize(
    ("page", "charts"), [("plain", 2), ("hostile", 8), ("sweep", 10), ("two", 4)]
)


@PAGES
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_page_fits_and_its_charts_are_there(browser, pages, page, charts, width, scripts):
    browser.open(pages[page], width=width, scripts=scripts)
    assert browser.content_width() <= width
    boxes = browser.boxes("details[open] > .charts > figure > svg")
    assert len(boxes) == (8 if page == "sweep" else charts)  # the rest is folded
    for left, _, wide, high in boxes:
        assert left >= 0
        assert left + wide <= width
        assert wide > 250
        assert high > 150


@PAGES
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_when_all_is_unfolded(browser, pages, page, charts, width):
    browser.open(pages[page], width=width)
    browser.evaluate(UNFOLD)
    assert browser.content_width() <= width
    assert len(browser.boxes("figure > svg")) == charts
    wide = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.clientWidth > innerWidth).length"
    )
    assert wide == 0
    scrolls = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".every(e => getComputedStyle(e).overflowX == 'auto' && e.tabIndex == 0)"
    )
    assert scrolls  # wide tables scroll inside their box, by keyboard too


@PAGES
def test_it_asks_for_nothing_and_says_nothing(browser, pages, page, charts):
    browser.open(pages[page], width=1280)
    asked = browser.saw("Network.requestWillBeSent")
    assert [request["request"]["url"] for request in asked] == [pages[page].as_uri()]
    assert browser.saw(*MESSAGES) is None
    assert browser.evaluate("document.scripts.length") == 0
    assert browser.evaluate("document.querySelectorAll('[onclick], [onload]').length") == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_diagrams_of_tests_fit_with_all_their_words(browser, tmp_path, width, scripts):
    file = tmp_path / "tested.html"
    write_report([compared_run(tmp_path, selectors=("SPEC", *HOSTILE, "MLLAP"))], file)
    browser.open(file, width=width, scripts=scripts)
    assert browser.content_width() <= width
    diagrams = browser.boxes("#r1-tests figure > svg")
    assert len(diagrams) == 2
    words = browser.boxes("#r1-tests figure > svg text")
    assert len(words) > 40
    assert min(high for *_, high in words) > 8  # read without a glass
    for x, y, wide, high in words:
        assert any(
            left - 1 <= x and x + wide <= left + w + 1 and top - 1 <= y and y + high <= top + h + 1
            for left, top, w, h in diagrams
        )


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_tables_can_be_taken_along(browser, pages, scripts):
    browser.open(pages["plain"], width=390, scripts=scripts)
    links = browser.evaluate("[...document.querySelectorAll('a.csv')].map(a => a.download)")
    assert links == ["points.csv", "agreement.csv", "stability.csv"]
    for place, name in ((".square", "agreement.csv"), ("#r1-stability table", "stability.csv")):
        browser.call("DOM.scrollIntoViewIfNeeded", nodeId=first(browser, place))
        browser.click(f"a[download='{name}']")
        begun = browser._wait_for(lambda: downloaded(browser))
        assert begun["suggestedFilename"] == name
        assert begun["url"].startswith("data:text/csv")


@pytest.mark.parametrize("width", WIDTHS)
def test_agreement_of_methods_is_tinted_by_how_far_they_agree(browser, pages, width):
    browser.open(pages["plain"], width=width)
    assert browser.boxes("#r1-alike .square")[0][2] > 150
    assert len(browser.boxes("#r1-alike > .scroll .heat")) == 2
    tint = "getComputedStyle(document.querySelector('#r1-alike .heat')).backgroundColor"
    assert browser.evaluate(tint) not in ("rgba(0, 0, 0, 0)", "")


def test_the_tests_above_would_notice(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><div style='width:2000px'>x</div><script>console.error('x')</script>"
        "<img src='missing.png'>"
    )
    browser.open(bad, width=1280)
    assert browser.content_width() > 1280
    assert browser.saw(*MESSAGES)
    assert len(browser.saw("Network.requestWillBeSent")) == 2
    browser.open(bad, width=390)
    assert browser.content_width() > 390


def test_the_policy_of_the_page_stops_what_slips_in(browser, pages, tmp_path):
    text = pages["plain"].read_text(encoding="utf-8")
    slipped = tmp_path / "slipped.html"
    slipped.write_text(text.replace("<main>", "<main><script>document.title = 'x'</script>"))
    browser.open(slipped, width=1280)
    assert "mlfs-dask report" in browser.evaluate("document.title")


def test_folded_parts_open_without_scripts(browser, pages):
    browser.open(pages["plain"], width=390, scripts=False)
    before = len(browser.boxes("details[open]"))
    browser.call("DOM.scrollIntoViewIfNeeded", nodeId=first(browser, "details:not([open])"))
    browser.click("details:not([open]) > summary")
    assert len(browser.boxes("details[open]")) == before + 1


def test_links_to_sections_work_without_scripts(browser, pages):
    browser.open(pages["plain"], width=390, scripts=False)
    browser.click("nav a[href$='provenance']")
    assert browser.evaluate("scrollY") > 500


def test_dark_screens_get_dark_pages_and_paper_stays_light(browser, pages):
    grounds = {}
    for scheme, media in (("light", ""), ("dark", ""), ("dark", "print")):
        browser.open(pages["plain"], width=1280, scheme=scheme, media=media)
        text = browser.evaluate("getComputedStyle(document.body).color")
        grounds[scheme, media] = sum(int(part) for part in text[4:-1].split(", "))
    assert grounds["light", ""] < 150 < 600 < grounds["dark", ""]
    assert grounds["dark", "print"] < 150


def test_on_paper_all_is_unfolded_and_nothing_is_cut(browser, pages):
    browser.open(pages["plain"], width=720, media="print")
    assert browser.content_width() <= 720
    folded = browser.evaluate(
        "[...document.querySelectorAll('details:not([open])')].map(d => [d.offsetHeight"
        " - d.firstElementChild.offsetHeight, [...d.children].every(e => e.checkVisibility())])"
    )
    assert folded
    assert all(height > 10 and seen for height, seen in folded)
    cut = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".length"
    )
    assert cut == 0
    assert browser.pdf().startswith(b"%PDF")


def downloaded(browser):
    """The download that has begun, once; None as long as there is none."""
    browser.evaluate("0")  # events come with answers
    found = browser.saw("Page.downloadWillBegin")
    browser.events.clear()
    return found and found[0]


def first(browser, selector):
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    return browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
