"""torchvision with random weights: models (inference and training steps), operators of `torchvision.ops` with gradients,
and transforms of `torchvision.transforms.v2` on tensors."""

import functools

import suite
import torch
import torchvision
import vision
from torchvision import models, ops, tv_tensors
from torchvision.transforms import v2

#: The smallest models of each family that classify images -> size of the images.
CLASSIFICATION = {
    "alexnet": 64, "convnext_tiny": 32, "densenet121": 32, "efficientnet_b0": 32, "efficientnet_v2_s": 32, "googlenet": 32,
    "inception_v3": 299, "mnasnet0_5": 32, "mobilenet_v2": 32, "mobilenet_v3_large": 32, "mobilenet_v3_small": 32,
    "regnet_x_400mf": 32, "regnet_y_400mf": 32, "resnet18": 32, "resnet34": 32, "resnet50": 32, "resnext50_32x4d": 32,
    "shufflenet_v2_x0_5": 32, "shufflenet_v2_x1_0": 32, "squeezenet1_0": 32, "squeezenet1_1": 32, "swin_t": 32,
    "swin_v2_t": 32, "vgg11": 32, "vgg11_bn": 32, "wide_resnet50_2": 32,
}  # fmt: skip

#: Families whose models are all large -> a function that creates a smaller model.
TINY = {
    "vit": lambda: models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10),
    "maxvit": lambda: models.MaxVit((64, 64), 16, 2, [16, 32], [1, 1], 8, 0.2, num_classes=10),
    "swin": lambda: models.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10),
}  # fmt: skip

#: Models that classify videos -> shape of a video.
VIDEO = {
    "r3d_18": (3, 4, 32, 32), "mc3_18": (3, 4, 32, 32), "r2plus1d_18": (3, 4, 32, 32), "s3d": (3, 16, 224, 224),
    "swin3d_t": (3, 4, 32, 32), "mvit_v2_s": (3, 16, 224, 224),
}  # fmt: skip

SEGMENTATION = (
    "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large"
)  # fmt: skip

SMALL = {"min_size": 64, "max_size": 96}
#: Models that detect objects -> their options.
DETECTION = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": SMALL, "fasterrcnn_mobilenet_v3_large_fpn": SMALL,
    "fasterrcnn_resnet50_fpn": SMALL, "fasterrcnn_resnet50_fpn_v2": SMALL, "fcos_resnet50_fpn": SMALL,
    "retinanet_resnet50_fpn": SMALL, "retinanet_resnet50_fpn_v2": SMALL, "maskrcnn_resnet50_fpn": SMALL,
    "maskrcnn_resnet50_fpn_v2": SMALL, "keypointrcnn_resnet50_fpn": SMALL, "ssd300_vgg16": {},
    "ssdlite320_mobilenet_v3_large": {},
}  # fmt: skip


def cases():
    for name, size in CLASSIFICATION.items():
        build = functools.partial(models.get_model, name, weights=None, num_classes=10)
        yield from _classified(name, build, (3, size, size))
    for name, build in TINY.items():
        size = 64 if name == "maxvit" else 32
        yield from _classified(f"tiny {name}", build, (3, size, size))
    for name, shape in VIDEO.items():
        yield from _classified(name, functools.partial(models.get_model, name, weights=None, num_classes=10), shape)
    for name in SEGMENTATION:
        options = {"weights": None, "weights_backbone": None, "num_classes": 5}
        build = functools.partial(models.get_model, name, **options)
        yield suite.Case(f"{name} inference", functools.partial(_inference, build, (3, 64, 64)))
        yield suite.Case(f"{name} training", functools.partial(_segmentation_training, build))
    for name, options in DETECTION.items():
        options = {"weights": None, "weights_backbone": None, "num_classes": 4, **options}
        build = functools.partial(models.get_model, name, **options)
        yield suite.Case(f"{name} inference", functools.partial(_detection, build))
        yield suite.Case(f"{name} training", functools.partial(_detection_training, build))
    yield suite.Case("raft_small inference", _flow)
    for name, program in _operators():
        yield suite.Case(f"ops {name}", functools.partial(_operator, program))
    for name, build in _transforms():
        yield suite.Case(f"transforms {name}", functools.partial(_transformed, build))


