"""The repository's address, and everything that follows from it.

The address stands in one place, ``Repository`` under ``[project.urls]`` in
``pyproject.toml``. While it is absent, :func:`read_address` returns ``None`` and the book
has no launch buttons, no edit links and no site address.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
BRANCH = "main"

_GITHUB = re.compile(r"https://github\.com/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")


@dataclass(frozen=True)
class Address:
    """Where the repository is (``repository``) and where its book is published (``site``).

    ``site`` is ``None`` when it can neither be derived nor was given as ``Documentation``.
    """

    repository: str
    site: str | None

    @property
    def on_github(self) -> bool:
        """Whether Colab can open the chapters, which it does from GitHub only."""
        return _GITHUB.fullmatch(self.repository) is not None

    @property
    def site_path(self) -> str:
        """The path under which the site is served, with a slash at both ends."""
        return f"/{urlsplit(self.site).path.strip('/')}/".replace("//", "/") if self.site else "/"

    @property
    def pip(self) -> str:
        """What ``pip install`` takes to install attnkit from the repository."""
        return f"git+{self.repository}@{BRANCH}"


def parse_address(repository: str, documentation: str | None = None) -> Address:
    """Build an :class:`Address` from the two entries of ``[project.urls]``.

    ``repository`` is a web address (``https://...``) or, to try things out, a local clone
    (``file:///...``). On GitHub the site defaults to the address that Pages gives it.

    Raises:
        ValueError: the address has neither form.
    """
    repository = repository.removesuffix("/").removesuffix(".git")
    if not re.match(r"(https://[^/\s]+|file://)/\S+", repository):
        raise ValueError(
            f"Repository under [project.urls] must be like https://github.com/OWNER/NAME "
            f"or file:///path/to/clone, got {repository!r}"
        )
    if documentation is None and (match := _GITHUB.fullmatch(repository)):
        documentation = f"https://{match['owner'].lower()}.github.io/{match['name']}/"
    return Address(repository, documentation and documentation.rstrip("/") + "/")


def read_address(pyproject: Path = ROOT / "pyproject.toml") -> Address | None:
    """Read the address from ``pyproject.toml``; ``None`` while it is not set."""
    urls = tomllib.loads(pyproject.read_text("utf8")).get("project", {}).get("urls", {})
    repository = urls.get("Repository")
    return parse_address(repository, urls.get("Documentation")) if repository else None
