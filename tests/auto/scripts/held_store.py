"""Measurements kept as JSON, as zipped arrays and in a mapped file, with a log."""

import io
import json
import logging
import os
import sys
import tempfile

import numpy as np

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("store")


class Encoder(json.JSONEncoder):
    def default(self, obj):
        if isinstance(obj, np.ndarray):
            return {"dtype": str(obj.dtype), "shape": obj.shape, "data": obj.ravel().tolist()}
        if isinstance(obj, (np.integer, np.floating, np.bool_)):
            return obj.item()
        return super().default(obj)


def decode(d):
    return np.array(d["data"], dtype=d["dtype"]).reshape(d["shape"]) if "dtype" in d else d


run = {
    "id": np.int32(7), "good": np.bool_(True), "gain": np.float32(0.5),
    "trace": np.arange(6, dtype=np.int16).reshape(2, 3), "phase": np.array(1.25),
}  # fmt: skip
text = json.dumps(run, cls=Encoder)
print(text)
again = json.loads(text, object_hook=decode)
log.info("trace %s %s, equal: %s", again["trace"].dtype, again["trace"].shape,
         np.array_equal(again["trace"], run["trace"]))  # fmt: skip
try:
    json.dumps({"trace": run["trace"]})
except TypeError as error:
    log.error("%s", error)

buffer = io.BytesIO()
np.savez_compressed(buffer, trace=run["trace"], mask=run["trace"] % 2 == 0)
buffer.seek(0)
with np.load(buffer) as archive:
    log.info(
        "%s", {k: (archive[k].dtype.name, int(archive[k].sum())) for k in sorted(archive.files)}
    )
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "mapped.npy")
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(3, 4))
    mapped[:] = np.arange(12).reshape(3, 4) ** 2
    mapped[1] *= -1
    mapped.flush()
    read = np.load(path, mmap_mode="r")
    log.info("%s %s", read.sum(axis=1), type(read).__name__)
    try:
        read[0, 0] = 1
    except ValueError as error:
        log.warning("%s", error)
    del mapped, read
print(np.array2string(np.sqrt(again["trace"]), precision=2, separator=", "), repr(again["phase"]))
np.savetxt(sys.stdout, again["trace"], fmt="%d", delimiter=";", header="a;b;c")
