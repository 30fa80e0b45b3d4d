"""`multi30k`: real German, English and French captions (Elliott et al. 2016, 2017)."""

import gzip
import os
from pathlib import Path

from attnkit.guard import checks
from attnlab.download import cache_folder, fetch

URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
LANGUAGES = ("de", "en", "fr")
SHA256 = {
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}


def multi30k(
    split: str,
    source: str = "de",
    target: str = "en",
    *,
    folder: str | Path | None = None,
    download: bool = True,
) -> list[tuple[str, str]]:
    """Return the captions of one split in two languages, as (source, target) lines of text.

    29,000 pairs for training, 1,014 for validation and 1,000 for test (2016, Flickr). The files
    come from `folder`, or else from `multi30k/` in the folder that the environment variable
    ATTNKIT_DATA names, or else from a cache, which is filled by one download. Every file is
    checked against its SHA-256 sum each time. For non-commercial research and education.

    Args:
        split: "train", "valid" or "test".
        source: "de", "en" or "fr".
        target: another of them.
        folder: where the `.gz` files are.
        download: False to raise instead of fetching what is missing.

    Raises:
        ValueError: a split or language is unknown, the languages are the same, or a file does not
            have its checksum.
        FileNotFoundError: a file is missing from the folder named, or from the cache and
            `download` is False.
        OSError: a download failed.

    Example:
        >>> if available():  # or download=True, once
        ...     assert len(multi30k("valid", "de", "en", download=False)) == 1014
    """
    checks.choice("split", split, tuple(SPLITS))
    checks.choice("source", source, LANGUAGES)
    checks.choice("target", target, tuple(name for name in LANGUAGES if name != source))
    checks.flag("download", download)
    lines = [
        _lines(_find(f"{SPLITS[split]}.{language}.gz", folder, download))
        for language in (source, target)
    ]
    return list(zip(*lines, strict=True))


def available() -> bool:
    """Say whether every file of Multi30k is there without a download."""
    folder = _given_folder(None) or cache_folder("multi30k")
    return all((folder / name).is_file() for name in SHA256)


def _find(name: str, folder: str | Path | None, download: bool) -> Path:
    given = _given_folder(folder)
    path = (given or cache_folder("multi30k")) / name
    if not path.is_file() and (given is not None or not download):
        raise FileNotFoundError(f"folder: expected {name} in {path.parent}, got no such file")
    return fetch(URL + name, path, SHA256[name])


def _given_folder(folder: str | Path | None) -> Path | None:
    if folder is not None:
        return Path(folder)
    data = os.environ.get("ATTNKIT_DATA")
    return Path(data) / "multi30k" if data else None


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").strip() for line in file]
