"""The main job with no model and no network: a drawn data set and an endpoint that knows it.

The data set has SLAKE's shape: six drawn "scans", each asked an open and a closed question in
English and in Chinese. The endpoint runs in this process and is reached over real HTTP. Most of its
replies are right; the rest are what models do in the wild (cut off, empty, refused, wrong, without
the `ANSWER:` line, one 503), so that every part of the report has something to show.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmscore.errors import EndpointError, StorageError

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from types import TracebackType

    from mmscore.plan.events import Events
    from mmscore.report.result import Result

MODEL = "demo-radiologist"
"""The name of the model that the endpoint plays."""

_SIDE = 256
_BACK = 8

Ellipse = tuple[int, int, int, int, int]
"""Centre x, centre y, half width, half height in pixels; grey from 0 to 255."""


@dataclass(frozen=True, slots=True)
class _Scan:
    modality: str
    location: str
    shapes: tuple[Ellipse, ...]


# fmt: off
_SCANS = (
    # two black lungs, the heart between, the spine, a small bright mass
    _Scan("CT", "Lung", (
        (128, 128, 116, 88, 120), (82, 122, 38, 58, 20), (174, 122, 38, 58, 20),
        (134, 142, 28, 24, 170), (128, 196, 15, 12, 235), (72, 104, 9, 9, 200))),
    # upright lungs, the spine, a heart that is too wide
    _Scan("X-Ray", "Lung", (
        (128, 140, 112, 116, 90), (78, 120, 34, 76, 35), (178, 120, 34, 76, 35),
        (128, 136, 10, 96, 150), (140, 170, 66, 40, 190))),
    # skull, brain, two ventricles, a bright tumour at the right
    _Scan("MRI", "Brain", (
        (128, 128, 92, 112, 220), (128, 128, 84, 104, 30), (128, 128, 80, 100, 120),
        (114, 122, 8, 30, 40), (142, 122, 8, 30, 40), (176, 88, 18, 16, 230))),
    # a large liver, the spleen, two kidneys, the spine
    _Scan("CT", "Abdomen", (
        (128, 128, 116, 92, 100), (84, 112, 58, 50, 165), (200, 128, 20, 34, 150),
        (96, 176, 16, 20, 190), (160, 176, 16, 20, 190), (128, 188, 14, 14, 240))),
    # a bright bladder between two hip joints
    _Scan("MRI", "Pelvic Cavity", (
        (128, 128, 118, 84, 95), (54, 132, 24, 24, 180), (202, 132, 24, 24, 180),
        (128, 112, 34, 26, 240), (128, 170, 18, 14, 60))),
    # the black windpipe before the spine
    _Scan("CT", "Neck", (
        (128, 128, 78, 84, 115), (128, 92, 14, 12, 5), (128, 152, 24, 20, 235),
        (96, 108, 10, 14, 160), (160, 108, 10, 14, 160))),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the endpoint says instead of the plain right answer."""

    content: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    busy_first: bool = False


_LINE = "ANSWER: {}"
_WORDY = "The largest organ that can be seen in this picture is the lung."
_THOUGHT = "<think>The ring is bone. Or air? No, bone.</think>\nANSWER: Brain"
_CUT = "The image is an axial section through the abdomen, in which the"
_REFUSAL = "I cannot give medical advice."

_Question = tuple[int, str, str, str, str, str, _Reply | None]
"""Scan from 1, language, answer type, content type, question, answer, and a reply if odd."""

