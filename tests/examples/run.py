#!/usr/bin/env python3
"""Runs one example: `run.py HUB REGISTRY PROGRAM [WORD MODULE]`. It runs in a new folder with the data that examples
read, made here, with an empty cache and the default registry. It must end with 0, say WORD, and leave MODULE in the
cache, whose own examples come out right."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

things = ["film", "book", "meal", "hotel", "concert", "phone", "museum", "train ride", "game", "coffee"]
good = ["wonderful", "a delight", "great from start to end", "better than I hoped"]
bad = ["awful", "a waste of money", "boring from start to end", "worse than I feared"]
topics = {"food": ["the soup was hot", "we baked bread"], "travel": ["the train left late", "a week in Rome"],
          "sport": ["they won the match", "I ran ten miles"]}


def rows():
    """The tables, as lists of rows, the first with the names."""
    reviews, scores = [["review", "stars"]], [["review", "score"]]
    for thing in things:
        for words, stars in ((good, 5), (bad, 1)):
            for i, word in enumerate(words):
                reviews.append([f"The {thing} was {word}", stars])
                scores.append([f"The {thing} was {word}", stars + i / 10])
    messages = [["message", *topics]]
    for mask in range(1, 8):
        chosen = [name for i, name in enumerate(topics) if mask >> i & 1]
        for thing in things[:6]:
            text = f"About the {thing}: " + " and ".join(topics[name][len(thing) % 2] for name in chosen)
            messages.append([text, *(int(name in chosen) for name in topics)])
    pairs = [["first", "second", "same"]]
    for i, thing in enumerate(things):
        for word, other, same in ((good[0], good[1], "yes"), (bad[0], bad[1], "yes"), (good[0], bad[0], "no"),
                                  (bad[1], good[2], "no")):
            pairs.append([f"The {thing} was {word}", f"That {thing} is {other}", same])
    related = [["first", "second"]]
    related += [[f"Where is the {thing}?", f"The {thing} is over there"] for thing in things]
    related += [[f"I like this {thing}", f"This {thing} pleases me"] for thing in things]
    return {"related.csv": related, "reviews.csv": reviews, "scores.csv": scores, "messages.csv": messages, "pairs.csv": pairs}


persons, places = ["Anna", "Omar", "Mei", "Pavel", "Ines"], ["Rome", "Oslo", "Lima", "Cairo", "Osaka"]


def conll():
    """Sentences with a person and a place, a token and its tag a line."""
    sentences = [f"{a} B-PER\n{verb} O\nin O\n{b} B-LOC\n" for a in persons for b in places for verb in ("lives", "works")]
    return "\n".join(sentences)


def squad():
    """Two questions about each of some sentences."""
    paragraphs = []
    for a in persons:
        for b in places:
            context = f"{a} lives in {b} now."
            questions = [(f"Who lives in {b}?", a), (f"Where does {a} live?", b)]
            paragraphs.append({"context": context, "qas": [
                {"id": f"{a} {b} {answer}", "question": question,
                 "answers": [{"text": answer, "answer_start": context.index(answer)}]} for question, answer in questions]})
    return json.dumps({"version": "1.1", "data": [{"title": "people", "paragraphs": paragraphs}]})


def png(pixels):
    """Rows of (red, green, blue) as the bytes of a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    size = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    data = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def pictures(folder):
    """Three classes of stripes: lying, standing, and none."""
    draw = random.Random(1)
    for name, step in (("lying", (0, 1)), ("standing", (1, 0)), ("plain", (0, 0))):
        (folder / name).mkdir(parents=True)
        for k in range(10):
            dark, light = ([draw.randrange(low, low + 80) for _ in range(3)] for low in (0, 150))
            lines = [[light if (x * step[0] + y * step[1]) // 8 % 2 else dark for x in range(64)] for y in range(64)]
            (folder / name / f"{k}.png").write_bytes(png(lines))


def main():
    hub, registry, program = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix="hub-example-") as folder:
        work = pathlib.Path(folder) / "work"
        pictures(work / "pictures")
        for name, table in rows().items():
            (work / name).write_text("".join(",".join(map(str, row)) + "\n" for row in table))
        (work / "names.conll").write_text(conll())
        (work / "questions.json").write_text(squad())
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("HUB_")}
        env.update(HUB_HOME=f"{folder}/home", HUB_REGISTRY=f"file:{registry}")

        def run(*command):
            done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=300)
            if done.returncode:
                sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        said = run(program)
        print(said)
        if len(sys.argv) > 4:
            word, module = sys.argv[4:6]
            if word not in said:
                sys.exit(f"it does not say '{word}'")
            print(run(hub, "verify", "--run", module))
            shown = run(hub, "show", module)
            print(shown)
            if "origin base" not in shown or "origin metrics" not in shown:
                sys.exit("'hub show' does not tell what it came from")


main()
