#!/usr/bin/env python3
"""Makes layers.param and layers.bin, their input x.npy and the answers of ncnn: `pip install ncnn
numpy`, then here `python make.py`. Every layer hangs on the same small picture [6, 5, 7] and is an
output of its own; weights are half precision, float32 or without a tag in turn."""
import struct

import ncnn
import numpy as np

random = np.random.default_rng(11)
layers, weights, outputs = [], b"", []
tags = [0x01306B47, 0, 0x0002C056]


def add(kind, inputs, parameters="", output=None, keep=True):
    name = f"{kind}_{len(layers)}"
    tops = output or [name]
    layers.append(f"{kind:16} {name:24} {len(inputs)} {len(tops)} {' '.join(inputs + tops)} {parameters}".rstrip())
    if keep:
        outputs.extend(tops)
    return tops[0]


def numbers(count, tag=None):
    global weights
    values = random.standard_normal(count).astype(np.float32)
    if tag is not None:
        weights += struct.pack("<I", tag)
    data = (values.astype(np.float16) if tag == tags[0] else values).tobytes()
    weights += data + bytes(-len(data) % 4)


def conv(x, parameters, size, bias, turn, kind="Convolution", **more):
    y = add(kind, [x], f"{parameters} 6={size}", **more)
    numbers(size, tags[turn % 3])
    if bias:
        numbers(bias)
    return y


layers.append("Input            x                        0 1 x")
copies = add("Split", ["x"], output=["x_0", "x_1"], keep=False)
wide = conv("x_0", "0=16 1=3 4=1 5=1", 864, 16, 0, keep=False)
conv("x", "0=5 1=3 11=2 3=2 13=1 2=1 12=2 4=2 14=0 15=1 16=3", 180, 0, 0)
conv("x", "0=3 1=4 4=-233 3=2 5=1", 288, 3, 1)
conv("x", "0=3 1=2 4=-234", 72, 0, 2)
for activation, values in (("1", ""), ("2", " -23310=1,2.000000e-01"), ("3", " -23310=2,-0.5,0.25"), ("4", ""), ("5", ""),
                           ("6", " -23310=2,2.000000e-01,5.000000e-01")):
    conv("x_1", f"0=2 1=1 5=1 9={activation}{values}", 12, 2, int(activation))
conv("x", "0=6 1=3 4=1 5=1 7=6", 54, 6, 1, kind="ConvolutionDepthWise")
add("PReLU", ["x"], "0=6")
numbers(6)
add("PReLU", ["x"], "0=1")
numbers(1)
add("ReLU", ["x"])
add("ReLU", ["x"], "0=1.000000e-01")
add("Clip", ["x"], "0=-5.000000e-01 1=0.75")
add("Sigmoid", ["x"])
add("TanH", ["x"])
add("Dropout", ["x"])
add("PixelShuffle", [wide], "0=2")
add("PixelShuffle", [wide], "0=4 1=1")
for kind in (1, 2, 3):
    add("Interp", ["x"], f"0={kind} 1=2.000000e+00 2=3.000000e+00")
    add("Interp", ["x"], f"0={kind} 1=5.000000e-01 2=7.500000e-01")
    add("Interp", ["x"], f"0={kind} 3=9 4=4")
add("Interp", ["x"], "0=2 3=9 4=4 6=1")
moved = add("BinaryOp", ["x"], "0=0 1=1 2=5.000000e+00", keep=False)
other = add("BinaryOp", ["x"], "0=2 1=1 2=-0.5", keep=False)
for kind in range(10):
    add("BinaryOp", [moved, moved if kind in (6, 9) else other], f"0={kind}")
    add("BinaryOp", [moved], f"0={kind} 1=1 2=1.5")
for kind in range(3):
    add("Eltwise", ["x", moved, other], f"0={kind}")
add("Eltwise", [moved, "x"], "0=1 -23301=2,2.000000e-01,1.000000e+00")
for axis in (0, 1, 2, -1):
    add("Concat", ["x", moved, other], f"0={axis}")

blobs = 1 + sum(int(line.split()[3]) for line in layers)
with open("layers.param", "w", encoding="ascii") as file:
    file.write(f"7767517\n{len(layers)} {blobs}\n" + "\n".join(layers) + "\n")
with open("layers.bin", "wb") as file:
    file.write(weights)

net = ncnn.Net()
for name in dir(net.opt):
    if name.startswith(("use_fp16", "use_bf16", "use_int8", "use_winograd", "use_sgemm", "use_packing")):
        setattr(net.opt, name, False)
assert net.load_param("layers.param") == 0 and net.load_model("layers.bin") == 0
picture = random.standard_normal((6, 5, 7)).astype(np.float32)
answers = []
for name in outputs:
    run = net.create_extractor()
    run.set_light_mode(False)
    run.input("x", ncnn.Mat(picture).clone())
    status, answer = run.extract(name)
    assert status == 0, name
    answers.append(np.array(answer))
    print(name, answers[-1].shape)
np.save("x.npy", picture[None])
np.save("answers.npy", np.concatenate([a.ravel() for a in answers]).astype(np.float32))
