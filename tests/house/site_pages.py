"""site_pages.py SITE [SHOTS]: opens every page of the documentation site in headless Chromium, from
its files. Fails if a page reports an error, needs the network, or has a link to a file or an anchor
that does not exist, or if the search finds nothing. Writes pictures of five pages to the folder
SHOTS. External links are not followed.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

SHOTS = (
    "index.html",
    "sdk/index.html",
    "host/docs/training.html",
    "reference/python.html",
    "reference/cpp/index.html",
)
# The ids and links of a page after its scripts have run. The property href of an element is
# absolute.
CONTENTS = """({
  ids: [...document.querySelectorAll('[id],a[name]')]
    .flatMap(e => [e.id, e.name]).filter(n => typeof n == 'string'),
  links: [...document.querySelectorAll('a[href],link[href],img[src],script[src],iframe[src]')]
    .map(e => e.href || e.src),
})"""
SEARCH = """(async () => {
  const pause = () => new Promise(done => setTimeout(done, 100));
  const query = document.querySelector('[data-md-component=search-query]');
  query.focus();
  query.value = WORD;
  for (let i = 0; i < 100; ++i) {
    query.dispatchEvent(new Event('keyup'));
    await pause();
    const found = document.querySelectorAll('.md-search-result__link').length;
    if (found) return found;
  }
  return 0;
})()"""


class Browser:
    """Chromium's DevTools protocol over a pipe: JSON messages that end with a zero byte."""

    def __init__(self, program: str, profile: str) -> None:
        commands, self.out = os.pipe()
        self.replies, replies = os.pipe()
        moved = f'exec "$@" 3<&{commands} 4>&{replies}'  # Chromium reads descriptor 3 and writes 4
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900",
                   "--remote-debugging-pipe")  # fmt: skip
        self.process = subprocess.Popen(
            ["bash", "-c", moved, "bash", program, *options, f"--user-data-dir={profile}"],
            pass_fds=(commands, replies),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(replies)
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self) -> dict:
        while b"\0" not in self.buffer:
            data = os.read(self.replies, 1 << 20)
            if not data:
                sys.exit("Chromium ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, **parameters: object) -> dict:
        self.count += 1
        request = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while (message := self.receive()).get("id") != self.count:
            self.events.append(message)
        if "error" in message:
            sys.exit(f"{method}: {message['error']}")
        return message["result"]

    def run(self, script: str) -> object:
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        return result["result"].get("value")

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def faults(self) -> list[str]:
        """The errors since the last call."""
        found = []
        for event in self.events:
            method, details = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                thrown = details["exceptionDetails"]
                found.append(
                    thrown.get("exception", {}).get("description") or thrown.get("text", "error")
                )
            elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
                found.append(str([each.get("value") for each in details["args"]]))
            elif method == "Log.entryAdded" and details["entry"]["level"] == "error":
                found.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
            elif method == "Network.requestWillBeSent":
                address = details["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:", "about:")):
                    found.append(f"needs the network: {address}")
        self.events.clear()
        return found


def main() -> int:
    program = shutil.which("chromium") or sys.exit("chromium is missing (apt install chromium)")
    site = Path(sys.argv[1]).resolve()
    faults: list[str] = []
    ids: dict[str, set[str]] = {}
    links: list[tuple[str, str]] = []
    pages = sorted(site.rglob("*.html"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        begin = time.monotonic()
        for page in pages:
            name = str(page.relative_to(site))
            browser.open(page.as_uri())
            contents = browser.run(CONTENTS)
            faults += [f"{name}: {fault}" for fault in browser.faults()]
            ids[str(page)] = set(contents["ids"])
            links += [(name, link) for link in contents["links"]]
            if len(sys.argv) > 2 and name in SHOTS:
                picture = browser.call("Page.captureScreenshot")["data"]
                target = Path(sys.argv[2]) / (name.replace("/", "-")[:-5] + ".png")
                target.write_bytes(base64.b64decode(picture))
        browser.open((site / "index.html").as_uri())
        for word in ("half_square", "SessionOptions", "gradcheck"):
            if not browser.run(SEARCH.replace("WORD", json.dumps(word))):
                faults.append(f"the search does not find {word}")
        faults += [f"search: {fault}" for fault in browser.faults()]
        browser.process.terminate()
        browser.process.wait()
    for name, link in sorted(set(links)):
        parts = urlsplit(link)
        target = unquote(parts.path)
        if parts.scheme != "file":
            continue
        if not Path(target).is_file() or not Path(target).is_relative_to(site):
            faults.append(f"{name}: dead link {link}")
        elif parts.fragment and target in ids and unquote(parts.fragment) not in ids[target]:
            faults.append(f"{name}: no such anchor {link}")
    for fault in faults:
        print(fault)
    print(
        f"{len(pages)} pages in {time.monotonic() - begin:.0f} s, {len(set(links))} links, "
        f"{len(faults)} faults"
    )
    return 1 if faults else 0


sys.exit(main())
