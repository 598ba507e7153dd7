from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from voice_agent.settings import setting_faults
from voice_agent.stack import plan as plan_module
from voice_agent.stack.errors import StackError
from voice_agent.stack.language import script_model
from voice_agent.stack.model_probe import LanguageModel
from voice_agent.stack.phone import Phone
from voice_agent.stack.plan import StackPlan, port_wishes, uses_own_livekit
from voice_agent.stack.processes import Program
from voice_agent.stack.program_finder import FoundProgram
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import VoiceServer

PORTS = {
    "PARLEY_WEB_PORT": 1,
    "PARLEY_LIVEKIT_PORT": 2,
    "PARLEY_LIVEKIT_UDP_PORT": 3,
    "PARLEY_SPEECH_PORT": 4,
    "PARLEY_LANGUAGE_PORT": 5,
    "PARLEY_WORKER_PORT": 6,
}
MODEL = LanguageModel("http://10.0.0.1:8000/v1", "qwen3", "found", "vLLM")
PLAN = StackPlan(
    home=Path("/home-folder"),
    ports=PORTS,
    livekit_url="ws://127.0.0.1:2",
    speech_url="http://127.0.0.1:4",
    language_model=script_model(5),
    livekit_server=FoundProgram(("/bin/livekit-server",), "1.13.5", "PATH"),
    livekit_config=Path("/home-folder/livekit.yaml"),
    environment={"PATH": "/bin", "PARLEY_PERSONA": "front_desk", "LIVEKIT_CONFIG": "other"},
    credentials=("key", "s" * 32),
)


@pytest.fixture(autouse=True)
def settings_of_this_test_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PARLEY_LIVEKIT_URL", "LIVEKIT_URL", "PARLEY_SPEECH_URL"):
        monkeypatch.delenv(name, raising=False)


def programs(plan: StackPlan) -> dict[str, Program]:
    return {program.name: program for program in plan.programs()}


def test_everything_is_started_and_the_worker_last() -> None:
    names = [program.name for program in PLAN.programs()]
    assert names == ["livekit", "speech", "responder", "web", "worker"]


def test_a_model_takes_the_place_of_the_script() -> None:
    started = programs(replace(PLAN, language_model=MODEL))
    assert "responder" not in started
    assert started["worker"].environment["PARLEY_LLM_URL"] == MODEL.url
    assert started["web"].environment["PARLEY_LLM_MODEL"] == MODEL.model


def test_a_model_of_our_own_runs_in_vllm_once_the_voice_has_loaded() -> None:
    own = LanguageModel("http://127.0.0.1:5/v1", "qwen3-8b", "own", "vLLM")
    told = {"PARLEY_LANGUAGE_ENGINE": "vllm", "PARLEY_LANGUAGE_MODEL_NAME": "qwen3-8b"}
    plan = replace(PLAN, language_model=own, language_settings=told)
    language = programs(plan)["language"]
    assert language.ready_url == "http://127.0.0.1:5/ready"
    assert told.items() <= language.environment.items()
    assert not language.after_others
    assert programs(plan)["worker"].environment["PARLEY_LLM_MODEL"] == "qwen3-8b"

    voice = VoiceServer(Path("/voice/bin/python"), {})
    ports = {**PORTS, "PARLEY_VOICE_PORT": 7}
    both = replace(plan, voice=voice, ports=ports).programs()
    names = [program.name for program in both]
    assert names.index("voice") < names.index("language")
    assert [program.name for program in both if program.after_others] == ["language"]


def test_every_program_is_told_the_same_addresses_and_home() -> None:
    for name, program in programs(PLAN).items():
        if name != "livekit":
            assert program.environment["PARLEY_HOME"] == "/home-folder"
            assert program.environment["LIVEKIT_URL"] == "ws://127.0.0.1:2"
            assert program.environment["PARLEY_SPEECH_URL"] == "http://127.0.0.1:4"
            assert program.environment["PARLEY_PERSONA"] == "front_desk"


def test_livekit_variables_of_the_user_do_not_change_our_server() -> None:
    livekit = programs(PLAN)["livekit"]
    assert not [name for name in livekit.environment if name.startswith("LIVEKIT_")]
    assert livekit.environment["PATH"] == "/bin"


def test_the_worker_is_ready_only_once_it_is_registered() -> None:
    worker = programs(PLAN)["worker"]
    assert worker.ready_line is not None
    assert worker.ready_line.search('{"message": "registered worker", "id": "AW_1"}')
    assert not worker.ready_line.search('{"message": "starting worker"}')


def test_the_telephone_starts_redis_first_and_livekit_server_once_that_is_ready() -> None:
    found = FoundProgram(("/bin/program",), "1.8.0", "PATH")
    redis, sip = Path("/home-folder/redis.conf"), Path("/home-folder/sip.yaml")
    phone = Phone(found, redis, found, sip, "127.0.0.1:5080")
    environment = {**PLAN.environment, "SIP_CONFIG_BODY": "other", "LIVEKIT_WS_URL": "ws://other"}
    plan = replace(PLAN, phone=phone, environment=environment)
    names = [program.name for program in plan.programs()]
    assert names[:3] == ["redis", "livekit", "sip"]
    assert names[-1] == "worker"
    started = programs(plan)
    assert started["livekit"].after_others
    assert started["redis"].command == ("/bin/program", redis)
    assert started["sip"].command == ("/bin/program", "--config", sip)
    told = [name for name in started["sip"].environment if name.startswith(("SIP_", "LIVEKIT_"))]
    assert not told, "they would win over the configuration file"
    assert started["sip"].environment["SOXR_LARGE_DFT_SIZE"] == "8"
    own = replace(plan, environment={"SOXR_LARGE_DFT_SIZE": "9"})
    assert programs(own)["sip"].environment["SOXR_LARGE_DFT_SIZE"] == "9"
    assert plan.describe({}, 1).sip_address == "127.0.0.1:5080"


