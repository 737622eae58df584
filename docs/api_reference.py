"""Writes the pages of the API reference, docs/api/, and warns of public names that have none.

What is public, and in which chapter, is what the package's own `__all__` lists say: a function gets a
page of its own, a chapter a page that lists its functions. Relies on arrayx being importable.
"""

from __future__ import annotations

import inspect
import operator
import pkgutil
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

import arrayx

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)

BEYOND = "arrayx._beyond_the_standard"
TITLES = {
    "arrayx._info": "Inspection",
    "arrayx.linalg": "Linear algebra: arrayx.linalg",
    "arrayx.fft": "Fourier transforms: arrayx.fft",
    "arrayx.memory": "Memory: arrayx.memory",
    "arrayx.testing": "Testing: arrayx.testing",
}
VERSIONS = {
    "__version__": "The version of arrayx.",
    "__array_api_version__": "The version of the standard.",
}
INTRODUCTION = """\
Examples assume ``import arrayx as xp``. Functions of the main namespace stand in the chapters of the
`standard <https://data-apis.org/array-api/2025.12/>`__, whose words for dtypes they use: "numeric" is
every dtype but bool, "floating" the real and complex floating-point ones.
"""
REFLECTED = """\
A Python scalar may stand on either side of an operator between arrays.
"""


@dataclass
class Section:
    """Names of one module under one heading."""

    module: str  # where users find them: "arrayx", "arrayx.linalg"
    names: list[str]
    title: str = ""


@dataclass
class Chapter:
    """A page that lists what its sections hold."""

    title: str
    page: str
    sections: list[Section]
    module: str = ""  # the public module that this is the chapter of, if it is one
    introduction: str = ""
    aliases: dict[str, str] = field(default_factory=dict)  # of functions that have other names, too


def modules_of(package: ModuleType, private: bool) -> Iterator[ModuleType]:
    """Yield the private or the public modules that say what they offer; within public packages, too."""
    for found in pkgutil.iter_modules(package.__path__):
        name = f"{package.__name__}.{found.name}"
        spec = find_spec(name)
        written_in_python = spec is not None and isinstance(spec.loader, SourceFileLoader)
        chosen = found.name.startswith("_") == private and not (private and found.ispkg)
        if written_in_python and chosen and found.name != "__main__":
            module = import_module(name)
            if hasattr(module, "__all__"):
                yield module
            if found.ispkg:
                yield from modules_of(module, private)


def last(name: str) -> str:
    return name.rpartition(".")[2]


def title_of(module: str) -> str:
    """Return a chapter's heading: `_set_functions` is 'Set functions'."""
    return TITLES.get(module) or last(module).strip("_").replace("_", " ").capitalize()


def chapters() -> list[Chapter]:
    """Return the chapters; every name of `arrayx.__all__` is in one."""
    beyond = import_module(BEYOND)
    public = list(modules_of(arrayx, private=False))
    names_of = {
        module.__name__: [name for name in module.__all__ if name in arrayx.__all__]
        for module in modules_of(arrayx, private=True)
    }
    standard = [
        Chapter(title_of(module), last(module).strip("_"), [Section("arrayx", names)])
        for module, names in names_of.items()
        if names
    ]
    standard.sort(key=lambda chapter: arrayx.__all__.index(chapter.sections[0].names[0]))
    extensions = [
        Chapter(
            TITLES.get(m.__name__, m.__name__),
            m.__name__.removeprefix("arrayx."),
            [Section(m.__name__, m.__all__)],
            module=m.__name__,
        )
        for m in public
    ]
    inspection = next(chapter for chapter in standard if chapter.page == "info")
    inspection.sections.append(Section("arrayx._info", ["NamespaceInfo"]))
    placed = {name for chapter in standard for name in chapter.sections[0].names}
    placed |= {last(module.__name__) for module in public} | set(beyond.__all__)
    core = [name for name in arrayx.__all__ if name not in placed]
    return [
        Chapter("Arrays, dtypes and devices", "core", [Section("arrayx", core)]),
        *standard,
        *extensions,
        chapter_beyond_the_standard(beyond),
    ]


def chapter_beyond_the_standard(beyond: ModuleType) -> Chapter:
    """Return the chapter of NumPy's functions, with a section for each of its modules."""
    aliases = {
        name: getattr(beyond, name).__name__
        for name in beyond.__all__
        if getattr(beyond, name).__name__ != name
    }
    by_module: dict[str, list[str]] = {}
    for name in beyond.__all__:
        if name not in aliases:
            by_module.setdefault(getattr(beyond, name).__module__, []).append(name)
    return Chapter(
        "Beyond the standard",
        "beyond_the_standard",
        [Section("arrayx", by_module[m], title_of(m)) for m in sorted(by_module)],
        introduction=inspect.cleandoc(beyond.__doc__ or "").rsplit("\n\n", 1)[0],
        aliases=aliases,
    )


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def directive(name: str, argument: str = "", *body: str, **options: str) -> str:
    """Return a directive; options that are empty are flags, body lines are indented."""
    lines = [f".. {name}:: {argument}".rstrip()]
    lines += [f"   :{option}: {value}".rstrip() for option, value in options.items()]
    lines += ["", *[f"   {line}".rstrip() for line in body]] if body else []
    return "\n".join(lines) + "\n"


