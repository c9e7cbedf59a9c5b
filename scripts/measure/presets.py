#!/usr/bin/env python3
"""Trains every preset that this machine can, with several seeds, and writes what to expect of them.

    scripts/measure/presets.py                         all presets, three seeds; hours
    scripts/measure/presets.py --only ladder/bigram    these alone; the other rows stay as they are
    scripts/measure/presets.py --table                 only writes the table anew from expected.json
    scripts/measure/presets.py --rehash                new digests alone: where an option was changed that changes no weight (bit-equal ones were seen)

Results go to configs/expected.json (which `chargpt configs` prints) and as a table into configs/README.md, between its markers.
A preset whose run would take longer than --hours, or more memory than there is, becomes a row "not measured here"; a row that was
measured elsewhere and whose config is unchanged is kept instead. Runs are kept in --work: broken off, the same command goes on.

A row carries a digest of its preset's options, those that differ from their defaults (the defaults as they were stand in
expected.json too); tests/cli/test_presets.py fails where a preset or a default has changed since.

After `--`, options for every run shorten it, to try this script; such rows are refused for configs/ itself.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

from workbench import PROGRAM, ROOT, Program, processor, replace_file, write_part

BEGIN, END = "<!-- measured: begin (scripts/measure/presets.py writes this table) -->", "<!-- measured: end -->"
SECTIONS = ("data", "model", "train", "eval")


def digest(value):
    """Sixteen hexadecimal digits of any JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


