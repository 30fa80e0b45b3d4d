"""Alignments: the links that weights suggest, and their error rate."""

from collections.abc import Collection, Sequence

from torch import Tensor

from attnkit.guard import checks

Link = tuple[int, int]


def argmax_links(
    weights: Tensor,
    *,
    target_length: int | None = None,
    source_length: int | None = None,
    rows: Collection[int] | None = None,
) -> frozenset[Link]:
    """Link each target token to the source token it attends to most.

    Args:
        weights: (T, S), one row for each target token. Average or choose heads first.
        target_length: omit later rows, such as those of the end symbol and padding.
        source_length: omit later columns.
        rows: only these target tokens; default all.

    Returns:
        Links (target index, source index). A row of zeros, which attends to nothing, has none.

    Raises:
        TypeError: `weights` is not a floating tensor, or a length is not an int.
        ValueError: `weights` is not (T, S), holds NaN or a length does not fit.

    >>> import torch
    >>> sorted(argmax_links(torch.tensor([[0.1, 0.9], [0.7, 0.3], [0.0, 0.0]])))
    [(0, 1), (1, 0)]
    """
    checks.floating("weights", weights)
    if weights.dim() != 2:
        checks.fail("weights", "shape (T, S), one example and head", f"{checks.shape(weights)}")
    if target_length is not None:
        checks.integer("target_length", target_length, minimum=0, maximum=weights.shape[0])
    if source_length is not None:
        checks.integer("source_length", source_length, minimum=0, maximum=weights.shape[1])
    weights = weights[:target_length, :source_length].detach()
    if weights.isnan().any():
        checks.fail("weights", "numbers", "NaN")
    if not weights.numel():
        return frozenset()
    best, columns = weights.max(-1)  # (T,)
    return frozenset(
        (row, column)
        for row, (weight, column) in enumerate(zip(best.tolist(), columns.tolist(), strict=True))
        if weight > 0 and (rows is None or row in rows)
    )


def alignment_error_rate(
    links: Sequence[Collection[Link]],
    *,
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]],
) -> float:
    r"""Alignment error rate of a whole corpus, 0 to 1, less is better.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    over links A found, S sure and P possible (Och and Ney 2003, equation 20). Sure links count as
    possible too. With one link for each target word, as `argmax_links` gives, it cannot reach
    0 when a word has two sure links.

    Args:
        links: for each example, the links found.
        sure: for each example, the sure gold links.
        possible: for each example, the possible gold links.

    Raises:
        ValueError: the three do not hold as many examples, or no links at all.

    >>> alignment_error_rate([{(0, 0), (1, 2)}], sure=[{(0, 0)}], possible=[{(0, 0), (1, 1)}])
    0.33333333333333337
    """
    checks.same_number("sure", sure, "links", links)
    checks.same_number("possible", possible, "links", links)
    hits = total = 0
    for found, certain, maybe in zip(links, sure, possible, strict=True):
        found, certain = set(found), set(certain)
        hits += len(found & certain) + len(found & (certain | set(maybe)))
        total += len(found) + len(certain)
    if not total:
        checks.fail("links", "at least one link, found or sure", "none")
    return 1 - hits / total
