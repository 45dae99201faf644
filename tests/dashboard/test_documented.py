"""What deploy/README.md says of the dashboard, done."""

import re
import shlex
from pathlib import Path

from distributed.cli.dask_scheduler import main
from made_runs import MadeRun
from served import PRELOAD, serve

TEXT = (Path(__file__).parents[2] / "deploy" / "README.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## Runs in the browser")[2].partition("\n## ")[0]


def test_the_command_is_one_that_dask_takes():
    (line,) = re.findall(r"^\$ dask scheduler (.+)$", SECTION, re.MULTILINE)
    words = main.make_context("scheduler", shlex.split(line)).params
    assert words["preload"] == (PRELOAD,)
    assert words["preload_argv"] == ("--runs", "/shared/runs")


def test_the_program_gives_pages_to_a_scheduler_that_runs(tmp_path):
    (program,) = re.findall(r"```python\n(.+?)```", SECTION, re.DOTALL)
    MadeRun("shared").write(tmp_path)
    with serve(preload=False) as pages:
        address = pages.cluster.scheduler_address.removeprefix("tcp://")
        for written, meant in (("127.0.0.1:8786", address), ("/shared/runs", str(tmp_path))):
            assert written in program
            program = program.replace(written, meant)
        exec(compile(program, "README.md", "exec"), {})
        pages.until("/mlfs", lambda answer: "shared-0123456789" in answer.text)


def test_the_numbers_are_named_as_they_are(tmp_path):
    with serve(tmp_path) as pages:
        text = pages.until("/metrics", lambda answer: "mlfs_runs" in answer.text).text
    for name in re.findall(r"`(mlfs_\w+)`", SECTION):
        assert f"# TYPE {name} gauge" in text
