# torch.fft of PyTorch 2.11.
from torch._ops import Op

fft: Op
fft2: Op
fftfreq: Op
fftn: Op
fftshift: Op
hfft: Op
hfft2: Op
hfftn: Op
ifft: Op
ifft2: Op
ifftn: Op
ifftshift: Op
ihfft: Op
ihfft2: Op
ihfftn: Op
irfft: Op
irfft2: Op
irfftn: Op
rfft: Op
rfft2: Op
rfftfreq: Op
rfftn: Op

def __getattr__(name: str) -> Op: ...
