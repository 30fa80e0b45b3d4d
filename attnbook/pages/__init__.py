"""Pages with live widgets and no kernel: what they carry, the Sphinx extension, nbconvert."""
