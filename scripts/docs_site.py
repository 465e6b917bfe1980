"""MkDocs hooks for `make docs`.

Links that leave docs/ lead to copies of the files on the site, so that it is complete without the repository; files
linked from those copies are copied too. The reference has a page for the names of the package, and one for each of its
public modules, by `__all__` in the source. Nothing is imported, so nothing has to be built but the list of a report's
fields, which is made from a C header.
"""

from __future__ import annotations

import ast
import logging
import posixpath
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/joulemap"
MODULES = [
    "types",
    "torch",
    "huggingface",
    "accelerate",
    "lightning",
    "keras",
    "jax",
    "caps",
    "plots",
    "sinks",
    "ncu",
    "calibration",
]
COPIES = "repository"  # the site's folder of files from outside of docs/
LARGEST = 1_000_000  # bytes; larger files are not copied
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)

log = logging.getLogger("mkdocs.hooks.joulemap")


def on_startup(command: str, dirty: bool) -> None:
    """Make the package for the reference, before mkdocstrings looks for its folder."""
    make_package(ROOT / "build/docs-package")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace `reference` in the navigation by the pages of the reference."""
    pages = [{"joulemap": "reference/joulemap.md"}]
    pages += [{f"joulemap.{name}": f"reference/joulemap.{name}.md"} for name in modules()]
    config.nav = _replaced(config.nav, pages)
    return config


def make_package(folder: Path) -> None:
    """Make a folder of links to the package's files, with the classes that the build makes."""
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "joulemap"
    package.mkdir(parents=True)
    for entry in PACKAGE.iterdir():
        (package / entry.name).symlink_to(entry)
    program = folder / "fields_stub"
    compiler = ["cc", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", "-o", str(program)]
    subprocess.run([*compiler, str(ROOT / "python/fields_stub.c")], check=True)
    made = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    (package / "_fields.pyi").write_text(made, encoding="utf-8")


def _replaced(nav: Any, pages: list[dict[str, str]]) -> Any:
    if nav == "reference":
        return pages
    if isinstance(nav, list):
        return [_replaced(item, pages) for item in nav]
    if isinstance(nav, dict):
        return {title: _replaced(item, pages) for title, item in nav.items()}
    return nav


def source_of(module: str) -> Path | None:
    """Return the file of a module of the package, or None."""
    found = [PACKAGE / f"{module}.py", PACKAGE / module / "__init__.py"]
    return next((path for path in found if path.exists()), None)


def modules() -> list[str]:
    """Return the public modules that exist."""
    return [name for name in MODULES if source_of(name)]


def names_of(source: Path) -> list[str]:
    """Return the names in a file's `__all__`, or its public classes and functions, in order."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in tree.body if isinstance(node, defined) and not node.name.startswith("_")]


def reference_page(title: str, source: Path) -> str:
    """Return the page of a module: its docstring's first line, and an entry for each name."""
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    first = docstring.split("\n\n")[0].removeprefix("joulemap: ").replace("\n", " ")
    first = first[:1].upper() + first[1:]
    names = [name for name in names_of(source) if title != "joulemap" or name not in modules()]
    entries = "\n\n".join(f"::: {title}.{name}" for name in names)
    return f"# {title}\n\n{first}\n\nHow to use it: [the guide](../python.md).\n\n{entries}\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, and copies of all files outside of docs/ that pages link to."""
    top = PACKAGE / "__init__.py"
    files.append(File.generated(config, "reference/joulemap.md", content=reference_page("joulemap", top)))
    for name in modules():
        source = source_of(name)
        assert source is not None
        page = reference_page(f"joulemap.{name}", source)
        files.append(File.generated(config, f"reference/joulemap.{name}.md", content=page))
    waiting = [ROOT / "docs" / file.src_uri for file in files.documentation_pages() if file.generated_by is None]
    copied: set[Path] = set()
    while waiting:
        page = waiting.pop()
        for target in outside(page, page.read_text(encoding="utf-8")):
            if target in copied or not target.exists():
                continue
            copied.add(target)
            where = f"{COPIES}/{copy_name(target)}"
            if target.suffix == ".md":
                files.append(File.generated(config, where, content=target.read_text(encoding="utf-8")))
                waiting.append(target)
            elif target.is_dir():
                files.append(File.generated(config, where, content=listing(target)))
            elif target.stat().st_size <= LARGEST:
                files.append(File.generated(config, where, abs_src_path=str(target)))
    return files


def outside(page: Path, text: str) -> list[Path]:
    """Return the files outside of docs/ that a page links to."""
    found = []
    for part in FENCE.split(text)[::2]:
        for _, link, _ in LINK.findall(part):
            target = (page.parent / link).resolve()
            if "://" not in link and target.is_relative_to(ROOT) and not target.is_relative_to(ROOT / "docs"):
                found.append(target)
    return found


def copy_name(target: Path) -> str:
    """Return the name on the site of a file from outside of docs/."""
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        return f"{name}/files.md"
    # MkDocs treats README.md as the index of a folder; browsers show .txt
    return name if target.suffix in {".md", ".txt", ".html", ".svg", ".png"} else f"{name}.txt"


def listing(folder: Path) -> str:
    """Return a page with the names of a folder's files."""
    lines = [f"- `{entry.name}{'/' if entry.is_dir() else ''}`" for entry in sorted(folder.iterdir())]
    return (
        f"# {folder.relative_to(ROOT).as_posix()}/\n\nFiles of this folder of the repository:\n\n"
        + "\n".join(lines)
        + "\n"
    )


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Redirect links that leave docs/ to the copies, and links of copies into docs/."""
    here = page.file.src_uri
    origin = ROOT / here.removeprefix(f"{COPIES}/") if here.startswith(f"{COPIES}/") else ROOT / "docs" / here

    def replaced(match: re.Match[str]) -> str:
        link = match[2]
        if "://" in link or link.startswith(("mailto:", "reference/")):
            return match[0]
        target = (origin.parent / link).resolve()
        if not target.exists():
            return match[0]  # MkDocs warns
        if target.is_relative_to(ROOT / "docs"):
            to = target.relative_to(ROOT / "docs").as_posix()
        elif target.is_relative_to(ROOT):
            to = f"{COPIES}/{copy_name(target)}"
            if files.get_file_from_path(to) is None:
                log.warning("%s: %s is too large for a copy", here, link)
        else:
            return match[0]
        if (ROOT / "docs" / to).is_dir():
            to += "/README.md"
        return f"{match[1]}{posixpath.relpath(to, posixpath.dirname(here) or '.')}{match[3]}"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(replaced, part) for part in parts[::2]]
    return "".join(parts)
