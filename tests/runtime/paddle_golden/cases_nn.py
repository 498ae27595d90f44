"""Layers of neural networks: convolutions, pools, norms, resizing, recurrence, quantization."""
import numpy as np

from cases_math import BOOL, FP32, INT32, INT64, b, f, i
from cases_shape import one
from make import Seq


def family_conv(t):
    for op, groups, channels in (("conv2d", 1, 4), ("depthwise_conv2d", 4, 4)):
        def conv(attrs, x=(1, channels, 7, 6), w=(4, channels // groups, 3, 3)):
            t.case(op, {"Input": f(*x), "Filter": f(*w)}, {"groups": groups, **attrs}, outs="Output", params=["Filter"])
        conv({})
        conv({"strides": [2, 1], "paddings": [1, 2]})
        conv({"paddings": [1, 0, 2, 1], "dilations": [2, 1]})
        conv({"padding_algorithm": "SAME", "strides": [2, 2]})
        conv({"padding_algorithm": "VALID", "paddings": [1, 1]})
        if op == "conv2d":
            conv({"groups": 2}, w=(4, 2, 3, 3))
            conv({"data_format": "NHWC", "paddings": [1, 1]}, x=(1, 5, 4, 4))
            conv({"padding_algorithm": "SAME", "dilations": [2, 2]})
    for op, groups in (("conv2d_transpose", 1), ("depthwise_conv2d_transpose", 4)):
        def back(attrs, x=(1, 4, 4, 3), w=(4, 2 if groups == 1 else 1, 3, 3)):
            t.case(op, {"Input": f(*x), "Filter": f(*w)}, {"groups": groups, **attrs}, outs="Output", params=["Filter"])
        back({})
        back({"strides": [2, 2], "paddings": [1, 0]})
        back({"strides": [2, 2], "paddings": [1, 1], "output_padding": [1, 1]})
        if groups == 1:
            back({"strides": [2, 2], "paddings": [1, 1], "output_size": [8, 6]})
            back({"strides": [2, 2], "padding_algorithm": "SAME"})
            back({"paddings": [1, 0, 0, 1], "dilations": [2, 1]})
            back({"groups": 2, "strides": [2, 2]})
            back({"data_format": "NHWC", "strides": [2, 2]}, x=(1, 4, 3, 4))
    t.case("conv3d", {"Input": f(1, 2, 4, 5, 4), "Filter": f(3, 2, 2, 3, 2)}, {"strides": [1, 2, 1], "paddings": [0, 1, 1]}, outs="Output",
           params=["Filter"])
    t.case("conv3d", {"Input": f(1, 2, 4, 5, 4), "Filter": f(4, 1, 2, 2, 2)}, {"groups": 2, "padding_algorithm": "SAME"}, outs="Output",
           params=["Filter"])
    t.case("conv3d_transpose", {"Input": f(1, 2, 3, 2, 3), "Filter": f(2, 3, 2, 3, 2)}, {"strides": [1, 2, 1], "paddings": [0, 1, 0]},
           outs="Output", params=["Filter"])
    t.case("deformable_conv_v1", {"Input": f(1, 2, 4, 4), "Offset": f(1, 18, 2, 2), "Filter": f(3, 2, 3, 3)}, {"im2col_step": 1}, outs="Output",
           params=["Filter"])
    for extra in ({}, {"strides": [2, 1], "paddings": [1, 1]}, {"deformable_groups": 2, "paddings": [1, 1]},
                  {"groups": 2, "dilations": [2, 2], "paddings": [2, 2]}):
        h = {0: 3, 2: 3, 1: 5}[len(extra)] if "groups" not in extra else 5
        w = 4 if "deformable_groups" in extra or "strides" in extra or "groups" in extra else 2
        if "deformable_groups" in extra or "groups" in extra:
            h, w = 5, 4
        d = extra.get("deformable_groups", 1)
        w_in = 4 // extra.get("groups", 1)
        ins = {"Input": f(1, 4, 5, 4), "Offset": f(1, 18 * d, h, w), "Mask": f(1, 9 * d, h, w, low=0, high=1), "Filter": f(2, w_in, 3, 3)}
        t.case("deformable_conv", ins, {"im2col_step": 1, **extra}, outs="Output", params=["Filter"])
    t.case("unfold", {"X": f(1, 2, 5, 4)}, {"kernel_sizes": [3, 2], "strides": [1, 2], "paddings": [1, 0, 1, 0], "dilations": [1, 1]}, outs="Y")
    t.case("unfold", {"X": f(2, 1, 5, 6)}, {"kernel_sizes": [2, 2], "strides": [1, 1], "paddings": [0, 1, 2, 0], "dilations": [2, 1]}, outs="Y")


def family_pool(t):
    for kind in ("max", "avg"):
        def pool(attrs, x=(1, 2, 7, 6), op="pool2d"):
            t.case(op, {"X": f(*x)}, {"pooling_type": kind, **attrs})
        pool({"ksize": [2, 3]})
        pool({"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]})
        pool({"ksize": [3, 2], "strides": [2, 2], "ceil_mode": True})
        pool({"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "ceil_mode": True})
        pool({"ksize": [2, 2], "strides": [2, 2], "paddings": [1, 0, 0, 1]})
        pool({"ksize": [3, 3], "strides": [2, 2], "padding_algorithm": "SAME"})
        pool({"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "padding_algorithm": "VALID"})
        pool({"ksize": [1, 1], "global_pooling": True, "paddings": [1, 1]})
        if kind == "avg":  # Paddle 2.6 takes the sizes of adaptive maxima for windows
            pool({"ksize": [1, 1], "adaptive": True})
            pool({"ksize": [3, 2], "adaptive": True})
            pool({"ksize": [2, 1, 2], "adaptive": True}, x=(1, 2, 5, 3, 4), op="pool3d")
        pool({"ksize": [2, 2], "strides": [2, 2], "data_format": "NHWC"}, x=(1, 4, 6, 2))
        pool({"ksize": [2, 2, 2], "strides": [2, 1, 2]}, x=(1, 2, 4, 3, 4), op="pool3d")
        pool({"ksize": [3, 3, 3], "strides": [2, 2, 2], "paddings": [1, 1, 1], "ceil_mode": True}, x=(1, 1, 4, 5, 4), op="pool3d")
        pool({"ksize": [1, 1, 1], "global_pooling": True}, x=(1, 2, 5, 3, 4), op="pool3d")
    t.case("pool2d", {"X": f(1, 2, 5, 5)}, {"pooling_type": "avg", "ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "exclusive": False})
    t.case("pool2d", {"X": f(1, 2, 6, 6)}, {"pooling_type": "avg", "ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "exclusive": False,
                                           "ceil_mode": True})
    t.case("max_pool2d_with_index", {"X": f(1, 2, 6, 5)}, {"ksize": [2, 2], "strides": [2, 2]}, outs="Out Mask")
    t.case("max_pool2d_with_index", {"X": f(1, 2, 6, 5)}, {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]}, outs="Out Mask")
    t.case("max_pool2d_with_index", {"X": f(1, 2, 6, 5)}, {"ksize": [2, 3], "adaptive": True}, outs="Out Mask")
    t.case("max_pool2d_with_index", {"X": f(1, 2, 4, 5)}, {"ksize": [2, 3], "global_pooling": True}, outs="Out Mask")
    t.case("max_pool3d_with_index", {"X": f(1, 2, 4, 4, 5)}, {"ksize": [2, 2, 3], "strides": [2, 2, 1]}, outs="Out Mask")
    t.case("max_pool3d_with_index", {"X": f(1, 1, 4, 4, 5)}, {"ksize": [3, 2, 2], "strides": [2, 2, 2], "paddings": [1, 0, 0]}, outs="Out Mask")



def family_norm(t):
    def stats(n):
        return {"Scale": f(n), "Bias": f(n), "Mean": f(n), "Variance": f(n, low=0.3)}
    names = ["Scale", "Bias", "Mean", "Variance"]
    outs = "Y MeanOut=Mean VarianceOut=Variance SavedMean SavedVariance"
    for attrs, x in (({}, (2, 3, 4, 2)), ({"epsilon": 1e-3}, (4, 3)), ({"data_layout": "NHWC"}, (2, 4, 2, 3)), ({}, (1, 3, 2, 2, 2))):
        t.case("batch_norm", {"X": f(*x), **stats(3)}, {"is_test": True, **attrs}, outs=outs, fetch="Y", params=names)
    t.case("batch_norm", {"X": f(2, 3, 4), **stats(3)}, {"use_global_stats": True}, outs=outs, fetch="Y", params=names)
    for x, axis in (((2, 3, 4), 2), ((2, 3, 4), 1)):
        n = int(np.prod(x[axis:]))
        t.case("layer_norm", {"X": f(*x), "Scale": f(n), "Bias": f(n)}, {"begin_norm_axis": axis}, outs="Y Mean Variance", fetch="Y",
               params=["Scale", "Bias"])
    t.case("layer_norm", {"X": f(2, 5)}, {"epsilon": 1e-3}, outs="Y Mean Variance", fetch="Y")
    for x, attrs in (((2, 4, 3, 2), {"groups": 2}), ((2, 6, 3), {"groups": 3, "epsilon": 1e-2}), ((2, 3, 2, 4), {"groups": 2, "data_layout": "NHWC"})):
        t.case("group_norm", {"X": f(*x), "Scale": f(x[-1] if "data_layout" in attrs else x[1]), "Bias": f(x[-1] if "data_layout" in attrs else x[1])},
               attrs, outs="Y Mean Variance", fetch="Y", params=["Scale", "Bias"])
    t.case("group_norm", {"X": f(2, 4, 3, 2)}, {"groups": 4}, outs="Y Mean Variance", fetch="Y")
    t.case("instance_norm", {"X": f(2, 3, 4, 2), "Scale": f(3), "Bias": f(3)}, outs="Y SavedMean SavedVariance", fetch="Y", params=["Scale", "Bias"])
    t.case("instance_norm", {"X": f(2, 3, 4)}, {"epsilon": 1e-2}, outs="Y SavedMean SavedVariance", fetch="Y")
    t.case("data_norm", {"X": f(3, 4), "BatchSize": f(4, low=5, high=9), "BatchSum": f(4), "BatchSquareSum": f(4, low=5, high=9)},
           outs="Y Means Scales", fetch="Y", params=["BatchSize", "BatchSum", "BatchSquareSum"])
    t.case("data_norm", {"X": f(3, 4), "BatchSize": f(4, low=5, high=9), "BatchSum": f(4), "BatchSquareSum": f(4, low=5, high=9), "scale_w": f(4),
                         "bias": f(4)}, {"enable_scale_and_shift": True}, outs="Y Means Scales", fetch="Y",
           params=["BatchSize", "BatchSum", "BatchSquareSum", "scale_w", "bias"])
    t.case("affine_channel", {"X": f(2, 3, 4, 2), "Scale": f(3), "Bias": f(3)}, {"data_layout": "NCHW"}, params=["Scale", "Bias"])
    t.case("affine_channel", {"X": f(2, 4, 2, 3), "Scale": f(3), "Bias": f(3)}, {"data_layout": "NHWC"}, params=["Scale", "Bias"])
    t.case("affine_channel", {"X": f(2, 3, 4, 2), "Scale": f(2), "Bias": f(2)}, params=["Scale", "Bias"])
    t.case("lrn", {"X": f(1, 6, 3, 2)}, {"n": 3, "alpha": 0.01}, outs="Out MidOut", fetch="Out")
    t.case("lrn", {"X": f(1, 6, 3, 2)}, {"n": 5, "k": 1.0, "alpha": 0.1}, outs="Out MidOut", fetch="Out")
    t.case("dropout", {"X": f(2, 3)}, {"is_test": True, "dropout_prob": 0.4}, outs="Out Mask", fetch="Out")
    t.case("dropout", {"X": f(2, 3)}, {"is_test": True}, outs="Out Mask", fetch="Out")
    t.case("dropout", {"X": f(2, 3)}, {"is_test": True, "dropout_implementation": "upscale_in_train"}, outs="Out Mask", fetch="Out")
    logits = f(3, 5)
    t.case("softmax_with_cross_entropy", {"Logits": logits, "Label": i(3, 1, high=5)}, outs="Softmax Loss")
    t.case("softmax_with_cross_entropy", {"Logits": logits, "Label": np.array([[1], [-100], [4]])}, outs="Softmax Loss")
    t.case("softmax_with_cross_entropy", {"Logits": logits, "Label": np.random.dirichlet(np.ones(5), 3).astype(np.float32)}, {"soft_label": True},
           outs="Softmax Loss")
    t.case("softmax_with_cross_entropy", {"Logits": f(2, 4, 3), "Label": i(2, 1, 3, high=4)}, {"axis": 1}, outs="Softmax Loss")


def family_pad(t):
    t.case("pad", {"X": f(2, 3)}, {"paddings": [1, 0, 0, 2], "pad_value": 1.5})
    for mode in ("constant", "reflect", "replicate", "circular"):
        t.case("pad3d", {"X": f(1, 2, 3, 4, 3)}, {"paddings": [1, 2, 0, 1, 1, 0], "mode": mode, "value": 0.5})
    t.case("pad3d", {"X": f(1, 3, 4, 3, 2)}, {"paddings": [1, 2, 0, 1, 1, 0], "data_format": "NDHWC"})
    t.case("pad3d", {"X": f(1, 2, 3, 2, 2), "Paddings": np.array([1, 0, 0, 1, 0, 0], np.int32)}, {"paddings": [0]}, params=["Paddings"])


def family_interp(t):
    def resize(op, x, attrs, **extra):
        t.case(op, {"X": f(*x), **extra}, attrs)
    for op, method in (("nearest_interp", "nearest"), ("bilinear_interp", "bilinear")):
        for corners in (True, False):
            resize(op, (1, 2, 4, 5), {"interp_method": method, "out_h": 7, "out_w": 8, "align_corners": corners})
            resize(op, (1, 2, 4, 5), {"interp_method": method, "scale": 1.5, "align_corners": corners, "align_mode": 0})
        resize(op, (1, 2, 4, 5), {"interp_method": method, "out_h": 3, "out_w": 3}, OutSize=np.array([6, 9], np.int32))
        resize(op, (1, 4, 5, 2), {"interp_method": method, "out_h": 3, "out_w": 7, "data_layout": "NHWC"})
        for scale in ([2.0, 3.0], [0.6, 1.7]):
            resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "scale": scale, "align_corners": False, "align_mode": 0})
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "scale": [1.7, 0.6], "align_corners": False})
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "out_h": 7, "out_w": 3})
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "out_h": 7, "out_w": 3, "align_corners": False})
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "align_corners": False, "align_mode": 0}, SizeTensor=[one(8), one(9)])
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "align_corners": False, "align_mode": 0}, OutSize=np.array([8, 9], np.int32))
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "align_corners": False, "align_mode": 0}, Scale=np.array([1.5, 2], np.float32))
        resize(op + "_v2", (1, 2, 5, 4), {"interp_method": method, "out_h": 1, "out_w": 3})
    for attrs in ({"out_h": 7, "out_w": 3}, {"out_h": 7, "out_w": 9, "align_corners": False}, {"scale": [1.6, 0.7], "align_corners": False}):
        resize("bicubic_interp_v2", (1, 2, 5, 4), {"interp_method": "bicubic", **attrs})
    for attrs in ({"out_w": 7}, {"out_w": 9, "align_corners": False, "align_mode": 0}, {"scale": [1.6], "align_corners": False}):
        resize("linear_interp_v2", (1, 2, 5), {"interp_method": "linear", **attrs})
    for attrs in ({"out_d": 5, "out_h": 4, "out_w": 3}, {"scale": [1.5, 2.0, 0.5], "align_corners": False, "align_mode": 0}):
        resize("trilinear_interp_v2", (1, 1, 3, 2, 4), {"interp_method": "trilinear", **attrs})
    grid = np.random.uniform(-1.3, 1.3, (1, 3, 4, 2)).astype(np.float32)
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                t.case("grid_sampler", {"X": f(1, 2, 4, 5), "Grid": grid}, {"mode": mode, "padding_mode": padding, "align_corners": corners},
                       outs="Output")
    t.case("affine_grid", {"Theta": f(2, 2, 3)}, {"output_shape": [2, 3, 4, 5]}, outs="Output")
    t.case("affine_grid", {"Theta": f(1, 2, 3)}, {"output_shape": [1, 3, 4, 5], "align_corners": False}, outs="Output")