def _classified(name, build, shape):
    yield suite.Case(f"{name} inference", functools.partial(_inference, build, shape))
    yield suite.Case(f"{name} training", functools.partial(_training, build, shape))


def _inference(build, shape, stage):
    return vision.inference(build(), shape, stage)


def _training(build, shape, stage):
    model = build().train()

    def loss_of(x, y):
        found = model(x)
        if isinstance(found, tuple):  # with auxiliary classifiers
            return sum(torch.nn.functional.cross_entropy(logits, y) for logits in found if logits is not None)
        return torch.nn.functional.cross_entropy(found, y)

    return vision.stepped(model, loss_of, stage, [(torch.randn(4, *shape), torch.randint(0, 10, (4,))) for _ in range(2)])


def _segmentation_training(build, stage):
    model = build().train()

    def loss_of(x, y):
        return torch.nn.functional.cross_entropy(model(x)["out"], y)

    batches = [(torch.randn(2, 3, 64, 64), torch.randint(0, 5, (2, 64, 64))) for _ in range(2)]
    return vision.stepped(model, loss_of, stage, batches)


def _detection(build, stage):
    model = build().eval()

    @stage
    def detect(images):
        return model(images)

    observed = []
    with torch.no_grad():
        for count in (1, 1, 2):
            images = [torch.rand(3, 64, 80) for _ in range(count)]
            observed.append(suite.snapshot(detect(images)))
    return observed


def _detection_training(build, stage):
    model = build().train()

    def loss_of(images, targets):
        return sum(model(images, targets).values())

    return vision.stepped(model, loss_of, stage, [([torch.rand(3, 64, 80) for _ in range(2)], _targets(2)) for _ in range(2)])


def _targets(count):
    found = []
    for _ in range(count):
        boxes = _boxes(3, 60)
        keypoints = torch.cat([torch.rand(3, 17, 2) * 60, torch.ones(3, 17, 1)], dim=2)
        masks = torch.randint(0, 2, (3, 64, 80), dtype=torch.uint8)
        labels = torch.randint(1, 4, (3,))
        found.append({"boxes": boxes, "labels": labels, "masks": masks, "keypoints": keypoints})
    return found


def _flow(stage):
    model = models.optical_flow.raft_small(weights=None).eval()

    @stage
    def forward(first, second):
        return model(first, second, num_flow_updates=2)[-1]

    with torch.no_grad():
        return [forward(torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)).clone() for _ in range(2)]


# Operators.


def _boxes(count, size=30, grad=False):
    corner = torch.rand(count, 2) * size / 2
    return torch.cat([corner, corner + 1 + torch.rand(count, 2) * (size / 2 - 1)], dim=1).requires_grad_(grad)


def _features(grad=True):
    return torch.randn(2, 8, 16, 16).requires_grad_(grad)


def _rois(count):
    return torch.cat([torch.randint(0, 2, (count, 1)).float(), _boxes(count, 14)], dim=1)


