# torchaudio.functional 2.11: nearly every function gives a Tensor.
from torch._ops import Op

def __getattr__(name: str) -> Op: ...
