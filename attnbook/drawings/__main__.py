"""Write the SVG file of every drawing: ``python -m attnbook.drawings``."""

from attnbook.drawings import DRAWINGS
from attnbook.drawings.drawing import HERE

for drawing in DRAWINGS.values():
    (HERE / f"{drawing.name}.svg").write_text(drawing.standalone(), "utf8")
