#!/usr/bin/env python3
"""Serves FOLDER over HTTP on a free port of 127.0.0.1 while a command runs with HUB_REGISTRY set: serve.py FOLDER COMMAND…"""
import functools
import http.server
import os
import subprocess
import sys
import threading


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=sys.argv[1]))
threading.Thread(target=server.serve_forever, daemon=True).start()
env = dict(os.environ, HUB_REGISTRY=f"http://127.0.0.1:{server.server_port}")
sys.exit(subprocess.run(sys.argv[2:], env=env).returncode)
