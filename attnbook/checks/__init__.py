"""The checks of the chapters' exercises, a module a chapter: what a right answer must do."""
