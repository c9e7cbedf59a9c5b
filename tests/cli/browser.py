"""A browser that a test drives: Chromium and its driver, where they are installed."""

import base64
import json
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def is_there():
    return BROWSER is not None and DRIVER is not None


class Browser:
    """Chromium without a window, driven by its WebDriver."""

    def __init__(self, width=1200, height=1400, dark=False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        options = {"args": arguments, "binary": BROWSER}
        if width < 500:  # no window of a desktop is as narrow as a phone
            options["mobileEmulation"] = {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 1, "touch": True}}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}}
        for _ in range(100):
            try:
                self.base += "/session/" + self.call("POST", "/session", wanted)["sessionId"]
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def wait_for(self, script, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.05)
        raise AssertionError(f"after {seconds} s still not: {script}")

    def element(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return "/element/" + next(iter(found.values()))

    def open(self, path):
        self.call("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri()})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