def _operators():
    """Yields the name of an operator, and a function that returns the operator and its arguments, given a number of boxes."""
    yield "nms", lambda n: (lambda b, s: ops.nms(b, s, 0.3), _boxes(n), torch.rand(n))
    yield "batched_nms", lambda n: (lambda b, s, i: ops.batched_nms(b, s, i, 0.3), _boxes(n), torch.rand(n), torch.arange(n) % 3)
    yield "nms, boxes", lambda n: (lambda b, s: b[ops.nms(b, s, 0.3)[:5]].sum(0), _boxes(n, grad=True), torch.rand(n))
    yield "remove_small_boxes", lambda n: (lambda b: ops.remove_small_boxes(b, 5.0), _boxes(n))
    yield "clip_boxes_to_image", lambda n: (lambda b: ops.clip_boxes_to_image(b, (20, 20)), _boxes(n, grad=True))
    for first, last in (("xyxy", "xywh"), ("xywh", "cxcywh"), ("cxcywh", "xyxy")):
        yield f"box_convert {first} {last}", lambda n, a=first, b=last: (lambda x: ops.box_convert(x, a, b), _boxes(n, grad=True))
    for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
        yield name, lambda n, name=name: (getattr(ops, name), _boxes(n, grad=True), _boxes(n + 2))
    for name in ("generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"):
        yield name, lambda n, name=name: (getattr(ops, name), _boxes(n, grad=True), _boxes(n))
        yield f"{name} sum", lambda n, name=name: (lambda a, b: getattr(ops, name)(a, b, "sum"), _boxes(n, grad=True), _boxes(n))
    yield "box_area", lambda n: (ops.box_area, _boxes(n, grad=True))
    yield "masks_to_boxes", lambda n: (ops.masks_to_boxes, torch.rand(n, 8, 8) > 0.2)
    yield "roi_align", lambda n: (lambda x, r: ops.roi_align(x, r, 5, 0.5, 2, True), _features(), _rois(n))
    yield "roi_align, list", lambda n: (lambda x, a, b: ops.roi_align(x, [a, b], (3, 2)), _features(), _boxes(n), _boxes(2))
    yield "roi_pool", lambda n: (lambda x, r: ops.roi_pool(x, r, 4), _features(), _rois(n))
    yield "ps_roi_align", lambda n: (lambda x, r: ops.ps_roi_align(x, r, 2), _features(), _rois(n))
    yield "ps_roi_pool", lambda n: (lambda x, r: ops.ps_roi_pool(x, r, 2), _features(), _rois(n))
    for name in ("RoIAlign", "RoIPool", "PSRoIAlign", "PSRoIPool"):
        yield name, lambda n, name=name: (_module(name), _features(), _rois(n))
    yield "MultiScaleRoIAlign", lambda n: (_multi_scale, _features(), torch.randn(2, 8, 8, 8), _boxes(n), _boxes(3))
    yield "FeaturePyramidNetwork", lambda n: (_pyramid(), torch.randn(1, 4, n, n, requires_grad=True), torch.randn(1, 6, 4, 4))
    yield "deform_conv2d", lambda n: (_deformed, torch.randn(n, 4, 8, 8, requires_grad=True), *_deformation(n))
    yield "DeformConv2d", lambda n: (ops.DeformConv2d(4, 6, 3), torch.randn(n, 4, 8, 8, requires_grad=True), torch.randn(n, 18, 6, 6))
    yield "sigmoid_focal_loss", lambda n: (lambda x, y: ops.sigmoid_focal_loss(x, y, reduction="mean"), *_logits(n))
    for mode in ("batch", "row"):
        yield f"stochastic_depth {mode}", lambda n, mode=mode: (lambda x: ops.stochastic_depth(x, 0.4, mode), _logits(n)[0])
    yield "drop_block2d", lambda n: (lambda x: ops.drop_block2d(x, 0.3, 3), torch.randn(n, 2, 9, 9, requires_grad=True))
    yield "drop_block3d", lambda n: (lambda x: ops.drop_block3d(x, 0.3, 3), torch.randn(n, 2, 9, 9, 9, requires_grad=True))
    yield "FrozenBatchNorm2d", lambda n: (ops.FrozenBatchNorm2d(3), torch.randn(n, 3, 4, 4, requires_grad=True))
    yield "SqueezeExcitation", lambda n: (ops.SqueezeExcitation(4, 2), torch.randn(n, 4, 5, 5, requires_grad=True))
    yield "Conv2dNormActivation", lambda n: (ops.Conv2dNormActivation(3, 4), torch.randn(n, 3, 5, 5, requires_grad=True))
    yield "Conv3dNormActivation", lambda n: (ops.Conv3dNormActivation(3, 4), torch.randn(n, 3, 4, 4, 4, requires_grad=True))
    yield "MLP", lambda n: (ops.MLP(3, [4, 2], dropout=0.2), torch.randn(n, 3, requires_grad=True))
    yield "Permute", lambda n: (ops.Permute([2, 0, 1]), torch.randn(n, 3, 2, requires_grad=True))
    yield "detections in a loop", lambda n: (_kept_by_label, _boxes(n, grad=True), torch.rand(n), torch.arange(n) % 3)


