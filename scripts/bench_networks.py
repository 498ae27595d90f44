"""What `scripts/bench infer` runs: networks as ONNX files of fixed shapes in build/bench/nets, in the forms of every peer, and the
commands that open them. Made on first use; a converter that cannot do a network leaves no file, and its peer no column.
"""
import json
import shutil
import subprocess

from bench_peers import build, home, ocr_models, root

nets = build / "bench/nets"
exported = ["resnet50", "mobilenetv2", "efficientnet-lite0", "yoloxs-416", "bert-128", "minilm-32", "minilm-128", "lac-32"]
packaged = {"ppocr-det": ("ch_PP-OCRv4_det_infer.onnx", "3x640x640"), "ppocr-rec": ("ch_PP-OCRv4_rec_infer.onnx", "3x48x320")}
quantized = ["resnet50", "mobilenetv2"]
networks = [*exported, *packaged]
int8 = [f"{name}-int8" for name in quantized]


def about(name, batch):
    """Its inputs (name and .npy file) and the work of a run in GFLOP."""
    return json.loads((nets / f"{name}.b{batch}.json").read_text())


def convert(name):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for batch in (1, 8):
        subprocess.run([home("peers") / "mnnconvert", "-f", "ONNX", "--modelFile", nets / f"{name}.b{batch}.onnx", "--MNNModel",
                        nets / f"{name}.b{batch}.mnn", "--bizCode", "bench"], **quiet)
    scratch = nets / "pnnx"
    scratch.mkdir(exist_ok=True)
    traced = nets / f"{name}.pt"
    shapes = ",".join(f"{shape}{kind}".replace(" ", "") for shape, kind in about(name, 1)["shapes"])
    subprocess.run([home("peers_torch") / "pnnx", traced if traced.exists() else nets / f"{name}.b1.onnx", f"inputshape={shapes}", "fp16=0",
                    f"ncnnparam={nets / name}.ncnn.param", f"ncnnbin={nets / name}.ncnn.bin", "pnnxparam=p", "pnnxbin=b", "pnnxpy=p.py",
                    "pnnxonnx=p.onnx", "ncnnpy=n.py"], cwd=scratch, **quiet)
    shutil.rmtree(scratch)


def prepare():
    if (nets / "ready").exists():
        return
    nets.mkdir(parents=True, exist_ok=True)
    subprocess.run([home("peers_torch") / "python", root / "scripts/bench_zoo.py", nets, *exported], check=True)
    words = [f"{name}={ocr_models() / file}:{shape}" for name, (file, shape) in packaged.items()]
    subprocess.run([home("peers") / "python", root / "scripts/bench_prepare.py", nets, *words, "--", *quantized], check=True)
    for name in networks:
        convert(name)
    (nets / "ready").touch()


def commands(name, batch, threads, out):
    """What opens the network, by who; each writes its answer into its folder of `out`."""
    model = nets / f"{name}.b{batch}.onnx"

    def feeds(size):
        return [f"{key}={path}" for key, path in about(name, size)["inputs"].items()]

    def peer(kind, source, python=home("peers") / "python", size=batch):
        return [python, root / "scripts/bench_infer_peer.py", kind, threads, batch, out / kind, source, *feeds(size)]

    every = {"hub": [build / "tests/bench_infer", threads, out / "hub.pack", out / "hub", model, *feeds(batch)],
             "onnxruntime": peer("onnxruntime", model), "openvino": peer("openvino", model)}
    if batch > 1:
        every["openvino_streams"] = peer("openvino_streams", nets / f"{name}.b1.onnx", size=1)
    if (nets / f"{name}.b{batch}.mnn").exists():
        every["mnn"] = peer("mnn", nets / f"{name}.b{batch}.mnn")
    if (nets / f"{name}.ncnn.bin").exists():
        every["ncnn"] = peer("ncnn", nets / f"{name}.ncnn")
    if name in exported:
        every["torch"] = peer("torch", name, home("peers_torch") / "python")
    return every
