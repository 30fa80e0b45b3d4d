"""Answers to the exercise of page 14b that are wrong, and what the check must say of them."""

PARAMETERS = {1: "layer, tokens"}

WRONG = {
    (1, "a window that is full at once"):
        ("kept_by(layer, max(tokens, layer.get('window', 0)))", "window, 100 tokens: 409,600"),
    (1, "a latent for keys and one for values"):
        ("kept_by(layer, tokens) * (2 if layer['kind'] == 'latent' else 1)", "57,600 numbers, you"),
    (1, "chosen keys kept alone"):
        ("kept_by(layer, min(tokens, layer.get('top', tokens)))", "131,072 tokens: 92,274,688"),
    (1, "the index forgotten"): ("kept_by({**layer, 'index': 0}, tokens)", "70,400 numbers"),
    (1, "an entry for every token"): ("kept_by({**layer, 'every': 1}, tokens)", "latent for every"),
    (1, "an index for every token"):
        ("kept_by(layer, tokens)"
         " + layer.get('index', 0) * (tokens - tokens // layer.get('every', 1))",
         "chosen for every 4, 100 tokens: 16,000 numbers, you say 25,600"),
    (1, "a state for each token"):
        ("kept_by(layer, tokens) * tokens ** ('value' in layer)", "100 tokens: 262,144 numbers"),
}  # fmt: skip
