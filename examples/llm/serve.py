"""A model behind OpenAI's chat interface on this machine.

usage: serve.py --model DIR [--host ADDRESS] [--port N] [--dtype float32|bfloat16|int8]
       [--max-requests N] [--max-waiting N] [--memory 512MiB]

Port 0 is any that is free; the line that is printed says which.
"""

import argparse
import pathlib
import re
import signal
import threading

from checkpoint import DTYPES
from endpoint import Server
from llama import Llama
from text import Text

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(text):
    """Bytes of "512MiB"; argparse tells of anything else."""
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text)
    if found is None or found[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 512MiB, 2GiB or bytes")
    return int(found[1]) * UNITS[found[2]]


def count(text):
    """An integer of 1 to 32."""
    if not text.isdecimal() or not 1 <= int(text) <= 32:
        raise argparse.ArgumentTypeError(f"{text!r}; it may be 1 to 32")
    return int(text)


def main():
    args = parser().parse_args()
    folder = pathlib.Path(args.model).resolve()
    server = Server(
        Llama(folder, args.dtype),
        Text(folder),
        folder.name,
        (args.host, args.port),
        args.memory,
        args.max_requests,
        args.max_waiting,
    )
    for name in (signal.SIGINT, signal.SIGTERM):
        # shutdown waits for serve_forever, which this thread runs
        signal.signal(name, lambda *_: threading.Thread(target=server.shutdown).start())
    with server:
        print(f"{folder.name} at http://{args.host}:{server.server_port}/v1", flush=True)
        server.serve_forever()


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--model", required=True, metavar="DIR")
    made.add_argument("--host", default="127.0.0.1")
    made.add_argument("--port", type=int, default=8000)
    made.add_argument("--dtype", choices=DTYPES, default="float32")
    made.add_argument("--max-requests", type=count, default=32, help="in a batch, 1 to 32")
    made.add_argument("--max-waiting", type=int, default=256)
    made.add_argument("--memory", type=size, default="512MiB", help="of keys and values")
    return made


if __name__ == "__main__":
    main()