_QUESTIONS: tuple[_Question, ...] = (
    (1, "en", "OPEN", "Modality", "What modality is used to take this image?", "CT", None),
    (1, "en", "CLOSED", "Abnormality", "Does the lung look abnormal?", "Yes", None),
    (1, "zh", "OPEN", "Organ", "图中两个黑色的器官是什么?", "肺", None),
    (1, "zh", "CLOSED", "Organ", "图像中有心脏吗?", "有", _Reply("ANSWER: 是的")),
    (2, "en", "OPEN", "Size", "What is the largest organ in the picture?", "Lung", _Reply(_WORDY)),
    (2, "en", "CLOSED", "Modality", "Is this an X-Ray?", "Yes", _Reply("Yes")),
    (2, "zh", "OPEN", "Modality", "这张图像是用什么方式拍摄的?", "X光", _Reply("ANSWER: X-Ray")),
    (2, "zh", "CLOSED", "Size", "心脏的大小正常吗?", "不正常", _Reply("ANSWER: 正常")),
    (3, "en", "OPEN", "Organ", "What organ is shown in this image?", "Brain", _Reply(_THOUGHT)),
    (3, "en", "CLOSED", "Abnormality", "Is there a tumor?", "Yes", _Reply("ANSWER: No")),
    (3, "zh", "OPEN", "Position", "肿瘤位于图像的哪一侧?", "右侧", _Reply("ANSWER: 左侧")),
    (3, "zh", "CLOSED", "Plane", "这是横断面吗?", "是的", None),
    (
        4,
        "en",
        "OPEN",
        "Position",
        "Where is the liver in this image?",
        "Left",
        _Reply(_CUT, "length"),
    ),
    (4, "en", "CLOSED", "Organ", "Does the picture contain a heart?", "No", None),
    (4, "zh", "OPEN", "Quantity", "图中有几个肾脏?", "2", _Reply("ANSWER: 两个")),
    (4, "zh", "CLOSED", "Size", "图中肝脏和脾脏哪个更大?", "肝脏", None),
    (5, "en", "OPEN", "KG", "What is the function of the bladder?", "Storing urine", None),
    (5, "en", "CLOSED", "Modality", "Is this a CT scan?", "No", _Reply(None, refusal=_REFUSAL)),
    (5, "zh", "OPEN", "Color", "图中膀胱是什么颜色?", "白色", None),
    (
        5,
        "zh",
        "CLOSED",
        "Organ",
        "这张图像里有肺吗?",
        "没有",
        _Reply("ANSWER: 没有", busy_first=True),
    ),
    (6, "en", "OPEN", "Color", "What color is the windpipe?", "Black", None),
    (6, "en", "CLOSED", "Position", "Is the spine behind the windpipe?", "Yes", None),
    (6, "zh", "OPEN", "Position", "图像属于身体哪个部分?", "颈部", _Reply("")),
    (
        6,
        "zh",
        "CLOSED",
        "Abnormality",
        "图中看起来正常吗?",
        "是的",
        _Reply("ANSWER: 是的", reasoning="气管居中，没有看到肿块。"),
    ),
)


def draw(folder: Path) -> None:
    """Write `test.json` and `imgs.zip`, the two files of a SLAKE data set; the same each time.

    Raises:
        StorageError: The folder cannot be made or written.
    """
    import json
    import zipfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = json.dumps(_rows(), ensure_ascii=False, indent=1)
        (folder / "test.json").write_text(rows + "\n", encoding="utf-8", newline="\n")
        with zipfile.ZipFile(folder / "imgs.zip", "w") as archive:
            for number, scan in enumerate(_SCANS, 1):
                member = zipfile.ZipInfo(f"imgs/{_image_name(number)}")  # dated 1980, not today
                archive.writestr(member, _png(scan.shapes))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"cannot write the demo's data to `{folder}`: {reason}") from None


def demo_task(folder: Path, url: str, out: Path | None = None) -> dict[str, Any]:
    """The fields of a `TaskConfig` that asks the endpoint at `url` about what `draw` wrote."""
    task: dict[str, Any] = {
        "model": MODEL,
        "api_url": url,
        "datasets": ["slake"],
        "dataset_args": {"slake": {"local_path": str(folder)}},
        "timeout": 30.0,
    }
    return task if out is None else {**task, "out": str(out)}


def run_demo(out: Path | None, events: Events) -> Result:
    """Draw the data, answer them, score and report: what the run came to.

    Args:
        out: Where data and run are kept; None keeps both in a new folder below `outputs` or, where
            nothing can be written there, below the temporary folder. Its page shows the data.
        events: Who wants to hear of progress.

    Raises:
        StorageError: Nothing can be written anywhere, or `out` holds another run.
        EndpointError: Nobody may listen on this machine's loopback addresses.
    """
    from mmscore.run.task import run_task

    run = _new_run_folder() if out is None else out / "run"
    data = run / "data" if out is None else out / "data"
    with Endpoint() as endpoint:
        draw(data)
        (result,) = run_task(demo_task(data, endpoint.url, run), events).values()
    return result


def _new_run_folder() -> Path:
    """A new folder below `outputs`, or below the temporary folder where this one is read-only."""
    import tempfile

    from mmscore.store.run_folder import new_folder

    with suppress(StorageError):
        return new_folder(Path("outputs"), "demo")
    try:
        return Path(tempfile.mkdtemp(prefix="mmscore-demo-run-"))
    except OSError:
        raise StorageError(
            f"neither `{Path.cwd()}` nor a temporary folder can be written",
            hint="name a folder that can: mmscore demo --out DIR",
        ) from None


