"""Elementwise operators, reductions and products."""
import numpy as np


def f(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return np.random.uniform(low, high, shape).astype(dtype)


def i(*shape, low=0, high=10, dtype=np.int64):
    return np.random.randint(low, high, shape).astype(dtype)


def b(*shape):
    return np.random.randint(0, 2, shape).astype(bool)


FP32, INT32, INT64, BOOL, FP64 = 5, 2, 3, 0, 6


def family_unary(t):
    for op in "abs atan ceil cos cosh erf exp floor logsigmoid relu sigmoid sign silu sin sinh softsign square tan tanh tanh_shrink".split():
        t.case(op, {"X": f(2, 5)})
    t.case("abs", {"X": i(2, 3, low=-5)})
    t.case("abs", {"X": i(3, low=-5, dtype=np.int32)})
    t.case("square", {"X": i(3, low=-5)})
    t.case("sign", {"X": f(2, 3, dtype=np.float64)})
    t.case("exp", {"X": f(3, dtype=np.float64)})
    t.case("tanh", {"X": f(3, dtype=np.float64)})
    for op in "acos asin".split():
        t.case(op, {"X": f(2, 5, low=-0.99, high=0.99)})
    for op in "log log10 log1p log2 rsqrt sqrt reciprocal".split():
        t.case(op, {"X": f(2, 5, low=0.1)})
    t.case("log1p", {"X": f(5, low=-0.9, high=1e-3)})
    t.case("round", {"X": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, -0.7], np.float32)})
    t.case("logical_not", {"X": b(2, 3)})
    t.case("logical_not", {"X": i(2, 3, high=2)})
    t.case("bitwise_not", {"X": b(2, 3)})
    t.case("bitwise_not", {"X": i(2, 3, low=-9)})
    t.case("bitwise_not", {"X": i(2, 3, low=-9, dtype=np.int32)})
    t.case("isnan_v2", {"X": np.array([1, np.nan, np.inf], np.float32)})
    t.case("isinf_v2", {"X": np.array([1, np.nan, np.inf, -np.inf], np.float32)})
    t.case("isfinite_v2", {"X": np.array([1, np.nan, np.inf, -np.inf], np.float32)})
    t.case("isfinite_v2", {"X": i(3)})


def family_activation(t):
    x = f(2, 6, low=-8, high=8)
    t.case("brelu", {"X": x * 5})
    t.case("brelu", {"X": x}, {"t_min": -1.5, "t_max": 3.0})
    t.case("elu", {"X": x})
    t.case("elu", {"X": x}, {"alpha": 0.7})
    t.case("celu", {"X": x}, {"alpha": 1.3})
    t.case("gelu", {"X": x})
    t.case("gelu", {"X": x}, {"approximate": True})
    t.case("hard_shrink", {"X": x})
    t.case("hard_shrink", {"X": x}, {"threshold": 2.0})
    t.case("hard_sigmoid", {"X": x})
    t.case("hard_sigmoid", {"X": x}, {"slope": 1 / 6, "offset": 0.4})
    t.case("hard_swish", {"X": x})
    # Paddle 2.6 takes no notice of hard_swish's attributes, which are 6, 6 and 3 in all programs.
    t.case("leaky_relu", {"X": x})
    t.case("leaky_relu", {"X": x}, {"alpha": 0.1})
    t.case("mish", {"X": x})
    t.case("relu6", {"X": x})
    t.case("selu", {"X": x})
    t.case("selu", {"X": x}, {"scale": 1.1, "alpha": 1.5})
    t.case("softplus", {"X": x * 5})
    t.case("softplus", {"X": x}, {"beta": 2.0, "threshold": 5.0})
    t.case("softshrink", {"X": x})
    t.case("softshrink", {"X": x}, {"lambda": 1.5})
    t.case("swish", {"X": x})
    t.case("thresholded_relu", {"X": x})
    t.case("thresholded_relu", {"X": x}, {"threshold": 2.5})
    t.case("prelu", {"X": f(2, 3, 4), "Alpha": f(1)}, {"mode": "all"}, params=["Alpha"])
    t.case("prelu", {"X": f(2, 3, 4), "Alpha": f(3)}, {"mode": "channel"}, params=["Alpha"])
    t.case("prelu", {"X": f(2, 4, 3), "Alpha": f(3)}, {"mode": "channel", "data_format": "NHWC"}, params=["Alpha"])
    t.case("prelu", {"X": f(2, 3, 4), "Alpha": f(1, 3, 4)}, {"mode": "element"}, params=["Alpha"])
    t.case("softmax", {"X": f(2, 3, 4)})
    t.case("softmax", {"X": f(2, 3, 4)}, {"axis": 1})
    t.case("log_softmax", {"X": f(2, 3, 4)})
    t.case("log_softmax", {"X": f(2, 3, 4)}, {"axis": 0})
    t.case("clip", {"X": x}, {"min": -1.0, "max": 2.0})
    t.case("clip", {"X": x, "Min": f(1, low=-2, high=-1), "Max": f(1, low=1)}, {"min": 0.0, "max": 0.0})
    t.case("clip", {"X": i(6, low=-9)}, {"min": -3.0, "max": 4.0})
    t.case("pow", {"X": f(2, 3, low=0.2)})
    t.case("pow", {"X": f(2, 3, low=0.2)}, {"factor": 2.5})
    t.case("pow", {"X": f(2, 3), "FactorTensor": np.array([3], np.float32)}, {"factor": 2.0})
    t.case("pow", {"X": i(4)}, {"factor": 2.0})


