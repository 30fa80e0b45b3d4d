"""Downloads: once, into a cache, and only what has the right checksum."""

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path

from tqdm.auto import tqdm

from attnkit.guard import checks


def cache_folder(name: str) -> Path:
    """Return where downloads of that name are kept: `attnkit/NAME` in the user's cache folder.

    Example:
        >>> cache_folder("multi30k").parts[-2:]
        ('attnkit', 'multi30k')
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "attnkit" / name


def fetch(url: str, path: str | Path, sha256: str, *, timeout: float = 30.0) -> Path:
    """Download `url` to `path`, once, and only if it has the checksum.

    What arrives is kept as `path` + ".part" until it is whole, so an interrupted download leaves
    no half file under the real name, and the next call goes on from where it stopped when the
    server can. A file with the wrong checksum is removed.

    Raises:
        OSError: the server cannot be reached, or breaks off.
        ValueError: the whole file arrived and has another checksum.

    Example:
        >>> import tempfile
        >>> there, here = (Path(tempfile.mkdtemp()) / name for name in ("there.txt", "here.txt"))
        >>> there.write_text("a file")
        6
        >>> fetch(there.as_uri(), here, hashlib.sha256(b"a file").hexdigest()).read_text()
        'a file'
    """
    path = Path(path)
    if path.is_file():
        return checked(path, sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            _receive(response, part, have)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # the part is already as long as the file, or longer
            raise OSError(f"url: expected a file at {url}, got {error}") from error
    except urllib.error.URLError as error:
        raise OSError(f"url: expected an answer from {url}, got {error.reason}") from error
    checked(part, sha256, remove=True).replace(path)
    return path


def _receive(response, part: Path, have: int) -> None:
    resumed = response.status == 206
    length = response.headers.get("Content-Length")
    total = int(length) + have * resumed if length else None
    bar = tqdm(desc=part.stem, total=total, initial=have * resumed, unit="B", unit_scale=True)
    with bar, part.open("ab" if resumed else "wb") as file:
        while chunk := response.read(1 << 16):
            file.write(chunk)
            bar.update(len(chunk))
        if total is not None and file.tell() < total:
            raise OSError(f"url: expected {total} bytes, got {file.tell()}; call again to go on")


def checked(path: str | Path, sha256: str, *, remove: bool = False) -> Path:
    """Return `path` if the file has that SHA-256 sum, and otherwise raise, and `remove` it.

    Raises:
        ValueError: the sum is another.

    Example:
        >>> empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        >>> checked(os.devnull, empty).name
        'null'
    """
    path = Path(path)
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != sha256:
        if remove:
            path.unlink()
        checks.fail(path.name, f"a file with SHA-256 {sha256}", f"{got} ({path})")
    return path
