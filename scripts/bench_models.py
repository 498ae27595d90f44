#!/usr/bin/env python3
"""Writes the networks of two modules as ONNX, for the peers of scripts/bench: bench_models.py REGISTRY OUT.

The weights come out of the default registry; the graphs are the same arithmetic that modules/networks builds.
"""
import collections
import json
import pathlib
import pickle
import sys

import numpy as np
from numpy.lib.stride_tricks import as_strided
from onnx import TensorProto, helper, numpy_helper, save
from safetensors.numpy import load

registry, out = map(pathlib.Path, sys.argv[1:3])


def blob(digest):
    return registry / "blobs" / "sha256" / digest[:2] / digest


def module_file(module, path):
    index = json.loads((registry / "index" / "modules.json").read_text())
    entry = next(m for m in index["modules"] if m["name"] == module)
    digest = entry["versions"][-1]["manifest"].removeprefix("sha256:")
    manifest = json.loads(blob(digest).read_text())
    return blob(next(f["sha256"] for f in manifest["files"] if f["path"] == path))


def read_checkpoint(path):
    """The tensors of a legacy PyTorch file, without torch."""
    kinds = {"FloatStorage": np.float32, "LongStorage": np.int64}

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            if name == "OrderedDict":
                return collections.OrderedDict
            if name == "_rebuild_tensor_v2":
                return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
            return kinds[name]

        def persistent_load(self, pid):
            return (pid[2], pid[1])

    with open(path, "rb") as file:
        for _ in range(3):
            pickle.load(file)
        tensors = Reader(file).load()
        keys = pickle.load(file)
        data = {}
        dtypes = {storage[0]: storage[1] for storage, *_ in tensors.values()}
        for key in keys:
            count = int(np.frombuffer(file.read(8), "<i8")[0])
            data[key] = np.frombuffer(file.read(count * np.dtype(dtypes[key]).itemsize), dtypes[key])
    return {name: as_strided(data[s[0]][offset:], size, [n * data[s[0]].itemsize for n in stride])
            for name, (s, offset, size, stride) in tensors.items()}


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def __call__(self, op, *inputs, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attrs))
        return name

    def save(self, path, inputs, output, shape):
        ins = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
        outs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, path.stem, ins, outs, self.weights)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def efficientnet(path):
    w = read_checkpoint(module_file("efficientnet-lite0", "model.pth"))
    g = Graph()

    def conv(x, name, bn, stride=1, group=1, act=True):
        k = w[name]
        y = g("Conv", x, g.weight(k), auto_pad="SAME_UPPER", strides=[stride] * 2, group=group,
              kernel_shape=list(k.shape[2:]))
        y = g("BatchNormalization", y, *(g.weight(w[f"{bn}.{p}"]) for p in
                                         ("weight", "bias", "running_mean", "running_var")), epsilon=1e-3)
        return g("Clip", y, zero, six) if act else y

    zero, six = g.weight(np.float32(0)), g.weight(np.float32(6))
    names = sorted({".".join(n.split(".")[:2]) for n in w if n.startswith("_blocks.")}, key=lambda n: int(n.split(".")[1]))
    x = conv("x", "_conv_stem.weight", "_bn0", 2)
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    for b, stride in zip(names, strides):
        before, y = x, x
        expand = f"{b}._expand_conv.weight"
        if expand in w:
            y = conv(y, expand, f"{b}._bn0")
        depth = w[f"{b}._depthwise_conv.weight"]
        y = conv(y, f"{b}._depthwise_conv.weight", f"{b}._bn1", stride, depth.shape[0])
        y = conv(y, f"{b}._project_conv.weight", f"{b}._bn2", act=False)
        inner = w[expand].shape[1] if expand in w else depth.shape[0]
        x = g("Add", y, before) if stride == 1 and inner == w[f"{b}._project_conv.weight"].shape[0] else y
    x = conv(x, "_conv_head.weight", "_bn1")
    x = g("Flatten", g("GlobalAveragePool", x))
    y = g("Gemm", x, g.weight(w["_fc.weight"]), g.weight(w["_fc.bias"]), transB=1)
    g.save(path, [("x", TensorProto.FLOAT, ["n", 3, 224, 224])], y, ["n", 1000])


def minilm(path):
    w = load(module_file("minilm-l6", "model.safetensors").read_bytes())
    config = json.loads(module_file("minilm-l6", "config.json").read_text())
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    g = Graph()

    def dense(x, name):
        return g("Add", g("MatMul", x, g.weight(w[f"{name}.weight"].T)), g.weight(w[f"{name}.bias"]))

    def norm(x, name):
        return g("LayerNormalization", x, g.weight(w[f"{name}.weight"]), g.weight(w[f"{name}.bias"]),
                 axis=-1, epsilon=config["layer_norm_eps"])

    split = g.weight(np.array([0, 0, heads, hidden // heads]))
    join = g.weight(np.array([0, 0, hidden]))

    def rows(x, name, perm):
        return g("Transpose", g("Reshape", dense(x, name), split), perm=perm)

    e = "embeddings"
    length = g("Slice", g("Shape", "input_ids"), g.weight(np.array([1])), g.weight(np.array([2])))
    places = g("Slice", g.weight(w[f"{e}.position_embeddings.weight"]), g.weight(np.array([0])), length,
               g.weight(np.array([0])))
    x = g("Add", g("Gather", g.weight(w[f"{e}.word_embeddings.weight"]), "input_ids"), places)
    x = norm(g("Add", x, g.weight(w[f"{e}.token_type_embeddings.weight"][0])), f"{e}.LayerNorm")
    keep = g("Unsqueeze", g("Cast", "attention_mask", to=TensorProto.FLOAT), g.weight(np.array([1, 2])))
    mask = g("Mul", g("Sub", g.weight(np.float32(1)), keep), g.weight(np.float32(-1e9)))
    scale = g.weight(np.float32((hidden // heads) ** 0.5))
    for i in range(config["num_hidden_layers"]):
        n = f"encoder.layer.{i}"
        q = rows(x, f"{n}.attention.self.query", [0, 2, 1, 3])
        k = rows(x, f"{n}.attention.self.key", [0, 2, 3, 1])
        v = rows(x, f"{n}.attention.self.value", [0, 2, 1, 3])
        p = g("Softmax", g("Add", g("Div", g("MatMul", q, k), scale), mask), axis=-1)
        y = g("Reshape", g("Transpose", g("MatMul", p, v), perm=[0, 2, 1, 3]), join)
        x = norm(g("Add", dense(y, f"{n}.attention.output.dense"), x), f"{n}.attention.output.LayerNorm")
        y = dense(x, f"{n}.intermediate.dense")
        erf = g("Erf", g("Div", y, g.weight(np.float32(2 ** 0.5))))
        y = g("Mul", g("Mul", y, g("Add", erf, g.weight(np.float32(1)))), g.weight(np.float32(0.5)))
        x = norm(g("Add", dense(y, f"{n}.output.dense"), x), f"{n}.output.LayerNorm")
    ids = [("input_ids", TensorProto.INT64, ["b", "s"]), ("attention_mask", TensorProto.INT64, ["b", "s"])]
    g.save(path, ids, x, ["b", "s", hidden])


out.mkdir(parents=True, exist_ok=True)
efficientnet(out / "efficientnet-lite0.onnx")
minilm(out / "minilm-l6.onnx")
