#!/usr/bin/env python3
"""What each ingredient of a preset is worth: each dropped in turn, trained with several seeds beside the whole.

    scripts/measure/ablation.py default --max_iters 1000      writes the table into configs/README.md, between its markers
    scripts/measure/ablation.py default --out /tmp/ablation   prints it alone

The configs differ from the preset in one place each (VARIANTS) and go through `chargpt compare`, which trains all of them on the same
data order; the table has the mean over seeds of each difference and their range, which is no interval. Options after the preset shorten every run.
"""

import argparse
import datetime
import json
import pathlib
import tempfile

from workbench import PROGRAM, ROOT, Program, write_part

CONVOLUTIONS = {"match": "conv_", "learning_rate": 0.1, "weight_decay": 0.0}
EMBEDDING = {"match": "wte|lm_head", "learning_rate": 1e-2, "weight_decay": 0.1}
MUON = {"match": "\\.h\\.", "learning_rate": 1e-2, "weight_decay": 0.1, "optimizer": "muon"}
NO_CONVOLUTION = {"conv_places": []}


def change(model, *groups):
    return {"model": model, "train": {"groups": list(groups)}}


COMMON = {
    "learned positions, not rotary": {"model": {"position": "learned"}},
    "no positions": {"model": {"position": "none"}},
    "GELU, not ReLU²": {"model": {"activation": "gelu"}},
    "LayerNorm with gain, not RMS norm without": {"model": {"norm": "layernorm", "norm_gain": True}},
    "no QK-norm": {"model": {"qk_norm": False}},
    "tied head": {"model": {"tie_weights": True}},
    "residual branches not zero at first": {"model": {"residual_init": "scaled"}},
    "cosine to a tenth, not linear to zero": {"train": {"lr_schedule": "cosine", "min_lr": 2e-4}},
    "windows drawn at random": {"train": {"windows": "random"}},
}
VARIANTS = {
    "default": COMMON | {
        "no convolution": change(NO_CONVOLUTION, EMBEDDING, MUON),
        "a convolution before attention too": {"model": {"conv_places": ["attention", "mlp"]}},
        "no decay of Muon's matrices": change({}, CONVOLUTIONS, EMBEDDING, {**MUON, "weight_decay": 0.0}),
        "AdamW, not Muon": change({}, CONVOLUTIONS, EMBEDDING),
        "embedding and head at the others' rate": change({}, CONVOLUTIONS, {**EMBEDDING, "learning_rate": 2e-3}, MUON),
        "convolutions at the others' rate": change({}, {**CONVOLUTIONS, "learning_rate": 2e-3}, EMBEDDING, MUON),
        "3 layers of 96, not 6 of 64": {"model": {"n_layer": 3, "n_head": 3, "n_embd": 96}},
    },
}  # fmt: skip


def write_configs(preset, folder):
    """File name -> what was changed."""
    names = {}
    for number, (what, changed) in enumerate(VARIANTS[preset].items(), 1):
        name = f"without-{number:02}"
        (folder / f"{name}.json").write_text(json.dumps({"extends": preset} | changed))
        names[name] = what
    return names


def compare(program, preset, folder, arguments):
    names = write_configs(preset, folder)
    configs = [folder / f"{name}.json" for name in names]
    return Program(program).json("compare", preset, *configs, "--seeds", arguments.seeds, "--out", folder / "runs", *arguments.options, quiet=False), names


def losses(row):
    return [seed["loss"] for seed in row["seeds"]]


def table(result, names, preset, arguments):
    rows = {row["config"]: row for row in result["results"]}
    whole = losses(rows[preset])
    lines = [f"| `{preset}` with one thing changed | loss | difference, and its range over seeds |", "|---|---|---|",
             f"| nothing | {rows[preset]['mean']:.3f} | |"]
    for name, what in sorted(names.items(), key=lambda item: rows[item[0]]["mean"]):
        changes = [mine - base for mine, base in zip(losses(rows[name]), whole)]
        lines.append(f"| {what} | {rows[name]['mean']:.3f} | {sum(changes) / len(changes):+.3f} ({min(changes):+.3f} to {max(changes):+.3f}) |")
    options = " ".join(arguments.options)
    lines += ["", f"`scripts/measure/ablation.py {preset}{' ' + options if options else ''}`, {arguments.seeds} seeds, {datetime.date.today()}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", choices=VARIANTS)
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, help="keep configs and runs here, and only print the table")
    arguments, arguments.options = parser.parse_known_args()
    if not any(word.startswith("--text") for word in arguments.options) and not (ROOT / "data/tinyshakespeare.txt").exists():
        raise SystemExit("ablation.py: data/tinyshakespeare.txt is not there, and the sample inside the program is no measure; scripts/get_text.sh")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.out or pathlib.Path(temporary)).resolve()  # as the program runs in ROOT
        folder.mkdir(parents=True, exist_ok=True)
        text = table(*compare(arguments.program, arguments.preset, folder, arguments), arguments.preset, arguments)
    print(text)
    if arguments.out:
        return
    write_part(ROOT / "configs" / "README.md", f"<!-- ablation {arguments.preset}: begin -->", f"<!-- ablation {arguments.preset}: end -->", text)


if __name__ == "__main__":
    main()
