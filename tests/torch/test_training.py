"""Small models that train on `npu` as on `cpu` (training.py), in one process."""

from conftest import ROOT, start


def test_models_train_as_on_the_cpu():
    done = start(ROOT / "tests" / "torch" / "training.py")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 5, done.stdout