def _module(name):
    return getattr(ops, name)(2, 0.5, 2) if "Align" in name else getattr(ops, name)(2, 0.5)


_MULTI_SCALE = ops.MultiScaleRoIAlign(["a", "b"], 3, 2)


def _multi_scale(first, second, *boxes):
    return _MULTI_SCALE({"a": first, "b": second}, list(boxes), [(32, 32), (32, 32)])


def _pyramid():
    network = ops.FeaturePyramidNetwork([4, 6], 5)
    return lambda a, b: network({"first": a, "second": b})


def _deformed(x, offset, weight, mask):
    return ops.deform_conv2d(x, offset, weight, padding=1, mask=mask)


def _deformation(n):
    offset, mask = torch.randn(n, 18, 8, 8, requires_grad=True), torch.rand(n, 9, 8, 8, requires_grad=True)
    return offset, torch.randn(5, 4, 3, 3, requires_grad=True), mask


def _logits(n):
    return torch.randn(n, 4, requires_grad=True), torch.randint(0, 2, (n, 4)).float()


def _kept_by_label(boxes, scores, labels):
    total = boxes.new_zeros(4)
    for label in range(3):
        of_label = labels == label
        found = boxes[of_label]
        kept = ops.nms(found, scores[of_label], 0.5)
        if len(kept) > 1:
            total = total + found[kept].mean(0)
    return total


def _operator(program, stage):
    function, *_ = program(4)
    staged = stage(lambda *args: function(*args))
    observed = []
    for number, count in enumerate((6, 6, 9)):
        suite.seed(number)
        _, *args = program(count)
        result = staged(*args)
        observed.append(suite.snapshot(result))
        outputs = [r for r in torch.utils._pytree.tree_leaves(result) if isinstance(r, torch.Tensor) and r.requires_grad]
        leaves = [a for a in args if a.requires_grad]
        if outputs and leaves:
            gradients = torch.autograd.grad([o.sum() for o in outputs], leaves, allow_unused=True)
            observed.append(suite.snapshot(gradients))
    return observed


# Transforms.


