"""Converted functions, and the map from converted code to the user's source."""
