#!/usr/bin/env python3
"""The torch side of `scripts/bench train`: bench_train_peer.py NETWORK MODE [--threads 2] [--steps 8] [--batch 16] [--epochs 5] [--rows 128].

NETWORK is resnet50, mobilenet-v2 or efficientnet-lite0 (224 x 224, 10 classes, SGD with momentum) or minilm or bert-base
(64 tokens, 2 classes, fused AdamW); synthetic inputs. MODE is eager, channels_last or compile: whole fine-tuning, ms a step. Or it
trains the head alone over a frozen network, ms an epoch: recompute (the common loop: the network runs again in every
epoch) or cached (its outputs are kept after the first). Prints one line: {"ms": […], "rss_mb": …}.
"""
import argparse
import json
import os
import resource
import time

parser = argparse.ArgumentParser()
parser.add_argument("network", choices=["resnet50", "mobilenet-v2", "efficientnet-lite0", "minilm", "bert-base"])
parser.add_argument("mode", choices=["eager", "channels_last", "compile", "recompute", "cached"])
for option, value in {"threads": 2, "steps": 8, "batch": 16, "epochs": 5, "rows": 128}.items():
    parser.add_argument(f"--{option}", type=int, default=value)
args = parser.parse_args()
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)
os.environ["OMP_NUM_THREADS"] = str(args.threads)
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch  # noqa: E402  (after the environment)
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(args.threads)
torch.manual_seed(0)
text = args.network in ("minilm", "bert-base")
head_only = args.mode in ("recompute", "cached")
classes = 2 if text else 10


class Encoder(nn.Module):
    """Post-norm BERT as modules/networks/bert.cc builds it, with torch's fused attention; mean of the tokens."""

    def __init__(self, width, layers, heads, vocabulary=30522, positions=512):
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width), "norm1": nn.LayerNorm(width, 1e-12),
            "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width), "norm2": nn.LayerNorm(width, 1e-12),
        }) for _ in range(layers))

    def forward(self, ids):
        rows, length = ids.shape
        x = self.norm(self.words(ids) + self.positions.weight[:length])
        for layer in self.layers:
            q, k, v = layer["qkv"](x).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, length, -1)
            x = layer["norm1"](x + layer["out"](seen))
            x = layer["norm2"](x + layer["down"](F.gelu(layer["up"](x))))
        return x.mean(1)


def backbone():
    """The network up to its features, and how many there are."""
    if args.network == "minilm":
        return Encoder(384, 6, 12), 384
    if args.network == "bert-base":
        return Encoder(768, 12, 12), 768
    if args.network == "efficientnet-lite0":
        import timm
        return timm.create_model("tf_efficientnet_lite0", pretrained=False, num_classes=0), 1280
    import torchvision
    if args.network == "resnet50":
        network = torchvision.models.resnet50(weights=None)
        network.fc = nn.Identity()
        return network, 2048
    network = torchvision.models.mobilenet_v2(weights=None)
    network.classifier = nn.Identity()
    return network, 1280


def batch():
    if text:
        x = torch.randint(1000, 30000, (args.batch, 64))
    else:
        x = torch.randn(args.batch, 3, 224, 224)
        if args.mode not in ("eager", "compile"):
            x = x.to(memory_format=torch.channels_last)
    return x, torch.randint(0, classes, (args.batch,))


def optimizer(parameters):
    if text or head_only:
        return torch.optim.AdamW(parameters, lr=1e-3 if head_only else 2e-5, fused=True)
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True)


def timed(run, times, count):
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)


def fine_tune(network, head):
    model = nn.Sequential(network, head).train()
    forward = torch.compile(model) if args.mode == "compile" else model
    update = optimizer(list(model.parameters()))
    x, y = batch()

    def step():
        update.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        update.step()
        return loss.item()

    times = []
    timed(step, [], 2)
    timed(step, times, args.steps)
    return times


def train_head(network, head):
    network.eval()
    update = optimizer(head.parameters())
    batches = [batch() for _ in range(args.rows // args.batch)]
    kept = {}

    @torch.no_grad()
    def features(i):
        if args.mode == "recompute":
            return network(batches[i][0])
        if i not in kept:
            kept[i] = network(batches[i][0])
        return kept[i]

    def epoch():
        for i, (_, y) in enumerate(batches):
            update.zero_grad(set_to_none=True)
            F.cross_entropy(head(features(i)), y).backward()
            update.step()

    with torch.no_grad():
        network(batches[0][0])
    times = []
    timed(epoch, times, args.epochs)
    return times


network, width = backbone()
if not text and args.mode not in ("eager", "compile"):
    network = network.to(memory_format=torch.channels_last)
run = train_head if head_only else fine_tune
ms = run(network, nn.Linear(width, classes))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"ms": [round(t, 2) for t in ms], "rss_mb": round(peak)}), flush=True)
os._exit(0)  # the workers of torch.compile need not be waited for
