"""The record of a trace as plain data: types, values, nodes and regions, and questions about them."""
