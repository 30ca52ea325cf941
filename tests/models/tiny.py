"""Tiny models of transformers with random weights: one for each model type in the library's tables."""

import torch
import transformers
from transformers.models.auto import modeling_auto

#: Small values for common attributes of configurations. Each configuration gets the values of the attributes that it has.
SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "embed_dim": 32, "emb_dim": 32, "dim": 32, "embedding_size": 32,
    "word_embed_proj_dim": 32, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2,
    "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2, "num_encoder_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "intermediate_size": 64,
    "d_ff": 64, "d_inner": 64, "n_inner": 64, "ffn_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "hidden_dim": 64, "rotary_dim": 4, "vocab_size": 99, "max_position_embeddings": 64, "n_positions": 64,
    "n_ctx": 64, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "image_size": 32, "patch_size": 8, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "n_group": 1, "topk_group": 1,
    "attention_window": 8, "state_size": 8, "time_step_rank": 4, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "num_buckets": 16,
}  # fmt: skip

#: Task -> the library's table of the models for this task.
TABLES = {
    "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "image": modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
}


def models():
    """Yields the (task, model type) pairs, each type once, in the order of the library's tables."""
    seen = set()
    for task, table in TABLES.items():
        for kind in table:
            if kind not in seen:
                seen.add(kind)
                yield task, kind


def build(task, kind):
    """Returns a small model. Raises an exception, possibly one of the library, if there is no small configuration."""
    config_class = transformers.CONFIG_MAPPING[kind]
    default = config_class()
    attribute_map = {v: k for k, v in getattr(config_class, "attribute_map", {}).items()}
    sizes = {name: v for name, v in SMALL.items() if getattr(default, name, None) is not None or name in attribute_map}
    for name in [n for n, v in sizes.items() if isinstance(getattr(default, n, None), (list, tuple))]:
        del sizes[name]
    for name in list(sizes):
        if name.endswith("_dropout"):
            del sizes[name]
    config = config_class(**sizes)
    for name in ("layer_types", "mlp_layer_types"):
        types = getattr(config, name, None)
        if types:
            setattr(config, name, list(types)[: getattr(config, "num_hidden_layers", 2)])
    name = TABLES[task][kind]
    name = name if isinstance(name, str) else name[0]
    model_class = getattr(transformers, name)
    with torch.device("meta"):  # a large model would not fit into memory
        large = sum(p.numel() for p in model_class(config).parameters()) > 3_000_000
    if large:
        raise ValueError("this model cannot be made small")
    return model_class(config)


def inputs(task, model, batch=2, length=12):
    vocabulary = min(getattr(model.config, "vocab_size", None) or 99, 99)
    if task == "image":
        size = getattr(model.config, "image_size", 32) or 32
        size = size if isinstance(size, int) else size[0]
        return {"pixel_values": torch.randn(batch, getattr(model.config, "num_channels", 3), size, size)}
    found = {"input_ids": torch.randint(3, vocabulary, (batch, length))}
    if task == "seq2seq":
        found["decoder_input_ids"] = torch.randint(3, vocabulary, (batch, length - 2))
    else:
        found["attention_mask"] = torch.ones(batch, length, dtype=torch.int64)
    return found


def labels(task, given):
    if task == "image":
        return torch.zeros(len(given["pixel_values"]), dtype=torch.int64)
    return given.get("decoder_input_ids", given["input_ids"])
