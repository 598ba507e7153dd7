from pathlib import Path

import pytest

from bench.gpu.stt.cuda_libraries import library_path
from bench.gpu.stt.measure import markdown


def test_the_wanted_libraries_are_found(tmp_path: Path) -> None:
    for name in ("libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.9"):
        (tmp_path / name).touch()
    assert library_path(tmp_path / "links", [tmp_path]) == str(tmp_path)
    assert not (tmp_path / "links").exists()


def test_a_newer_cublas_stands_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    libraries, links = tmp_path / "lib", tmp_path / "links"
    libraries.mkdir()
    for name in ("libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9"):
        (libraries / name).touch()
    for _ in range(2):  # a second run finds the links of the first
        assert library_path(links, [libraries]) == f"{links}:{libraries}"
        assert (links / "libcublas.so.12").resolve() == libraries / "libcublas.so.13"
    assert "stands in" in capsys.readouterr().err


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert library_path(tmp_path, []) == ""
    assert "libcudnn.so.9: not found" in capsys.readouterr().err


def test_the_page_has_a_row_for_each_round() -> None:
    row = {
        "system": "parley",
        "streams": 8,
        "final_s": {"p50": 0.11, "p95": None},
        "after_finalize_s": None,
        "interim_hz": 1.96,
        "load": {"batch_mean": 2.5, "engine_busy": 0.5, "cpu_cores": 1.0},
        "wer": 0.0,
        "offline_wer": None,
        "lost": 1,
        "refused": 0,
    }
    page = markdown(
        {
            "gpu": None,
            "dimensions": "tiny",
            "single": {"audio_s": 10.0, "p50": 0.03, "p95": 0.04},
            "report": {"rounds": [row], "notes": ["something"]},
        }
    )
    cells = "| parley | 8 | 110.0 | never | never | 2.0 | 2.5 | 0.50 | 1.00 | 0.0 |  | 1 |"
    assert cells in page
    assert "p50 30.0 ms" in page
    assert "- something" in page
