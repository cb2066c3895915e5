"""A headless Chromium, driven over its DevTools protocol through a pair of pipes.

Pipes need no port and no websocket, and end with the process that holds them.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import importlib.util
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)

_FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"),
    *("--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--no-default-browser-check", "--mute-audio", "--disable-breakpad"),
    "--lang=en-US",
)
_PATIENCE = 60.0


class BrowserError(Exception):
    """The browser refused, died, or a script in it raised."""


class Browser:
    """A running Chromium."""

    def __init__(self, home: Path) -> None:
        """Start it; `home` is an empty folder for all that it writes."""
        assert CHROMIUM is not None
        commands, ours = os.pipe()
        self._answers, answers = os.pipe()
        self._commands = os.fdopen(ours, "wb")
        # Above 4, so that neither is in the way of the two places they go to.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        self.pid = os.posix_spawn(
            CHROMIUM,
            [CHROMIUM, *_FLAGS, f"--user-data-dir={home}", "about:blank"],
            {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        for end in (commands, answers, *ends):
            os.close(end)
        self._number = 0
        self._unread = b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, /, **params: Any) -> dict[str, Any]:
        """What the browser answers to one command.

        Raises:
            BrowserError: It refuses, or does not answer in time.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        until = time.monotonic() + _PATIENCE
        while True:
            answer = self._next(until)
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
                raise BrowserError("the browser does not answer")
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise BrowserError("the browser has ended")
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def close(self) -> None:
        """End it and all its children."""
        with contextlib.suppress(BrowserError, OSError):
            self.call("Browser.close")
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            self._commands.close()
        os.close(self._answers)


class Tab:
    """One page of a browser, with all that it said and asked for."""

    def __init__(
        self,
        browser: Browser,
        *,
        languages: str = "en-US",
        size: tuple[int, int] = (1280, 900),
        media: Mapping[str, str] | None = None,
        downloads: Path | None = None,
    ) -> None:
        """Open an empty page.

        Args:
            browser: Where.
            languages: What the reader reads, as in `Accept-Language`.
            size: Of the window, in pixels.
            media: Media features to play: `{"prefers-color-scheme": "dark"}`.
            downloads: A folder for what is saved.
        """
        self._browser = browser
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        self._target = target["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        agent = browser.call("Browser.getVersion")["userAgent"]
        self.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=languages)
        self.resize(*size)
        self.play(media or {})
        if downloads is not None:
            browser.call(
                "Browser.setDownloadBehavior",
                behavior="allow",
                downloadPath=str(downloads),
                browserContextId=self._context,
            )

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """What the page answers to one command."""
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        """Make the window so large; below 760 pixels it is a phone."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 760,
        )

    def play(self, features: Mapping[str, str], medium: str = "") -> None:
        """Play media features, and `print` or `screen`."""
        listed = [{"name": name, "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=medium, features=listed)

    def open(self, file: Path, fragment: str = "") -> None:
        """Show a file of this disk, and wait until its scripts have run."""
        address = file.as_uri() + fragment
        self.call("Page.navigate", url="about:blank")
        self._browser.events.clear()
        self.call("Page.navigate", url=address)
        self.until(
            "document.readyState === 'complete' && location.protocol === 'file:'", "the page's load"
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for.

        Raises:
            BrowserError: It raises.
        """
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def until(self, script: str, what: str) -> None:
        """Wait until an expression is true.

        Raises:
            BrowserError: It is not in time.
        """
        end = time.monotonic() + _PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise BrowserError(f"waited in vain for {what}")

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press and release a key by its name: `j`, `Enter`, `ArrowRight`; 8 is Shift."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        event: dict[str, Any] = {"key": key, "modifiers": modifiers, "text": text}
        event["windowsVirtualKeyCode"] = codes.get(key, ord(key.upper()[0]))
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Write into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a mouse does.

        Raises:
            BrowserError: There is no such element, or another one lies over it.
        """
        place = self.run(
            f"""(() => {{
              const element = document.querySelector({json.dumps(selector)});
              if (!element) return null;
              element.scrollIntoView({{ block: "center" }});
              const box = element.getBoundingClientRect();
              const at = [box.x + box.width / 2, box.y + box.height / 2];
              const top = document.elementFromPoint(...at);
              return element.contains(top) || top?.contains(element) ? at : null;
            }})()"""
        )
        if place is None:
            raise BrowserError(f"nothing to click at {selector}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and requests that are not of the file."""
        self.run("1")  # what was said before has come by now
        return [text for event in self._browser.events if (text := self._complaint(event))]

    def _complaint(self, event: Mapping[str, Any]) -> str | None:
        if event.get("sessionId") != self._session:
            return None
        params = event["params"]
        match event["method"]:
            case "Runtime.exceptionThrown":
                return f"exception: {params['exceptionDetails']}"
            case "Runtime.consoleAPICalled":
                return f"console: {params['args']}"
            case "Log.entryAdded":
                return f"log: {params['entry'].get('text')}"
            case "Page.javascriptDialogOpening":
                return f"dialog: {params['message']}"
            case "Network.requestWillBeSent":
                address = str(params["request"]["url"])
                inside = address.startswith(("file:", "data:image/", "blob:", "about:"))
                return None if inside else f"request: {address}"
        return None

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen as a PNG, or the whole page."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        """Close the page and forget all that it stored."""
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)


@contextlib.contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """A browser for a while."""
    running = Browser(home)
    try:
        yield running
    finally:
        running.close()


def axe_script() -> str | None:
    """The accessibility checker of whichever package ships it; None where none is installed."""
    for name in ("axe_playwright_python", "axe_core_python"):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    return None
