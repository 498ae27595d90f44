"""`scripts/bench infer [NETWORK…]`: warm networks beside every peer, in the same rounds of short bursts.

A runner is a process that waits with its network open; one works at a time and the others are stopped. Prints times with the best
peer as the bar, the share of the peak that a probe reaches in the same rounds, memory and starts. An answer that is not
onnxruntime's is marked: its speed counts nothing.
"""
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys

from bench_networks import about, commands, int8, networks, prepare
from bench_peers import build, conditions, home, root

titles = {"onnxruntime": "onnxruntime", "openvino": "OpenVINO", "openvino_streams": "OpenVINO streams", "mnn": "MNN", "ncnn": "ncnn",
          "torch": "torch"}


class Runner:
    def __init__(self, command):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.ms, self.medians, self.right = [], [], True
        line = self.process.stdout.readline()
        self.start = json.loads(line) if line else None  # None: it cannot run this network
        self.signal(signal.SIGSTOP)

    def signal(self, which):
        if self.start is not None:
            os.kill(self.process.pid, which)

    def burst(self, runs):
        self.signal(signal.SIGCONT)
        print(runs, file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        self.signal(signal.SIGSTOP)
        self.memory = answer["rss_mb"]
        return answer["ms"]

    def count(self, ms):
        self.ms += ms
        self.medians.append(statistics.median(ms))

    def close(self):
        self.signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()

    @property
    def median(self):
        return statistics.median(self.medians)

    @property
    def best(self):
        return min(self.ms)


def difference(out, kind):
    """From onnxruntime's answer, relative to its largest number."""
    compare = "import sys, numpy as np; a, b = (np.load(f'{p}/0.npy') for p in sys.argv[1:]); " \
              "print(float(np.abs(a.reshape(b.shape) - b).max() / np.abs(b).max()))"
    done = subprocess.run([home("peers") / "python", "-c", compare, out / kind, out / "onnxruntime"], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else math.inf


class Line:
    """One network, batch and number of threads: everybody opened, the rounds run, everybody closed."""

    def __init__(self, name, batch, threads, rounds, burst_ms):
        self.name, self.batch, self.threads = name, batch, threads
        out = build / "bench/out"
        shutil.rmtree(out, ignore_errors=True)
        every = commands(name, batch, threads, out)
        for kind in every:
            (out / kind).mkdir(parents=True)
        cold = Runner(every["hub"])  # which leaves the pack file
        cold.close()
        self.cold = cold.start
        self.probe = Runner([build / "tests/bench_infer", threads, "peak"])
        opened = {kind: Runner(command) for kind, command in every.items()}
        self.runners = {kind: r for kind, r in opened.items() if r.start is not None}
        self.tell([f"{kind} cannot run it" for kind in opened if kind not in self.runners])
        runs = {r: max(1, min(100, round(burst_ms / r.burst(2)[1]))) for r in [self.probe, *self.runners.values()]}
        for _ in range(rounds):
            for runner, count in runs.items():
                runner.count(runner.burst(count))
        for runner in runs:
            runner.close()
        for kind in self.runners:
            if kind in ("onnxruntime", "openvino_streams"):  # itself; a network that is checked with batch 1
                continue
            gap = difference(out, kind)
            if not gap <= (5e-2 if name in int8 else 1e-3):
                self.runners[kind].right = False
                self.tell([f"the answer of {kind} is {gap:.1e} from onnxruntime's"])

    def tell(self, words):
        for text in words:
            print(f"{self.name}, batch {self.batch}: {text}", file=sys.stderr)

    def hub(self):
        """Its runner when it has run and is right."""
        runner = self.runners.get("hub")
        return runner if runner and runner.right else None

    def bar(self, figure):
        """The least `figure` of a peer."""
        return min(figure(r) for kind, r in self.runners.items() if kind != "hub" and r.right)

    def ratio(self):
        return self.bar(lambda r: r.median) / self.hub().median

    def row(self):
        def cell(kind):
            r = self.runners.get(kind)
            return f"{r.median:.2f} ({r.best:.2f}){'' if r.right else ' ✗'}" if r else "–"

        peak = self.probe.start["gflop_a_run"] / self.probe.best * 1e3
        row = [self.name, self.batch, self.threads, *map(cell, ["hub", *titles])]
        if hub := self.hub():
            row += [f"{self.ratio():.2f}", f"{self.bar(lambda r: r.best) / hub.best:.2f}"]
            work = about(self.name, self.batch)["gflop"]
            row += [f"{100 * work / hub.best * 1e3 / peak:.0f} %" if work else "–"]
        else:
            row += ["–"] * 3
        return [*row, f"{peak:.0f}"]


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    print()


def starts(lines):
    kinds = ["hub", *(kind for kind in titles if kind != "openvino_streams")]
    for line in lines:
        if hub := line.hub():
            memory = {kind: line.runners[kind].memory for kind in kinds if kind in line.runners}
            least = min(mb for kind, mb in memory.items() if kind != "hub")
            peer = line.runners["onnxruntime"].start
            yield [line.name, *(f"{memory[kind]:.0f}" if kind in memory else "–" for kind in kinds), f"{hub.memory / least:.2f}",
                   f"{line.cold['load_ms']:.0f} + {line.cold['first_ms']:.0f}", f"{hub.start['load_ms']:.1f} + {hub.start['first_ms']:.0f}",
                   f"{peer['load_ms']:.0f} + {peer['first_ms']:.0f}", f"{hub.start['load_ms'] / peer['load_ms']:.2f}"]


def infer(chosen=(), rounds=7, burst_ms=150):
    prepare()
    conditions()
    print(f"{rounds} interleaved rounds of bursts of {burst_ms} ms; ms a call: median of the rounds' medians, fastest run in brackets. Bar: the best peer.\n"
          "✗: not onnxruntime's answer (1e-3; int8 5e-2), so out of the bar. ncnn has no batches and runs its 8 one by one.\n"
          "By fastest: the peers' fastest run over hub's. Share of peak: hub's fastest run against the fastest turn of the probe.\n")
    lines = []

    def rows():
        for name in chosen or [*networks, *int8]:
            for batch in (1, 8):
                for threads in (1, 2):
                    lines.append(Line(name, batch, threads, rounds, burst_ms))
                    yield lines[-1].row()

    table(["network", "batch", "threads", "hub", *titles.values(), "bar / hub", "by fastest", "share of peak", "peak GFLOP/s"], rows())
    ratios = [line.ratio() for line in lines if line.name not in int8 and line.hub()]
    if ratios:
        print(f"Bar / hub of float32: geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}\n")
    whole = {(line.name, line.batch, line.threads): line.hub().median for line in lines if line.hub()}
    for (name, batch, threads), ms in whole.items():
        if name in int8 and (own := whole.get((name.removesuffix("-int8"), batch, threads))):
            print(f"{name}, batch {batch}, {threads} threads: {own / ms:.2f} × own float32")
    print("\nBatch 1, 2 threads: peak memory of the process in MB; ms to open the network + to the first answer (hub: first start, then with its pack file)\n")
    table(["network", "hub", *(title for kind, title in titles.items() if kind != "openvino_streams"), "hub / smallest peer", "hub, first", "hub, second",
           "onnxruntime", "opens: hub / onnxruntime"], starts(line for line in lines if (line.batch, line.threads) == (1, 2)))
