"""Runs a command under one value of ATEN_CPU_CAPABILITY; where this machine, or this build, has not so much, says so and ends with 77,
and so where it has no more: then the other tests have run the command under that very value.

    CHARGPT=build/chargpt python3 tests/at_capability.py avx2 NAME COMMAND…       NAME: what the command tests
"""

import json
import os
import subprocess
import sys

KERNELS = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "default": "portable"}

level, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]


def kernels_under(environment):
    doctor = [os.environ["CHARGPT"], "doctor", "--json", "--quiet"]
    return json.loads(subprocess.run(doctor, env=environment, stdout=subprocess.PIPE, check=True).stdout)["kernels"]


environment = dict(os.environ, ATEN_CPU_CAPABILITY=level)
found = kernels_under(environment)
if found != KERNELS[level]:
    print(f"skipped because ATEN_CPU_CAPABILITY={level} asks for the kernels {KERNELS[level]} where there are {found}: {name}")
    sys.exit(77)
if kernels_under(os.environ) == found:
    print(f"skipped because ATEN_CPU_CAPABILITY={level} is what this machine runs at in any case: {name}")
    sys.exit(77)
sys.exit(subprocess.run(command, env=environment, check=False).returncode)
