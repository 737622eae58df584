"""Times arrayx beside NumPy and PyTorch: ``python -m benchmarks cpu``."""
