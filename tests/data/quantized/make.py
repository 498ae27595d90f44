# Makes the small quantized networks of this folder and onnxruntime's answers to x.npy:
# onnxruntime 1.20, onnx 1.16 and ml_dtypes; python make.py FOLDER
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

SHAPE = (1, 3, 12, 12)
numbers = np.random.default_rng(5)


def network():
    parameters, nodes = [], []

    def weights(name, *shape):
        spread = 2 / np.sqrt(max(np.prod(shape[1:]), 1))
        parameters.append(numpy_helper.from_array((numbers.standard_normal(shape) * spread).astype("f"), name))
        return name

    def node(op, inputs, output, **attrs):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attrs))

    def conv(x, y, out, into, k, **attrs):
        node("Conv", [x, weights(y + "w", out, into, k, k), weights(y + "b", out)], y, **attrs)

    for name, value in (("low", 0), ("high", 6)):
        parameters.append(numpy_helper.from_array(np.float32(value), name))
    conv("x", "c1", 8, 3, 3, pads=[1, 1, 1, 1])
    node("Relu", ["c1"], "r1")
    node("MaxPool", ["r1"], "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    conv("p1", "c2", 12, 8, 1)
    node("Clip", ["c2", "low", "high"], "r2")
    conv("r2", "c3", 12, 1, 3, pads=[1, 1, 1, 1], group=12)
    conv("c3", "c4", 8, 12, 3, pads=[1, 1, 1, 1])
    node("Add", ["c4", "p1"], "a4")
    node("Relu", ["a4"], "r4")
    node("Concat", ["r4", "p1"], "k", axis=1)
    node("GlobalAveragePool", ["k"], "g")
    node("Flatten", ["g"], "f")
    node("Gemm", ["f", weights("w7", 10, 16), weights("b7", 10)], "y", transB=1)
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], parameters)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


class Noise(CalibrationDataReader):
    def __init__(self):
        self.rows = iter([{"x": numbers.standard_normal(SHAPE).astype("f")} for _ in range(4)])

    def get_next(self):
        return next(self.rows, None)


os.chdir(sys.argv[1])
onnx.save(network(), "float.onnx")
x = numbers.standard_normal(SHAPE).astype("f")
np.save("x.npy", x)
U8, S8, QDQ, QOP = QuantType.QUInt8, QuantType.QInt8, QuantFormat.QDQ, QuantFormat.QOperator
for name, form, activations, kind, channels, narrow in (
        ("qdq_u8s8", QDQ, U8, S8, True, False), ("qdq_s8s8", QDQ, S8, S8, False, True),
        ("qoperator_u8s8", QOP, U8, S8, True, True), ("qoperator_s8s8", QOP, S8, S8, False, False),
        ("qoperator_u8u8", QOP, U8, U8, False, False)):
    quantize_static("float.onnx", name + ".onnx", Noise(), quant_format=form, activation_type=activations,
                    weight_type=kind, per_channel=channels, reduce_range=narrow)
    y = ort.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.save(name + ".npy", y)
os.remove("float.onnx")
