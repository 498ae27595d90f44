"""Makes what `scripts/bench infer` needs beside the exported networks: bench_prepare.py OUT NAME=ONNX:SHAPE… -- QUANTIZED…

Writes each NAME (an ONNX file with one input) with fixed shapes for batch 1 and 8; for every OUT/*.onnx its inputs as .npy files
and a .json with their names, shapes and the work of one run; and the QUANTIZED networks in int8 (QDQ, calibrated on noise).
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import shape_inference

out = pathlib.Path(sys.argv[1]).resolve()
split = sys.argv.index("--")


def fix(path, shape, target):
    model = onnx.load(path)
    graph = model.graph
    dims = graph.input[0].type.tensor_type.shape.dim
    del dims[:], graph.value_info[:]
    for size in shape:
        dims.add().dim_value = size
    result = graph.output[0]
    for node in graph.node:
        node.output[:] = ["y" if name == result.name else name for name in node.output]
    result.name = "y"
    result.type.tensor_type.ClearField("shape")
    onnx.save(shape_inference.infer_shapes(model, data_prop=True), target)


def gflop(path, feed):
    """Multiply-adds of convolutions, products and recurrent layers, twice; the sizes are those that a run has."""
    graph = (model := onnx.load(path)).graph
    heavy = [n for n in graph.node if n.op_type in ("Conv", "ConvTranspose", "MatMul", "Gemm", "GRU")]
    made = {name for node in graph.node for name in node.output}
    wanted = sorted({name for node in heavy for name in [*node.input[:3], node.output[0]] if name in made})
    shapes = {t.name: list(t.dims) for t in graph.initializer} | {name: list(array.shape) for name, array in feed.items()}
    del graph.output[:]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    shapes |= {name: list(array.shape) for name, array in zip(wanted, session.run(None, feed))}
    total = 0
    for node in heavy:
        size, y = [shapes[name] for name in node.input[:3] if name], shapes[node.output[0]]
        if node.op_type == "Conv":
            total += np.prod(y) * np.prod(size[1][1:])
        elif node.op_type == "ConvTranspose":
            total += np.prod(size[0]) * np.prod(size[1][1:])
        elif node.op_type == "MatMul":
            total += np.prod(y) * size[0][-1]
        elif node.op_type == "Gemm":
            total += np.prod(y) * size[0][1]  # no network here has transA
        else:
            total += size[0][0] * size[0][1] * (np.prod(size[1]) + np.prod(size[2]))
    return 2 * float(total) / 1e9


def describe(name, batch):
    path = out / f"{name}.b{batch}.onnx"
    graph = onnx.load(path).graph
    numbers = np.random.RandomState(0)
    weights = {t.name for t in graph.initializer}
    feed = {}
    for value in graph.input:
        if value.name in weights:
            continue
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            feed[value.name] = numbers.randn(*shape).astype("f")
        else:
            feed[value.name] = np.ones(shape, "i8") if value.name == "mask" else numbers.randint(1000, 30000, shape)
        np.save(f"{path}.{value.name}.npy", feed[value.name])
    return path, feed


def quantize(name):
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Noise(CalibrationDataReader):
        def __init__(self, value):
            numbers = np.random.RandomState(0)
            shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
            self.rows = iter([{value.name: numbers.randn(*shape).astype("f")} for _ in range(4)])

        def get_next(self):
            return next(self.rows, None)

    for batch in (1, 8):
        ready = out / f"{name}.ready.onnx"
        quant_pre_process(str(out / f"{name}.b{batch}.onnx"), str(ready))
        value = onnx.load(ready).graph.input[0]
        quantize_static(str(ready), str(out / f"{name}-int8.b{batch}.onnx"), Noise(value), per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        ready.unlink()


for word in sys.argv[2:split]:
    name, rest = word.split("=", 1)
    source, shape = rest.rsplit(":", 1)
    for batch in (1, 8):
        fix(source, [batch, *map(int, shape.split("x"))], out / f"{name}.b{batch}.onnx")
for name in sys.argv[split + 1:]:
    quantize(name)
for path in sorted(out.glob("*.b1.onnx")):
    name = path.name.removesuffix(".b1.onnx")
    feeds = {batch: describe(name, batch) for batch in (1, 8)}
    work = gflop(*feeds[1]) if not name.endswith("-int8") else 0
    for batch, (path, feed) in feeds.items():
        inputs = {key: f"{path}.{key}.npy" for key in feed}
        shapes = [(list(array.shape), {"f": "f32", "i": "i64"}[array.dtype.kind]) for array in feed.values()]
        path.with_suffix(".json").write_text(json.dumps({"inputs": inputs, "shapes": shapes, "gflop": work * batch}))
