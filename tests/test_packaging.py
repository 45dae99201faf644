"""What is shipped: the wheel, the locks, one version, light imports, no addresses of registries."""

import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import mlfs_dask

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
SUPPORTED = ("3.11", "3.12", "3.13")
PINNED = re.compile(r"^(?P<requirement>[a-z0-9][^\\#]*==[^\\#]+?) \\$", re.MULTILINE)


@cache
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def project_files() -> list[Path]:
    """Files that are committed, or would be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    names = listed.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


# --- the wheel --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*command, "--directory", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_its_declarations_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if not name.endswith("/")}
    info = f"mlfs_dask-{mlfs_dask.__version__}.dist-info"
    expected = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    expected.add(f"{info}/licenses/LICENSE")
    for path in project_files():
        relative = path.relative_to(ROOT).as_posix()
        if relative.startswith("mlfs_dask/"):
            expected.add(relative)
        elif relative.startswith(("jobs/", "storage/catalogue/", "deploy/profiles/")) or (
            relative in ("storage/layout-v1.json", "deploy/dask.yaml")
        ):
            expected.add(f"mlfs_dask/_declarations/{relative}")
    assert shipped == expected


def test_wheel_finds_its_own_declarations(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from mlfs_dask.resources import declaration\n"
        "print(declaration('storage/layout-v1.json'))"
    )
    found = run_python(program, str(tmp_path))
    assert found == str(tmp_path / "mlfs_dask/_declarations/storage/layout-v1.json")


def test_checkout_finds_the_declarations_beside_the_package() -> None:
    from mlfs_dask.resources import declaration

    assert declaration("storage/layout-v1.json") == ROOT / "storage/layout-v1.json"


def test_entry_points_load() -> None:
    ours = [point for point in distribution("mlfs-dask").entry_points if "mlfs" in point.value]
    assert {(point.group, point.name) for point in ours} >= {
        ("console_scripts", "mlfs"),
        ("dask_cli", "mlfs"),
    }
    for point in ours:
        assert callable(point.load()), point


# --- light imports ----------------------------------------------------------------------------


def run_python(program: str, *arguments: str) -> str:
    """Standard output of a fresh interpreter, without the last newline."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def test_importing_the_package_imports_neither_dask_nor_numba() -> None:
    program = "import sys, mlfs_dask; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = run_python(program).split()
    assert "mlfs_dask" in loaded
    assert not {"dask", "distributed", "numba", "numpy", "zarr"} & set(loaded)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_no_heavy_package(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from mlfs_dask.cli import main\n"
        "sys.argv[0] = 'mlfs'\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code, stop.code\n"
        "print('LOADED', *sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    *shown, loaded = run_python(program, *arguments).splitlines()
    assert shown
    assert loaded.startswith("LOADED ")
    heavy = {"dask", "distributed", "numba", "zarr", "sklearn", "scipy", "bokeh"}
    assert not heavy & set(loaded.split())


def test_public_names_exist() -> None:
    for name in mlfs_dask.__all__:
        assert getattr(mlfs_dask, name) is not None
    assert set(mlfs_dask.__all__) <= set(dir(mlfs_dask))


# --- one version ------------------------------------------------------------------------------


def test_one_version_everywhere() -> None:
    version = mlfs_dask.__version__
    assert distribution("mlfs-dask").version == version
    assert pyproject()["tool"]["hatch"]["version"]["path"] == "mlfs_dask/__init__.py"
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


def test_supported_pythons_agree() -> None:
    project = pyproject()["project"]
    named = [c.rpartition(" ")[2] for c in project["classifiers"] if ":: 3." in c]
    assert tuple(named) == SUPPORTED
    within = Requirement(f"python{project['requires-python']}").specifier
    assert [minor for minor in range(8, 20) if f"3.{minor}.5" in within] == [11, 12, 13]


# --- locks ------------------------------------------------------------------------------------


def pins(lock: str) -> list[Requirement]:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    found = [Requirement(match["requirement"]) for match in PINNED.finditer(text)]
    assert len(found) == sum(1 for line in text.splitlines() if "==" in line and line[0] != " ")
    return found


def pinned(lock: str, python: str) -> dict[str, Version]:
    """Version of each package that a lock installs on Linux."""
    here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    return {
        canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("=="))
        for pin in pins(lock)
        if pin.marker is None or pin.marker.evaluate(here)
    }


def test_there_are_four_locks() -> None:
    assert [path.stem for path in LOCKS] == ["bench", "build", "dev", "runtime"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_lock_has_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(lock.stem)) > 0
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block.splitlines()[0]


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize(
    ("lock", "extras"),
    [("runtime", ()), ("dev", ("test", "lint")), ("bench", ("bench",))],
)
def test_locks_hold_what_pyproject_asks_for(
    lock: str, extras: tuple[str, ...], python: str
) -> None:
    project = pyproject()["project"]
    asked = [*project["dependencies"]]
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    have = pinned(lock, python)
    for requirement in map(Requirement, asked):
        version = have.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in {lock}.lock: make lock"
        assert version in requirement.specifier, f"{requirement} in {lock}.lock: make lock"


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("lock", ["runtime", "build", "bench"])
def test_locks_agree_with_each_other(lock: str, python: str) -> None:
    developers = pinned("dev", python)
    for name, version in pinned(lock, python).items():
        assert developers.get(name, version) == version, name


def test_developers_have_all_that_users_have() -> None:
    for python in SUPPORTED:
        users = pinned("runtime", python).keys() | pinned("build", python).keys()
        assert users <= pinned("dev", python).keys()


# --- no addresses of registries ---------------------------------------------------------------

# Spelled in pieces, so that this file passes its own test.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("pypi", "python", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("anaconda", "org"),
        ("proxy", "golang", "org"),
    )
]


def test_no_file_names_a_registry() -> None:
    named = []
    for path in project_files():
        content = path.read_bytes().lower()
        named += [f"{path.name}: {host}" for host in REGISTRIES if host.encode() in content]
    assert not named
