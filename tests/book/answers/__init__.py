"""Wrong answers to the exercises, a module a chapter, for `tests/book/test_exercises.py`.

The exercises themselves are in the notebooks that import its checks, `attnbook.checks.chNN`: the
chapter's pages and `appendices/exercises`.

WRONG    by number of the exercise and what is wrong: the answer as an expression, and a piece of
         what its check must say; the expression may use what the cell of checks defines, the
         printed solutions, `attnkit`, `masks`, and the names of HELPERS and CELLS
PARAMETERS  by number of the exercise: where an expression names one of these, it is the body of a
         function of them, and otherwise the function itself (may be left out)
HELPERS  code that the wrong answers use (may be left out)
CELLS    ids of cells of these notebooks that they use, run in this order before HELPERS, without
         the rest of the chapter (may be left out)
"""
