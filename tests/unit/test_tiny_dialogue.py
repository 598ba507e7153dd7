"""The tiny Llama that is kept with the tests knows the dialogue that they hold with it."""

from tests.tiny_dialogue import MADE_OF, made_of


def test_the_model_is_the_one_that_its_dialogue_makes() -> None:
    made = MADE_OF.read_text(encoding="utf-8").strip()
    assert made == made_of(), "run `python -m tests.tiny_dialogue` with vLLM's environment"
