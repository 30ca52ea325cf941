# torchvision.ops 0.26.
from typing import Any

from torch._ops import Op

batched_nms: Op
box_area: Op
box_convert: Op
box_iou: Op
clip_boxes_to_image: Op
deform_conv2d: Op
generalized_box_iou: Op
nms: Op
remove_small_boxes: Op
roi_align: Op
roi_pool: Op
sigmoid_focal_loss: Op
stochastic_depth: Op

def __getattr__(name: str) -> Any: ...
