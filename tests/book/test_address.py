"""The repository's address: read from one place, absent or present, and followed everywhere."""

from __future__ import annotations

import pytest

from booktools.address import ROOT, Address, parse_address, read_address

REPOSITORY = "https://github.com/Owner/name"


def test_it_is_read_from_pyproject(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n')
    assert read_address(file) is None
    file.write_text("[project.urls]\n")
    assert read_address(file) is None
    file.write_text(f'[project.urls]\nRepository = "{REPOSITORY}.git"\n')
    assert read_address(file) == Address(REPOSITORY, "https://owner.github.io/name/")
    file.write_text(
        f'[project.urls]\nRepository = "{REPOSITORY}"\nDocumentation = "https://book.example/a"\n'
    )
    assert read_address(file) == Address(REPOSITORY, "https://book.example/a/")


@pytest.mark.parametrize(("repository", "on_github", "site_path", "pip"), [
    (REPOSITORY, True, "/name/", f"git+{REPOSITORY}@main"),
    ("https://gitlab.com/a/b", False, "/", "git+https://gitlab.com/a/b@main"),
    ("file:///somewhere/clone", False, "/", "git+file:///somewhere/clone@main"),
])  # fmt: skip
def test_what_follows_from_it(repository, on_github, site_path, pip):
    address = parse_address(repository)
    assert (address.on_github, address.site_path, address.pip) == (on_github, site_path, pip)


@pytest.mark.parametrize("wrong", ["github.com/a/b", "git@github.com:a/b", "https://", "a b"])
def test_what_is_no_address_is_refused(wrong):
    with pytest.raises(ValueError, match=r"Repository under \[project.urls\] must be like") as said:
        parse_address(wrong)
    assert repr(wrong.removesuffix("/")) in str(said.value)


def test_it_stands_nowhere_else():
    """Setting the address in pyproject.toml is all there is to do, so no other file may know it."""
    address = read_address()
    files = [path for pattern in ("*.yml", "*.md", "booktools/*.py", ".github/workflows/*")
             for path in ROOT.glob(pattern)]  # fmt: skip
    known = [path for path in files if address and address.repository in path.read_text("utf8")]
    assert known == []
