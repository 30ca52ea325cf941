# keras.applications of Keras 3.15.
from typing import Any

from keras._model import Model

class _Build:
    def __call__(self, *args: Any, **kwargs: Any) -> Model: ...

ConvNeXtBase: _Build
ConvNeXtLarge: _Build
ConvNeXtSmall: _Build
ConvNeXtTiny: _Build
ConvNeXtXLarge: _Build
DenseNet121: _Build
DenseNet169: _Build
DenseNet201: _Build
EfficientNetB0: _Build
EfficientNetB1: _Build
EfficientNetB2: _Build
EfficientNetB3: _Build
EfficientNetB4: _Build
EfficientNetB5: _Build
EfficientNetB6: _Build
EfficientNetB7: _Build
EfficientNetV2B0: _Build
EfficientNetV2B1: _Build
EfficientNetV2B2: _Build
EfficientNetV2B3: _Build
EfficientNetV2L: _Build
EfficientNetV2M: _Build
EfficientNetV2S: _Build
InceptionResNetV2: _Build
InceptionV3: _Build
MobileNet: _Build
MobileNetV2: _Build
MobileNetV3Large: _Build
MobileNetV3Small: _Build
NASNetLarge: _Build
NASNetMobile: _Build
ResNet101: _Build
ResNet101V2: _Build
ResNet152: _Build
ResNet152V2: _Build
ResNet50: _Build
ResNet50V2: _Build
VGG16: _Build
VGG19: _Build
Xception: _Build

def __getattr__(name: str) -> Any: ...
