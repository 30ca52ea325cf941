"""timm with random weights: a small model of each module of the library, inference and training steps."""

import functools
import warnings

import suite
import timm
import torch
import vision

#: A transformer of two small blocks, for modules without a small model.
TWO_BLOCKS = {"embed_dim": 48, "depth": 2, "num_heads": 4}

#: Module of the library -> (model, options). Images have 64 x 64 pixels, or the option `size`. A model with the option
#: `img_size` is created for this size.
MODELS = {
    "beit": ("beit_base_patch16_224", TWO_BLOCKS), "byoanet": ("halonet_h1", {"size": 256}), "byobnet": ("mobileone_s1", {}),
    "cait": ("cait_xxs24_224", {"depth": 2}), "coat": ("coat_tiny", {}), "convit": ("convit_tiny", {"depth": 2, "local_up_to_layer": 1}),
    "convmixer": ("convmixer_768_32", {}), "convnext": ("test_convnext", {}),
    "crossvit": ("crossvit_tiny_240", {"size": 240}), "cspnet": ("cs3darknet_focus_s", {}),
    "davit": ("davit_tiny", {"embed_dims": (32, 64, 64, 64), "num_heads": (2, 2, 2, 2), "depths": (1, 1, 1, 1), "size": 224}),
    "deit": ("deit_tiny_patch16_224", {"depth": 2}), "densenet": ("densenet121", {"block_config": (2, 2, 2, 2)}),
    "dla": ("dla46x_c", {}), "dpn": ("dpn48b", {}), "edgenext": ("edgenext_xx_small", {}),
    "efficientformer": ("efficientformer_l1", {"size": 224}), "efficientformer_v2": ("efficientformerv2_s0", {"size": 224}),
    "efficientnet": ("tinynet_e", {}), "efficientvit_mit": ("efficientvit_b0", {}),
    "efficientvit_msra": ("efficientvit_m0", {"size": 224}), "eva": ("eva02_tiny_patch14_224", {"depth": 2, "size": 56}),
    "fasternet": ("fasternet_t0", {}), "fastvit": ("fastvit_t8", {}),
    "focalnet": ("focalnet_tiny_srf", {}), "gcvit": ("gcvit_xxtiny", {"size": 224}),
    "ghostnet": ("ghostnet_050", {}), "hardcorenas": ("hardcorenas_b", {}), "hgnet": ("hgnetv2_b0", {}),
    "hiera": ("hiera_tiny_224", {"size": 224, "embed_dim": 24, "stages": (1, 1, 1, 1)}),
    "hrnet": ("hrnet_w18_small", {}), "inception_next": ("inception_next_atto", {}),
    "inception_resnet_v2": ("inception_resnet_v2", {"size": 96}), "inception_v3": ("inception_v3", {"size": 96}),
    "inception_v4": ("inception_v4", {"size": 96}), "levit": ("levit_128", {"size": 224}), "mambaout": ("test_mambaout", {}),
    "maxxvit": ("maxvit_pico_rw_256", {"size": 256}), "metaformer": ("poolformerv2_s12", {}),
    "mlp_mixer": ("gmlp_ti16_224", {"size": 224}), "mobilenetv3": ("lcnet_035", {}), "mobilevit": ("mobilevit_xxs", {}),
    "mvitv2": ("mvitv2_tiny", {"size": 224}), "naflexvit": ("naflexvit_base_patch16_parfac_gap", {**TWO_BLOCKS, "size": 64}),
    "nest": ("nest_tiny", {"size": 224}),
    "nextvit": ("nextvit_small", {}), "nfnet": ("test_nfnet", {}), "pit": ("pit_ti_224", {"size": 224}),
    "pvt_v2": ("pvt_v2_b0", {}), "rdnet": ("rdnet_tiny", {}), "repghost": ("repghostnet_050", {}), "repvit": ("repvit_m1", {}),
    "res2net": ("res2next50", {}), "resnest": ("resnest14d", {}), "resnet": ("test_resnet", {}), "resnetv2": ("resnetv2_18", {}),
    "rexnet": ("rexnet_100", {}), "selecsls": ("selecsls42", {}), "senet": ("legacy_seresnet18", {}),
    "sequencer": ("sequencer2d_s", {"size": 224, "layers": (1, 1, 1, 1), "embed_dims": (24, 48, 48, 48)}),
    "shvit": ("shvit_s1", {}), "sknet": ("skresnet18", {}), "starnet": ("starnet_s050", {}),
    "swiftformer": ("swiftformer_xs", {"size": 224}),
    "swin_transformer": ("swin_tiny_patch4_window7_224", {"embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4), "size": 56}),
    "swin_transformer_v2": ("swinv2_tiny_window8_256", {"embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)}),
    "swin_transformer_v2_cr": ("swinv2_cr_tiny_224", {"embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4), "size": 224}),
    "tiny_vit": ("tiny_vit_5m_224", {"size": 224}), "tnt": ("tnt_s_legacy_patch16_224", {"depth": 2}),
    "tresnet": ("tresnet_m", {"layers": [1, 1, 1, 1]}), "twins": ("twins_svt_small", {"depths": (1, 1, 1, 1)}),
    "visformer": ("visformer_tiny", {"size": 224}),
    "vision_transformer": ("test_vit", {}), "vision_transformer_hybrid": ("vit_tiny_r_s16_p8_224", {"depth": 2}),
    "vision_transformer_relpos": ("vit_srelpos_small_patch16_224", TWO_BLOCKS),
    "vision_transformer_sam": ("samvit_base_patch16_224", {**TWO_BLOCKS, "global_attn_indexes": (1,)}),
    "vitamin": ("vitamin_small_224", {"size": 224}), "volo": ("volo_d1_224", {"size": 224}),
    "vovnet": ("ese_vovnet19b_slim_dw", {}), "xception": ("legacy_xception", {"size": 96}), "xception_aligned": ("xception41p", {}),
    "xcit": ("xcit_nano_12_p8_224", {"depth": 2}),
}  # fmt: skip


def cases():
    for module, (name, options) in MODELS.items():
        for form, program in (("inference", _inference), ("training", _training)):
            yield suite.Case(f"{module} {name} {form}", functools.partial(program, name, options))


def _build(name, options):
    """Returns the model and the size of its images."""
    options = {"num_classes": 10, **options}
    size = options.pop("size", 64)
    for given in ({"img_size": size}, {}):
        suite.seed()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return timm.create_model(name, **options, **given), size
            except TypeError as error:
                if "img_size" not in str(error):
                    raise
    raise AssertionError


def _inference(name, options, stage):
    model, size = _build(name, options)
    return vision.inference(model, (3, size, size), stage)


def _training(name, options, stage):
    model, size = _build(name, options)
    model.train()

    def loss_of(x, y):
        found = model(x)
        return torch.nn.functional.cross_entropy(found[0] if isinstance(found, tuple) else found, y)

    batches = [(torch.randn(2, 3, size, size), torch.randint(0, 10, (2,))) for _ in range(2)]
    return vision.stepped(model, loss_of, stage, batches)


if __name__ == "__main__":
    suite.main(f"timm {timm.__version__}", lambda: list(cases()))
