"""Modules with FSDP, whose parameters are distributed over processes. Staged code must not call them."""

import sys

from ..capture.staging import DISTRIBUTED
from ..conversion import spans
from ..errors import StagingError


def check(module):
    """Refuses a module whose parameters FSDP distributes over processes."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    if fsdp is None or not isinstance(module, (fsdp.FSDPModule, fsdp.FullyShardedDataParallel)):
        return
    message = f"`{type(module).__name__}` has parameters that FSDP distributes over processes, and cannot be staged"
    raise StagingError(message + DISTRIBUTED, spans.current())
