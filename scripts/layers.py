#!/usr/bin/env python3
"""Refuses an #include that points up the house plan or past a room's public headers, and a file that grew too long."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
below = {
    "base": [],
    "runtime": ["base"],
    "hub": ["base"],
    "modules": ["runtime", "hub", "base"],
    "finetune": ["modules", "runtime", "hub", "base"],
    "api": ["finetune", "modules", "runtime", "hub", "base"],
    "cli": ["api", "finetune", "modules", "hub", "base"],
}
public = {
    "runtime": {"runtime/import/ctranslate2.h", "runtime/runtime.h"},
    "hub": {"hub/fields.h", "hub/hub.h", "hub/manifest.h", "hub/name.h"},
    "modules": {"modules/adapt.h", "modules/image.h", "modules/labels.h", "modules/module.h", "modules/task.h"},
    "api": {"api/hub.h", "api/settings.h"},
    "finetune": {"finetune/data/data.h", "finetune/finetune.h", "finetune/metrics/metrics.h",
                 "finetune/search/lr_find.h", "finetune/search/sweep.h"},
}
limit = 600

problems = []
for room in below:
    for path in sorted((root / room).rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        name = path.relative_to(root)
        text = path.read_text().splitlines()
        if len(text) > limit:
            problems.append(f"{name}: {len(text)} lines, the limit is {limit}")
        for number, line in enumerate(text, 1):
            match = re.match(r'#include "((\w+)/\S+)"', line)
            if not match:
                continue
            header, other = match.groups()
            if other == room or other == "base":
                continue
            if other not in below[room] or header not in public.get(other, set()):
                problems.append(f"{name}:{number}: {room}/ may not include {header}")
print("\n".join(problems) or "every include follows the plan")
sys.exit(bool(problems))
