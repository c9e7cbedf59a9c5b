"""Models, by libchargpt through ctypes: one wheel serves every Python, and nothing is compiled against one."""

from __future__ import annotations

import ctypes
import functools
import json
import operator
import os
import queue
import threading
import warnings
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Iterator, Sequence, Union

from ._error import Error, binary

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_UNKNOWN = {"error": 0, "skip": 1, "replace": 2}
_USAGE = 2
_OnText = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_char), c_size_t)


class _OpenOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("checkpoint", c_char_p), ("weights", c_char_p), ("threads", c_int)]


class _GenerateOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("prompt", c_char_p), ("prompt_length", c_size_t), ("unknown", c_int), ("tokens", c_int64),
                ("temperature", c_double), ("top_k", c_int64), ("top_p", c_double), ("min_p", c_double), ("seed", c_uint64),
                ("sample", c_int64), ("stops", POINTER(c_char_p)), ("stop_count", c_size_t)]


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    """chargpt.h as ctypes has it."""
    library = ctypes.CDLL(str(binary("libchargpt.so.1")))
    library.chargpt_last_error.restype = c_char_p
    for name in ("checkpoint", "config", "notices"):
        function = getattr(library, f"chargpt_{name}")
        function.argtypes, function.restype = [c_void_p], c_char_p
    for name in ("step", "parameters", "block_size", "vocabulary_size", "start_symbol"):
        function = getattr(library, f"chargpt_{name}")
        function.argtypes, function.restype = [c_void_p], c_int64
    text: list[Any] = [c_void_p, c_char_p, c_size_t, c_int]
    library.chargpt_close.argtypes, library.chargpt_close.restype = [c_void_p], None
    library.chargpt_open.argtypes = [c_char_p, POINTER(_OpenOptions), POINTER(c_void_p)]
    library.chargpt_symbol.argtypes = [c_void_p, c_int64, POINTER(c_char), POINTER(c_size_t)]
    library.chargpt_encode.argtypes = [*text, POINTER(c_int64), c_size_t, POINTER(c_size_t)]
    library.chargpt_generate_defaults.argtypes = [c_void_p, POINTER(_GenerateOptions)]
    library.chargpt_generate.argtypes = [c_void_p, POINTER(_GenerateOptions), _OnText, c_void_p]
    library.chargpt_score.argtypes = [*text, POINTER(c_float), c_size_t, POINTER(c_size_t)]
    library.chargpt_attention.argtypes = [*text, POINTER(c_float), c_size_t, *[POINTER(c_int64)] * 3]
    library.chargpt_logits_of_ids.argtypes = [c_void_p, POINTER(c_int64), c_size_t, POINTER(c_float), c_size_t]
    return library


def _call(name: str, *arguments: Any) -> None:
    """Calls a function of chargpt.h."""
    status = getattr(_library(), f"chargpt_{name}")(*arguments)
    if status:
        raise Error(_library().chargpt_last_error().decode("utf-8", "replace"), status)


def _call_long(name: str, *arguments: Any) -> None:
    """The same, by another thread where this is the main one, which Ctrl-C interrupts: the call then ends by itself, unseen."""
    if threading.current_thread() is not threading.main_thread():
        return _call(name, *arguments)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            _call(name, *arguments)
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


class _Opened(c_void_p):
    """A chargpt_model, closed when the last call that uses it has ended, be it an interrupted call that opened it."""

    def __init__(self) -> None:
        super().__init__()
        self.process, self.getpid, self.close = os.getpid(), os.getpid, _library().chargpt_close

    def __del__(self) -> None:
        if self.value and self.getpid() == self.process:  # its threads are not in a fork
            self.close(self)

    def here(self) -> _Opened:
        """Itself; an error in a fork."""
        if self.getpid() != self.process:
            raise Error("this model was opened before a fork; open it in the new process with chargpt.load", _USAGE)
        return self


