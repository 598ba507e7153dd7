import pytest
import yaml
from pydantic import ValidationError

from language_server.dialogue.intents import (
    BANK_INTENTS,
    FRONT_DESK_INTENTS,
    SHARED_INTENTS,
    bank_intents,
    built_in_intents,
    parse_intents,
)


def test_the_built_in_files_know_every_intent() -> None:
    assert set(built_in_intents().root) == FRONT_DESK_INTENTS
    assert set(bank_intents().root) == BANK_INTENTS | SHARED_INTENTS


def entries() -> dict[str, dict[str, object]]:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return {
        intent.value: {
            "rank": 1,
            "examples": [f"{intent.value.replace('_', ' ')} {a}" for a in alphabet[:5]],
        }
        for intent in FRONT_DESK_INTENTS
    }


def test_a_complete_file_is_read() -> None:
    assert len(parse_intents(yaml.safe_dump(entries())).root) == len(FRONT_DESK_INTENTS)


@pytest.mark.parametrize("fault", ["missing", "unknown", "doubled", "few", "rank", "capital"])
def test_a_mistake_in_the_file_is_refused(fault: str) -> None:
    data = entries()
    examples = data["book"]["examples"]
    assert isinstance(examples, list)
    if fault == "missing":
        del data["book"]
    elif fault == "unknown":
        data["dance"] = data["book"]
    elif fault == "doubled":
        examples.append("greeting a")
    elif fault == "few":
        del examples[1:]
    elif fault == "rank":
        data["book"]["rank"] = 11
    else:
        examples.append("BOOK!")
    with pytest.raises(ValidationError):
        parse_intents(yaml.safe_dump(data))