def family_binary(t):
    for op in "add sub mul div max min".split():
        t.case("elementwise_" + op, {"X": f(2, 3, 4), "Y": f(2, 3, 4, low=0.5)})
        t.case("elementwise_" + op, {"X": f(2, 3, 4), "Y": f(3, low=0.5)}, {"axis": 1}, params=["Y"])
        t.case("elementwise_" + op, {"X": i(2, 3, low=-9), "Y": i(3, low=1)})
    t.case("elementwise_add", {"X": f(2, 3, 4), "Y": f(2, 3, 1)}, {"axis": 0}, name="trailing_one")
    t.case("elementwise_add", {"X": f(3, 1), "Y": f(2, 3, 4)}, name="broadcast_x")
    t.case("elementwise_mul", {"X": f(2, 3, 4), "Y": f(2, 1)}, {"axis": 0}, name="trimmed")
    t.case("elementwise_pow", {"X": f(2, 3, low=0.3), "Y": f(3)})
    t.case("elementwise_pow", {"X": i(2, 3), "Y": i(3, high=4)})
    for dtype in (np.int64, np.int32):
        x, y = i(2, 6, low=-9, dtype=dtype), np.array([-4, -3, -2, 2, 3, 4], dtype)
        t.case("elementwise_mod", {"X": x, "Y": y})
        t.case("elementwise_floordiv", {"X": x, "Y": y})
    t.case("elementwise_mod", {"X": f(2, 4, low=-9, high=9), "Y": np.array([-2.5, -1, 1, 2.5], np.float32)})
    t.case("elementwise_floordiv", {"X": f(2, 4, low=-9, high=9), "Y": np.array([-2.5, -1, 1, 2.5], np.float32)})
    t.case("atan2", {"X1": f(2, 5), "X2": f(2, 5)})
    for op in "and or xor".split():
        t.case("bitwise_" + op, {"X": i(2, 3, low=-99, high=99), "Y": i(2, 3, low=-99, high=99)})
        t.case("bitwise_" + op, {"X": i(2, 3, dtype=np.int32), "Y": i(3, dtype=np.int32)})
        t.case("bitwise_" + op, {"X": b(2, 4), "Y": b(2, 4)})
        t.case("logical_" + op, {"X": b(2, 4), "Y": b(4)})
    t.case("logical_and", {"X": i(4, high=2), "Y": i(4, high=2)}, name="int64")
    for op in "equal not_equal less_than less_equal greater_than greater_equal".split():
        t.case(op, {"X": i(2, 4, high=4), "Y": i(4, high=4)})
        t.case(op, {"X": f(2, 3), "Y": f(3)})
        t.case(op, {"X": i(2, 3, high=2, dtype=np.int32), "Y": i(2, 3, high=2, dtype=np.int32)})
    t.case("scale", {"X": f(2, 3)}, {"scale": 2.5, "bias": 0.5})
    t.case("scale", {"X": f(2, 3)}, {"scale": 2.5, "bias": 0.5, "bias_after_scale": False})
    t.case("scale", {"X": f(2, 3), "ScaleTensor": np.array([3], np.float32)}, {"bias": 1.0})
    t.case("scale", {"X": i(4)}, {"scale": 2.0, "bias": 1.0})
    t.case("increment", {"X": np.array([3], np.float32)}, {"step": 2.0})
    t.case("increment", {"X": np.array([3], np.int64)})
    t.case("sum", {"X": [f(2, 3)]})
    t.case("sum", {"X": [f(2, 3), f(2, 3), f(2, 3)]})
    t.case("partial_sum", {"X": [f(2, 5), f(2, 5), f(2, 5)]}, {"start_index": 1, "length": 3})
    t.case("partial_sum", {"X": [f(2, 5), f(2, 5)]})
    t.case("partial_concat", {"X": [f(2, 5), f(2, 5)]}, {"start_index": 1, "length": 2})
    t.case("partial_concat", {"X": [f(2, 5), f(2, 5)]}, {"start_index": -2})


