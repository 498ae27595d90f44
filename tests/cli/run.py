#!/usr/bin/env python3
"""Runs one golden text file: `run.py FILE.test HUB REGISTRY`; with --update behind it, writes what came out instead.

`$ command` runs in bash, in a new folder that starts empty but for what earlier commands of the file left there; `hub` is
the program under test, HUB_HOME is a new folder, HUB_REGISTRY the default registry, $DATA the tests/data folder and
$EXAMPLES the recipes. The lines below it are its standard output, then its standard error with "2> " in front, then
"? N" when it ends with another status than 0. "..." inside a line stands for any text, a line of just "..." for any lines.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent


def blocks(text):
    """(line number, command, expected lines) for each command."""
    out = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            out.append((number, line[2:], []))
        elif line.startswith("#") or (not line and not out):
            continue
        elif out:
            out[-1][2].append(line)
    for _, _, lines in out:
        while lines and not lines[-1]:
            lines.pop()
    return out


def same(want, got):
    """Whether the lines agree, with the wildcards."""
    pattern = ""
    for line in want:
        if line == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in got)) is not None


def update(test, outputs):
    """The file with the lines below each command replaced, wildcards kept where they still hold."""
    lines, out, command = test.read_text().splitlines(), [], 0
    i = 0
    while i < len(lines):
        out.append(lines[i])
        i += 1
        if not out[-1].startswith("$ "):
            continue
        want = []
        while i < len(lines) and not lines[i].startswith(("$ ", "#")):
            want.append(lines[i])
            i += 1
        while want and not want[-1]:
            want.pop()
        got = outputs[command]
        command += 1
        out += want if same(want, got) else got
        if i < len(lines):
            out.append("")
    test.write_text("\n".join(out) + "\n")


def main():
    test, hub, registry = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    failed = 0
    outputs = []
    with tempfile.TemporaryDirectory(prefix="hub-cli-") as folder:
        work = pathlib.Path(folder) / "work"
        bin_folder = pathlib.Path(folder) / "bin"
        work.mkdir()
        bin_folder.mkdir()
        (bin_folder / "hub").symlink_to(hub)
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("HUB_")}
        env.update(PATH=f"{bin_folder}:{env['PATH']}", HUB_HOME=f"{folder}/home", HUB_REGISTRY=f"file:{registry}",
                   REGISTRY=str(registry), DATA=str(here.parent / "data"), EXAMPLES=str(here.parent.parent / "registry"),
                   TOOLS=str(here), LC_ALL="C.UTF-8")
        for number, command, want in blocks(test.read_text()):
            done = subprocess.run(["bash", "-c", command], cwd=work, env=env, capture_output=True, timeout=300)
            got = done.stdout.decode(errors="backslashreplace").splitlines()
            got += ["2> " + line for line in done.stderr.decode(errors="backslashreplace").splitlines()]
            if done.returncode:
                got.append(f"? {done.returncode}")
            outputs.append(got)
            if not same(want, got):
                failed += 1
                print(f"{test.name}:{number}: $ {command}\n--- wanted\n" + "\n".join(want) + "\n--- got\n" + "\n".join(got))
    if "--update" in sys.argv:
        update(test, outputs)
    else:
        sys.exit(1 if failed else 0)


main()
