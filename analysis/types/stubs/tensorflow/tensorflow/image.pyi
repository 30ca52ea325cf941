# tf.image of TensorFlow 2.21. The kinds of ops: `_ops.pyi`.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._dtypes import D, Spec
from tensorflow._ops import Gives, Keep, Op
from tensorflow._tensor import Like, Tensor

adjust_brightness: Keep
adjust_contrast: Keep
adjust_gamma: Keep
adjust_hue: Keep
adjust_jpeg_quality: Keep
adjust_saturation: Keep
central_crop: Keep
crop_and_resize: Gives[_d.float32]
crop_to_bounding_box: Keep
decode_and_crop_jpeg: Gives[_d.uint8]
decode_bmp: Gives[_d.uint8]
decode_gif: Gives[_d.uint8]
decode_image: Op
decode_jpeg: Gives[_d.uint8]
decode_jxl: Gives[_d.uint8]
decode_png: Op
decode_webp: Gives[_d.uint8]
draw_bounding_boxes: Gives[_d.float32]
encode_jpeg: Gives[_d.string]
encode_png: Gives[_d.string]
extract_glimpse: Gives[_d.float32]
extract_jpeg_shape: Gives[_d.int32]
extract_patches: Keep
flip_left_right: Keep
flip_up_down: Keep
grayscale_to_rgb: Keep
hsv_to_rgb: Keep
is_jpeg: Gives[_d.bool]
non_max_suppression: Gives[_d.int32]
non_max_suppression_overlaps: Gives[_d.int32]
pad_to_bounding_box: Keep
per_image_standardization: Gives[_d.float32]
psnr: Gives[_d.float32]
random_brightness: Keep
random_contrast: Keep
random_crop: Keep
random_flip_left_right: Keep
random_flip_up_down: Keep
random_hue: Keep
random_jpeg_quality: Keep
random_saturation: Keep
resize: Op
resize_with_crop_or_pad: Keep
resize_with_pad: Gives[_d.float32]
rgb_to_grayscale: Keep
rgb_to_hsv: Keep
rgb_to_yiq: Keep
rgb_to_yuv: Keep
rot90: Keep
sobel_edges: Keep
ssim: Gives[_d.float32]
ssim_multiscale: Gives[_d.float32]
stateless_random_brightness: Keep
stateless_random_contrast: Keep
stateless_random_crop: Keep
stateless_random_flip_left_right: Keep
stateless_random_flip_up_down: Keep
stateless_random_hue: Keep
stateless_random_jpeg_quality: Keep
stateless_random_saturation: Keep
total_variation: Keep
transpose: Keep
yiq_to_rgb: Keep
yuv_to_rgb: Keep

def convert_image_dtype(image: Any, dtype: Spec[D], saturate: Any = ..., name: Any = ...) -> Tensor[D]: ...
def image_gradients(image: Like[D]) -> tuple[Tensor[D], Tensor[D]]: ...
def non_max_suppression_padded(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int32], Tensor[_d.int32]]: ...
def non_max_suppression_with_scores(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int32], Tensor[_d.float32]]: ...
def combined_non_max_suppression(*args: Any, **kwargs: Any) -> Any: ...
def generate_bounding_box_proposals(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.float32], Tensor[_d.float32]]: ...
def sample_distorted_bounding_box(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any], Tensor[_d.float32]]: ...
def stateless_sample_distorted_bounding_box(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any], Tensor[_d.float32]]: ...

class ResizeMethod:
    AREA: str
    BICUBIC: str
    BILINEAR: str
    GAUSSIAN: str
    LANCZOS3: str
    LANCZOS5: str
    MITCHELLCUBIC: str
    NEAREST_NEIGHBOR: str

def __getattr__(name: str) -> Op: ...