def test_what_carries_sound_goes_before_the_rest() -> None:
    found = FoundProgram(("/bin/program",), "1.8.0", "PATH")
    phone = Phone(found, Path("/redis.conf"), found, Path("/sip.yaml"), "127.0.0.1:5080")
    voice = VoiceServer(Path("/voice/bin/python"), {})
    ports = {**PORTS, "PARLEY_VOICE_PORT": 7}
    plan = replace(PLAN, phone=phone, voice=voice, ports=ports)
    first = {program.name for program in plan.programs() if program.carries_sound}
    assert first == {"redis", "livekit", "sip"}


def test_without_a_telephone_nothing_waits_and_nothing_listens_for_one() -> None:
    assert not programs(PLAN)["livekit"].after_others
    assert PLAN.describe({}, 1).sip_address is None
    wished = {wish.setting for wish in port_wishes(RunSettings())}
    assert {"PARLEY_SIP_PORT", "PARLEY_REDIS_PORT"}.isdisjoint(wished)
    assert {"PARLEY_SIP_PORT", "PARLEY_REDIS_PORT"} <= {
        wish.setting for wish in port_wishes(RunSettings(phone=True))
    }


def test_servers_that_run_elsewhere_are_not_started() -> None:
    settings = RunSettings(livekit_url="wss://media.example", speech_url="http://gpu:8090")
    assert not uses_own_livekit(settings)
    wished = {wish.setting for wish in port_wishes(settings)}
    assert wished.isdisjoint({"PARLEY_LIVEKIT_PORT", "PARLEY_LIVEKIT_UDP_PORT"})
    assert "PARLEY_SPEECH_PORT" not in wished
    ports = {name: port for name, port in PORTS.items() if name != "PARLEY_SPEECH_PORT"}
    started = programs(replace(PLAN, ports=ports, livekit_server=None, livekit_config=None))
    assert list(started) == ["responder", "web", "worker"]


def test_the_voice_has_a_server_of_its_own() -> None:
    voice = VoiceServer(Path("/vllm/python"), {"PARLEY_SPEECH_ROLES": "tts"})
    listens = {"PARLEY_SPEECH_ROLES": "stt"}
    ports = {**PORTS, "PARLEY_VOICE_PORT": 7}
    plan = replace(PLAN, ports=ports, voice=voice, speech_settings=listens)
    started = programs(plan)
    assert list(started) == ["livekit", "speech", "voice", "responder", "web", "worker"]
    assert started["voice"].command == (Path("/vllm/python"), "-m", "speech_server")
    assert started["voice"].environment["PARLEY_SPEECH_PORT"] == "7"
    assert started["voice"].environment["PARLEY_SPEECH_ROLES"] == "tts"
    assert started["voice"].ready_url == "http://127.0.0.1:7/ready"
    assert started["speech"].environment["PARLEY_SPEECH_PORT"] == "4"
    assert started["speech"].environment["PARLEY_SPEECH_ROLES"] == "stt"
    assert started["worker"].environment["PARLEY_TTS_URL"] == "http://127.0.0.1:7"
    assert "PARLEY_SPEECH_ROLES" not in started["worker"].environment
    assert plan.describe({}, 1).voice_url == "http://127.0.0.1:7"


def test_without_a_voice_of_its_own_the_worker_is_told_of_none() -> None:
    assert "PARLEY_TTS_URL" not in programs(PLAN)["worker"].environment
    assert PLAN.describe({}, 1).voice_url is None


def test_the_metrics_page_can_be_off() -> None:
    on = {wish.setting for wish in port_wishes(RunSettings())}
    off = {wish.setting for wish in port_wishes(RunSettings(worker_metrics_port=0))}
    assert on - off == {"PARLEY_WORKER_METRICS_PORT"}
    assert PLAN.metrics_url is None


def test_outside_a_checkout_it_says_where_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "AGENT_SCRIPT", Path("/nowhere/agent.py"))
    with pytest.raises(StackError, match=r"/nowhere/agent\.py"):
        PLAN.programs()


def test_secrets_are_not_shown_where_a_program_is() -> None:
    assert "s" * 32 not in repr(PLAN.programs())
    assert "s" * 32 not in repr(PLAN)


def test_the_script_says_that_it_is_one() -> None:
    assert "not a language model" in script_model(5).describe()
    assert "qwen3" in MODEL.describe()


def test_wrong_settings_are_named_by_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_WEB_PORT", "99999")
    with pytest.raises(ValidationError) as raised:
        RunSettings()
    faults = list(setting_faults(raised.value))
    assert [name for name, _ in faults] == ["PARLEY_WEB_PORT"]


@pytest.mark.parametrize(
    "ports",
    ["", "20000", "20000-", "a-b", "20100-20000", "80-90", "60000-70000", "-1-5", "20001-20001"],
)
def test_a_wrong_range_of_media_ports_is_refused(ports: str) -> None:
    with pytest.raises(ValidationError, match="port"):
        RunSettings(sip_rtp_ports=ports)


def test_listening_everywhere_needs_the_address_that_callers_reach() -> None:
    with pytest.raises(ValidationError, match="PARLEY_SIP_ADDRESS"):
        RunSettings(sip_listen="0.0.0.0")
    settings = RunSettings(sip_listen="0.0.0.0", sip_address="203.0.113.7")
    assert str(settings.sip_address) == "203.0.113.7"
    assert RunSettings(sip_address="").sip_address is None
