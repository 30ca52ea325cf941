# numpy.fft of NumPy 2.4.
from numpy._array import Op

fft: Op
fft2: Op
fftfreq: Op
fftn: Op
fftshift: Op
hfft: Op
ifft: Op
ifft2: Op
ifftn: Op
ifftshift: Op
ihfft: Op
irfft: Op
irfft2: Op
irfftn: Op
rfft: Op
rfft2: Op
rfftfreq: Op
rfftn: Op
