"""One `fit` for every model, its losses, and weights in eight bits."""

from attnlab.training.evaluation import evaluate, next_token_loss, sequence_loss, usual_loss
from attnlab.training.loop import Fit, fit

__all__ = ["Fit", "evaluate", "fit", "next_token_loss", "sequence_loss", "usual_loss"]
