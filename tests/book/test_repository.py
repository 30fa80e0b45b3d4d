"""The files around the code: workflows, pins, licences, citation."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from booktools.address import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml")),
    "citation-file-format": [ROOT / "CITATION.cff"],
}


@pytest.mark.build
@pytest.mark.parametrize(("schema", "files"), SCHEMAS.items(), ids=SCHEMAS)
def test_files_follow_their_schemas(schema, files):
    assert files
    tool = Path(sys.executable).with_name("check-jsonschema")
    command = [str(tool), "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_states_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    changes = (ROOT / "appendices" / "changes.md").read_text("utf-8")
    assert re.search(r"\n## Versions\n\n(\S+)\n: ", changes)[1] == version
    assert re.search(r"version = \{(\S+)\}", changes)[1] == version
    wheels = re.findall(
        r"attnkit-[\w.]+-py3", (ROOT / "appendices" / "install.md").read_text("utf-8")
    )
    assert set(wheels) == {f"attnkit-{version}-py3"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_and_ask_for_little(path):
    flow = yaml.safe_load(path.read_text())
    assert flow["permissions"] == {"contents": "read"}
    assert "concurrency" in flow
    for job in flow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            if uses := step.get("uses"):
                assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", uses), uses


def requirements(name: str) -> list[str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def test_every_requirement_is_pinned_and_torch_without_a_build():
    wanted = requirements("requirements.txt") + requirements("requirements-alone.txt")
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    wanted += [line for line in constraints if line and not line.startswith("#")]
    assert "torch==2.13.0" in wanted
    for line in wanted:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*(; sys_platform .*)?", line), line


@pytest.mark.build
def test_installed_versions_work_together():
    command = [sys.executable, "-m", "pip", "check", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True)
    alone = [line.split("==")[0] for line in requirements("requirements-alone.txt")]
    assert len(alone) == 3
    missing = rf"({'|'.join(map(re.escape, alone))}) \S+ requires \S+, which is not installed\."
    complaints = [line for line in done.stdout.splitlines() if not re.fullmatch(missing, line)]
    assert set(complaints) <= {"No broken requirements found."}, done.stdout


def test_the_package_alone_asks_for_little():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "torch>=2.8" in project["dependencies"]
    assert not any("==" in requirement for requirement in project["dependencies"])


MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_that_there_are(path):
    wanted = re.findall(r"\bmake ([a-z-]+) PYTHON=", path.read_text())
    assert wanted
    for target in wanted:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


def test_the_tiers_are_made_of_markers_that_there_are():
    """pytest takes any word after -m, and a wrong one leaves out nothing."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    markers = {line.split(":")[0] for line in settings["ini_options"]["markers"]}
    tiers = re.findall(r'-m "([^"]+)"', MAKEFILE)
    assert len(tiers) == 2
    words = {word for tier in tiers for word in re.findall(r"\w+", tier)} - {"not", "or"}
    assert words <= markers
