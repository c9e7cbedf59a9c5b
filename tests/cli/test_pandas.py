"""The README's example for pandas, run as it stands there."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from program import PROGRAM, SOURCE, ProgramTest


def example():
    """The block of README.md that imports pandas."""
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    found = [block for block in blocks if "import pandas" in block]
    assert len(found) == 1, f"{len(found)} blocks of README.md import pandas"
    return found[0]


class PandasTest(ProgramTest):
    def test_the_example_of_the_readme_prints_what_the_run_recorded(self):
        if importlib.util.find_spec("pandas") is None:
            return print(f"skipped because pandas is not here: {self.id()}", flush=True)
        self.train("runs/mine", "ladder/bigram", 60)
        self.train("runs/other", "ladder/bigram", 20)
        environment = dict(os.environ, PATH=f"{pathlib.Path(PROGRAM).resolve().parent}:{os.environ['PATH']}")
        process = subprocess.run([sys.executable, "-c", example()], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        evaluations, runs = [[line.split()[1:] for line in table.splitlines()[1:]] for table in re.split(r"\n(?= +run )", process.stdout)]
        rows = [json.loads(line) for line in (self.folder / "runs/mine/metrics.jsonl").read_text().splitlines()]
        recorded = [row for row in rows if row["kind"] == "eval"]
        self.assertEqual([int(step) for step, *_ in evaluations], [one["step"] for one in recorded])
        for (_, train_loss, val_loss), one in zip(evaluations, recorded):
            self.assertAlmostEqual(float(train_loss), one["train_loss"], places=5)
            self.assertAlmostEqual(float(val_loss), one["val_loss"], places=5)
        listed = self.succeed("runs", "runs", "--json").json
        self.assertEqual([name for name, *_ in runs], [row["run"] for row in listed])
        for (_, loss, _), row in zip(runs, listed):
            self.assertAlmostEqual(float(loss), row["best_val_loss"], places=5)


if __name__ == "__main__":
    unittest.main()
