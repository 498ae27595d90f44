"""Makes the three networks of tests/modules/ocr_test.cc: they read lines of red, green and blue blocks on black.

A picture arrives as blue, green, red planes of -1 to 1. Needs the packages onnx and numpy.
"""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


def network(name, nodes, constants, input_shape, output_shape):
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    save(model, f"{name}.onnx")


node = helper.make_node
f32 = np.float32

# Text is whatever is not black.
network("detect",
        [node("Conv", ["x", "w", "b"], ["logit"]), node("Sigmoid", ["logit"], ["y"])],
        {"w": np.full((1, 3, 1, 1), 20, f32), "b": f32([40])},
        ["n", 3, "h", "w"], ["n", 1, "h", "w"])

# A line stands upright when its left half is redder than its right half.
sides = np.zeros((2, 3, 1, 2), f32)
sides[0, 2, 0] = [20, -20]
sides[1, 2, 0] = [-20, 20]
network("classify",
        [node("AveragePool", ["x"], ["halves"], kernel_shape=[16, 24], strides=[16, 24]),
         node("Conv", ["halves", "w"], ["logit"]), node("Flatten", ["logit"], ["flat"]),
         node("Softmax", ["flat"], ["y"], axis=1)],
        {"w": sides}, ["n", 3, 16, 48], ["n", 2])

# A step is 8 pixels wide; classes are blank, r, g, b and the space, which never comes.
colours = np.zeros((5, 3, 1, 1), f32)
for row in (1, 2, 3):
    colours[row, :, 0, 0] = -40
    colours[row, 3 - row, 0, 0] = 40
network("recognise",
        [node("AveragePool", ["x"], ["steps"], kernel_shape=[16, 8], strides=[16, 8]),
         node("Conv", ["steps", "w", "b"], ["logit"]), node("Squeeze", ["logit", "axis"], ["rows"]),
         node("Transpose", ["rows"], ["turned"], perm=[0, 2, 1]), node("Softmax", ["turned"], ["y"], axis=2)],
        {"w": colours, "b": f32([0, -52, -52, -52, -99]), "axis": np.int64([2])},
        ["n", 3, 16, "w"], ["n", "t", 5])