def family_reduce(t):
    for op in "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split():
        t.case(op, {"X": f(2, 3, 4)}, {"dim": [1]})
        t.case(op, {"X": f(2, 3, 4)}, {"dim": [-1, 0], "keep_dim": True})
        t.case(op, {"X": f(2, 3)}, {"reduce_all": True})
        t.case(op, {"X": f(3, 2)})
    t.case("reduce_sum", {"X": f(2, 3)}, {"dim": [0, 1]}, name="all_named")
    t.case("reduce_sum", {"X": i(2, 3)}, {"dim": [1]}, name="int64")
    t.case("reduce_sum", {"X": i(2, 3, dtype=np.int32)}, {"dim": [1], "in_dtype": INT32, "out_dtype": INT64}, name="int32_to_int64")
    t.case("reduce_sum", {"X": b(2, 3)}, {"dim": [1], "in_dtype": BOOL, "out_dtype": INT64}, name="bool")
    t.case("reduce_max", {"X": i(2, 3)}, {"dim": [1]}, name="int64")
    for op in "reduce_all reduce_any".split():
        t.case(op, {"X": b(3, 4)}, {"dim": [1]})
        t.case(op, {"X": b(3, 4)}, {"reduce_all": True})
        t.case(op, {"X": b(3, 4)}, {"dim": [0], "keep_dim": True})
    t.case("mean", {"X": f(2, 3, 4)})
    t.case("logsumexp", {"X": f(2, 3, 4)}, {"axis": [1]})
    t.case("logsumexp", {"X": f(2, 3, 4)}, {"axis": [1, -1], "keepdim": True})
    t.case("logsumexp", {"X": f(2, 3)}, {"reduce_all": True})
    t.case("p_norm", {"X": f(2, 3, 4)})
    t.case("p_norm", {"X": f(2, 3, 4)}, {"porder": 1.0, "axis": 1, "keepdim": True})
    t.case("p_norm", {"X": f(2, 3, 4)}, {"porder": 3.0, "asvector": True})
    t.case("p_norm", {"X": f(2, 3, 4)}, {"porder": float("inf"), "axis": 1})
    t.case("p_norm", {"X": f(2, 3, 4)}, {"porder": float("-inf"), "axis": 1})
    t.case("p_norm", {"X": np.array([[0, 1, 2, 0]], np.float32)}, {"porder": 0.0, "axis": 1})
    t.case("norm", {"X": f(2, 3, 4)}, {"axis": 1}, outs="Out Norm", fetch="Out")
    t.case("norm", {"X": f(2, 3, 4)}, {"axis": -1, "epsilon": 0.1}, outs="Out Norm")
    for p in (2.0, 1.0, 3.0, 0.0, float("inf"), float("-inf")):
        t.case("dist", {"X": f(2, 3), "Y": f(3)}, {"p": p})
    t.case("cumsum", {"X": f(2, 3, 4)}, {"axis": 1})
    t.case("cumsum", {"X": f(2, 3)}, {"flatten": True})
    t.case("cumsum", {"X": i(2, 3)}, {"axis": -1, "exclusive": True, "reverse": True})
    for op in "arg_max arg_min".split():
        t.case(op, {"X": f(2, 3, 4)}, {"axis": -1})
        t.case(op, {"X": f(2, 3, 4)}, {"axis": 1, "keepdims": True, "dtype": INT32})
        t.case(op, {"X": f(2, 3)}, {"axis": 0, "flatten": True})
        t.case(op, {"X": f(2, 3)}, {"axis": 1, "dtype": -1})
    t.case("squared_l2_norm", {"X": f(2, 3)})


