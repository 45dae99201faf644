"""README.md is run: its commands and programs in order, in an empty folder with a small data file.

``console`` blocks hold commands after ``$``; ``python`` blocks are programs; ``toml file=NAME``
blocks are files. ``make`` lines are looked up in the Makefile instead.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@dataclass(frozen=True)
class Block:
    language: str
    info: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        return [line.removeprefix("$ ") for line in self.text.splitlines() if line[:2] == "$ "]


BLOCKS = [
    Block(match[1], match[2], match[3], README.count("\n", 0, match.start()) + 1)
    for match in FENCE.finditer(README)
]
COMMANDS = re.findall(r"^\| `mlfs ([a-z ]+?)(?: [A-Z]+)?` \|", README, re.MULTILINE)


def write_emotions(folder: Path) -> None:
    """A Mulan pair named like the README's: 450 rows, 12 numeric features, 3 labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(450, 12))
    Y = (X[:, :3] + rng.normal(scale=0.5, size=(450, 3)) > 0).astype(int)
    labels = ["amazed", "happy", "calm"]
    head = ["@relation emotions"]
    head += [f"@attribute f{i} numeric" for i in range(12)]
    head += [f"@attribute {label} {{0,1}}" for label in labels]
    rows = [
        ",".join([*(f"{value:.6g}" for value in x), *map(str, y)])
        for x, y in zip(X, Y, strict=True)
    ]
    text = "\n".join([*head, "@data", *rows, ""])
    (folder / "emotions.arff").write_text(text, encoding="utf-8")
    names = "".join(f'<label name="{label}"></label>' for label in labels)
    xml = f'<?xml version="1.0" ?><labels xmlns="http://mulan.sourceforge.net/labels">{names}</labels>'
    (folder / "emotions.xml").write_text(xml, encoding="utf-8")


def environment() -> dict[str, str]:
    """A user's: the installed commands on the path, no folder set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MLFS_")}
    bin_folder = os.path.dirname(sys.executable)
    return {**kept, "PATH": f"{bin_folder}{os.pathsep}{kept['PATH']}"}


def run(arguments: list[str] | str, folder: Path, line: int) -> None:
    done = subprocess.run(
        arguments,
        shell=isinstance(arguments, str),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"README.md, block at line {line}: {arguments}\n{said}"
    assert "Traceback" not in said, said


def run_blocks(folder: Path) -> int:
    """Run all blocks; returns how many commands and programs these were."""
    ran = 0
    for block in BLOCKS:
        if block.language == "console":
            for command in block.commands:
                if not command.startswith(("make ", ". .venv/")):
                    run(command, folder, block.line)
                    ran += 1
        elif block.language == "python":
            run([sys.executable, "-c", block.text], folder, block.line)
            ran += 1
        elif block.language == "toml":
            name = block.info.removeprefix("file=")
            (folder / name).write_text(block.text, encoding="utf-8")
    return ran


def test_readme_runs_from_top_to_bottom(tmp_path: Path) -> None:
    write_emotions(tmp_path)
    try:
        ran = run_blocks(tmp_path)
    finally:
        run("mlfs cluster stop", tmp_path, 0)  # of a README that failed half-way
    assert ran >= 6
    (report,) = tmp_path.glob("runs/*/report.html")
    assert report.stat().st_size > 0
    for name in ("results.json", "evaluation.csv"):
        assert (report.parent / name).stat().st_size > 0
    header = (tmp_path / "best.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert (len(header), header[3:]) == (6, ["amazed", "happy", "calm"])
    assert (tmp_path / "best.arff").read_text(encoding="utf-8").count("@attribute") == 6


def test_blocks_are_of_the_kinds_that_are_run() -> None:
    for block in BLOCKS:
        assert block.language in {"console", "python", "toml"}, block
        assert block.language != "toml" or block.info.startswith("file="), block
        if block.language == "console":
            assert len(block.commands) == len(block.text.splitlines()), block
    assert {block.language for block in BLOCKS} == {"console", "python", "toml"}


def test_make_targets_exist() -> None:
    named = [
        target
        for block in BLOCKS
        for command in block.commands
        if command.startswith("make ")
        for target in command.split()[1:]
    ]
    named += re.findall(r"`make ([a-z-]+)`", README)
    assert {"quickstart", "test"} <= set(named) <= TARGETS


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_table_have_help_with_an_example(command: str, invoke) -> None:
    said = invoke(*command.split(), "--help").stdout
    assert "mlfs " + command in said
    assert "--json" in said


def test_table_and_map_are_not_empty_and_their_paths_exist() -> None:
    assert len(COMMANDS) >= 12
    map_of_folders = README.partition("## Where things are")[2]
    first_cells = re.findall(r"^\| (`.+?) \|", map_of_folders, re.MULTILINE)
    folders = [path for cell in first_cells for path in re.findall(r"`([^`]+)`", cell)]
    assert len(folders) >= 12
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert "://" in link or (ROOT / link.partition("#")[0]).exists(), link
