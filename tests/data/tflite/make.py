#!/usr/bin/env python3
"""Makes operators.tflite, its input and the answers of LiteRT: `pip install tflite flatbuffers ai-edge-litert numpy`, then here
`python make.py`. Every operator hangs on the same small picture and is an output of its own."""
import flatbuffers
import numpy as np
import tflite as T
from ai_edge_litert.interpreter import Interpreter

random = np.random.default_rng(7)
b = flatbuffers.Builder(1 << 16)
buffers, tensors, codes, calls, outputs = [b""], [], [], [], []
kinds = {"float32": 0, "float16": 1, "int32": 2}


def vector(numbers, size=4):
    numbers = list(numbers)
    b.StartVector(size, len(numbers), size)
    for n in reversed(numbers):
        (b.PrependInt32 if size == 4 else b.PrependUint8 if size == 1 else b.PrependUint16)(int(n))
    return b.EndVector()


def offsets(items):
    b.StartVector(4, len(items), 4)
    for item in reversed(items):
        b.PrependUOffsetTRelative(item)
    return b.EndVector()


def table(fields):
    """fields: (slot, kind, value) with kind of a Builder's Prepend...Slot."""
    b.StartObject(max((slot for slot, _, _ in fields), default=-1) + 1)
    for slot, kind, value in fields:
        getattr(b, f"Prepend{kind}Slot")(slot, value, 0)
    return b.EndObject()


def tensor(shape, kind="float32", data=None, sparsity=None, name=None):
    at = 0
    if data is not None:
        buffers.append(np.ascontiguousarray(data).tobytes())
        at = len(buffers) - 1
    tensors.append((shape, kinds[kind], at, name or f"t{len(tensors)}", sparsity))
    return len(tensors) - 1


def known(array):
    array = np.asarray(array)
    return tensor(array.shape, array.dtype.name, array)


def weights(*shape):
    return random.standard_normal(shape).astype(np.float32)


def call(code, inputs, shape, options=(0, ()), output=True, kind="float32"):
    if code not in codes:
        codes.append(code)
    y = tensor(shape, kind)
    calls.append((codes.index(code), inputs, [y], options))
    if output:
        outputs.append(y)
    return y


O, B = T.BuiltinOperator, T.BuiltinOptions
i32 = lambda *values: known(np.array(values, np.int32))


def window(padding, sw, sh, act, dw=1, dh=1):
    return [(0, "Int8", padding), (1, "Int32", sw), (2, "Int32", sh), (3, "Int8", act), (4, "Int32", dw), (5, "Int32", dh)]


x = tensor((1, 6, 8, 4), name="x")
half = call(O.DEQUANTIZE, [known(weights(8, 3, 3, 4).astype(np.float16))], (8, 3, 3, 4), output=False)
call(O.CONV_2D, [x, half, known(weights(8))], (1, 3, 4, 8), (B.Conv2DOptions, window(0, 2, 2, 3)))
call(O.CONV_2D, [x, known(weights(5, 3, 2, 4)), known(weights(5))], (1, 2, 6, 5), (B.Conv2DOptions, window(1, 1, 1, 2, 2, 2)))
call(O.DEPTHWISE_CONV_2D, [x, known(weights(1, 3, 3, 8)), known(weights(8))], (1, 6, 4, 8),
     (B.DepthwiseConv2DOptions, [(0, "Int8", 0), (1, "Int32", 2), (2, "Int32", 1), (3, "Int32", 2), (4, "Int8", 1), (5, "Int32", 1), (6, "Int32", 1)]))
call(O.PRELU, [x, known(weights(1, 1, 4))], (1, 6, 8, 4))
padded = call(O.PAD, [x, known(np.array([[0, 0], [1, 0], [0, 2], [0, 0]], np.int32))], (1, 7, 10, 4), output=False)
pool = lambda padding, act: [(0, "Int8", padding), (1, "Int32", 2), (2, "Int32", 3), (3, "Int32", 3), (4, "Int32", 2), (5, "Int8", act)]
call(O.MAX_POOL_2D, [padded], (1, 3, 5, 4), (B.Pool2DOptions, pool(0, 0)))
call(O.AVERAGE_POOL_2D, [x], (1, 2, 4, 4), (B.Pool2DOptions, pool(0, 1)))
for corners, middle in ((0, 0), (1, 0), (0, 1)):
    call(O.RESIZE_BILINEAR, [x, i32(9, 5)], (1, 9, 5, 4), (B.ResizeBilinearOptions, [(2, "Bool", corners), (3, "Bool", middle)]))
call(O.DEPTH_TO_SPACE, [x], (1, 12, 16, 1), (B.DepthToSpaceOptions, [(0, "Int32", 2)]))
mean = call(O.MEAN, [x, i32(1, 2)], (1, 1, 1, 4), (B.ReducerOptions, [(0, "Bool", 1)]))
full = call(O.FULLY_CONNECTED, [mean, known(weights(6, 4)), known(weights(6))], (1, 6), (B.FullyConnectedOptions, [(0, "Int8", 0)]))
call(O.SOFTMAX, [full], (1, 6), (B.SoftmaxOptions, [(0, "Float32", 2.0)]))
flat = call(O.RESHAPE, [x, i32(1, 48, 4)], (1, 48, 4), output=False)
call(O.CONCATENATION, [flat, flat], (1, 96, 4), (B.ConcatenationOptions, [(0, "Int32", -2)]))
call(O.STRIDED_SLICE, [x, i32(0, 1, 7, 2), i32(1, 5, 1, 3), i32(1, 2, -2, 1)], (1, 2, 3),
     (B.StridedSliceOptions, [(0, "Int32", 1), (1, "Int32", 1), (4, "Int32", 8)]))
