"""Pages with live widgets and no kernel: the Sphinx extension, and a preprocessor of nbconvert."""
