"""Files and pickles: what is written can be read."""

import copy
import io
import pickle

import numpy as np

a = np.arange(6.0).reshape(2, 3)
for protocol in range(2, 6):
    data = pickle.dumps(a, protocol)
    print(protocol, b"asnumpy" in data, b"numpy" in data, (pickle.loads(data) == a).all())
print(pickle.loads(pickle.dumps({"x": a, "y": [a[0], a.T]}))["y"][1].shape)
file = io.BytesIO()
np.save(file, a)
print(len(file.getvalue()), file.getvalue()[:8])
file.seek(0)
print(np.load(file))
file = io.BytesIO()
np.savez(file, a=a, b=np.arange(3))
file.seek(0)
with np.load(file) as saved:
    print(saved.files, saved["b"])
text = io.StringIO()
np.savetxt(text, a, fmt="%.2f", delimiter=",", header="x,y,z")
print(text.getvalue())
text.seek(0)
print(np.loadtxt(text, delimiter=","))
csv = "name,v\na,1.5\nb,2.5\n"
print(np.genfromtxt(io.StringIO(csv), delimiter=",", names=True, dtype=None, encoding="utf-8"))
b = copy.deepcopy(a)
b[0, 0] = 9
print(a[0, 0], b[0, 0], a.tobytes()[:16], np.fromstring("1 2 3", sep=" "))