def contents(pages: Iterable[str]) -> str:
    return directive("toctree", "", *pages, hidden="", maxdepth="1")


def summary(names: Iterable[str], **options: str) -> str:
    return directive("autosummary", "", *names, **options)


def page_of(module: str, name: str) -> str:
    """Return the name of an object's page; classes are marked, since file systems may fold case."""
    kind = "-class" if isinstance(getattr(import_module(module), name), type) else ""
    return f"{module}.{name}{kind}"


def object_page(module: str, name: str) -> str:
    """Return the page of a function or class."""
    value = getattr(import_module(module), name)
    title = re.sub(r"^arrayx\.(_\w+\.)?", "", f"{module}.{name}")
    body = class_body(name, value) if isinstance(value, type) else directive("autofunction", name)
    return "\n".join([heading(title), directive("currentmodule", module), body])


def operators_of(cls: type) -> dict[str, str]:
    """Return what calls a class's special methods: `a + b` calls `__add__`."""
    # A class that has one slot for assignment and deletion cannot but have both methods.
    names = [name for name in vars(cls) if hasattr(operator, name) and name != "__delitem__"]
    documented = {name: getattr(operator, name).__doc__.splitlines()[0] for name in names}
    return {
        name: re.sub(r"^Same as (.*?)( \(.*\))?\.$", r"\1", text)
        for name, text in documented.items()
        if text.startswith("Same as ") and name != "__index__"
    }


def protocol_methods(cls: type) -> list[str]:
    """Return a class's special methods that no operator calls and that say what they do."""
    return sorted(
        name
        for name, value in vars(cls).items()
        if re.fullmatch(r"__\w+__", name)
        and callable(value)
        and value.__doc__
        and name not in vars(object)
        and (name == "__index__" or not {name, f"__{name[3:]}"} & vars(operator).keys())
    )


def public_members(cls: type, methods: bool) -> list[str]:
    """Return the names of a class's public methods, or of its other public attributes."""
    return sorted(
        name
        for name, value in vars(cls).items()
        if not name.startswith("_") and callable(value) == methods
    )


def class_body(name: str, cls: type) -> str:
    """Return what a class's page holds: attributes, methods, operators and what protocols need."""
    parts = [directive("autoclass", name)]
    if issubclass(cls, BaseException):
        return parts[0]
    groups = [
        ("Attributes", "autoattribute", public_members(cls, methods=False)),
        ("Methods", "automethod", public_members(cls, methods=True)),
        ("Conversion and protocols", "automethod", protocol_methods(cls)),
    ]
    for title, kind, members in groups:
        if members:
            parts.append(heading(title, "-"))
            parts += [directive(kind, f"{name}.{member}") for member in members]
    if "__add__" in vars(cls):  # every class has comparisons
        rows = [f"* - ``{use}``\n     - ``{method}``" for method, use in operators_of(cls).items()]
        parts += [heading("Operators", "-"), REFLECTED, directive("list-table", "", *rows)]
    return "\n".join(parts)


def data_entry(module: str, name: str) -> str:
    """Return the entry of a constant or dtype, which stand on the page of their chapter."""
    value = getattr(import_module(module), name)
    if isinstance(value, arrayx.DType):
        return directive("py:data", name, facts_of(value))
    home = ModuleAnalyzer.for_module("arrayx._constants")
    words = home.find_attr_docs().get(("", name)) or [VERSIONS[name]]
    return directive("py:data", name, *words, value=repr(value))


def facts_of(dtype: arrayx.DType) -> str:
    """Return a sentence on a dtype."""
    bits = 8 * dtype.itemsize
    if arrayx.isdtype(dtype, "integral"):
        limits = arrayx.iinfo(dtype)
        return f"Integers of {bits} bits, {limits.min} to {limits.max}."
    if arrayx.isdtype(dtype, "bool"):
        return "False and True, one byte each."
    finfo = arrayx.finfo(dtype)
    kind = "Complex" if arrayx.isdtype(dtype, "complex floating") else "Real"
    parts = f", two of {finfo.bits}" if kind == "Complex" else ""
    return (
        f"{kind} floating-point numbers of {bits} bits{parts}; the largest is {finfo.max:.8g}, "
        f"the spacing at 1 is {finfo.eps:.8g}."
    )


