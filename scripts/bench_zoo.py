"""The networks of `scripts/bench infer` as torch modules with weights of seed 0: make(NAME, BATCH) gives the module and its inputs.

Run as a program, bench_zoo.py OUT NAME…, it writes for each NAME and batch 1 and 8 the file OUT/NAME.bBATCH.onnx, and NAME.pt
(traced, batch 1) for converters that start from torch.
"""
import pathlib
import sys
import warnings

import torch
from torch import nn


def conv(cin, cout, kernel=1, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(cout), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, width, residual):
        super().__init__()
        self.body, self.residual = nn.Sequential(conv(width, width), conv(width, width, 3)), residual

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


class CrossStage(nn.Module):
    def __init__(self, cin, cout, depth, residual=True):
        super().__init__()
        half = cout // 2
        self.main, self.side, self.join = conv(cin, half), conv(cin, half), conv(2 * half, cout)
        self.blocks = nn.Sequential(*(Bottleneck(half, residual) for _ in range(depth)))

    def forward(self, x):
        return self.join(torch.cat([self.blocks(self.main(x)), self.side(x)], 1))


class PyramidPool(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.enter, self.leave = conv(cin, cin // 2), conv(2 * cin, cout)
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (5, 9, 13))

    def forward(self, x):
        x = self.enter(x)
        return self.leave(torch.cat([x, *(pool(x) for pool in self.pools)], 1))


class YoloxHead(nn.Module):
    def __init__(self, cin, classes, width=128):
        super().__init__()
        self.stem = conv(cin, width)
        self.classify, self.regress = (nn.Sequential(conv(width, width, 3), conv(width, width, 3)) for _ in range(2))
        self.scores, self.box, self.object = (nn.Conv2d(width, n, 1) for n in (classes, 4, 1))

    def forward(self, x):
        x = self.stem(x)
        c, r = self.classify(x), self.regress(x)
        return torch.cat([self.box(r), self.object(r).sigmoid(), self.scores(c).sigmoid()], 1).flatten(2)


class YoloxS(nn.Module):
    """Depth 0.33 and width 0.5: CSPDarknet, a two-way pyramid, decoupled heads."""

    def __init__(self, classes=80):
        super().__init__()
        self.focus = conv(12, 32, 3)
        self.stage2 = nn.Sequential(conv(32, 64, 3, 2), CrossStage(64, 64, 1))
        self.stage3 = nn.Sequential(conv(64, 128, 3, 2), CrossStage(128, 128, 3))
        self.stage4 = nn.Sequential(conv(128, 256, 3, 2), CrossStage(256, 256, 3))
        self.stage5 = nn.Sequential(conv(256, 512, 3, 2), PyramidPool(512, 512), CrossStage(512, 512, 1, False))
        self.up = nn.Upsample(scale_factor=2)
        self.narrow5, self.narrow4 = conv(512, 256), conv(256, 128)
        self.down4, self.down3 = CrossStage(512, 256, 1, False), CrossStage(256, 128, 1, False)
        self.stride3, self.stride4 = conv(128, 128, 3, 2), conv(256, 256, 3, 2)
        self.up4, self.up5 = CrossStage(256, 256, 1, False), CrossStage(512, 512, 1, False)
        self.heads = nn.ModuleList(YoloxHead(n, classes) for n in (128, 256, 512))

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        c3 = self.stage3(self.stage2(self.focus(x)))
        c4 = self.stage4(c3)
        p5 = self.narrow5(self.stage5(c4))
        p4 = self.narrow4(self.down4(torch.cat([self.up(p5), c4], 1)))
        o3 = self.down3(torch.cat([self.up(p4), c3], 1))
        o4 = self.up4(torch.cat([self.stride3(o3), p4], 1))
        o5 = self.up5(torch.cat([self.stride4(o4), p5], 1))
        return torch.cat([head(o) for head, o in zip(self.heads, (o3, o4, o5))], 2).transpose(1, 2)


class Tagger(nn.Module):
    """Words in, scores of 57 tags out: two bidirectional GRU layers of 256."""

    def __init__(self):
        super().__init__()
        self.words, self.layers = nn.Embedding(58000, 128), nn.GRU(128, 256, 2, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(512, 57)

    def forward(self, ids):
        return self.tags(self.layers(self.words(ids))[0])


class Encoder(nn.Module):
    """BERT and a classifier of its first token."""

    def __init__(self, **sizes):
        super().__init__()
        from transformers import BertConfig, BertModel

        config = BertConfig(**sizes)
        config._attn_implementation = "eager"  # which exports as plain arithmetic
        self.body, self.head = BertModel(config, add_pooling_layer=False), nn.Linear(config.hidden_size, 2)

    def forward(self, ids, mask):
        return self.head(self.body(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])


def make(name, batch):
    torch.manual_seed(0)
    kind, _, size = name.partition("-")
    if kind in ("resnet50", "mobilenetv2"):
        import torchvision

        network = torchvision.models.get_model({"mobilenetv2": "mobilenet_v2"}.get(kind, kind), weights=None)
    elif kind == "efficientnet":
        import timm

        network = timm.create_model("tf_efficientnet_lite0", pretrained=False)
    else:
        small = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
        network = {"yoloxs": YoloxS, "lac": Tagger, "bert": Encoder, "minilm": lambda: Encoder(**small)}[kind]()
    torch.manual_seed(1)
    if kind in ("bert", "minilm", "lac"):
        ids = torch.randint(1000, 30000, (batch, int(size)))
        inputs = {"ids": ids} if kind == "lac" else {"ids": ids, "mask": torch.ones_like(ids)}
    else:
        side = int(size) if kind == "yoloxs" else 224
        inputs = {"x": torch.randn(batch, 3, side, side)}
    return network.eval(), inputs


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        for batch in (1, 8):
            network, inputs = make(name, batch)
            values = tuple(inputs.values())
            torch.onnx.export(network, values, out / f"{name}.b{batch}.onnx", input_names=list(inputs), output_names=["y"],
                              opset_version=17, dynamo=False)
            if batch == 1:
                torch.jit.trace(network, values).save(out / f"{name}.pt")
        print(name, flush=True)
