#!/usr/bin/env python3
"""Kills `hub run --journal` on a folder of many pictures again and again, wherever it is, and says what the journal holds at
last: `stop_run.py PICTURE COPIES`."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

picture, copies = sys.argv[1], int(sys.argv[2])
os.makedirs("many")
for i in range(copies):
    shutil.copy(picture, f"many/{i:03}.jpg")
command = ["hub", "run", "selfie-segmentation", "many", "--batch", "2", "--output", "drawn", "--journal", "killed.jsonl"]
journal = pathlib.Path("killed.jsonl")


def lines():
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


kills = 0
while True:
    before = lines()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and lines() < before + copies // 4:
        time.sleep(0.001)
    if process.poll() is not None:
        break
    process.send_signal(signal.SIGKILL)
    process.wait()
    kills += 1
results = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
names = [result["input"] for result in results]
files = [result["file"] for result in results]
print(f"killed more than once: {kills > 1}; the last exit {process.returncode}; {len(results)} results of {len(set(names))} "
      f"inputs in {len(set(files))} files, all there: {all(os.path.getsize(f) > 0 for f in files)}; "
      f"one answer: {len({json.dumps(r['output']) for r in results}) == 1}")
