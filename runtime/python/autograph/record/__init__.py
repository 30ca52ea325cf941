"""The record of a trace as plain data: operations, types, values, nodes and regions, and queries about them."""
