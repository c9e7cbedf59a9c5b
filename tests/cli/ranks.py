"""What tests of several processes share: mpirun, tiny trainings, and what came of them."""

import os
import pathlib
import shutil
import subprocess

from program import PROGRAM, QUICK, Outcome, ProgramTest, last_wins, metrics

SMALL = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "16", "--batch_size", "6", "--log_interval", "1"]
MODULE = pathlib.Path(PROGRAM).parent / "chargpt-mpi.so"
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class RanksCase(ProgramTest):
    def setUp(self):
        super().setUp()
        if shutil.which("mpirun") is None or not MODULE.exists():
            self.skipTest("mpirun is not here, or the build has no MPI")

    def start(self, ranks, *arguments, program=PROGRAM):
        words = ["mpirun", "-np", str(ranks), program, *map(str, arguments)]
        return subprocess.Popen(words, cwd=self.folder, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def together(self, ranks, *arguments, code=0, timeout=120, **keywords):
        """What so many ranks write, which end with that code."""
        process = self.start(ranks, *arguments, **keywords)
        out, err = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, code, err)
        return Outcome(subprocess.CompletedProcess([], process.returncode, out, err))

    def training(self, run, *more, iters=24):
        return last_wins(["train", "nanogpt-cpu", "--run", run, "--max_iters", iters, *QUICK, *SMALL, "--quiet", *more])

    def losses(self, run):
        return {row["step"]: row["loss"] for row in metrics(self.folder / run) if row.get("loss") is not None}

    def running(self, run, *more):
        """Two ranks of a long training that has saved something."""
        process = self.start(2, *self.training(run, *more, iters=100000))
        self.wait_for_save(run)
        return process

    def rank_process(self, rank):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder) == str((process / "cwd").readlink()) and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    return int(process.name)
            except OSError:
                continue
        self.fail(f"no rank {rank}")
