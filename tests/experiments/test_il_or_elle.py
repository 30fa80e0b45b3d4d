"""The sentences of `experiments.il_or_elle` are right French, and no rule of grammar is enough."""

import torch

from attnlab.tasks.pairs import collate
from attnlab.transformer import Transformer
from experiments import il_or_elle


def test_the_sentence_of_the_page_and_its_french():
    tired = il_or_elle.pair("active", "tired", 0, 12, 0, 0)
    wide = il_or_elle.pair("passive", "wide", 0, 12, 0, 0)
    assert " ".join(tired.source) == (
        "the animal did not cross the street because it was too tired ."
    )
    assert " ".join(tired.target) == (
        "l' animal n' a pas traversé la rue parce qu' il était trop fatigué ."
    )
    assert " ".join(wide.target) == (
        "la rue n' a pas été traversée par l' animal parce qu' elle était trop large ."
    )


def test_every_rule_that_ignores_the_ending_is_right_in_half():
    sentences, nouns = il_or_elle.tested(), il_or_elle.items()
    answers = torch.tensor(["elle" in one.target for one in sentences]).view(-1, 4, 2)
    assert len(sentences) == 8 * len(nouns)
    assert (answers[..., 0] != answers[..., 1]).all()  # so any answer to both is right in one
    assert answers.float().mean() == 0.5
    known = il_or_elle.drawn(2000, seed=1)
    assert not {" ".join(one.source) for one in known} & {" ".join(one.source) for one in sentences}


@torch.no_grad()
def test_a_head_that_is_off_is_as_if_its_output_were_zero():
    words = il_or_elle.vocabs()
    torch.manual_seed(0)
    model = Transformer(*map(len, words), **il_or_elle.SHAPE).eval()
    batch = collate(il_or_elle.tested()[:40], *words)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    heads = [("cross", 1, head) for head in range(il_or_elle.HEADS)]
    off = il_or_elle.pronouns(model, batch, words, heads)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    model.decoder.layers[1].cross_attention.out_proj.weight.zero_()
    assert torch.equal(off, il_or_elle.pronouns(model, batch, words))