class Model:
    """A trained model, opened by load(). Threads may share it; a fork must open its own."""

    def __init__(self, opened: _Opened, weights: str) -> None:
        self._opened: _Opened | None = opened
        self._weights = weights
        library = _library()
        self.checkpoint: str = os.fsdecode(library.chargpt_checkpoint(opened))
        self.config: dict[str, Any] = json.loads(library.chargpt_config(opened))
        self.step: int = library.chargpt_step(opened)
        self.parameters: int = library.chargpt_parameters(opened)
        self.block_size: int = library.chargpt_block_size(opened)
        self.vocabulary_size: int = library.chargpt_vocabulary_size(opened)
        self.start_symbol: int = library.chargpt_start_symbol(opened)
        self._has_documents = not self.decode([self.start_symbol])

    def __repr__(self) -> str:
        return f"<chargpt.Model of {self.checkpoint}, {self.parameters:,} parameters>"

    def close(self) -> None:
        """Lets go of its memory. Calls in progress end first, in their own time."""
        self._opened = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def generate(self, prompt: str | bytes = "", *, tokens: int | None = None, temperature: float | None = None, top_k: int | None = None,
                 top_p: float | None = None, min_p: float | None = None, seed: int = 1337, sample: int = 0,
                 samples: int | None = None, stop: str | Sequence[str] = (), unknown: str = "error") -> Iterator[str]:
        """What follows the prompt, piece by piece as it is written; the text of `chargpt sample` with the same options.

        None: the run's own value. sample: its number, each of which has a random stream of its own. samples: so many from that number on,
        each whole, in order, and written at the same time.
        """
        opened = self._in_use()
        options = _GenerateOptions(size=ctypes.sizeof(_GenerateOptions))
        _call("generate_defaults", opened, ctypes.byref(options))
        text = _bytes(prompt, "prompt")
        options.prompt, options.prompt_length = text, len(text)
        options.unknown = _unknown(unknown)
        for name, value, kind in (("tokens", tokens, c_int64), ("temperature", temperature, c_double), ("top_k", top_k, c_int64),
                                  ("top_p", top_p, c_double), ("min_p", min_p, c_double), ("seed", seed, c_uint64), ("sample", sample, c_int64)):
            if value is not None:
                setattr(options, name, _number(value, name, kind))
        stops = [_c_string(one, "stop") for one in ([stop] if isinstance(stop, (str, bytes)) else stop)]
        options.stops, options.stop_count = (c_char_p * len(stops))(*stops), len(stops)
        return _stream(opened, options) if samples is None else _texts(opened, options, _number(samples, "samples", c_int64))

    def score(self, text: str | bytes, *, after: str | bytes = "", unknown: str = "error") -> NDArray[numpy.float32]:
        """The loss of each character in nats, as `chargpt score` has it: of the first only after `after`, or where a document begins with it."""
        import numpy

        opened, data, count = self._in_use(), _bytes(after, "after") + _bytes(text, "text"), c_size_t()
        before = max(0, len(self.encode(after, unknown=unknown)) - (not self._has_documents))
        losses = numpy.empty(len(data), numpy.float32)
        _call_long("score", opened, data, len(data), _unknown(unknown), losses.ctypes.data_as(POINTER(c_float)), len(data), ctypes.byref(count))
        return losses[before:count.value]

    def attention(self, text: str | bytes, *, unknown: str = "error") -> NDArray[numpy.float32]:
        """(layers, heads, T, T): how much each of the text's last characters attends to each; in models of documents T counts the one's beginning."""
        import numpy

        data, sizes = _bytes(text, "text"), [c_int64(), c_int64(), c_int64()]
        call = functools.partial(_call_long, "attention", self._in_use(), data, len(data), _unknown(unknown))
        call(None, 0, *map(ctypes.byref, sizes))
        layers, heads, T = (size.value for size in sizes)
        weights = numpy.empty((layers, heads, T, T), numpy.float32)
        call(weights.ctypes.data_as(POINTER(c_float)), weights.size, *map(ctypes.byref, sizes))
        return weights

    def evaluate(self, **options: Any) -> dict[str, Any]:
        """The exact loss of a split, beside its baselines: `chargpt eval --json`, whose options are named as there: text="new.txt", split="test", ..."""
        from ._program import _output, _words

        self._in_use()
        figures: dict[str, Any] = json.loads(_output("eval", _words({"weights": self._weights, **options}, self.checkpoint), progress=False))
        return figures

    def logits(self, ids: str | Sequence[int] | NDArray[Any], *, after: str | bytes = "") -> NDArray[numpy.float32]:
        """(T, V): what the model expects after each of these ids, or characters of a str, which follow `after`.

        A str begins a document in models of documents. At most block_size ids in all.
        """
        import numpy

        before = [self.start_symbol] * (self._has_documents and bool(after or isinstance(ids, str))) + self.encode(after)
        given = numpy.asarray(self.encode(ids) if isinstance(ids, str) else ids)
        if given.ndim != 1 or given.size and given.dtype.kind not in "iu":
            raise TypeError("ids must be a str or one sequence of integers")
        given = numpy.concatenate([before, given]).astype(numpy.int64)
        logits = numpy.empty((given.size, self.vocabulary_size), numpy.float32)
        _call_long("logits_of_ids", self._in_use(), given.ctypes.data_as(POINTER(c_int64)), given.size, logits.ctypes.data_as(POINTER(c_float)), logits.size)
        return logits[len(before):]

    def encode(self, text: str | bytes, *, unknown: str = "error") -> list[int]:
        """The ids of a text."""
        data, count = _bytes(text, "text"), c_size_t()
        ids = (c_int64 * len(data))()
        _call("encode", self._in_use(), data, len(data), _unknown(unknown), ids, len(data), ctypes.byref(count))
        return ids[:count.value]

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """The text of these ids. In a model of bytes, invalid UTF-8 becomes U+FFFD."""
        model, symbol, length, text = self._in_use(), (c_char * 4)(), c_size_t(), b""
        for one in ids:
            _call("symbol", model, _number(one, "id", c_int64), symbol, ctypes.byref(length))
            text += symbol.raw[:length.value]
        return text.decode("utf-8", "replace")

    def _in_use(self) -> _Opened:
        if self._opened is None:
            raise Error("this model is closed; open it again with chargpt.load", _USAGE)
        return self._opened.here()


