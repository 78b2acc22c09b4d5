"""Opens exported ONNX models in Netron, in a headless browser, which must show every node.

    netron_opens.py MODEL...

Needs the packages onnx and netron, and the program chromium. Exits with 1 if a node is missing.
"""

import collections
import http.server
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import netron
import onnx

# Netron requests consent to cookies first, and stores the answer in a cookie. Cookies apply to all
# ports of a machine.
CONSENT = (
    "<script>document.cookie = 'consent=1;path=/'; "
    "location.replace('http://localhost:{port}/');</script>"
)


class Consent(http.server.BaseHTTPRequestHandler):
    port = 0

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(CONSENT.format(port=self.port).encode())

    def log_message(self, *_: object) -> None:
        pass


def drawn(model: pathlib.Path, consent: str, profile: str) -> collections.Counter[str]:
    Consent.port = netron.start(str(model), browse=False)[1]
    try:
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=30000",
        )
        page = subprocess.run(
            ["chromium", *options, "--dump-dom", consent],
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        netron.stop()
    return collections.Counter(
        re.findall(
            r'class="node-item node-item-type[^"]*"><path[^>]*></path><text>([^<]*)</text>',
            page.stdout,
        )
    )


def main() -> int:
    server = http.server.ThreadingHTTPServer(("localhost", 0), Consent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = 0
    with tempfile.TemporaryDirectory() as profile:
        for path in map(pathlib.Path, sys.argv[1:]):
            nodes = collections.Counter(
                node.op_type for node in onnx.load(path, load_external_data=False).graph.node
            )
            # virtual time sometimes runs out while the page still waits for the server
            for _ in range(8):
                if not (
                    missing := nodes
                    - drawn(path, f"http://localhost:{server.server_port}/", profile)
                ):
                    break
            print(
                f"{path.name}: {nodes.total()} nodes"
                + (f", but Netron does not show {dict(missing)}" if missing else "")
            )
            failed += bool(missing)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
