"""Wrong calls of the floor: masks, functional, trace, device; and of two efficient forms."""

# ruff: noqa: F401 (names that the table's calls use)

import math

import numpy as np
import torch

import attnkit
from attnkit import device, functional, masks, testing, trace
from attnkit.efficient import best_keys, gated_delta_segment, index_scores
from tests.refusals.wrong_calls import refused

Q, K, V = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 4)
META = torch.empty(2, 3, 7, 8, device="meta")
NESTED = torch.nested.nested_tensor([torch.randn(5, 8), torch.randn(7, 8)])


def sdpa(query=Q, key=K, value=V, **options):
    return attnkit.scaled_dot_product_attention(query, key, value, **options)


def softmax(scores, mask=None):
    return attnkit.masked_softmax(scores, mask)


def delta(query=V, key=V, value=V, write=V[..., 0], **options):
    return gated_delta_segment(query, key, value, write, **options)


test_refused_with_the_error_it_deserves = refused("functions", names=globals())
