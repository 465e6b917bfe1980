"""What docstrings lack: words for each parameter, for what comes back, and for what is raised."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
FRAMEWORKS_OWN = re.compile("on_|teardown")  # hooks, whose arguments the framework describes
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
RAISING = re.compile(r"\braise |_arguments\.(?!Gpu)")
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?)(?: : (.+))?$")


def sections(text: str) -> dict[str, str]:
    """Return the sections of a NumPy docstring, by their heads."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> dict[str, tuple[str, str]]:
    """Return type and words of each name in a section of names."""
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in section.strip("\n").splitlines():
        if line and not line[0].isspace():
            entry = ENTRY.match(line)
            names = [] if entry is None else [name.strip(" *") for name in entry[1].split(",")]
            found.update(dict.fromkeys(names, ((entry[2] or "") if entry is not None else "", "")))
        elif line.strip():
            found.update({name: (found[name][0], f"{found[name][1]} {line.strip()}".strip()) for name in names})
    return found


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("joulemap")


def public(module: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield what a module shows: its functions, its classes, and the methods and properties that those define."""
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value) and not inspect.isroutine(value):
            continue
        yield name, value, None
        for kind in value.__mro__ if inspect.isclass(value) else ():
            for member, found in vars(kind).items():
                if is_ours(kind) and not member.startswith("_") and not FRAMEWORKS_OWN.match(member):
                    function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
                    if inspect.isfunction(function):
                        yield f"{name}.{member}", function, found


def parameters_of(value: Any) -> list[str]:
    function = value.__init__ if inspect.isclass(value) else value
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def faults_of_function(function: Any, is_property: bool) -> Iterator[str]:
    text = inspect.getdoc(function) or ""
    parts = sections(text)
    told = entries(parts.get("Parameters", ""))
    if list(told) != (asked := parameters_of(function)):
        yield f"its parameters are {asked}, told are {list(told)}"
    starred = {name for name, one in inspect.signature(function).parameters.items() if one.kind in STARRED}
    yield from (f"{name} has no words" for name, (_, words) in told.items() if not words)
    yield from (f"{name} has no type" for name, (kind, _) in told.items() if not kind and name not in starred)
    generates = inspect.isgeneratorfunction(inspect.unwrap(function))
    gives = inspect.signature(function).return_annotation not in ("None", None, "NoReturn", inspect.Signature.empty)
    returned = parts.get("Returns", parts.get("Yields", ""))
    if gives and not is_property and re.search(r"^    \S", returned, re.MULTILINE) is None:
        yield "what it returns has no words"
    if not gives and not generates and "Returns" in parts:
        yield "it returns nothing"
    if RAISING.search(inspect.getsource(function)) and "Raises" not in parts:
        yield "what it raises has no words"
    for name, words in entries(parts.get("Raises", "")).items():
        if not words[1]:
            yield f"when {name} is raised has no words"


def faults_of_class(kind: type) -> Iterator[str]:
    parts = sections(inspect.getdoc(kind) or "")
    if issubclass(kind, BaseException):
        return
    if dataclasses.is_dataclass(kind):
        asked = [field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")]
    elif issubclass(kind, tuple):
        asked = list(getattr(kind, "_fields", ()))
    else:
        return
    told = entries(parts.get("Attributes", ""))
    if set(told) != set(asked):
        yield f"attributes that have no words, or are none: {sorted(set(told) ^ set(asked))}"
    yield from (f"{name} has no type or no words" for name, both in told.items() if not all(both))


def faults(module: Any) -> list[str]:
    found = []
    for name, value, member in public(module):
        if not inspect.getdoc(value):
            found.append(f"{name} has no docstring")
        elif inspect.isclass(value):
            found += [f"{name}: {fault}" for fault in faults_of_class(value)]
        else:
            found += [f"{name}: {fault}" for fault in faults_of_function(value, isinstance(member, property))]
    return sorted(set(found))


def missing_arguments(kind: type, made_by: Any = None) -> list[str]:
    """Return arguments of a class that its docstring does not describe, or that are none."""
    told = entries(sections(inspect.getdoc(kind) or "").get("Parameters", ""))
    unknown = set(told) ^ set(parameters_of(made_by or kind))
    return sorted(unknown | {name for name, both in told.items() if not all(both)})
