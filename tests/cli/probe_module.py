#!/usr/bin/env python3
"""Writes manifest.json and recipe.json of the probe module in this folder: the mean of each channel, three labels; with an
example.txt, which is no picture, that as its example."""
import hashlib
import json
import os

files = [name for name in ("probe.onnx", "labels.txt", "example.txt") if os.path.exists(name)]


def entry(name):
    data = open(name, "rb").read()
    return {"path": name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


manifest = {
    "schema": 1, "name": "probe", "version": "1.0.0", "task": "image-classification",
    "summary": "The mean of each channel", "license": "Apache-2.0", "files": [entry(n) for n in files],
    "networks": {"main": {"format": "onnx", "file": "probe.onnx"}},
    "preprocess": {"resize": "pillow-bilinear", "shorter": 8, "crop": 8, "mean": [123.675, 116.28, 103.53],
                   "scale": [1 / 58.395, 1 / 57.12, 1 / 57.375], "channels": "rgb"},
    "postprocess": {"labels": "labels.txt", "softmax": False},
}
if "example.txt" in files:
    manifest["examples"] = [{"input": {"file": "example.txt"}, "output": []}]
recipe = {"schema": 1, "packages": [], "files": [{"path": n, "beside": n} for n in files]}
json.dump(manifest, open("manifest.json", "w"))
json.dump(recipe, open("recipe.json", "w"))
