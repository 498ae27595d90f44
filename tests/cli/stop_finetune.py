#!/usr/bin/env python3
"""Asks `hub finetune` to end in each of its phases and says what it left: `stop_finetune.py ROWS`, a table of text and label."""
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

rows = sys.argv[1]


def start(work, *options):
    command = ["hub", "finetune", "minilm-l6", "--data", rows, "--work", work, "--save", work, *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait(process, sign, what):
    """Until the sign is there; the process must not end before."""
    for _ in range(60000):
        if sign():
            return
        if process.poll() is not None:
            sys.exit(f"{what}: ended with {process.returncode} too early: {process.stderr.read().decode()}")
        time.sleep(0.002)
    sys.exit(f"{what}: never seen")


def log(work):
    path = pathlib.Path(work, "run.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def checkpoints(work):
    return len(glob.glob(f"{work}/checkpoint-*.safetensors"))


def steps(work):
    return sum(line["event"] == "step" for line in log(work))


# Strategy, batch, and by what the phase is known; half of 64 rows train.
phases = {
    "features": ("head", 16, lambda work: os.path.isdir(work)),
    "step": ("full", 4, lambda work: steps(work) >= 1),
    "evaluation": ("lora", 16, lambda work: steps(work) >= 2),
    "save": ("full", 16, lambda work: glob.glob(f"{work}/.hub.*")),
}
for phase, (strategy, batch, sign) in phases.items():
    work = f"w-{phase}"
    process = start(work, "--strategy", strategy, "--batch", str(batch), "--epochs", "2", "--validation", "0.5")
    wait(process, lambda: sign(work), phase)
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1].decode()
    left = [os.path.basename(p) for p in glob.glob(f"{work}/.hub.*")]
    print(f"{phase}: exit {process.returncode}, checkpoints {checkpoints(work) > 0}, left over {left}, "
          f"says how to go on {'--resume goes on from there' in said}")

work = "w-twice"
process = start(work, "--strategy", "full", "--batch", "64", "--epochs", "2")
wait(process, lambda: os.path.isdir(work), "twice")
for _ in range(50):
    process.send_signal(signal.SIGTERM)
    time.sleep(0.02)
    if process.poll() is not None:
        break
process.wait()
print(f"two signals: ended by signal {-process.returncode}")
