"""Who watches the calls, apart from who computes: what a bad argument is told, and which dtypes."""
