# torchvision.models 0.26.
from typing import Any

from torch import Tensor
from torch.nn import Module

# Classifiers; detection and segmentation models are in submodules.
class _Classifier(Module):
    def __call__(self, x: Any) -> Tensor: ...
    def forward(self, x: Any) -> Tensor: ...

class _Build:
    def __call__(self, *args: Any, **kwargs: Any) -> _Classifier: ...

class AlexNet(_Classifier): ...
class DenseNet(_Classifier): ...
class EfficientNet(_Classifier): ...
class MobileNetV2(_Classifier): ...
class MobileNetV3(_Classifier): ...
class ResNet(_Classifier): ...
class SwinTransformer(_Classifier): ...
class VGG(_Classifier): ...
class VisionTransformer(_Classifier): ...

alexnet: _Build
convnext_base: _Build
convnext_small: _Build
convnext_tiny: _Build
densenet121: _Build
efficientnet_b0: _Build
mobilenet_v2: _Build
mobilenet_v3_large: _Build
mobilenet_v3_small: _Build
resnet101: _Build
resnet152: _Build
resnet18: _Build
resnet34: _Build
resnet50: _Build
swin_t: _Build
vgg11: _Build
vgg16: _Build
vgg19: _Build
vit_b_16: _Build
vit_b_32: _Build

detection: Any
segmentation: Any
video: Any

def __getattr__(name: str) -> Any: ...
