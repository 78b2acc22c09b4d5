"""Trainers in processes started by mpirun: bit-identical to one process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tenon
from training import assert_same_bits, examples, network

HERE = Path(__file__).parent
SCRIPT = """
import sys
import tenon
from training import examples, network

trainer = tenon.Trainer(network(), examples(), epochs=2, batch=16, micro_batches=3,
                        distributed=True, comm_timeout=30)
sys.stdout.write(f"{trainer.rank} of {trainer.processes}\\n")
for report in trainer:
    pass
if trainer.rank == 0:
    trainer.graph().save(sys.argv[1])
"""


def run(processes: int, *arguments: str) -> list[str]:
    """Runs processes and returns their output lines in the order of their ranks."""
    mpirun = shutil.which("mpirun.openmpi")
    if mpirun is None:
        pytest.skip("there is no Open MPI")
    done = subprocess.run(
        [
            mpirun,
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
            "-n",
            str(processes),
            sys.executable,
            *arguments,
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    if "no plugin provides a transport between them" in done.stderr:
        pytest.skip("this build has no kernels for Open MPI")
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def test_two_processes_train_what_one_does(tmp_path: Path) -> None:
    assert run(2, "-c", SCRIPT, str(tmp_path / "two.tenon")) == ["0 of 2", "1 of 2"]
    with tenon.Trainer(network(), examples(), epochs=2, batch=16, micro_batches=3) as alone:
        assert (alone.rank, alone.processes) == (0, 1)
        for _ in alone:
            pass
        assert_same_bits(tenon.load(tmp_path / "two.tenon"), alone.graph())


@pytest.mark.parametrize("processes", [1, 3, 4])
def test_operators_between_processes(processes: int) -> None:
    assert run(processes, str(HERE / "collectives.py")) == [
        f"{rank} of {processes}" for rank in range(processes)
    ]


def test_micro_batches_are_at_least_as_many_as_processes() -> None:
    with tenon.Trainer(network(), examples(), distributed=True) as alone:  # without a launcher
        assert alone.processes == 1
