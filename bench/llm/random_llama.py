"""Makes a Llama with random weights: the work of a real one of its size, and nothing to say.

    python bench/llm/random_llama.py OUT_DIR [--layers 4] [--hidden 512]

Runs in vLLM's environment. The tokenizer and the chat template are those of the tests' tiny Llama.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

FIXTURE = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "tiny_dialogue"
HEAD_DIM = 64
POSITIONS = 16_384


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=512)
    options = parser.parse_args()
    sys.path.insert(0, str(FIXTURE))
    from make_llama import make_tokenizer

    torch.manual_seed(7)
    dialogue = json.loads((FIXTURE / "dialogue.json").read_text(encoding="utf-8"))
    tokenizer = make_tokenizer(dialogue)
    heads = options.hidden // HEAD_DIM
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=options.hidden,
            intermediate_size=3 * options.hidden,
            num_hidden_layers=options.layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            head_dim=HEAD_DIM,
            max_position_embeddings=POSITIONS,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    # What is no ASCII text is never the likeliest: vLLM holds half a character back, and the times
    # between tokens would be those between characters.
    silent = [
        number
        for number in range(len(tokenizer))
        if not tokenizer.decode([number]).isascii() or number in tokenizer.added_tokens_decoder
    ]
    with torch.no_grad():
        model.get_input_embeddings().weight[silent] = 0.0
    options.out.mkdir(parents=True, exist_ok=True)
    model.to(torch.bfloat16).save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
