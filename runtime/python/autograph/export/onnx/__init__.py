"""ONNX models: torch's exporter writes the programs of `exported_program`, with `If`, `Loop` and `Scan`.

    program         the program for ONNX, where it differs from that of torch.export
    module          the model
    translations    workarounds for errors of torch's exporter
"""
