#!/usr/bin/env python3
"""Writes the Paddle program of jieba's lac_small: `lac_small_program.py registry/lac-small/model/__model__`.

The package holds the variables of its network but no program; what lac_small/nets.py builds is written out here as a
ProgramDesc (runtime/import/paddle.proto): an embedding, two bidirectional GRU layers, a linear layer, CRF decoding.
"""
import pathlib
import sys

words, width, tags = 20941, 128, 57
LOD_TENSOR, FEED, FETCH, INT64, FP32 = 7, 9, 10, 3, 5


class Long(int):
    """An attribute of 64 bits."""


# The kind of an attribute and the field that holds it.
attribute_kinds = {int: (0, 3), str: (2, 5), bool: (6, 10), Long: (9, 13)}


def varint(n):
    out, n = b"", n & (1 << 64) - 1
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A number, a string, or bytes that hold a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def variable(name, kind, dims=(), element=FP32, sequences=0, kept=False):
    tensor = field(1, element) + b"".join(field(2, d) for d in dims)
    lod = field(3, field(1, tensor) + field(2, sequences)) if kind == LOD_TENSOR else b""
    return field(3, field(1, name) + field(2, field(1, kind) + lod) + field(3, int(kept)))


def operator(kind, inputs, outputs, **attributes):
    def slots(number, named):
        return b"".join(field(number, field(1, slot) + b"".join(field(2, v) for v in values.split()))
                        for slot, values in named.items())

    def attribute(name, value):
        kind, place = attribute_kinds[type(value)]
        return field(4, field(1, name) + field(2, kind) + field(place, value))

    return field(4, slots(1, inputs) + slots(2, outputs) + field(3, kind) +
                 b"".join(attribute(n, v) for n, v in attributes.items()))


variables = [variable("feed", FEED, kept=True), variable("fetch", FETCH, kept=True),
             variable("words", LOD_TENSOR, (-1, 1), INT64, 1)]
operators = [operator("feed", {"X": "feed"}, {"Out": "words"}, col=0)]


def parameter(name, *dims):
    variables.append(variable(name, LOD_TENSOR, dims, kept=True))
    return name


def add(kind, inputs, output, dims, slot="Out", element=FP32, **attributes):
    variables.append(variable(output, LOD_TENSOR, dims, element, 1))
    operators.append(operator(kind, inputs, {slot: output}, **attributes))
    return output


def linear(x, number, rows, columns):
    product = add("mul", {"X": x, "Y": parameter(f"fc_{number}.w_0", rows, columns)}, f"fc_{number}.tmp_0", (-1, columns),
                  x_num_col_dims=1, y_num_col_dims=1)
    return add("elementwise_add", {"X": product, "Y": parameter(f"fc_{number}.b_0", columns)}, f"fc_{number}.tmp_1",
               (-1, columns), axis=1)


def gru(x, number, reverse):
    outputs = {"BatchGate": f"gru_{number}.tmp_1", "BatchResetHiddenPrev": f"gru_{number}.tmp_2",
               "BatchHidden": f"gru_{number}.tmp_3", "Hidden": f"gru_{number}.tmp_0"}
    variables.extend(variable(v, LOD_TENSOR, (-1, 3 * width if slot == "BatchGate" else width), sequences=slot == "Hidden")
                     for slot, v in outputs.items())
    inputs = {"Input": x, "Weight": parameter(f"gru_{number}.w_0", width, 3 * width),
              "Bias": parameter(f"gru_{number}.b_0", 1, 3 * width)}
    operators.append(operator("gru", inputs, outputs, activation="tanh", gate_activation="sigmoid", is_reverse=reverse,
                              origin_mode=False))
    return outputs["Hidden"]


x, wide = add("lookup_table", {"Ids": "words", "W": parameter("word_emb", words, width)}, "embedding_0.tmp_0", (-1, width),
              padding_idx=Long(-1)), width
for layer in range(2):
    ways = [gru(linear(x, 2 * layer + way, wide, 3 * width), 2 * layer + way, way == 1) for way in range(2)]
    wide = 2 * width
    x = add("concat", {"X": " ".join(ways)}, f"concat_{layer}.tmp_0", (-1, wide), axis=1)
path = add("crf_decoding", {"Emission": linear(x, 4, wide, tags), "Transition": parameter("crfw", tags + 2, tags)},
           "crf_decoding_0.tmp_0", (-1, 1), "ViterbiPath", INT64)
operators.append(operator("fetch", {"X": path}, {"Out": "fetch"}, col=0))

block = field(1, 0) + field(2, -1) + b"".join(variables) + b"".join(operators)
pathlib.Path(sys.argv[1]).write_bytes(field(1, block) + field(4, field(1, 1006003)))
