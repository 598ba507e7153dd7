"""Every profile's command line, read by vLLM's own parser."""

import json
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from language_server.settings import LanguageServerSettings, ProfileName
from language_server.vllm.command import vllm_command
from language_server.vllm.model import read_model
from tests.unit.language_server.vllm.model_folder import make_folder
from tests.vllm_environment import MISSING, PYTHON

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    pytest.mark.timeout(300),  # vLLM's imports take half a minute on a busy CPU
]

READ = """
import json, sys
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
for line in sys.stdin:
    parser = make_arg_parser(FlexibleArgumentParser())
    options = vars(parser.parse_args(json.loads(line)))
    print("OPTIONS " + json.dumps(options, default=str))
"""


def arguments(folder: Path, profile: ProfileName, **fields: Any) -> list[str]:
    settings = LanguageServerSettings(language_profile=profile, **fields)
    made = vllm_command(
        settings,
        read_model(folder),
        socket=Path("/run/x.sock"),
        python=PYTHON,
        environment={},
        cores=1,
    )
    return list(made.arguments[3:])


def test_vllm_understands_every_command(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", template="{{ enable_thinking }} <tool_call>")
    profiles: tuple[ProfileName, ...] = get_args(ProfileName)
    commands = [arguments(folder, profile) for profile in profiles]
    commands.append(
        arguments(folder, "h100", language_kv_cache_dtype="fp8", language_cache_blocks=50)
    )
    ran = subprocess.run(
        [PYTHON, "-c", READ],
        input="\n".join(map(json.dumps, commands)),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = [line for line in ran.stdout.splitlines() if line.startswith("OPTIONS ")]
    read = [json.loads(line.removeprefix("OPTIONS ")) for line in lines]
    assert len(read) == len(commands)
    for options in read:
        assert options["scheduling_policy"] == "priority"
        assert options["enable_prefix_caching"] is True
        assert options["enable_prompt_tokens_details"] is True
        assert options["disable_fastapi_docs"] is True
        assert options["tool_call_parser"] == "hermes"
        assert options["default_chat_template_kwargs"] == {"enable_thinking": False}
        assert options["uds"] == "/run/x.sock"
        assert not options["trust_remote_code"]
    on_two = read[profiles.index("2xh100")]
    assert (on_two["tensor_parallel_size"], on_two["performance_mode"]) == (2, "interactivity")
    assert on_two["quantization"] == "fp8"
    assert (read[-1]["num_gpu_blocks_override"], read[-1]["kv_cache_dtype"]) == (50, "fp8")
