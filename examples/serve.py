"""A server that reports the joules of its answers: prefill and decode apart, per token.

    joulemap record -o serve.joulemap -- python examples/serve.py --requests 40
    joulemap report serve.joulemap --by phase

It plays its own clients, so that it ends by itself.
"""

from __future__ import annotations

import argparse
import random
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import joulemap
import torch
from torch import nn


class Model(nn.Module):
    """A stand-in for a language model: it reads the prompt at once, then makes a token at a time."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.mlp = nn.Sequential(nn.Linear(width, 8 * width), nn.GELU(), nn.Linear(8 * width, width))
        self.head = nn.Linear(width, 1000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.mlp(self.embed(tokens)))
        return out


@torch.inference_mode()
def generate(run: joulemap.Session, model: nn.Module, prompt: torch.Tensor, count: int) -> list[int]:
    with run.phase("prefill"), run.step(tokens=len(prompt), name="prompt"):
        token = model(prompt)[-1].argmax()
    answer = [int(token)]
    with run.phase("decode"), run.step(tokens=count, name="answer"):
        for _ in range(count - 1):
            token = model(token[None])[-1].argmax()
            answer.append(int(token))
    return answer


def play_clients(address: str, requests: int) -> None:
    for _ in range(requests):
        with urllib.request.urlopen(f"{address}/{random.randint(100, 2000)}") as reply:
            reply.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=40)
    requests = parser.parse_args().requests
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model().to(device).eval()

    with joulemap.Session() as run:
        run.watch(model)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                prompt = torch.randint(1000, (int(self.path[1:]),), device=device)
                body = str(generate(run, model, prompt, count=200)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            clients = threading.Thread(target=play_clients, args=(f"http://127.0.0.1:{server.server_port}", requests))
            clients.start()
            for _ in range(requests):
                server.handle_request()
            clients.join()


if __name__ == "__main__":
    main()
