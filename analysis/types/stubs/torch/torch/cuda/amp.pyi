# torch.cuda.amp of PyTorch 2.11.
from torch.amp import GradScaler as GradScaler, autocast as autocast, custom_bwd as custom_bwd, custom_fwd as custom_fwd
