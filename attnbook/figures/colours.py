"""The colours of the book's plots, by name.

The first eight are told apart by every kind of colour vision (Okabe and Ito 2008). From `PALE` to
`NAVY` more is darker, and `RUST` stands against them. On a dark page a plot's lightness is turned
over (`attnbook.drawings`).
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PINK = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALE, SEA, NAVY, RUST = "#7fb3d8", "#2f7ebb", "#0b3c75", "#b34700"
INK, MUTED, GREY = "#222832", "#57606a", "#555555"