class Endpoint:
    """An OpenAI-compatible endpoint on loopback that answers about the drawn scans.

    `with Endpoint() as endpoint:` runs it on a free port; `endpoint.url` ends in `/v1`.
    """

    def __enter__(self) -> Endpoint:
        """Start answering, in threads of this process.

        Raises:
            EndpointError: The machine lets nobody listen on loopback.
        """
        self._server, host = _listening()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://{host}:{self._server.server_address[1]}/v1"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening; connections that a client left open end with the process."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _listening() -> tuple[ThreadingHTTPServer, str]:
    """A server on a free port of this machine alone, and its address as a URL has it.

    Raises:
        EndpointError: Neither IPv4 nor IPv6 has a loopback address to listen on.
    """
    import socket
    from http.server import ThreadingHTTPServer

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print no traceback when a client leaves early; it knows why it did."""

    class ServerOfVersion6(Server):
        address_family = socket.AF_INET6

    reasons = []
    for kind, host, shown in (
        (Server, "127.0.0.1", "127.0.0.1"),
        (ServerOfVersion6, "::1", "[::1]"),
    ):
        try:
            return kind((host, 0), _handler(_Oracle())), shown
        except OSError as error:
            reasons.append(f"{shown}: {error.strerror or error}")
    raise EndpointError(
        f"the demo's endpoint cannot listen on this machine ({'; '.join(reasons)})",
        hint="bring the loopback interface up: ip link set lo up",
    )


class _Oracle:
    """From a request's body to status and answer."""

    def __init__(self) -> None:
        import hashlib

        digests = [hashlib.sha256(_png(scan.shapes)).digest() for scan in _SCANS]
        self._replies = {
            (digests[scan - 1], question): reply or _Reply(_LINE.format(answer))
            for scan, _, _, _, question, answer, reply in _QUESTIONS
        }
        self._busy = {key for key, reply in self._replies.items() if reply.busy_first}
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the response; 400 for all that is no question of the demo."""
        try:
            key = _asked(body)
            reply = self._replies[key]
        except (LookupError, ValueError, TypeError, AttributeError):
            return 400, _error("the demo's endpoint answers the demo's own questions only")
        with self._lock:
            busy = key in self._busy
            self._busy.discard(key)
        return (503, _error("the demo is busy once")) if busy else (200, _completion(reply, body))


def _asked(body: bytes) -> tuple[bytes, str]:
    """Digest of the image and first line of the text in the last message."""
    import base64
    import hashlib
    import json

    parts = {part["type"]: part for part in json.loads(body)["messages"][-1]["content"]}
    head, _, data = parts["image_url"]["image_url"]["url"].partition(",")
    if head != "data:image/png;base64":
        raise ValueError(head)
    image = base64.b64decode(data, validate=True)
    return hashlib.sha256(image).digest(), parts["text"]["text"].partition("\n")[0]


def _completion(reply: _Reply, body: bytes) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    prompt = len(body) // 64  # invented, like the model
    spoken = len(reply.content or "") // 4 + 1
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": spoken,
        "total_tokens": prompt + spoken,
    }
    return {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "demo"}}


def _handler(oracle: _Oracle) -> type[BaseHTTPRequestHandler]:
    """The class of one connection; made here because nothing of HTTP is imported before."""
    import json
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 60

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.rstrip("/").endswith("/chat/completions"):
                self._send(*oracle.answer(body))
            else:
                self._send(404, _error(f"no such route: {self.path}"))

        def do_GET(self) -> None:
            known = self.path.rstrip("/").endswith("/models")
            models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            self._send(*(200, models) if known else (404, _error(f"no such route: {self.path}")))

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal belongs to the command line."""

        def _send(self, status: int, value: Mapping[str, Any]) -> None:
            data = json.dumps(value, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 503:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _rows() -> list[dict[str, Any]]:
    """The rows of `test.json`, with the fields that SLAKE has."""
    rows = []
    for number, (scan, language, answer_type, content, question, answer, _) in enumerate(
        _QUESTIONS, 1
    ):
        knowledge = content == "KG"
        rows.append(
            {
                "img_id": scan,
                "img_name": _image_name(scan),
                "question": question,
                "answer": answer,
                "q_lang": language,
                "location": _SCANS[scan - 1].location,
                "modality": _SCANS[scan - 1].modality,
                "answer_type": answer_type,
                "base_type": "kvqa" if knowledge else "vqa",
                "triple": ["Bladder", "function", "_"] if knowledge else ["vhead", "_", "_"],
                "qid": number,
                "content_type": content,
            }
        )
    return rows


def _image_name(number: int) -> str:
    return f"demo{number}/source.png"


def _png(shapes: tuple[Ellipse, ...]) -> bytes:
    """A grey picture of filled ellipses, later ones over earlier ones."""
    import struct
    import zlib

    rows = [bytearray([_BACK]) * _SIDE for _ in range(_SIDE)]
    for x, y, half_width, half_height, shade in shapes:
        for row in range(max(0, y - half_height), min(_SIDE, y + half_height + 1)):
            reach = int(half_width * (1 - ((row - y) / half_height) ** 2) ** 0.5)
            first, last = max(0, x - reach), min(_SIDE, x + reach + 1)
            rows[row][first:last] = bytes([shade]) * (last - first)

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 0, 0, 0, 0)  # 8-bit grey
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
