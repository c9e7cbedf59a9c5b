"""Language models of characters: trained, compared, sampled and measured from Python.

    import chargpt
    run = chargpt.train("default", text="mine.txt", max_seconds=30)
    print(run.metrics)
    for piece in run.load().generate("Once ", tokens=200):
        print(piece, end="")

Training and comparing run the program `chargpt`, which this package brings; models are read in this process, by
libchargpt. What fails raises Error, with the program's sentence and exit code.
"""

from ._error import Error
from ._library import Model, load
from ._program import Run, compare, resume, train

__all__ = ["Error", "Model", "Run", "compare", "load", "resume", "train"]
