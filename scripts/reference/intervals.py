#!/usr/bin/env python3
"""The interval that tests/evaluate/statistics_test.cpp expects of the losses it makes, computed by other means than the program's: NumPy and
SciPy, a cosine transform by FFT, covariances as matrices. The method: src/evaluate/README.md.

    python3 scripts/reference/intervals.py            print the interval
    python3 scripts/reference/intervals.py --check    compare it with the test's figures
    python3 scripts/reference/intervals.py --claims   how often one of several equal configs is called better than another, and what
                                                      difference is shown in 80 of 100 comparisons
"""
import functools
import pathlib
import sys

try:
    import numpy as np
    from scipy.fft import dct
    from scipy.linalg import toeplitz
    from scipy.optimize import brentq
    from scipy.stats import nct, t
except ImportError:
    print("skipped because python3 has no NumPy and SciPy: reference_intervals")
    sys.exit(77)

TEST = pathlib.Path(__file__).resolve().parents[2] / "tests" / "evaluate" / "statistics_test.cpp"

WAVES, CELLS = 32, 256


def losses():
    i = np.arange(40_000)
    return ((i * 7919 % 1000).astype(np.float32) / np.float32(1000) + np.float32(0.05) * (i // 500 * (i // 500) * 7 % 11).astype(np.float32)).astype(float)


@functools.cache
def variances(memory):
    """Of the mean's error, and of the waves, whose own mean is 1."""
    k = np.arange(CELLS + 1.0)
    motion = k ** (2 * memory + 1)
    noise = np.concatenate([[2 * motion[1]], motion[2:] - 2 * motion[1:-1] + motion[:-2]])
    covariance = toeplitz(noise if memory < 0.5 else -noise)
    cell = np.arange(CELLS) + 0.5
    waves = np.array([np.sqrt(2) * np.cos(np.pi * j * cell / CELLS) for j in range(1, WAVES + 1)])
    ones = np.ones(CELLS)
    of_waves = np.diag(waves @ covariance @ waves.T)
    return ones @ covariance @ ones / of_waves.mean(), of_waves / of_waves.mean()


def false_claims(random, configs, seeds, spreads, comparisons=20_000):
    runs = random.standard_normal((comparisons, configs, seeds)) * spreads[:, None]
    best = np.take_along_axis(runs, runs.mean(2).argmin(1)[:, None, None], axis=1)
    difference = runs - best
    error = difference.std(2, ddof=1) / np.sqrt(seeds)
    critical = t.isf(0.025 / (configs * (configs - 1) / 2), seeds - 1)
    return np.mean((difference.mean(2) > critical * error).any(1))


def claims():
    random = np.random.default_rng(1)
    for configs in range(2, 7):
        for seeds in (2, 3, 5, 10):
            critical = t.isf(0.025 / (configs * (configs - 1) / 2), seeds - 1)
            shown = brentq(lambda d: nct.sf(critical, seeds - 1, d) - 0.8, 0, 4 * critical + 4) * np.sqrt(2 / seeds)
            alike, unlike = (false_claims(random, configs, seeds, spreads) for spreads in (np.ones(configs), np.geomspace(1, 4, configs)))
            print(f"| {configs} | {seeds} | {100 * alike:.1f} % | {100 * unlike:.1f} % | {shown:.1f} |")


def models():
    """Memory, share of noise in the waves' mean variance, prior weight."""
    yield 0, 0, 1
    for step in range(1, 13):
        prior = 3 if step == 6 else 1
        yield 0.08 * step, 0, 0.75 * prior
        yield 0.08 * step, 0.6, 0.25 * prior


def half_width(x):
    """Of the 95 % interval around the mean of the losses `x`; None where it cannot be said."""
    if len(x) < 10_000:
        return None
    x = np.asarray(x, float)
    edges = len(x) * np.arange(4097) // 4096
    parts = np.add.reduceat(x, edges[:-1]) / np.diff(edges)
    waves = dct(parts - parts.mean(), type=2, norm="ortho")[1:WAVES + 1] / np.sqrt(len(parts))
    logs, scales, drifts = [], [], []
    for memory, noise, prior in models():
        mean, of_waves = ((1 - noise) * variance + noise for variance in variances(memory))
        fitted = np.mean(waves**2 / of_waves)
        logs.append(np.log(prior) - np.log(of_waves).sum() / 2 - WAVES / 2 * np.log(fitted))
        drifts.append(memory > 0.5)
        scales.append(np.inf if drifts[-1] else np.sqrt(mean * fitted))
    weights, scales, drifts = np.exp(np.array(logs) - max(logs)), np.array(scales), np.array(drifts)
    if weights[drifts].sum() > weights[~drifts].sum():
        return None
    weights, scales = weights[~drifts] / weights[~drifts].sum(), scales[~drifts]
    return brentq(lambda h: 2 * weights @ t.sf(h / scales, WAVES) - 0.05, 1e-9, 1e3)


def main():
    if "--claims" in sys.argv:
        return claims()
    x = losses()
    half = half_width(x)
    ends = [f"{end:.6f}" for end in (x.mean() - half, x.mean() + half)]
    print(" to ".join(ends))
    missing = [end for end in ends if "--check" in sys.argv and f"Approx({end})" not in TEST.read_text(encoding="utf-8")]
    for end in missing:
        print(f"{TEST.name} does not expect {end}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
