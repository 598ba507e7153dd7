import argparse
import json
import zipfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from bench.gpu.tts import dummy_orpheus
from bench.gpu.tts.dummy_orpheus import FramedSource, into_slot, tokens_wanted
from bench.gpu.tts.measure import main, numbers
from bench.gpu.tts.result import Result
from bench.gpu.tts.snac_speed import Speed, measure_snac
from bench.gpu.wheels import missing
from bench.percentiles import Percentiles
from speech_server.tts.orpheus_codes import END_OF_SPEECH_ID, SLOTS, FrameAssembler, slot_of
from speech_server.tts.orpheus_prompt import Prompt, build_prompt
from speech_server.tts.vllm_source import check_model
from tests.tiny_voice import SNAC_FOLDER
from tests.unit.bench.spoken_texts import QUIET
from tests.unit.speech_server.fake_voice import FakeSource

TEXT = "Would you like to speak to a colleague?"


def prompt(text: str = TEXT) -> Prompt:
    return build_prompt(text, "tara", FakeSource().encode)


class Chance(FakeSource):
    """Writes anything but codes, and never ends."""

    async def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        while True:
            yield [0, 128_009, 156_939, 4096]


async def test_whatever_is_written_becomes_frames_and_ends_in_time() -> None:
    source = FramedSource(Chance())
    ids = [id_ async for step in source.generate(prompt()) for id_ in step]
    assembler = FrameAssembler(max_dropped_tokens=0)
    frames = [frame for id_ in ids for frame in assembler.push(id_)]
    assert assembler.ended
    assert ids[-1] == END_OF_SPEECH_ID
    assert len(ids) == tokens_wanted(prompt()) + 1 == SLOTS * len(frames) + 1
    # 40 characters take an unhurried speaker between one and five seconds.
    assert 12 < len(frames) < 60


async def test_a_segment_that_is_taken_up_again_is_no_longer() -> None:
    source = FramedSource(Chance())
    spoken = [into_slot(index, 5) for index in range(2 * SLOTS)]
    ids = [id_ async for step in source.generate(prompt(), spoken) for id_ in step]
    assert len(ids) == tokens_wanted(prompt()) - len(spoken) + 1
    assert slot_of(ids[0]) == 0


def test_even_a_short_text_is_worth_some_frames() -> None:
    assert tokens_wanted(prompt("a")) == 6 * SLOTS
    assert tokens_wanted(Prompt((), 3 * SLOTS, 0.0)) == 3 * SLOTS


def test_the_engine_takes_the_folder_for_a_model(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    dummy_orpheus.write(tmp_path)
    check_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["vocab_size"] > into_slot(6, 4095)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ids = tokenizer.encode("tara: Yes, 9 é 你", add_special_tokens=False).ids
    assert len(ids) == len("tara: Yes, 9 é 你".encode())
    assert max(ids) < 256


def test_the_parameters_are_those_of_a_model_of_three_billion() -> None:
    c = dummy_orpheus.TRUE
    hidden, heads, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    attention = hidden * c["head_dim"] * (2 * heads + 2 * kv)
    layer = attention + 3 * hidden * c["intermediate_size"] + 2 * hidden
    total = c["num_hidden_layers"] * layer + c["vocab_size"] * hidden + hidden
    # Its weights in bfloat16 are 6.6 GB on disk.
    assert total == pytest.approx(3.3e9, rel=0.01)


def test_snac_is_timed_by_slice_and_batch() -> None:
    speeds = list(measure_snac(SNAC_FOLDER, "cpu", [1, 2], repeats=1))
    assert [(speed.slice, speed.frames, speed.batch) for speed in speeds[:4]] == [
        ("opening", 1, 1),
        ("opening", 1, 2),
        ("exact", 1, 1),
        ("exact", 1, 2),
    ]
    assert all(speed.streams > 0 for speed in speeds)
    assert speeds[-1].slice == "reference"


def test_the_page_has_a_row_for_each_measurement() -> None:
    took = Percentiles(0.002, 0.0031, 0.004)
    result = Result(None, "small", [Speed("exact", 4, 8, took, 1365.3)], [QUIET], ["a note"])
    page = result.markdown()
    assert "| exact | 4 | 8 | 2.00 | 3.10 | 1365 |" in page
    assert "| 1 | 10 | 100 | 100 | 100 | 100 | 100 | 0.10 | 0 | 0 | 3.5 | 0.05 |  | 0 |" in page
    assert "- a note" in page
    assert json.dumps(result.to_json(), allow_nan=False)
    assert "Text in" not in Result("GPU", "true").markdown()


@pytest.mark.parametrize("text", ["", "x", "0", "1,-2"])
def test_numbers_that_are_none_are_told(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1,2,4"):
        numbers(text)


def test_a_machine_without_torch_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("sys.argv", ["measure"])
    with pytest.raises(SystemExit):
        main()
    assert "lacks torch and snac" in capsys.readouterr().err


def test_only_what_the_machine_lacks_is_installed(tmp_path: Path) -> None:
    for name in ("numpy-1.0-py3-none-any.whl", "no_such_thing-1.0-py3-none-any.whl"):
        zipfile.ZipFile(tmp_path / name, "w").close()
    assert [wheel.name for wheel in missing(tmp_path)] == ["no_such_thing-1.0-py3-none-any.whl"]
