#!/usr/bin/env python3
"""Writes what the fuzz targets start from: the models of ONNX's node tests, Paddle's golden
programs with their parameters, and the small files of the other formats; OUT/<target>.txt lists
them and the corpus.
  seeds.py NODE_TESTS SOURCE OUT"""
import glob
import json
import os
import struct
import sys

node_tests, source, out = sys.argv[1:]
data = os.path.join(source, "tests/data")


def write(target, name, content):
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


for model in glob.glob(os.path.join(node_tests, "*/model.onnx")) + glob.glob(
        os.path.join(source, "build/onnx-1.16.2/node/*/model.onnx")) + glob.glob(
        os.path.join(data, "import/*/model.onnx")):
    write("onnx", os.path.dirname(model).replace("/", "_")[-90:], read(model))

for golden in glob.glob(os.path.join(data, "paddle/*.safetensors")):
    content = read(golden)
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])

    def tensor(name):
        begin, end = header.get(name, {"data_offsets": (0, 0)})["data_offsets"]
        return content[start + begin:start + end]

    for name in header:
        case, _, part = name.partition("/")
        if part == "program":
            program = tensor(name)
            params = tensor(case + "/params")
            write("paddle", case.replace(":", "_"), struct.pack("<H", len(program)) + program + params)
            write("paddle_params", case.replace(":", "_"), params)

for target, pattern in (("safetensors", "import/*.safetensors"), ("checkpoint", "import/tiny.pt*"),
                        ("hdf5", "import/*.h5"), ("npy", "import/*/*.npy"), ("tflite", "tflite/*.tflite")):
    for path in glob.glob(os.path.join(data, pattern)):
        write(target, os.path.relpath(path, data).replace("/", "_"), read(path))

layers = read(os.path.join(data, "ncnn/layers.param"))
write("ncnn", "layers", struct.pack("<H", len(layers)) + layers + read(os.path.join(data, "ncnn/layers.bin")))

for target in ("checkpoint", "hdf5", "ncnn", "npy", "onnx", "paddle", "paddle_params", "program", "safetensors", "tflite"):
    files = sorted(glob.glob(os.path.join(out, target, "*")) +
                   glob.glob(os.path.join(source, "tests/fuzz/corpus", target, "*")))
    with open(os.path.join(out, target + ".txt"), "w", encoding="utf-8") as file:
        file.write(",".join(files))