def family_product(t):
    t.case("mul", {"X": f(2, 3, 4), "Y": f(12, 5)}, params=["Y"])
    t.case("mul", {"X": f(2, 3, 4), "Y": f(4, 5)}, {"x_num_col_dims": 2}, params=["Y"])
    t.case("mul", {"X": f(2, 6), "Y": f(2, 3, 5)}, {"y_num_col_dims": 2})
    t.case("matmul", {"X": f(2, 3, 4), "Y": f(4, 5)})
    t.case("matmul", {"X": f(2, 4, 3), "Y": f(2, 5, 4)}, {"transpose_X": True, "transpose_Y": True, "alpha": 0.5})
    t.case("matmul", {"X": f(4), "Y": f(4)})
    t.case("matmul_v2", {"X": f(2, 1, 3, 4), "Y": f(3, 4, 5)})
    t.case("matmul_v2", {"X": f(2, 4, 3), "Y": f(5, 4)}, {"trans_x": True, "trans_y": True}, params=["Y"])
    t.case("matmul_v2", {"X": f(4), "Y": f(2, 4, 3)})
    t.case("matmul_v2", {"X": f(2, 3, 4), "Y": f(4)})
    t.case("matmul_v2", {"X": f(4), "Y": f(4)})
    t.case("bmm", {"X": f(2, 3, 4), "Y": f(2, 4, 5)})
    t.case("mv", {"X": f(3, 4), "Vec": f(4)})
    t.case("dot", {"X": f(4), "Y": f(4)})
    t.case("dot", {"X": f(3, 4), "Y": f(3, 4)})
    t.case("dot", {"X": i(3, 4), "Y": i(3, 4)})
    t.case("einsum", {"Operands": [f(2, 3), f(3, 4)]}, {"equation": "ij,jk->ik"}, outs="Out InnerCache*2 XShape*2", fetch="Out")
    t.case("einsum", {"Operands": [f(2, 3, 4), f(2, 4, 5)]}, {"equation": "bij,bjk->bik"}, outs="Out InnerCache*2 XShape*2", fetch="Out")
    t.case("einsum", {"Operands": [f(3, 3)]}, {"equation": "ii->"}, outs="Out InnerCache*1 XShape*1", fetch="Out")
    t.case("einsum", {"Operands": [f(2, 3, 4)]}, {"equation": "...ij->...ji"}, outs="Out InnerCache*1 XShape*1", fetch="Out")
    t.case("einsum", {"Operands": [f(2, 3), f(2, 3)]}, {"equation": "ij,ij->i"}, outs="Out InnerCache*2 XShape*2", fetch="Out")