def _image(number):
    return torch.randint(0, 256, (3, 24, 20 + 4 * (number // 2)), dtype=torch.uint8)


def _transforms():
    """Yields the name of a transform of images and a function that creates it."""
    yield "CenterCrop", lambda: v2.CenterCrop(16)
    yield "ColorJitter", lambda: v2.ColorJitter(0.4, 0.4, 0.4, 0.1)
    yield "ConvertImageDtype", lambda: v2.ConvertImageDtype(torch.float32)
    yield "ElasticTransform", lambda: v2.ElasticTransform(20.0, 1.0)
    yield "FiveCrop", lambda: v2.FiveCrop(8)
    yield "GaussianBlur", lambda: v2.GaussianBlur(3)
    yield "GaussianNoise", lambda: v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.GaussianNoise()])
    yield "Grayscale", lambda: v2.Grayscale(3)
    yield "LinearTransformation", lambda: v2.Compose([v2.Resize((4, 4)), v2.ToDtype(torch.float32), _whitening()])
    yield "Normalize", lambda: v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.2] * 3)])
    yield "Pad", lambda: v2.Pad(3, padding_mode="reflect")
    yield "RandomAdjustSharpness", lambda: v2.RandomAdjustSharpness(2)
    yield "RandomAffine", lambda: v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 10)
    yield "RandomApply", lambda: v2.RandomApply([v2.RandomInvert(1.0)], 0.5)
    yield "RandomAutocontrast", lambda: v2.RandomAutocontrast()
    yield "RandomChannelPermutation", lambda: v2.RandomChannelPermutation()
    yield "RandomChoice", lambda: v2.RandomChoice([v2.RandomInvert(1.0), v2.RandomSolarize(99, 1.0)])
    yield "RandomCrop", lambda: v2.RandomCrop(16, padding=2)
    yield "RandomEqualize", lambda: v2.RandomEqualize()
    yield "RandomErasing", lambda: v2.RandomErasing(0.8)
    yield "RandomGrayscale", lambda: v2.RandomGrayscale(0.5)
    yield "RandomHorizontalFlip", lambda: v2.RandomHorizontalFlip()
    yield "RandomInvert", lambda: v2.RandomInvert()
    yield "RandomPerspective", lambda: v2.RandomPerspective(p=0.7)
    yield "RandomPhotometricDistort", lambda: v2.RandomPhotometricDistort()
    yield "RandomPosterize", lambda: v2.RandomPosterize(3)
    yield "RandomResize", lambda: v2.RandomResize(10, 30)
    yield "RandomResizedCrop", lambda: v2.RandomResizedCrop(16)
    yield "RandomRotation", lambda: v2.RandomRotation(30)
    yield "RandomShortestSize", lambda: v2.RandomShortestSize([12, 16, 20])
    yield "RandomSolarize", lambda: v2.RandomSolarize(128)
    yield "RandomVerticalFlip", lambda: v2.RandomVerticalFlip()
    yield "RandomZoomOut", lambda: v2.RandomZoomOut()
    yield "Resize", lambda: v2.Resize(16)
    yield "ScaleJitter", lambda: v2.ScaleJitter((16, 16))
    yield "TenCrop", lambda: v2.TenCrop(8)
    yield "ToDtype", lambda: v2.ToDtype(torch.float32, scale=True)
    yield "TrivialAugmentWide", lambda: v2.TrivialAugmentWide()
    yield "RandAugment", lambda: v2.RandAugment()
    yield "AutoAugment", lambda: v2.AutoAugment()
    yield "AugMix", lambda: v2.AugMix()
    yield "RandomOrder", lambda: v2.RandomOrder([v2.RandomInvert(), v2.RandomSolarize(99)])
    yield "training", _training_transforms
    yield "evaluation", _evaluation_transforms
    yield "functional affine", lambda: lambda x: v2.functional.affine(x, 20.0, [1, 2], 1.1, [3.0, 4.0])
    yield "functional gamma", lambda: lambda x: v2.functional.adjust_gamma(x, 1.4)
    yield "functional hue", lambda: lambda x: v2.functional.adjust_hue(x, 0.2)
    yield "functional equalize", lambda: v2.functional.equalize
    yield "boxes flip", lambda: lambda x: v2.functional.horizontal_flip_bounding_boxes(
        _corners(x), tv_tensors.BoundingBoxFormat.XYXY, (24, 20)
    )
    yield "image and boxes", lambda: _flipped_with_boxes


def _whitening():
    return v2.LinearTransformation(torch.eye(48) * 0.5, torch.ones(48))


def _training_transforms():
    return v2.Compose(
        [v2.RandomResizedCrop(16), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2])]
    )


def _evaluation_transforms():
    return v2.Compose(
        [v2.Resize(18), v2.CenterCrop(16), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2])]
    )


def _corners(x):
    start = x[0, :4, :2].float() / 32  # four boxes
    return torch.cat([start, start + 5], dim=1)


def _flipped_with_boxes(x):
    boxes = tv_tensors.BoundingBoxes(_corners(x), format="XYXY", canvas_size=(24, 20))
    image, found = v2.RandomHorizontalFlip(1.0)(tv_tensors.Image(x), boxes)
    return image.as_subclass(torch.Tensor), found.as_subclass(torch.Tensor)


def _transformed(build, stage):
    transform = build()
    staged = stage(lambda x: transform(x))
    observed = []
    for number in range(3):
        suite.seed(number)
        x = _image(number)
        observed.append(suite.snapshot(staged(x)))
    return observed


if __name__ == "__main__":
    suite.main(f"torchvision {torchvision.__version__.partition('+')[0]}", lambda: list(cases()))
