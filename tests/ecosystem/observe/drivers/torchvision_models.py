"""Compiles the models and operators of torchvision, one of each family, and scripts them."""
import re

import torch
import torchvision


def untrained(name):
    try:
        return torchvision.models.get_model(name, weights=None, weights_backbone=None)
    except TypeError:
        return torchvision.models.get_model(name, weights=None)


seen = set()
for name in torchvision.models.list_models():
    family = re.match(r"(quantized_)?[a-z]+", name).group()
    if family in seen or "quantized" in name:
        continue
    seen.add(family)
    for stage in (lambda model: torch.compile(model, backend="eager"), torch.jit.script):
        torch._dynamo.reset()
        try:
            with torch.no_grad():
                model = stage(untrained(name).eval())
                size = 299 if "inception" in name else 224
                video = name.startswith(("r3d", "mc3", "r2plus", "s3d", "mvit", "swin3d"))
                model(torch.zeros((1, 3, 16, size, size) if video else (1, 3, size, size)))
        except Exception as error:
            print(name, type(error).__name__, str(error)[:200].replace("\n", " "), flush=True)

boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 3.0, 5.0]])
for operator in (torchvision.ops.box_area, torchvision.ops.clip_boxes_to_image, torchvision.ops.box_iou,
                 torchvision.ops.generalized_box_iou, torchvision.ops.nms, torchvision.ops.remove_small_boxes,
                 torchvision.ops.sigmoid_focal_loss, torchvision.ops.masks_to_boxes):
    for stage in (lambda function: torch.compile(function, backend="eager"), torch.jit.script):
        for arguments in ((boxes,), (boxes, boxes), (boxes, (8, 8)), (boxes, torch.ones(2), 0.5), (boxes, 1.0)):
            try:
                stage(operator)(*arguments)
            except Exception as error:
                print(operator.__name__, type(error).__name__, flush=True)