for code in (O.HARD_SWISH, O.LOGISTIC, O.TANH, O.RELU, O.RELU6):
    call(code, [x], (1, 6, 8, 4))
call(O.TRANSPOSE, [x, i32(0, 3, 1, 2)], (1, 4, 6, 8))
other = known(weights(1, 1, 8, 4))
for code, options in ((O.ADD, B.AddOptions), (O.SUB, B.SubOptions), (O.MUL, B.MulOptions), (O.DIV, B.DivOptions)):
    call(code, [x, other], (1, 6, 8, 4), (options, [(0, "Int8", 1)]))
for code in (O.MAXIMUM, O.MINIMUM):
    call(code, [x, other], (1, 6, 8, 4))
# Weights [3, 1, 1, 4] with the entries (0, 1), (0, 3), (2, 0): the last dimension is a list.
rows = ("sparse", [0, 1, 2, 3], [], [(0, 3), (0, 1), (0, 1), (1, [0, 2, 2, 3], [1, 3, 0])])
call(O.CONV_2D, [x, call(O.DENSIFY, [tensor((3, 1, 1, 4), data=weights(3), sparsity=rows)], (3, 1, 1, 4), output=False), known(weights(3))],
     (1, 6, 8, 3), (B.Conv2DOptions, window(0, 1, 1, 0)))
# The same in blocks of two along the last dimension: (0, 2..3), (1, 0..1), (2, 2..3).
blocks = ("sparse", [0, 1, 2, 3, 4], [3], [(0, 3), (0, 1), (0, 1), (1, [0, 1, 2, 3], [1, 0, 1]), (0, 2)])
call(O.CONV_2D, [x, call(O.DENSIFY, [tensor((3, 1, 1, 4), data=weights(6), sparsity=blocks)], (3, 1, 1, 4), output=False), known(weights(3))],
     (1, 6, 8, 3), (B.Conv2DOptions, window(0, 1, 1, 0)))


def sparse(parameters):
    _, order, cut, levels = parameters
    made = []
    for level in levels:
        if level[0] == 0:
            made.append(table([(1, "Int32", level[1])]))
        else:
            lists = [table([(0, "UOffsetTRelative", vector(numbers, 1))]) for numbers in level[1:]]
            made.append(table([(0, "Int8", 1), (2, "Uint8", 3), (3, "UOffsetTRelative", lists[0]), (4, "Uint8", 3), (5, "UOffsetTRelative", lists[1])]))
    fields = [(0, "UOffsetTRelative", vector(order)), (2, "UOffsetTRelative", offsets(made))]
    if cut:
        fields.insert(1, (1, "UOffsetTRelative", vector(cut)))
    return table(fields)


def bytes_of(data):
    at = b.CreateByteVector(data)
    return at


made_buffers = []
for data in buffers:
    if data:
        b.StartVector(1, len(data), 16)
        b.head -= len(data)
        b.Bytes[b.head:b.head + len(data)] = data
        made_buffers.append(table([(0, "UOffsetTRelative", b.EndVector())]))
    else:
        made_buffers.append(table([]))
made_tensors = []
for shape, kind, at, name, sparsity in tensors:
    fields = [(0, "UOffsetTRelative", vector(shape)), (1, "Int8", kind), (2, "Uint32", at), (3, "UOffsetTRelative", b.CreateString(name))]
    if sparsity:
        fields.append((6, "UOffsetTRelative", sparse(sparsity)))
    made_tensors.append(table(fields))
made_calls = []
for code, inputs, results, (kind, options) in calls:
    fields = [(0, "Uint32", code), (1, "UOffsetTRelative", vector(inputs)), (2, "UOffsetTRelative", vector(results))]
    if kind:
        fields += [(3, "Uint8", kind), (4, "UOffsetTRelative", table(list(options)))]
    made_calls.append(table(fields))
graph = table([(0, "UOffsetTRelative", offsets(made_tensors)), (1, "UOffsetTRelative", vector([x])), (2, "UOffsetTRelative", vector(outputs)),
               (3, "UOffsetTRelative", offsets(made_calls))])
made_codes = [table([(0, "Int8", min(code, 127)), (2, "Int32", 2 if code == O.RESIZE_BILINEAR else 1), (3, "Int32", code)]) for code in codes]
model = table([(0, "Uint32", 3), (1, "UOffsetTRelative", offsets(made_codes)), (2, "UOffsetTRelative", offsets([graph])),
               (4, "UOffsetTRelative", offsets(made_buffers))])
b.Finish(model, b"TFL3")
open("operators.tflite", "wb").write(b.Output())

interpreter = Interpreter("operators.tflite")
interpreter.allocate_tensors()
picture = random.standard_normal((1, 6, 8, 4)).astype(np.float32)
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture)
interpreter.invoke()
answers = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
for answer, at in zip(answers, outputs):
    assert answer.shape == tuple(tensors[at][0]), (answer.shape, tensors[at])
np.save("x.npy", picture)
np.save("answers.npy", np.concatenate([a.ravel() for a in answers]).astype(np.float32))
print(len(answers), "outputs")
