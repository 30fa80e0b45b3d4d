"""Speed and memory, always as ratios against named peers in one run: `python -m benchmarks`."""