class Presets(Program):
    def names(self):
        """But for names, which is for lists."""
        return [row["name"] for row in self.json("configs") if row["name"] != "names"]

    def options(self, config):
        """Section -> option -> value, as resolved."""
        resolved = self.json("inspect", config)["config"]
        return {section: resolved[section] for section in SECTIONS}

    def defaults(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as empty:
            empty.write("{}")
            empty.flush()
            return self.options(empty.name)

    def config_digest(self, preset, defaults):
        """Of the options in which a preset differs from the defaults."""
        return digest({section: {key: value for key, value in its.items() if value != defaults[section].get(key)}
                       for section, its in self.options(preset).items()})


def changed_defaults(then, now):
    """Defaults that are no longer what they were; options that have come since do not count."""
    return [f"{section}.{key}" for section in then for key, value in then[section].items() if now.get(section, {}).get(key) != value]


def machine(program):
    found = program.json("doctor")
    return {"cpu": processor(), "processors": found["processors"], "threads": found["threads"],
            "device": found["device"], "libtorch": found["libtorch"]}


def mean(values):
    return sum(values) / len(values)


def too_much(program, preset, hours, extra):
    """Why this machine does not measure the preset; None where it does."""
    process = subprocess.run([program.path, "train", preset, "--dry-run", "--json", *extra], cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode == 81:
        return "needs more memory than there is"
    if process.returncode != 0:
        raise SystemExit(f"presets.py: {preset}: {process.stderr.strip()}")
    seconds = json.loads(process.stdout).get("expected_seconds", 0)
    return f"about {seconds / 3600:.1f} hours a run" if seconds > 3600 * hours else None


def measure(program, preset, options):
    """One row, trained now."""
    folder = pathlib.Path(options.work) / f"{preset.replace('/', '-')}-{digest([program.options(preset), options.extra])}"
    compared = program.json("compare", preset, "--seeds", options.seeds, "--out", folder, *options.extra, quiet=False)["results"][0]
    runs = [{key: round(seed[key], 1) if key == "seconds" else seed[key] for key in ("seed", "loss", "step", "seconds")} for seed in compared["seeds"]]
    row = {"loss": compared["mean"], "ci95": compared["ci95"], "seconds": round(mean([run["seconds"] for run in runs]), 1),
           "params": compared["params"], "block_size": compared["block_size"], "runs": runs}
    if compared["block_size"] > 64:
        row["loss_windows_64"] = mean([program.json("eval", ROOT / seed["run"])["loss_windows_64"] for seed in compared["seeds"]])
    if compared.get("leaks"):
        row["leaks"] = True
    return row


def loss_cell(row):
    if "loss" not in row:
        return f"not measured here: {row['not_measured']}"
    half = (row["ci95"][1] - row["ci95"][0]) / 2 if row["ci95"] else None  # none with one seed
    text = f"{row['loss']:.4f}" + (f" ± {half:.4f}" if half is not None else "")
    return text + (", **leaks**" if row.get("leaks") else "")


def table(expected):
    """The generated part of configs/README.md."""
    lines = ["| preset | parameters | loss ± 95 % over seeds | in windows of 64 | seconds | measured |", "|---|---|---|---|---|---|"]
    for preset, row in expected["rows"].items():
        cells = [f"{row['params']:,}", loss_cell(row), f"{row['loss_windows_64']:.4f}" if "loss_windows_64" in row else "", f"{int(row['seconds'] + 0.5):,}",
                 f"{row['date']}, {row['machine']}"] if "loss" in row else ["", loss_cell(row), "", "", ""]
        lines.append(f"| `{preset}` | {' | '.join(cells)} |")
    lines.append("")
    for name, about in expected["machines"].items():
        lines.append(f"Machine {name}: {about['cpu']}, {about['processors']} processors, {about['threads']} threads, {about['device']}, "
                     f"LibTorch {about['libtorch']}.")
    return "\n".join(lines)


def name_of_machine(expected, about):
    same = [name for name, known in expected["machines"].items() if known == about]
    name = same[0] if same else chr(ord("A") + len(expected["machines"]))
    expected["machines"][name] = about
    return name


def load(folder):
    path = folder / "expected.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"version": 1, "defaults": {}, "machines": {}, "rows": {}}


def save(folder, expected, presets):
    expected["rows"] = {preset: expected["rows"][preset] for preset in presets if preset in expected["rows"]}
    used = {row.get("machine") for row in expected["rows"].values()}
    expected["machines"] = {name: about for name, about in expected["machines"].items() if name in used}
    replace_file(folder / "expected.json", json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    write_part(folder / "README.md", BEGIN, END, table(expected))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains the presets and writes what to expect of them.")
    parser.add_argument("--only", action="append", metavar="PRESET", help="this preset; may be repeated (default: all)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hours", type=float, default=1.0, help="longest run that is measured here")
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--work", default=str(ROOT / "runs" / "measure_presets"), help="folder of the runs")
    parser.add_argument("--folder", default=str(ROOT / "configs"), help="folder of expected.json and README.md")
    parser.add_argument("--rehash", action="store_true", help="train nothing, write new digests of the configs")
    parser.add_argument("--table", action="store_true", help="train nothing, write the table from expected.json")
    own, extra = (sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]) if "--" in sys.argv else (sys.argv[1:], [])
    options = parser.parse_args(own)
    options.extra, options.folder = extra, pathlib.Path(options.folder)
    if extra and options.folder.resolve() == ROOT / "configs":
        parser.error("runs with options of their own are no measurement of the presets: give another --folder")
    return options


def main():
    options = parse_arguments()
    program, expected = Presets(options.program), load(options.folder)
    presets = program.names()
    if options.rehash:
        expected["defaults"] = program.defaults()
        for preset, row in expected["rows"].items():
            row["config"] = program.config_digest(preset, expected["defaults"])
    if options.table or options.rehash:
        return save(options.folder, expected, presets)
    unknown = [preset for preset in options.only or [] if preset not in presets]
    if unknown:
        raise SystemExit(f"presets.py: no preset is called {unknown[0]}; chargpt configs lists them")
    if not any(word.startswith("--text") for word in options.extra) and not (ROOT / "data/tinyshakespeare.txt").exists():
        raise SystemExit("presets.py: data/tinyshakespeare.txt is not there, and the sample inside the program is no measure; scripts/get_text.sh")
    defaults, here = program.defaults(), machine(program)
    kept = [preset for preset in expected["rows"] if options.only and preset not in options.only]
    changed = changed_defaults(expected["defaults"], defaults)
    if changed and kept:
        raise SystemExit(f"presets.py: the default of {changed[0]} has changed since {', '.join(kept)} were measured; measure all, without --only")
    expected["defaults"] = defaults
    for preset in options.only or presets:
        config = program.config_digest(preset, defaults)
        reason = too_much(program, preset, options.hours, options.extra)
        old = expected["rows"].get(preset, {})
        if reason and old.get("config") == config and "loss" in old:
            print(f"{preset}: {reason}; its row of {old['date']} stays", file=sys.stderr)
            continue
        row = {"config": config, "not_measured": reason} if reason else {"config": config, **measure(program, preset, options)}
        if not reason:
            row |= {"date": datetime.date.today().isoformat(), "machine": name_of_machine(expected, here), "program": program.json("doctor")["chargpt"]}
        expected["rows"][preset] = row
        save(options.folder, expected, presets)
        print(f"{preset}: {loss_cell(row)}", file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
