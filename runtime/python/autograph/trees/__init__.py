"""Trees of Python objects as tensors: which classes refer to themselves, and the columns that contain their attributes."""
