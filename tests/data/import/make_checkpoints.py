"""Makes tiny.pt (zip container) and tiny.pth (legacy container) as PyTorch writes them, without PyTorch.

Run it in this folder. Values: see checkpoint_test.cc.
"""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile


def module(name):
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]


torch, utils = module("torch"), module("torch._utils")
torch._utils = utils


def named(owner, name):
    def function(*args):
        raise AssertionError("only pickled by name")

    function.__module__, function.__qualname__, function.__name__ = owner.__name__, name, name
    setattr(owner, name, function)
    return function


rebuild_tensor, rebuild_parameter = named(utils, "_rebuild_tensor_v2"), named(utils, "_rebuild_parameter")
storage_types = {kind: named(torch, kind + "Storage") for kind in ("Float", "Half", "Long", "Bool")}


class Storage:
    def __init__(self, key, kind, numel, data):
        self.key, self.kind, self.numel, self.data = key, kind, numel, data


class Tensor:
    def __init__(self, storage, offset, size, stride):
        self.args = (storage, offset, size, stride, False, collections.OrderedDict())

    def __reduce__(self):
        return rebuild_tensor, self.args


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return rebuild_parameter, (self.tensor, True, collections.OrderedDict())


class Pickler(pickle._Pickler):
    legacy = False

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            key = ("storage", storage_types[obj.kind], obj.key, "cpu", obj.numel)
            return key + (None,) if self.legacy else key


def dumps(obj, legacy):
    out = io.BytesIO()
    pickler = Pickler(out, protocol=2)
    pickler.legacy = legacy
    pickler.dump(obj)
    return out.getvalue()


storages = [
    Storage("0", "Float", 6, struct.pack("<6f", 1, 2, 3, 4, 5, 6)),
    Storage("1", "Half", 3, struct.pack("<3e", 0.5, -2, 1024)),
    Storage("2", "Long", 1, struct.pack("<q", 42)),
    Storage("3", "Bool", 2, b"\0\1"),
]
state = collections.OrderedDict()
state["weight"] = Parameter(Tensor(storages[0], 0, (2, 3), (3, 1)))
state["transposed"] = Tensor(storages[0], 0, (3, 2), (1, 3))
state["half"] = Tensor(storages[1], 1, (2,), (1,))
state["steps"] = Tensor(storages[2], 0, (), ())
state["flags"] = Tensor(storages[3], 0, (1, 2), (7, 1))
state._metadata = collections.OrderedDict([("", {"version": 1})])
checkpoint = {"epoch": 3, "lr": 0.1, "best": None, "state_dict": state}

with zipfile.ZipFile("tiny.pt", "w", zipfile.ZIP_STORED) as archive:
    def put(name, data):
        archive.writestr(zipfile.ZipInfo("tiny/" + name), data)

    put("data.pkl", dumps(checkpoint, False))
    put("byteorder", "little")
    for s in storages:
        put("data/" + s.key, s.data)
    put("version", "3\n")

with open("tiny.pth", "wb") as out:
    for obj in (0x1950A86A20F9469CFC6C, 1001,
                {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}):
        out.write(pickle.dumps(obj, 2))
    out.write(dumps(checkpoint, True))
    keys = [s.key for s in reversed(storages)]
    out.write(pickle.dumps(keys, 2))
    for s in reversed(storages):
        out.write(struct.pack("<q", s.numel) + s.data)
