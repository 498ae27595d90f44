"""Boxes, and programs with blocks and arrays."""
import numpy as np
import paddle

from cases_math import BOOL, FP32, INT32, INT64, b, f, i
from make import Seq


def boxes(*shape, size=20.0):
    corner = np.random.uniform(0, size, shape + (2,))
    return np.concatenate([corner, corner + np.random.uniform(2, size / 2, shape + (2,))], -1).astype(np.float32)


def family_detection(t):
    x = f(2, 14, 3, 4, low=-1.5, high=1.5)
    size = np.array([[96, 120], [64, 100]], np.int32)
    anchors = [10, 13, 16, 30]
    yolo = {"anchors": anchors, "class_num": 2, "downsample_ratio": 32}
    t.case("yolo_box", {"X": x, "ImgSize": size}, {**yolo, "conf_thresh": 0.4}, outs="Boxes Scores")
    t.case("yolo_box", {"X": x, "ImgSize": size}, {**yolo, "clip_bbox": False, "scale_x_y": 1.2}, outs="Boxes Scores")
    t.case("yolo_box", {"X": f(2, 16, 3, 4), "ImgSize": size}, {**yolo, "iou_aware": True, "iou_aware_factor": 0.3}, outs="Boxes Scores")
    found, scores = boxes(2, 12), np.random.uniform(0, 1, (2, 3, 12)).astype(np.float32)
    nms = {"score_threshold": 0.3, "nms_top_k": 10, "keep_top_k": 6, "nms_threshold": 0.4}
    for op, outs in (("multiclass_nms", "Out"), ("multiclass_nms2", "Out Index"), ("multiclass_nms3", "Out Index NmsRoisNum")):
        t.case(op, {"BBoxes": found, "Scores": scores}, {**nms, "background_label": -1}, outs=outs)
        t.case(op, {"BBoxes": found, "Scores": scores}, {**nms, "normalized": False}, outs=outs)
        t.case(op, {"BBoxes": found, "Scores": scores}, {**nms, "nms_eta": 0.8, "nms_threshold": 0.7, "keep_top_k": -1, "nms_top_k": -1}, outs=outs)
        t.case(op, {"BBoxes": found, "Scores": scores}, {**nms, "score_threshold": 2.0}, outs=outs)
    t.case("matrix_nms", {"BBoxes": found, "Scores": scores}, {"score_threshold": 0.3, "nms_top_k": 10, "keep_top_k": 6, "post_threshold": 0.1,
                                                              "background_label": -1}, outs="Out Index RoisNum")
    t.case("matrix_nms", {"BBoxes": found, "Scores": scores}, {"score_threshold": 0.3, "nms_top_k": 10, "keep_top_k": 6, "use_gaussian": True,
                                                              "normalized": False}, outs="Out Index RoisNum")
    image, feature = np.zeros((1, 1, 20, 30), np.float32), np.zeros((1, 1, 4, 5), np.float32)
    prior = {"min_sizes": [8.0], "max_sizes": [16.0], "aspect_ratios": [2.0], "variances": [0.1, 0.1, 0.2, 0.2]}
    t.case("prior_box", {"Input": feature, "Image": image}, prior, outs="Boxes Variances")
    t.case("prior_box", {"Input": feature, "Image": image}, {**prior, "flip": False, "clip": False, "step_w": 9.0, "step_h": 8.0, "offset": 0.4},
           outs="Boxes Variances")
    t.case("prior_box", {"Input": feature, "Image": image}, {**prior, "min_sizes": [4.0, 8.5], "max_sizes": [9.0, 16.0],
                                                             "min_max_aspect_ratios_order": True}, outs="Boxes Variances")
    density = {"fixed_sizes": [8.0, 16.0], "fixed_ratios": [1.0, 2.0], "densities": [2, 1], "variances": [0.1, 0.1, 0.2, 0.2]}
    t.case("density_prior_box", {"Input": feature, "Image": image}, density, outs="Boxes Variances")
    t.case("density_prior_box", {"Input": feature, "Image": image}, {**density, "clip": False, "flatten_to_2d": True, "step_w": 9.0, "step_h": 8.0},
           outs="Boxes Variances")
    t.case("anchor_generator", {"Input": feature}, {"anchor_sizes": [16.0, 32.0], "aspect_ratios": [0.5, 1.0], "variances": [0.1, 0.1, 0.2, 0.2],
                                                    "stride": [8.0, 8.0]}, outs="Anchors Variances")
    priors, variance = boxes(5) / 40, np.tile(np.array([0.1, 0.1, 0.2, 0.2], np.float32), (5, 1))
    for normal in (True, False):
        t.case("box_coder", {"PriorBox": priors, "PriorBoxVar": variance, "TargetBox": boxes(3) / 40},
               {"code_type": "encode_center_size", "box_normalized": normal}, outs="OutputBox")
        for axis, target in ((0, f(3, 5, 4)), (1, f(5, 3, 4))):
            t.case("box_coder", {"PriorBox": priors, "PriorBoxVar": variance, "TargetBox": target},
                   {"code_type": "decode_center_size", "box_normalized": normal, "axis": axis}, outs="OutputBox")
    t.case("box_coder", {"PriorBox": priors, "TargetBox": f(3, 5, 4)}, {"code_type": "decode_center_size", "variance": [0.1, 0.2, 0.3, 0.4]},
           outs="OutputBox")
    t.case("box_coder", {"PriorBox": priors, "TargetBox": boxes(3)}, outs="OutputBox")
    t.case("iou_similarity", {"X": boxes(3), "Y": boxes(4)})
    t.case("iou_similarity", {"X": boxes(3), "Y": boxes(4)}, {"box_normalized": False})
    t.case("box_clip", {"Input": Seq(boxes(5, size=60.0), [2, 3]), "ImInfo": np.array([[40, 50, 1], [30, 60, 2]], np.float32)}, outs="Output")
    rois, number = boxes(4), np.array([3, 1], np.int32)
    roi = {"pooled_height": 2, "pooled_width": 3}
    t.case("roi_align", {"X": f(2, 2, 8, 8), "ROIs": rois, "RoisNum": number}, {**roi, "spatial_scale": 0.3, "sampling_ratio": 2})
    t.case("roi_align", {"X": f(2, 2, 8, 8), "ROIs": rois, "RoisNum": number}, {**roi, "spatial_scale": 0.3, "aligned": True})
    t.case("roi_align", {"X": f(2, 2, 8, 8), "ROIs": Seq(rois, [2, 2])}, {**roi, "spatial_scale": 0.3})
    many = boxes(6, size=200.0)
    many[:, 2:] = many[:, :2] + np.random.uniform(20, 400, (6, 2))
    t.case("distribute_fpn_proposals", {"FpnRois": many, "RoisNum": np.array([4, 2], np.int32)},
           {"min_level": 2, "max_level": 4, "refer_level": 3, "refer_scale": 112}, outs="MultiFpnRois*3 RestoreIndex MultiLevelRoIsNum*3")
    t.case("distribute_fpn_proposals", {"FpnRois": many, "RoisNum": np.array([4, 2], np.int32)},
           {"min_level": 2, "max_level": 4, "refer_level": 3, "refer_scale": 112, "pixel_offset": False},
           outs="MultiFpnRois*3 RestoreIndex MultiLevelRoIsNum*3")
    t.case("collect_fpn_proposals", {"MultiLevelRois": [boxes(3), boxes(4)], "MultiLevelScores": [f(3, 1), f(4, 1)],
                                     "MultiLevelRoIsNum": [np.array([1, 2], np.int32), np.array([3, 1], np.int32)]}, {"post_nms_topN": 4},
           outs="FpnRois RoisNum")
    rpn = {"pre_nms_topN": 12, "post_nms_topN": 5, "nms_thresh": 0.6, "min_size": 2.0, "eta": 1.0}
    ins = {"Scores": f(1, 2, 3, 3, low=0, high=1), "BboxDeltas": f(1, 8, 3, 3, low=-0.5, high=0.5), "Anchors": boxes(3, 3, 2),
           "Variances": np.full((3, 3, 2, 4), 0.5, np.float32)}
    for offset in (True, False):
        t.case("generate_proposals_v2", {**ins, "ImShape": np.array([[24, 30]], np.float32)}, {**rpn, "pixel_offset": offset},
               outs="RpnRois RpnRoiProbs RpnRoisNum")
    t.case("generate_proposals", {**ins, "ImInfo": np.array([[24, 30, 1]], np.float32)}, rpn, outs="RpnRois RpnRoiProbs RpnRoisNum")


