"""The files that package joulemap name the version and the commands that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def version() -> str:
    found = re.search(r"project\(joulemap VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    return found[1]


def test_the_conda_recipe_has_the_version_of_the_project() -> None:
    recipe = (ROOT / "conda/recipe.yaml").read_text()
    assert re.findall(r'^  version: "(.*)"$', recipe, re.MULTILINE) == [version()]


def test_container_and_workflow_run_scripts_that_exist() -> None:
    targets = (ROOT / "Makefile").read_text()
    for name in ("Dockerfile", ".github/workflows/wheels.yml"):
        text = (ROOT / name).read_text()
        scripts = set(re.findall(r"\bscripts/[a-z-]+", text))
        makes = set(re.findall(r"\bmake (wheel|[a-z]+-[a-z]+)\b", text))
        assert scripts and makes == {"wheel"}, name
        assert all((ROOT / script).is_file() for script in scripts), (name, scripts)
        assert "\nwheel:" in targets
