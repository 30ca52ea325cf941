# tf.strings of TensorFlow 2.21.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._ops import Gives, Op, Sample
from tensorflow._tensor import RaggedTensor

as_string: Gives[_d.string]
format: Gives[_d.string]
join: Gives[_d.string]
length: Gives[_d.int32]
lower: Gives[_d.string]
reduce_join: Gives[_d.string]
regex_full_match: Gives[_d.bool]
regex_replace: Gives[_d.string]
strip: Gives[_d.string]
substr: Gives[_d.string]
to_hash_bucket: Gives[_d.int64]
to_hash_bucket_fast: Gives[_d.int64]
to_hash_bucket_strong: Gives[_d.int64]
unicode_encode: Gives[_d.string]
unicode_script: Gives[_d.int32]
unicode_transcode: Gives[_d.string]
unsorted_segment_join: Gives[_d.string]
upper: Gives[_d.string]
to_number: Sample[_d.float32]

def bytes_split(input: Any, name: Any = ...) -> RaggedTensor[_d.string]: ...
def ngrams(data: Any, *args: Any, **kwargs: Any) -> RaggedTensor[_d.string]: ...
def split(input: Any, *args: Any, **kwargs: Any) -> RaggedTensor[_d.string]: ...
def unicode_decode(input: Any, *args: Any, **kwargs: Any) -> RaggedTensor[_d.int32]: ...
def unicode_decode_with_offsets(input: Any, *args: Any, **kwargs: Any) -> tuple[RaggedTensor[_d.int32], RaggedTensor[_d.int64]]: ...
def unicode_split(input: Any, *args: Any, **kwargs: Any) -> RaggedTensor[_d.string]: ...
def unicode_split_with_offsets(input: Any, *args: Any, **kwargs: Any) -> tuple[RaggedTensor[_d.string], RaggedTensor[_d.int64]]: ...
def __getattr__(name: str) -> Op: ...
