//! What breaks the graph of torch.compile, what torch.export refuses, what TorchScript does not compile.
