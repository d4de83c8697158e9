"""A BERT classifier of transformers is trained on a task made here: does a sentence begin with a word of the first half?

python bert_finetune.py [--layers 4] [--steps 100] [--device npu]        random weights: nothing is downloaded
"""

import argparse

import torch
import torch_npu  # noqa: F401
from transformers import BertConfig, BertForSequenceClassification


def sentences(count, length, words, draw):
    """Tokens, a mask of those that are no padding, and labels."""
    tokens = torch.randint(4, words, (count, length), generator=draw)
    lengths = torch.randint(length // 2, length + 1, (count, 1), generator=draw)
    mask = (torch.arange(length) < lengths).long()
    tokens = tokens * mask
    return tokens, mask, (tokens[:, 0] < words // 2).long()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--device", default="npu")
    options = parser.parse_args()

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=options.words, hidden_size=options.width, num_hidden_layers=options.layers,
        num_attention_heads=4, intermediate_size=4 * options.width, max_position_embeddings=options.length,
        hidden_dropout_prob=options.dropout, attention_probs_dropout_prob=options.dropout, num_labels=2,
    )  # fmt: skip
    model = BertForSequenceClassification(config).to(options.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    draw = torch.Generator().manual_seed(1)
    losses = []
    for step in range(options.steps):
        batch = sentences(options.batch, options.length, options.words, draw)
        tokens, mask, labels = (t.to(options.device) for t in batch)
        optimizer.zero_grad()
        loss = model(input_ids=tokens, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1}: loss {sum(losses[-10:]) / 10:.4f}")


if __name__ == "__main__":
    main()
