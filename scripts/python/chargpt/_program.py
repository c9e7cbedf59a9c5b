"""Training and comparing: the program `chargpt` as a process of its own, and the folders that it writes."""

from __future__ import annotations

import codecs
import fcntl
import html
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import tty
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence, Union, cast

from ._error import Error, binary
from ._library import Model, load

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]
_FLAGS = ("counts", "overwrite", "verbose")  # options without a value
_REPEATED = ("text", "set", "teacher")  # options that may be given several times; another's list is one value
_OF_THE_TERMINAL = ("dry_run", "help", "json", "markdown", "quiet")  # options that change what is printed
# Columns that come first and last in a data frame: a narrow display leaves out those in the middle.
_FIRST, _LAST = ("kind", "step", "rank", "config", "loss", "val_loss"), ("versus_best.difference", "mean")
Table = Union["pandas.DataFrame", "Rows"]  # a data frame where pandas is installed


class Rows(list[dict[str, Any]]):
    """A dict for each row; attrs: what a data frame has there."""
    attrs: dict[str, Any]


def train(config: Path | None = None, *, text: Path | Sequence[Path] | None = None, run: Path | None = None, progress: bool = True,
          **options: Any) -> Run:
    """Trains a new model: `chargpt train`, whose options are named as there: max_seconds=30, n_layer=2, overwrite=True, ...

    config: a preset's name or the path of a config; None: default, or with minutes= the preset that is best in that time. text: one or
    more files; None: the config's. run: its folder; None: runs/CONFIG-N. progress: shows what the program says, on sys.stderr.
    Ctrl-C saves a checkpoint before KeyboardInterrupt is raised; resume() continues.
    """
    return Run(json.loads(_output("train", _words({"text": text, "run": run, **options}, *([] if config is None else [config])), progress))["run"])


def resume(run: Path, /, *, progress: bool = True, **options: Any) -> Run:
    """Continues a run exactly where it stopped: `chargpt resume`."""
    return Run(json.loads(_output("resume", _words(options, run), progress))["run"])


def compare(configs: Path | Sequence[Path], *, vary: Mapping[str, Sequence[Any]] | None = None, text: Path | Sequence[Path] | None = None,
            progress: bool = True, **options: Any) -> Table:
    """Trains configs with several seeds on the same windows and ranks them: `chargpt compare`; a row a config, best first. Its
    attrs have the rest of `compare --json`: verdict, remarks, look, level, …

    vary: each config with each of these values, {"train.learning_rate": [1e-3, 3e-3]}.
    """
    configs = [configs] if isinstance(configs, (str, os.PathLike)) else configs
    varied = []
    for key, values in (vary or {}).items():
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"vary takes a list of values of {key}, not {values!r}")
        varied.append(f"--vary={key}={','.join(map(_value, values))}")
    report = json.loads(_output("compare", [*varied, *_words({"text": text, **options}, *configs)], progress))
    table = _table(report.pop("results"))
    table.attrs = report
    return table


class Run:
    """The folder of a run, trained before or still in training."""

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)

    def __repr__(self) -> str:
        return f"chargpt.Run({str(self.path)!r})"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def config(self) -> dict[str, Any]:
        """Every option of the run."""
        return self._json("config.json")

    @property
    def figures(self) -> dict[str, Any]:
        """Loss of the best checkpoint on the validation split, beside its baselines."""
        return dict(self._json("run.json")["figures"])

    @property
    def metrics(self) -> Table:
        """The steps and evaluations so far: a row for each line of metrics.jsonl of these kinds."""
        rows = [row for line in self._read("metrics.jsonl").split("\n") if (row := _row(line))]
        return _table([row for row in rows if row["kind"] in ("train", "eval")])

    def load(self, **options: Any) -> Model:
        """Opens its model, as chargpt.load does."""
        return load(self, **options)

    def _repr_html_(self) -> str:
        """Its page without the model: curves, samples, figures and options."""
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            _output("page", ["--no-model", *_words({"output": page}, self.path)], progress=False)
            return f'<iframe srcdoc="{html.escape(page.read_text("utf-8"))}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def _json(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._read(name))
        return document

    def _read(self, name: str) -> str:
        try:
            return (self.path / name).read_text("utf-8")
        except FileNotFoundError:
            raise Error(f"{self.path / name} is not there", 66) from None


