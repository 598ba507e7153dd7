"""Settings of `parley run`, read as every other setting is; see `voice_agent.settings`."""

from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from voice_agent.settings import OptionalText, ParleySettings


def media_ports(rtp_ports: str) -> range:
    """The ports of a range `FIRST-LAST` that can carry a call: livekit-sip takes the even ones.

    Source: livekit/media-sdk at 966281e, rtp/listen.go, `ListenUDPEvenPortRange`.
    """
    first, last = (int(port) for port in rtp_ports.split("-"))
    return range(first + first % 2, last + 1, 2)


class RunSettings(ParleySettings):
    """Settings of `parley run`, which starts every process on one machine.

    Port 0 takes a free port, except for `worker_metrics_port`, where it turns the page off.
    """

    web_port: int = Field(8080, ge=0, le=65535)
    """Port of the page and the token endpoint."""
    livekit_port: int = Field(7880, ge=0, le=65535)
    """TCP port of livekit-server: signalling and room API."""
    livekit_udp_port: int = Field(7882, ge=0, le=65535)
    """UDP port of livekit-server: all media."""
    speech_port: int = Field(8090, ge=0, le=65535)
    """Port of the speech server."""
    language_port: int = Field(8091, ge=0, le=65535)
    """Port of our language server: the scripted responder, or a model in vLLM."""
    worker_port: int = Field(8081, ge=0, le=65535)
    """Port of the worker's health page."""
    worker_metrics_port: int = Field(8082, ge=0, le=65535)
    """Port of the worker's Prometheus page; 0 turns it off."""
    voice_port: int = Field(8092, ge=0, le=65535)
    """Port of the Orpheus voice, where it has a speech server of its own."""

    livekit_server_bin: Path | None = None
    """The livekit-server program to run; None: `PATH`, then the home folder, then it is built."""
    speech_url: str | None = None
    """A speech server that runs already; None: `parley run` starts one."""
    tts_url: str | None = None
    """A text-to-speech server that runs already; None: the speech server, or the Orpheus voice."""
    tts_engine: str = "auto"
    """Text-to-speech engine; `orpheus` gets a speech server of its own, in vLLM's environment."""
    tts_model: str | None = None
    """Orpheus: directory of the language model."""
    tts_snac: str | None = None
    """Orpheus: directory of the codec. Empty: the folder `snac` in the model's directory."""
    voice_python: Path | None = None
    """Orpheus: interpreter of an environment with vLLM and the speech server; None: the one that
    `make .venv-vllm/.installed` makes, for a CPU."""
    llm_url: str | None = None
    """Base URL of an OpenAI-compatible model server; None: one found here, else the script."""
    llm_model: str | None = None
    """Model to ask for; None: the first one of the model server that can chat."""
    llm_api_key: SecretStr = SecretStr("none")
    """Key for the model server; local ones take any."""
    language_engine: Literal["responder", "vllm"] = "responder"
    """What our language server runs where no other is named: the script, or a model in vLLM."""
    language_model: Path | None = None
    """vLLM: directory of the model."""
    language_model_name: OptionalText = None
    """vLLM: name under which the model is asked for. Empty: the directory's name."""
    language_python: Path | None = None
    """vLLM: interpreter of an environment with vLLM. Empty: the voice's (`voice_python`), or the
    one that `make .venv-vllm/.installed` makes, for a CPU."""
    llm_probe: bool = True
    """Look for a model server on this machine when `llm_url` is not set."""

    phone: bool = False
    """Take telephone calls as well: Redis and livekit-sip are started too (docs/phone.md)."""
    sip_port: int = Field(5080, ge=0, le=65535)
    """Phone: port of SIP signalling, UDP and TCP. Providers and firewalls expect 5060, which on a
    desk a softphone may have."""
    sip_rtp_ports: str = "20000-20063"
    """Phone: UDP ports of the sound, two a call: half as many calls at once, those that ring among
    them, and more are refused. They listen on every interface."""
    sip_listen: IPv4Address = IPv4Address("127.0.0.1")
    """Phone: IPv4 address that SIP signalling listens on."""
    sip_address: IPv4Address | None = None
    """Phone: IPv4 address that callers are told, behind NAT the public one. Empty: `sip_listen`."""
    sip_first_sound_s: int = Field(15, ge=2, le=300)
    """Phone: a call that was answered and brings no sound at all is ended after this, seconds: its
    sound does not find the way to us. livekit-sip's own default is 30."""
    sip_sound_gone_s: int = Field(60, ge=2, le=3600)
    """Phone: a call whose sound has stopped is ended after this, seconds. A telephone on hold may
    send nothing, and the agent itself lets a silent caller go within 50 s; livekit-sip's own
    default is 15."""
    redis_port: int = Field(6399, ge=0, le=65535)
    """Phone: port of Redis; not the usual one, as Debian's package starts one there."""
    livekit_sip_bin: Path | None = None
    """Phone: the livekit-sip program to run; None: `PATH`, then the home folder, then it is
    built."""
    redis_server_bin: Path | None = None
    """Phone: the Redis (or Valkey) program to run; None: `PATH`."""

    ready_timeout_s: float | None = Field(None, gt=0, le=3600)
    """Longest wait until every process is ready, seconds. Empty: 180; with Orpheus 900."""
    stop_timeout_s: float = Field(8.0, gt=0, le=3600)
    """Time a process has to end after SIGTERM before it is killed, seconds."""
    niceness: int = Field(10, ge=0, le=19)
    """Phone: by how much all that does not carry sound goes after livekit-server, livekit-sip and
    Redis where processors are short, as `nice` counts. 0 on a machine that has other work as well:
    all of it would go before the models, too."""

    @property
    def lowered_by(self) -> int:
        """`niceness` where there is a telephone: WebRTC asks again for what livekit-sip drops."""
        return self.niceness if self.phone else 0

    @field_validator("sip_rtp_ports")
    @classmethod
    def _range_of_ports(cls, value: str) -> str:
        first, dash, last = value.partition("-")
        if not (dash and first.isdecimal() and last.isdecimal()):
            raise ValueError("Give the first and the last port: 20000-20063.")
        if not 1024 <= int(first) <= int(last) <= 65535:
            raise ValueError("The ports lie between 1024 and 65535, the lower one first.")
        if not media_ports(value):
            raise ValueError("The sound takes even ports, and there is none among these.")
        return value

    @field_validator("sip_address", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return value or None

    @model_validator(mode="after")
    def _callers_are_told_an_address(self) -> Self:
        if self.sip_listen.is_unspecified and self.sip_address is None:
            raise ValueError(
                "PARLEY_SIP_LISTEN=0.0.0.0 needs PARLEY_SIP_ADDRESS, the address callers reach."
            )
        return self