def load(run: Union[str, os.PathLike[str]], *, checkpoint: str = "best", weights: str = "better", threads: int = 1) -> Model:
    """Opens the model of a run, or of one checkpoint's file.

    checkpoint: "best", "last" or "step-N". weights: "better", "trained" or "averaged". threads: of each call; 0: one per core.
    """
    options = _OpenOptions(ctypes.sizeof(_OpenOptions), _c_string(checkpoint, "checkpoint"), _c_string(weights, "weights"),
                           _number(threads, "threads", c_int))
    opened = _Opened()
    _call_long("open", _c_string(os.fsencode(run), "run"), ctypes.byref(options), ctypes.byref(opened))
    for line in _library().chargpt_notices(opened).decode("utf-8", "replace").splitlines():
        warnings.warn(line, stacklevel=2)
    return Model(opened, weights)


def _stream(opened: _Opened, options: _GenerateOptions) -> Iterator[str]:
    """Pieces of a text, written by a thread of its own, at most a thousand ahead of who reads them."""
    # In C: an interrupt within a method of queue.Queue can leave its lock held for ever.
    pieces: queue.SimpleQueue[str | Error | None] = queue.SimpleQueue()
    room: queue.SimpleQueue[None] = queue.SimpleQueue()
    for _ in range(1000):
        room.put(None)
    unwanted: list[bool] = []

    def on_text(_: object, piece: Any, length: int) -> int:
        room.get()
        pieces.put(ctypes.string_at(piece, length).decode("utf-8", "replace"))
        return len(unwanted)

    def work() -> None:
        try:
            _call("generate", opened, ctypes.byref(options), _OnText(on_text), None)
            pieces.put(None)
        except Error as failure:
            pieces.put(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (piece := pieces.get()) is not None:
            if isinstance(piece, Error):
                raise piece
            room.put(None)
            yield piece
            opened.here()  # after a fork that thread is missing
    finally:
        unwanted.append(True)
        room.put(None)  # it may wait for room
        thread.join()


def _texts(opened: _Opened, options: _GenerateOptions, samples: int) -> Iterator[str]:
    """Whole texts, in order; as many are written at the same time as there are processors."""
    for first in range(0, samples, os.cpu_count() or 1):
        streams = []
        for number in range(first, min(first + (os.cpu_count() or 1), samples)):
            own = _GenerateOptions.from_buffer_copy(options)
            own.sample += number
            setattr(own, "source", options)  # which has what the pointers point to
            streams.append(_stream(opened, own))
        begun = [next(stream, "") for stream in streams]
        yield from (piece + "".join(stream) for piece, stream in zip(begun, streams))


def _bytes(text: str | bytes, what: str) -> bytes:
    if isinstance(text, (str, bytes)):
        return text.encode() if isinstance(text, str) else text
    raise TypeError(f"{what} must be str or bytes, not {type(text).__name__}")


def _c_string(text: str | bytes, what: str) -> bytes:
    data = _bytes(text, what)
    if b"\0" in data:  # C would take what is before it
        raise ValueError(f"{what} contains a null character")
    return data


def _number(value: Any, what: str, kind: Any) -> Any:
    """As this type of C has it, which would wrap a number that it cannot hold."""
    held = kind(value if kind is c_double else operator.index(value)).value
    if held != value and value == value:
        raise Error(f"{what} = {value} is out of range", _USAGE)
    return held


def _unknown(policy: str) -> int:
    if policy not in _UNKNOWN:
        raise Error(f"unknown = {policy!r}; error, skip or replace", _USAGE)
    return _UNKNOWN[policy]