def family_rnn(t):
    gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
    def rnn(mode, layers=1, both=False, lengths=None, n=2, steps=4, size=3, hidden=2):
        directions = 2 if both else 1
        weights, biases = [], []
        for layer in range(layers):
            for _ in range(directions):
                width = size if layer == 0 else hidden * directions
                weights += [f(gates[mode] * hidden, width, low=-1, high=1), f(gates[mode] * hidden, hidden, low=-1, high=1)]
                biases += [f(gates[mode] * hidden), f(gates[mode] * hidden)]
        states = [f(layers * directions, n, hidden) for _ in range(2 if mode == "LSTM" else 1)]
        ins = {"Input": f(steps, n, size), "PreState": states, "WeightList": weights + biases}
        if lengths:
            ins["SequenceLength"] = np.array(lengths, np.int32)
        t.case("rnn", ins, {"mode": mode, "is_bidirec": both, "num_layers": layers, "hidden_size": hidden, "input_size": size, "is_test": True},
               outs=f"Out DropoutState State*{len(states)} Reserve", fetch="Out State", params=["WeightList"])
    for mode in gates:
        rnn(mode)
        rnn(mode, both=True)
    rnn("LSTM", layers=2, both=True)
    rnn("GRU", layers=2)
    rnn("LSTM", lengths=[4, 2])
    rnn("GRU", both=True, lengths=[3, 4])
    for origin in (False, True):
        t.case("gru", {"Input": Seq(f(5, 6), [2, 3]), "Weight": f(2, 6), "Bias": f(1, 6)}, {"origin_mode": origin, "is_reverse": origin},
               outs="BatchGate BatchResetHiddenPrev BatchHidden Hidden", fetch="Hidden", params=["Weight", "Bias"])
    t.case("gru", {"Input": Seq(f(5, 6), [4, 1]), "Weight": f(2, 6), "H0": f(2, 2)}, outs="BatchGate BatchResetHiddenPrev BatchHidden Hidden",
           fetch="Hidden", params=["Weight"])
    lstm = "Hidden Cell BatchGate BatchCellPreAct"
    t.case("lstm", {"Input": Seq(f(5, 8), [2, 3]), "Weight": f(2, 8), "Bias": f(1, 14)}, outs=lstm, fetch="Hidden Cell", params=["Weight", "Bias"])
    t.case("lstm", {"Input": Seq(f(5, 8), [1, 4]), "Weight": f(2, 8), "Bias": f(1, 8)}, {"use_peepholes": False, "is_reverse": True}, outs=lstm,
           fetch="Hidden Cell", params=["Weight", "Bias"])
    t.case("crf_decoding", {"Emission": Seq(f(5, 3), [2, 3]), "Transition": f(5, 3)}, outs="ViterbiPath", params=["Transition"])
    t.case("crf_decoding", {"Emission": Seq(f(5, 3), [2, 3]), "Transition": f(5, 3), "Label": Seq(i(5, 1, high=3), [2, 3])}, outs="ViterbiPath",
           params=["Transition"])
    t.case("crf_decoding", {"Emission": f(2, 4, 3), "Transition": f(5, 3), "Length": np.array([[4], [2]])}, outs="ViterbiPath", params=["Transition"])


