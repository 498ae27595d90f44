"""The peers' side of `scripts/bench infer`: bench_infer_peer.py KIND THREADS BATCH OUT MODEL NAME=FILE.npy…

Opens the network, runs it once, writes its outputs to OUT/<i>.npy and prints a JSON line; then it answers each number of runs on
standard input with their times. MODEL is what KIND reads: an ONNX file, a converted file, or the name of a network of bench_zoo.
"""
import json
import os
import sys
import time

kind, threads, batch, out, model = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
os.environ["OMP_NUM_THREADS"] = str(threads)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # libraries print what they like

import numpy as np

feed = {name: np.load(path) for name, path in (word.split("=") for word in sys.argv[6:])}


def onnxruntime():
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    start = time.perf_counter()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return start, lambda: session.run(None, feed)


def openvino(hint="LATENCY"):
    import openvino as ov

    core = ov.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": "f32"}
    start = time.perf_counter()
    compiled = core.compile_model(model, "CPU", settings)
    if hint == "LATENCY":
        request = compiled.create_infer_request()
        return start, lambda: list(request.infer(feed).values())
    requests = [compiled.create_infer_request() for _ in range(batch)]  # one picture or sentence each

    def run():
        for request in requests:
            request.start_async(feed)
        for request in requests:
            request.wait()
        return [requests[0].get_output_tensor(i).data for i in range(len(compiled.outputs))]

    return start, run


def openvino_streams():
    return openvino("THROUGHPUT")


def mnn():
    import MNN.expr as expr
    import MNN.nn

    start = time.perf_counter()
    runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": threads},))
    net = MNN.nn.load_module_from_file(model, list(feed), ["y"], runtime_manager=runtime)
    inputs = []
    for array in feed.values():
        whole = array.dtype == np.int64
        inputs.append(expr.const(array.astype(np.int32) if whole else array, list(array.shape), expr.NCHW, expr.int if whole else expr.float))

    def run():
        y = net.forward(inputs)[0]
        return [expr.convert(y, expr.NCHW).read() if len(y.shape) == 4 else y.read()]

    return start, run


def ncnn():
    import ncnn as library

    start = time.perf_counter()
    net = library.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = threads, False
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
    if net.load_param(model + ".param") or net.load_model(model + ".bin"):
        sys.exit("ncnn cannot read it")
    rows = [[library.Mat(np.ascontiguousarray(a[i].astype(np.int32) if a.dtype == np.int64 else a[i])) for a in feed.values()]
            for i in range(batch)]  # it has no batches

    def run():
        results = []
        for row in rows:
            extractor = net.create_extractor()
            for i, mat in enumerate(row):
                extractor.input(f"in{i}", mat)
            results.append(np.array(extractor.extract("out0")[1]))
        return [np.stack(results)]

    return start, run


def torch():
    import torch as library

    import bench_zoo

    library.set_num_threads(threads)
    library.set_grad_enabled(False)
    start = time.perf_counter()
    network, _ = bench_zoo.make(model, batch)
    inputs = tuple(map(library.from_numpy, feed.values()))
    if not model.startswith("lac"):  # its GRU is refused there
        network = library.jit.optimize_for_inference(library.jit.freeze(library.jit.trace(network, inputs)))
    return start, lambda: [network(*inputs).numpy()]


def peak_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def say(line):
    print(json.dumps(line), file=answers, flush=True)


start, run = globals()[kind]()
load = (time.perf_counter() - start) * 1e3
start = time.perf_counter()
outputs = run()
first = (time.perf_counter() - start) * 1e3
for i, y in enumerate(outputs):
    np.save(f"{out}/{i}.npy", y)
say({"load_ms": load, "first_ms": first})
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    say({"ms": times, "rss_mb": peak_mb()})
os._exit(0)  # some libraries fall over when they leave