def has_page(module: str, name: str) -> bool:
    """Whether an object gets a page of its own: functions and classes do."""
    return callable(getattr(import_module(module), name))


def has_entry(module: str, name: str) -> bool:
    """Whether an object stands on its chapter's page: constants do, modules are chapters."""
    value = getattr(import_module(module), name)
    return not callable(value) and not isinstance(value, ModuleType)


def chapter_page(chapter: Chapter) -> str:
    """Return the page that lists a chapter."""
    parts = [heading(chapter.title)]
    if chapter.module:
        parts.append(directive("automodule", chapter.module))
    elif chapter.introduction:
        parts.append(chapter.introduction + "\n")
    pages = []
    for section in chapter.sections:
        parts.append(directive("currentmodule", section.module))
        if section.title:
            parts.append(heading(section.title, "-"))
        home = import_module(section.module)
        listed = [name for name in section.names if has_page(section.module, name)]
        classes = [name for name in listed if isinstance(getattr(home, name), type)]
        functions = [name for name in listed if name not in classes]
        if classes:  # they are seldom called: `Array`, not `Array()`
            parts.append(summary(classes, signatures="none"))
        if functions:
            parts.append(summary(functions))
        pages += [page_of(section.module, name) for name in listed]
        parts += [
            data_entry(section.module, name)
            for name in section.names
            if has_entry(section.module, name)
        ]
    if chapter.aliases:
        parts += [heading("Other names", "-"), "NumPy's names of functions that have another.\n"]
        for name, other in chapter.aliases.items():
            signature = inspect.signature(getattr(arrayx, name))
            parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
            plain = signature.replace(parameters=parameters, return_annotation=signature.empty)
            parts.append(
                directive("py:function", f"{name}{plain}", f"The same as :func:`{other}`.")
            )
    if pages:
        parts.append(contents(pages))
    return "\n".join(parts)


def all_pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    found = chapters()
    pages = {chapter.page: chapter_page(chapter) for chapter in found}
    for chapter in found:
        for section in chapter.sections:
            for name in section.names:
                if has_page(section.module, name):
                    pages[page_of(section.module, name)] = object_page(section.module, name)
    lines = [heading("API reference"), directive("py:module", "arrayx"), INTRODUCTION]
    groups = {
        "The main namespace": [c for c in found if not c.module and not c.aliases],
        "Modules": [c for c in found if c.module],
        "More of NumPy": [c for c in found if c.aliases],
    }
    for caption, group in groups.items():
        pages_of_group = [chapter.page for chapter in group]
        lines.append(directive("toctree", "", *pages_of_group, maxdepth="1", caption=caption))
    return pages | {"index": "\n".join(lines)}


def write_pages(app: Sphinx, config: Any) -> None:
    """Bring docs/api/ up to date, leaving alone what has not changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = all_pages()
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def public_names() -> Iterator[str]:
    """Yield the full name of everything public: functions, constants, classes and their members."""
    for home in (arrayx, *modules_of(arrayx, private=False)):
        for name in home.__all__:
            full = f"{home.__name__}.{name}"
            yield full
            value = getattr(home, name)
            if isinstance(value, type) and not issubclass(value, BaseException):
                for methods in (False, True):
                    yield from (f"{full}.{member}" for member in public_members(value, methods))


def names_without_pages(documented: Container[str]) -> list[str]:
    return [name for name in public_names() if name not in documented]


def warn_of_missing_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Compare what is public with what Sphinx has seen; with -W a warning fails the build."""
    for name in names_without_pages(env.get_domain("py").objects):  # type: ignore[attr-defined]
        logger.warning("%s is public and has no page", name)


def link_names(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Make links of the public names in a docstring, and code of a function's own parameters.

    `copy` is code where a parameter has that name, and elsewhere a link to arrayx.copy.
    """
    try:
        parameters = set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        parameters = set()

    def quoted(found: re.Match[str]) -> str:
        word = found[1]
        if word not in parameters and word in arrayx.__all__:
            return f":py:obj:`{word} <arrayx.{word}>`"
        return f"``{word}``" if word in parameters else found[0]

    lines[:] = [re.sub(r"(?<![`:\w])`(\w+)`(?![`\w])", quoted, line) for line in lines]
    if what == "method":  # of Array, whose first line says which function it is
        lines[:1] = [re.sub(r"(?<![`<])\barrayx\.(\w+)", r":py:obj:`arrayx.\1`", lines[0])]


def without_bare_slash(
    app: Sphinx,
    what: str,
    name: str,
    value: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Drop the slash that stood after self: copy(/) is copy()."""
    if what == "method" and signature:
        signature = re.sub(r"^\(/(, )?", "(", signature)
    return signature, returns


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", link_names, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", without_bare_slash, priority=400)  # before numpydoc
    app.connect("env-check-consistency", warn_of_missing_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