def family_sequence(t):
    x = Seq(f(6, 3), [2, 1, 3])
    for kind in "AVERAGE SUM SQRT MAX LAST FIRST".split():
        t.case("sequence_pool", {"X": x}, {"pooltype": kind}, outs="Out MaxIndex", fetch="Out")
    t.case("sequence_pool", {"X": Seq(f(3, 2), [2, 0, 1])}, {"pooltype": "SUM", "pad_value": 0.5}, outs="Out MaxIndex", fetch="Out")
    t.case("sequence_softmax", {"X": Seq(f(6, 1), [2, 1, 3])})
    t.case("sequence_conv", {"X": x, "Filter": f(9, 4)}, {"contextLength": 3, "contextStart": -1}, params=["Filter"])
    t.case("sequence_reverse", {"X": x}, outs="Y")
    t.case("sequence_expand", {"X": f(2, 3), "Y": Seq(f(5, 1), [2, 3])}, {"ref_level": 0})
    t.case("sequence_expand_as", {"X": f(2, 3), "Y": Seq(f(5, 1), [2, 3])})
    t.case("sequence_pad", {"X": x, "PadValue": np.zeros(1, np.float32)}, outs="Out Length")
    t.case("sequence_pad", {"X": x, "PadValue": np.full(1, 2, np.float32)}, {"padded_length": 4}, outs="Out Length")
    t.case("sequence_unpad", {"X": f(2, 4, 3), "Length": np.array([3, 1])})
    t.case("sequence_reshape", {"X": Seq(f(6, 4), [2, 4])}, {"new_dim": 8})
    t.case("im2sequence", {"X": f(1, 2, 4, 3)}, {"kernels": [2, 2], "strides": [1, 1], "paddings": [0, 1, 0, 1]})
    t.case("lod_reset", {"X": f(4, 2), "Y": np.array([0, 1, 4], np.int32)})


