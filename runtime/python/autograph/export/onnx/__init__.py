"""ONNX models: torch's exporter writes the programs of `exported_program`, with `If`, `Loop` and `Scan`.

    program         what differs in a program for ONNX
    module          the model
    translations    corrections of torch's exporter
"""