def family_control(t):
    nn = paddle.static.nn

    def counting(block, feed, weight):
        x, w = feed("x", f(2, 3)), weight("w", f(3))
        n = paddle.full([1], 3, "int64")
        i0 = paddle.full([1], 0, "int64")
        _, y = nn.while_loop(lambda k, v: paddle.less_than(k, n), lambda k, v: [k + 1, v * w + x], [i0, x])
        return [y]

    def choice(low):
        def build(block, feed, weight):
            x = feed("x", f(2, 3) + np.float32(low))
            return [nn.cond(paddle.mean(x) > 0, lambda: x * 2, lambda: x - 1)]
        return build

    def growing(stack):
        def build(block, feed, weight):
            x = feed("x", f(3, 2))
            array = paddle.tensor.create_array("float32")
            zero, n = paddle.full([1], 0, "int64"), paddle.full([1], 4, "int64")
            paddle.tensor.array_write(x, zero, array=array)

            def body(k, v, a):
                v = paddle.tanh(v * 1.5)
                k = paddle.increment(k)
                paddle.tensor.array_write(v, k, array=a)
                return [k, v, a]

            k, v, array = nn.while_loop(lambda k, v, a: paddle.less_than(k, n), body, [zero, x, array])
            length = paddle.tensor.array_length(array)
            joined = block.create_var(name="joined", dtype="float32")
            index = block.create_var(name="index", dtype="int32")
            block.append_op(type="tensor_array_to_tensor", inputs={"X": [array]}, outputs={"Out": [joined], "OutIndex": [index]},
                            attrs={"axis": 1, "use_stack": stack})
            return [joined, length, paddle.tensor.array_read(array, paddle.full([1], 2, "int64"))]
        return build

    def array_only(block, feed, weight):
        x, y = feed("x", f(2, 2)), feed("y", f(3, 2))
        array = paddle.tensor.create_array("float32")
        one, zero = paddle.full([1], 1, "int64"), paddle.full([1], 0, "int64")
        paddle.tensor.array_write(x, zero, array=array)
        paddle.tensor.array_write(y, one, array=array)
        paddle.tensor.array_write(y * 2, zero, array=array)
        return [paddle.tensor.array_read(array, zero), paddle.tensor.array_read(array, one), paddle.tensor.array_length(array)]

    def nested(block, feed, weight):
        x = feed("x", f(2, 2))
        n = paddle.full([1], 4, "int64")
        start = paddle.full([1], 0, "int64")

        def body(k, v):
            odd = paddle.equal(k % 2, paddle.full([1], 1, "int64"))
            return [k + 1, nn.cond(odd, lambda: v * 2, lambda: v + 1)]

        return [nn.while_loop(lambda k, v: paddle.less_than(k, n), body, [start, x])[1]]

    def several(block, feed, weight):
        x = feed("x", f(2, 3))
        a, c = nn.cond(paddle.max(x) > 100, lambda: (x, x + 1), lambda: (x * 3, paddle.sum(x)))
        return [a, c]

    def network(block, feed, weight):
        x = feed("x", f(1, 3, 8, 8))

        def conv(v, name, filters, channels, groups=1):
            out = block.create_var(name=name, dtype="float32")
            kind = "depthwise_conv2d" if groups > 1 else "conv2d"
            block.append_op(type=kind, inputs={"Input": [v], "Filter": [weight(name + ".w_0", f(filters, channels // groups, 3, 3))]},
                            outputs={"Output": [out]}, attrs={"strides": [1, 1], "paddings": [1, 1], "groups": groups})
            stats = [weight(f"{name}.{p}", f(filters, low=0.2)) for p in ("w_1", "b_0", "w_2", "w_3")]
            normal, saved, kept = (block.create_var(name=f"{name}.{p}", dtype="float32") for p in ("bn", "saved", "kept"))
            block.append_op(type="batch_norm", inputs=dict(zip(("Scale", "Bias", "Mean", "Variance"), ([s] for s in stats)), X=[out]),
                            outputs={"Y": [normal], "MeanOut": [stats[2]], "VarianceOut": [stats[3]], "SavedMean": [saved],
                                     "SavedVariance": [kept]}, attrs={"is_test": True})
            return paddle.nn.functional.hardswish(normal)

        v = conv(conv(x, "a", 4, 3), "b", 4, 4, groups=4)
        v = paddle.nn.functional.adaptive_avg_pool2d(v, 2)
        v = paddle.flatten(v, 1)
        v = paddle.matmul(v, weight("fc.w_0", f(16, 5))) + weight("fc.b_0", f(5))
        return [paddle.nn.functional.softmax(v)]

    t.program("network", network, name="whole", keep=True)
    t.program("network", network, name="old", version=1006003)
    t.program("while", counting)
    t.program("conditional_block", choice(3))
    t.program("conditional_block", choice(-3))
    t.program("conditional_block", several, name="several")
    t.program("while", nested, name="nested")
    t.program("write_to_array", array_only)
    t.program("write_to_array", growing(False), name="loop_concat")
    t.program("write_to_array", growing(True), name="loop_stack")