def command() -> None:
    """The command `chargpt` that pip installs."""
    program = str(pathlib.Path(__file__).with_name("chargpt"))
    os.execv(program, [program, *sys.argv[1:]])


def _words(options: Mapping[str, Any], *configs: Any) -> list[str]:
    """{"n_layer": 2, "bias": False, "text": [a, b], "overwrite": True}, c as --n_layer=2 --bias=false --text=a --text=b --overwrite -- c."""
    words = []
    for name, value in options.items():
        if name in _OF_THE_TERMINAL:
            raise TypeError(f"{name} is an option of the command line only")
        if name in _FLAGS:
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, not {value!r}")
            words += [f"--{name}"] * value
        elif value is not None:
            several = value if name in _REPEATED and isinstance(value, (list, tuple)) else [value]
            words += [f"--{name}={_value(one)}" for one in several]
    return [*words, "--", *map(os.fspath, configs)]


def _value(value: Any) -> str:
    """As the command line takes it: text, a path, or JSON, a NumPy number's too."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return json.dumps(value.tolist() if hasattr(value, "tolist") else value)


def _row(line: str) -> dict[str, Any] | None:
    """None of one that is only half written so far."""
    try:
        return cast("dict[str, Any]", json.loads(line))
    except ValueError:
        return None


def _table(rows: list[dict[str, Any]]) -> Table:
    try:
        import pandas
    except ImportError:
        return Rows(rows)
    table = pandas.json_normalize(rows)
    place = {name: i for i, name in enumerate((*_FIRST, "", *_LAST))}
    return table[sorted(table, key=lambda name: place.get(name, place[""]))]


def _output(command: str, words: Sequence[str], progress: bool) -> str:
    """What `chargpt COMMAND WORDS --json` prints. KeyboardInterrupt lets it save first; a second one ends it at once."""
    arguments = [str(binary("chargpt")), command, "--json", *([] if progress else ["--quiet"]), *words]
    # A session of its own keeps a terminal's Ctrl-C from it, which would be its second signal; CHARGPT_PARENT ends it with this process.
    environment = dict(os.environ, CHARGPT_PARENT=str(os.getpid()))
    ours, theirs = _stderr()
    with tempfile.TemporaryFile() as output, open(ours, "rb", buffering=0) as said:
        try:
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=theirs, env=environment, start_new_session=True)
        finally:
            os.close(theirs)
        interrupt = None
        try:
            failure = _show(said)
            process.wait()
        except KeyboardInterrupt as interrupt_:
            interrupt = interrupt_
            process.terminate()
            failure = _show(said)
            process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if interrupt is not None:
            raise interrupt
        if process.returncode != 0:
            code = process.returncode if process.returncode > 0 else 128 - process.returncode
            raise Error(json.loads(failure)["error"]["message"] if failure else f"chargpt {command} ended with {code}", code)
        output.seek(0)
        return output.read().decode("utf-8", "replace")


def _stderr() -> tuple[int, int]:
    """Two ends, for this process and the program. Where a person watches, a terminal, so that its progress is one repainted line."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return os.pipe()
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    columns, lines = shutil.get_terminal_size()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return ours, theirs


def _show(said: Any) -> str:
    """Passes on what the program says until it ends; returns its failure, one JSON document in the last line."""
    failure = ""
    for piece in _pieces(said):
        shown, mark, rest = (failure + piece).rpartition('{"error":')
        last = mark and "\n" not in rest.rstrip("\r\n")
        failure = mark + rest if last else ""
        sys.stderr.write(shown if last else shown + mark + rest)
        sys.stderr.flush()
    return failure


def _pieces(said: Any) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        try:
            piece = said.read(65536)
        except OSError:  # a terminal whose other end is closed
            return
        if not piece:
            return
        yield decoder.decode(piece)
