"""A real headless Chromium, driven over chromedriver's plain HTTP interface (W3C WebDriver)."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ENTER = "\ue007"
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    # Nothing but this machine is ever asked.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


class BrowserError(Exception):
    """What the driver refused; `kind` is WebDriver's error code."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Browser:
    """One window of a given size, with a profile of its own."""

    def __init__(self, profile: Path, width: int, height: int) -> None:
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver") or "chromedriver", "--port=0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            self._base, self._session = self._port(), ""
            self._session = self._begin(profile, width, height)
        except BaseException:
            self._driver.kill()
            raise

    def _port(self) -> str:
        for line in self._driver.stdout or ():
            if found := re.search(r"started successfully on port (\d+)", line):
                return f"http://127.0.0.1:{found[1]}"
        raise RuntimeError("chromedriver did not start")

    def _begin(self, profile: Path, width: int, height: int) -> str:
        options = {
            "args": [*_QUIET, f"--user-data-dir={profile}", f"--window-size={width},{height}"],
            "mobileEmulation": {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 1, "touch": False}},
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        return f"/session/{self._ask('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait(30)

    def open(self, url: str) -> None:
        """Loads a page."""
        self._ask("POST", "/url", {"url": url})

    def wait_for(self, script: str, *arguments: Any) -> None:
        """Waits until an expression is true in the page that is open by then."""
        for _ in range(400):
            with contextlib.suppress(BrowserError):  # asked between two pages
                if self.run(f"return {script}", *arguments):
                    return
            time.sleep(0.05)
        raise AssertionError(f"never came true: {script} {arguments} at {self.url}")

    @property
    def url(self) -> str:
        return str(self._ask("GET", "/url"))

    @property
    def title(self) -> str:
        return str(self._ask("GET", "/title"))

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns in the page."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        """The first element that a CSS selector finds."""
        return str(self._ask("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT])

    def click(self, selector: str) -> None:
        """Clicks an element."""
        self._ask("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Types into an element."""
        self._ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, keys: str) -> None:
        """Presses keys, wherever the focus is."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": steps}]})

    def devtools(self, command: str, **values: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": values})

    def complaints(self) -> list[str]:
        """What the console said since it was last asked: policy violations, failed loads, script errors."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def has_dialog(self) -> bool:
        """Whether a script opened a dialog."""
        try:
            self._ask("GET", "/alert/text")
        except BrowserError as error:
            if error.kind == "no such alert":
                return False
            raise
        return True

    def screenshot(self, path: Path) -> None:
        """The window as a picture."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + self._session + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise BrowserError(value["error"], value["message"]) from None