def family_quantize(t):
    point = np.zeros(1, np.float32)
    x = f(3, 4, low=-3, high=3)
    for op in ("quantize_linear", "dequantize_linear"):
        value = x if op == "quantize_linear" else np.random.randint(-127, 128, (3, 4)).astype(np.float32)
        t.case(op, {"X": value, "Scale": np.array([2.5], np.float32), "ZeroPoint": point}, {"quant_axis": -1}, outs="Y", params=["Scale", "ZeroPoint"])
        t.case(op, {"X": value, "Scale": f(3, low=1), "ZeroPoint": np.zeros(3, np.float32)}, {"quant_axis": 0}, outs="Y",
               params=["Scale", "ZeroPoint"])
        t.case(op, {"X": value, "Scale": f(4, low=1), "ZeroPoint": np.zeros(4, np.float32)}, {"quant_axis": 1}, outs="Y",
               params=["Scale", "ZeroPoint"])
    t.case("quantize_linear", {"X": np.array([0.5, 1.5, 2.5, -0.5, 300], np.float32), "Scale": np.array([127], np.float32), "ZeroPoint": point},
           {"quant_axis": -1, "round_type": 1}, outs="Y", params=["Scale", "ZeroPoint"])
    t.case("quantize_linear", {"X": np.array([0.5, 1.5, 2.5, -0.5, 300], np.float32), "Scale": np.array([127], np.float32), "ZeroPoint": point},
           {"quant_axis": -1}, outs="Y", params=["Scale", "ZeroPoint"])
    t.case("dequantize_linear", {"X": np.random.randint(-127, 128, (3, 4)).astype(np.int8), "Scale": np.array([2.5], np.float32),
                                 "ZeroPoint": point}, {"quant_axis": -1}, outs="Y", params=["X", "Scale", "ZeroPoint"])
