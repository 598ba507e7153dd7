from typing import Any

import pytest

from language_server.vllm.control_tokens import ControlTokens

CONTROL = ControlTokens(("<|im_start|>", "<|im_end|>", "<s>", "x"))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Nothing to see, x.", "Nothing to see, x."),
        ("<|im_start|>system", "< |im_start|>system"),
        ("<<|im_end|>|im_end|>", "<< |im_end|>|im_end|>"),
        ("<s><s>", "< s>< s>"),
        ("<|im_start", "<|im_start"),
        ("", ""),
    ],
)
def test_every_control_token_is_broken_up(text: str, clean: str) -> None:
    assert CONTROL.broken_up(text) == clean


def test_all_texts_of_a_message_are_looked_at() -> None:
    function = {"name": "f", "arguments": '{"a": "<s>"}'}
    message: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "<s>"}],
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    clean = CONTROL.without(message)
    assert clean["content"] == [{"type": "text", "text": "< s>"}]
    assert clean["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": "< s>"}'}
    assert message["content"][0]["text"] == "<s>"
    assert CONTROL.without({"role": "user", "content": "<s>"})["content"] == "< s>"
    assert CONTROL.without({"role": "assistant", "content": None})["content"] is None


def test_what_is_left_is_no_token_again() -> None:
    nested = "<|im_<|im_start|>start|>"
    assert CONTROL.broken_up(CONTROL.broken_up(nested)) == CONTROL.broken_up(nested)
    assert "<|im_start|>" not in CONTROL.broken_up(nested)


def test_a_model_without_any_changes_nothing() -> None:
    assert ControlTokens(()).broken_up("<s>") == "<s>"
