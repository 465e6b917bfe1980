"""Speculative decoding: a draft proposes, the model checks; joules for each token produced.

    joulemap record -o speculative.joulemap -- python examples/speculative.py
    joulemap report speculative.joulemap --by request --depth 1

The draft is the first layers of the model itself. Weights are random, the later layers' small: so they often agree.
"""

from __future__ import annotations

import argparse
import random

import joulemap
import torch
from serve_batched import Block, Config, Model, PagedCache
from torch import Tensor, nn


def draft_of(model: Model, layers: int, weaken: float) -> Model:
    """Return the first layers of a model as a draft model; scale down the output of the later layers by `weaken`."""
    draft = Model.__new__(Model)
    nn.Module.__init__(draft)
    draft.embed, draft.blocks, draft.head = model.embed, model.blocks[:layers], model.head
    for block in model.blocks[layers:]:
        assert isinstance(block, Block)
        with torch.no_grad():
            block.attention.out.weight *= weaken
            block.down.weight *= weaken
    return draft


class Speaker:
    """A model and the cache of the one sequence that it generates."""

    def __init__(self, model: Model, config: Config, tokens: int, device: str) -> None:
        pages = -(-tokens // PagedCache.page)
        self.model, self.cache = model, PagedCache(config, pages, device, model.head.weight.dtype)
        self.slots = self.cache.slots([list(range(pages))], tokens)
        self.fed = 0

    def say(self, tokens: list[int]) -> list[int]:
        """Feed the tokens not yet in the cache; return the most probable next token after each."""
        device = self.slots.device
        fresh = torch.tensor([tokens[self.fed :]], device=device)
        positions = torch.arange(self.fed, len(tokens), device=device)[None]
        logits: Tensor = self.model(fresh, positions, self.cache, self.slots[:, : len(tokens)])
        self.fed = len(tokens)
        followers: list[int] = logits[0].argmax(dim=-1).tolist()
        return followers


@torch.inference_mode()
def generate(
    run: joulemap.Session,
    target: Speaker,
    draft: Speaker,
    request: joulemap.types.Request,
    prompt: list[int],
    count: int,
    k: int,
) -> tuple[list[int], int]:
    """Return `count` tokens after a prompt, or up to k more, and the number of passes of the target for them."""
    tokens = list(prompt)
    target.fed = draft.fed = passes = 0
    with run.phase("prefill"), run.step(requests={request: (len(prompt), 0)}):
        tokens.append(target.say(tokens)[-1])
        draft.say(prompt)
    while len(tokens) < len(prompt) + count:
        with run.phase("decode"), run.step(requests={request: (0, k + 1)}):
            guess = list(tokens)
            with run.window("draft"):
                for _ in range(k):
                    guess.append(draft.say(guess)[-1])
            with run.window("check"):
                right = target.say(guess)
        passes += 1
        agreed = 0
        while agreed < k and guess[len(tokens) + agreed] == right[agreed]:
            agreed += 1
        tokens += right[: agreed + 1]  # after the agreed tokens the target's own one
        # Wrong guesses stay in the cache, but the next tokens overwrite them.
        target.fed, draft.fed = len(tokens) - 1, min(draft.fed, len(tokens) - 1)
    request.made = len(tokens) - len(prompt) - 1
    return tokens[len(prompt) :], passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--k", type=int, default=4, help="tokens that the draft proposes")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = Config(layers=8)
    torch.manual_seed(0)
    model = Model(config).to(device).eval()
    speakers = [Speaker(each, config, 400, device) for each in (model, draft_of(model, 2, weaken=0.1))]
    dice = random.Random(1)

    with joulemap.Session() as run:
        passes = made = 0
        for number in range(args.requests):
            prompt = [dice.randrange(config.vocabulary) for _ in range(100)]
            with joulemap.request(f"request {number}", tokens=len(prompt)) as request:
                _, count = generate(run, speakers[0], speakers[1], request, prompt, 100, args.k)
            passes += count
            made += request.made or 0
        print(f"{made / passes:.2f} tokens per pass of the model, {args.k + 1} if it always agreed")
        print(f"acceptance rate {(made - passes) / (args.k * passes):.2f}")
        totals = run.report("request").totals
        if totals.decode_j is not None and totals.decode_tokens:
            print(f"{1e3 * totals.decode_j / totals.decode_tokens:.1f} mJ a token that came out")


if __name__ == "__main__":
    main()
