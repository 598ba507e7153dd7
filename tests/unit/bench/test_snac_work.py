import json
from pathlib import Path

import pytest

from bench.tts.snac_work import main, measure, read_replies
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import Pace
from tests.tiny_voice import FOLDER, SNAC_FOLDER, sentences


@pytest.fixture(scope="module")
def snac() -> SnacDecoder:
    return load_snac(SNAC_FOLDER, "cpu")


def test_ours_is_exact_and_the_reference_is_not(snac: SnacDecoder) -> None:
    replies = sorted(read_replies(FOLDER / "codes.json", []), key=len)[:2]
    summary = measure(snac, replies, Pace(), rounds=1)["summary"]
    assert summary["frames_lost"] == 0
    assert summary["max_stream_error"] <= 1e-4
    assert summary["tokens_before_first_audio"] == 14
    assert summary["reference_frames_lost"] == 3 * len(replies)
    assert summary["reference_max_error"] > 1e-3
    assert summary["decode_work_ratio_vs_reference"] > 0


def test_an_exact_pace_has_no_opening(snac: SnacDecoder) -> None:
    result = measure(snac, read_replies(None, [1.0]), Pace(opening=()), rounds=1)
    assert result["summary"]["opening_error"] <= 1e-4
    assert result["summary"]["tokens_before_first_audio"] == 28
    errors = [result["look_ahead_error"][ahead]["max"] for ahead in ("0", "1", "2")]
    assert errors == sorted(errors, reverse=True)


def test_the_command_writes_its_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, codes = tmp_path / "work.json", tmp_path / "codes.json"
    codes.write_text(json.dumps({"sentences": [{"frames": sentences()["Yes."]}]}))
    options = ["--rounds", "1", "--speed", "4", "--json", str(file), "--codes", str(codes)]
    monkeypatch.setattr("sys.argv", ["snac_work", *options])
    main()
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written == json.loads(capsys.readouterr().out)
    assert written["conditions"]["opening"] == [1]
