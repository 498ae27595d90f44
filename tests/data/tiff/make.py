#!/usr/bin/env python3
"""Makes the TIFF files and expected.npy, their pixels one file after the other as Pillow has them: `pip install pillow numpy`,
then here `python make.py`. Transparency lies on white; 16 bits are a 257th."""
import numpy as np
from PIL import Image, ImageOps

random = np.random.default_rng(3)
rgb = random.integers(0, 256, (5, 7, 3), dtype=np.uint8)
grey16 = random.integers(0, 65536, (5, 7), dtype=np.uint16)
expected = []


def save(name, image, seen=None, **options):
    image.save(f"{name}.tif", **options)
    if seen is None:
        seen = ImageOps.exif_transpose(Image.open(f"{name}.tif")).convert("RGB")
    expected.append(np.asarray(seen, dtype=np.uint8).reshape(-1))


picture = Image.fromarray(rgb)
save("01_raw", picture)
save("02_lzw", picture, compression="tiff_lzw")
save("03_deflate", picture, compression="tiff_adobe_deflate")
save("04_grey", picture.convert("L"))
save("05_fax", picture.convert("1"), compression="group4")
save("06_palette", picture.quantize(16))
save("07_cmyk", picture.convert("CMYK"))
rgba = np.dstack([rgb, random.integers(0, 256, (5, 7), dtype=np.uint8)])
white = Image.new("RGBA", (7, 5), "white")
save("08_alpha", Image.fromarray(rgba), seen=Image.alpha_composite(white, Image.fromarray(rgba)).convert("RGB"))
save("09_grey16", Image.fromarray(grey16), seen=np.repeat(((grey16.astype(int) + 128) // 257)[..., None], 3, axis=2))
for turn in range(2, 9):
    save(f"1{turn}_turned", picture, tiffinfo={274: turn})
save("20_pages", picture, save_all=True, append_images=[picture.rotate(180)])
np.save("expected.npy", np.concatenate(expected))
Image.fromarray(random.random((5, 7)).astype(np.float32)).save("float.tif")
