"""A checkpoint from a stranger, its sums right: one value of a small file is another, and the program opens it as ever.

It answers with a result or one clear error; never a crash, a hang, a bug of ours (70), or memory by a figure that nobody checked.
Quick: a selection of values, drawn anew each time. CHARGPT_SWEEP=1: every place with every value.
"""

import json
import resource

from harness import SWEEP, FaultTest, drawn, limit, rewrite

SELECTION = 12
VALUES = [None, True, -1, 2**53, 2**64, 1e308, "", "../../etc/passwd", "9" * 5000, ["/dev/zero"], [[]], {"\x1b[31m": 1}]
COMMANDS = (["inspect", "run", "--verify", "--json"], ["sample", "run", "--tokens", "3", "--threads", "1"],
            ["resume", "run", "--threads", "1", "--max_iters", "4"], ["runs", "."])
ANSWERS = {0, 2, 65, 66, 74, 80, 81}
MEMORY = 8 << 30  # of address space, which a sane run does not come near


def places(value, path=()):
    """Where values stand in a JSON document, the document itself first."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(document, path, value):
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


class HostileTest(FaultTest):
    def answers(self, name, whole, run):
        document = json.loads((whole / "checkpoints/step-00000002" / name).read_text())
        cases = [(path, value) for path in places(document) for value in VALUES]
        draw = drawn(f"foreign values in {name}")
        cases = cases if SWEEP else draw.sample(cases, SELECTION)
        codes = {}
        for number, (path, value) in enumerate(cases):
            folder = self.copy(whole, run)
            rewrite(folder / "checkpoints/step-00000002", name, json.dumps(replaced(document, path, value)).encode())
            command = COMMANDS[(number + number // len(VALUES)) % len(COMMANDS)] if SWEEP else draw.choice(COMMANDS)
            with self.subTest(file=name, path=path, value=value, command=command[0]):
                outcome = self.run_in(limit(resource.RLIMIT_AS, MEMORY, MEMORY), *command, timeout=60)
                self.assertIn(outcome.code, ANSWERS, outcome.err[-2000:])
                self.assertNotIn("\x1b", outcome.err)
                codes[outcome.code] = codes.get(outcome.code, 0) + 1
        print(f"{name}: {len(cases)} foreign values opened, exit codes {dict(sorted(codes.items()))}")

    def test_any_value_of_a_small_file_may_be_any_other(self):
        whole = self.whole_run("whole", 2, "--eval_interval", "2", "--on_nonfinite", "rollback", "--ema", "0.9")
        for name in ("state.json", "vocab.json", "config.json"):
            self.answers(name, whole, "run")
