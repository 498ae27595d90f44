#!/usr/bin/env python3
"""Golden files of Paddle's operators for tests/runtime/paddle_golden: small programs that paddlepaddle 2.6.2 ran.

usage: make.py FOLDER [FAMILY...]       (in an environment with paddlepaddle==2.6.2 and numpy)

One safetensors file a family of operators (cases_*.py beside this hold the cases), in it for each case
  CASE/program   the program as bytes: attributes that have their default value are left out, as in old files
  CASE/params    its parameters in one file, when it has any
  CASE/in/NAME   what was fed, CASE/in/NAME.offsets the sequences of it
  CASE/out/K     what came out, in the order of the fetches
The outputs are those that Paddle gives for exactly these bytes.
"""
import importlib
import json
import os
import struct
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import paddle
from paddle.base import core
from paddle.base.proto import framework_pb2 as pb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
paddle.enable_static()

STRIP = {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr"}
CODES = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
         "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def write_safetensors(path, tensors):
    header, blobs, at = {}, [], 0
    for name in sorted(tensors, key=lambda n: (-tensors[n].itemsize, n)):  # aligned, each by its own size
        t = np.ascontiguousarray(tensors[name]).reshape(tensors[name].shape)
        code = next(c for c, d in CODES.items() if t.dtype == d)
        header[name] = {"dtype": code, "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        blobs.append(t.tobytes())
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


class Seq:
    """An array whose dimension 0 holds sequences of these lengths."""

    def __init__(self, array, lengths):
        self.array, self.lengths = np.asarray(array), lengths


def bare(text, version):
    """Without the attributes that say nothing, and without those that have their default value."""
    program = pb.ProgramDesc.FromString(text)
    for block in program.blocks:
        for op in block.ops:
            try:
                default = core.get_op_attrs_default_value(op.type.encode())
            except Exception:
                default = {}
            field = {0: "i", 1: "f", 2: "s", 3: "ints", 4: "floats", 5: "strings", 6: "b", 7: "bools", 9: "l", 11: "longs", 12: "float64s",
                     15: "float64"}
            keep = []
            for a in op.attrs:
                if a.name in STRIP:
                    continue
                if a.type in field and a.name in default:
                    value = getattr(a, field[a.type])
                    value = list(value) if isinstance(default[a.name], list) else value
                    if value == default[a.name]:
                        continue
                keep.append(pb.OpDesc.Attr.FromString(a.SerializeToString()))
            del op.attrs[:]
            op.attrs.extend(keep)
        for var in block.vars:
            for f in ("attrs", "stop_gradient", "is_parameter", "need_check_feed"):
                var.ClearField(f)
    program.ClearField("op_version_map")
    program.version.version = version
    return program


def with_feed_and_fetch(program, feeds, fetches):
    whole = pb.ProgramDesc.FromString(program.SerializeToString())
    block = whole.blocks[0]
    ops = [pb.OpDesc.FromString(op.SerializeToString()) for op in block.ops]
    del block.ops[:]
    for name, kind in (("feed", pb.VarType.FEED_MINIBATCH), ("fetch", pb.VarType.FETCH_LIST)):
        var = block.vars.add()
        var.name, var.persistable = name, True
        var.type.type = kind

    def add(kind, source, target, column):
        op = block.ops.add()
        op.type = kind
        for slot, name in ((op.inputs.add(), source), (op.outputs.add(), target)):
            slot.parameter = "X" if slot is op.inputs[0] else "Out"
            slot.arguments.append(name)
        a = op.attrs.add()
        a.name, a.type, a.i = "col", pb.INT, column

    for k, name in enumerate(feeds):
        add("feed", "feed", name, k)
    block.ops.extend(ops)
    for k, name in enumerate(fetches):
        add("fetch", name, "fetch", k)
    return whole


def record(array):
    desc = pb.VarType.TensorDesc()
    desc.data_type = {"float32": 5, "float64": 6, "int64": 3, "int32": 2, "bool": 0, "int8": 21, "uint8": 20}[str(array.dtype)]
    desc.dims.extend(array.shape)
    text = desc.SerializeToString()
    return struct.pack("<IQIi", 0, 0, 0, len(text)) + text + np.ascontiguousarray(array).tobytes()


class Family:
    def __init__(self):
        self.tensors, self.names, self.failed = {}, [], []

    def case(self, op, ins, attrs=None, outs="Out", params=(), fetch=None, name=None, version=2006000, keep=False):
        """One operator. `ins`: slot -> array, list of arrays, or Seq; `outs`: slots, "Slot*3" for a list of
        three, "Slot=In" for what is written over an input."""

        def build(block, feeds, weights):
            slots, kind = {}, "float32"
            for value in list(ins.values())[:1]:  # as the layers say it: what the operator infers wins
                value = value[0] if isinstance(value, list) else value
                kind = str(value.array.dtype if isinstance(value, Seq) else value.dtype)
            for slot, value in ins.items():
                values = value if isinstance(value, list) else [value]
                slots[slot] = []
                for k, v in enumerate(values):
                    var = f"{slot.lower()}{k if isinstance(value, list) else ''}"
                    slots[slot].append((weights if slot in params else feeds)(var, v))
            outputs, fetches = {}, []
            for slot in outs.split():
                slot, _, count = slot.partition("*")
                slot, _, over = slot.partition("=")
                if over:
                    outputs[slot] = slots[over]
                    continue
                made = [block.create_var(name=f"{slot.lower()}.out{k}", dtype=kind) for k in range(int(count or 1))]
                outputs[slot] = made
                if fetch is None or slot in fetch.split():
                    fetches += made
            block.append_op(type=op, inputs=slots, outputs=outputs, attrs=dict(attrs or {}))
            return fetches

        self.program(op, build, name, version, keep)

    def program(self, op, build, name=None, version=2006000, keep=False):
        """`build(block, feed, weight)` gives the variables to fetch; feed and weight make a variable of an array."""
        count = sum(1 for n in self.names if n.split(":")[0] == op)
        title = f"{op}:{name or count}"
        try:
            self.run(title, build, version, keep)
            self.names.append(title)
        except Exception as e:
            self.failed.append(title)
            said = [line.strip() for line in str(e).splitlines() if "Error:" in line or "[Hint" in line] or [str(e)[:300]]
            print(f"{title}: {' '.join(said)}", file=sys.stderr)

    def run(self, title, build, version, keep):
        main, feeds, weights = paddle.static.Program(), {}, {}

        def feed(var, value):
            array = value.array if isinstance(value, Seq) else np.asarray(value)
            feeds[var] = value if isinstance(value, Seq) else array
            return main.global_block().create_var(name=var, shape=array.shape, dtype=str(array.dtype), is_data=True, need_check_feed=False,
                                                  lod_level=1 if isinstance(value, Seq) else 0)

        def weight(var, value):
            array = np.asarray(value)
            weights[var] = array
            return main.global_block().create_var(name=var, shape=array.shape, dtype=str(array.dtype), persistable=True)

        with paddle.static.program_guard(main, paddle.static.Program()):
            paddle.seed(7)
            fetches = [v.name for v in build(main.current_block(), feed, weight)]
        text = main.desc.serialize_to_string()
        program = pb.ProgramDesc.FromString(text) if keep else bare(text, version)
        names = list(feeds)
        exe, scope, place = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope(), paddle.CPUPlace()
        with paddle.static.scope_guard(scope):
            for var, array in weights.items():
                scope.var(var).get_tensor().set(array, place)
            given = {n: paddle.base.create_lod_tensor(v.array, [v.lengths], place) if isinstance(v, Seq) else v for n, v in feeds.items()}
            results = exe.run(paddle.static.Program.parse_from_string(program.SerializeToString()), feed=given, fetch_list=fetches,
                              return_numpy=False)
        whole = with_feed_and_fetch(program, names, fetches)
        put = self.tensors.__setitem__
        put(f"{title}/program", np.frombuffer(whole.SerializeToString(), np.uint8))
        if weights:
            put(f"{title}/params", np.frombuffer(b"".join(record(weights[n]) for n in sorted(weights)), np.uint8))
        for n, v in feeds.items():
            put(f"{title}/in/{n}", v.array if isinstance(v, Seq) else v)
            if isinstance(v, Seq):
                put(f"{title}/in/{n}.offsets", np.cumsum([0] + v.lengths).astype(np.int64))
        for k, r in enumerate(results):
            put(f"{title}/out/{k}", np.array(r))


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    operators, failed, total = set(), [], 0
    for file in sorted(os.listdir(here)):
        if not (file.startswith("cases_") and file.endswith(".py")):
            continue
        for name, cases in vars(importlib.import_module(file[:-3])).items():
            if not name.startswith("family_") or (wanted and name[7:] not in wanted):
                continue
            family = Family()
            np.random.seed(11)
            cases(family)
            write_safetensors(os.path.join(folder, name[7:] + ".safetensors"), family.tensors)
            operators |= {n.split(":")[0] for n in family.names}
            failed += family.failed
            total += len(family.names)
    print(f"{total} cases of {len(operators)} operators, {len(failed)} could not be made: {' '.join(failed)}")


if __name__ == "__main__":
    import make  # the cases import this module too: one Seq for both

    make.main()
