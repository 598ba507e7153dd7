"""`parley phone doctor`: the way of a call, checked piece by piece."""

import asyncio
import ipaddress
import json
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

import aiohttp
import psutil
from livekit.protocol import sip

from voice_agent.phone.apply import read_provisioned
from voice_agent.phone.errors import PhoneError, one_line
from voice_agent.phone.livekit_service import livekit_api
from voice_agent.phone.provisioning import Provisioned
from voice_agent.phone.provisioning_check import check_provisioned
from voice_agent.phone.sip_probe import ANSWER_TIMEOUT_S, NoSipAnswer, ask_options
from voice_agent.settings import AgentSettings
from voice_agent.stack.diagnosis import Finding
from voice_agent.stack.readiness import client_session
from voice_agent.stack.settings import RunSettings, media_ports

MAX_PORTS_TRIED = 256
"""Media ports that are tried; a range may hold tens of thousands."""
MAX_ANSWER_BYTES = 4000
SIP_PORT, SIP_TLS_PORT = 5060, 5061
"""Source: RFC 3261, section 19.1.2."""


@dataclass(frozen=True)
class Bridge:
    """Where livekit-sip is, and what it tells callers.

    Attributes:
        host: host of its signalling.
        port: port of it.
        told: address that callers are told for the sound; empty where it is not known here.
        rtp_ports: its media ports, `FIRST-LAST`; empty where it is not known here.
    """

    host: str
    port: int
    told: str = ""
    rtp_ports: str = ""


def own_bridge(settings: RunSettings) -> Bridge:
    """The bridge that `parley run` would start on this machine."""
    listen = settings.sip_listen
    host = "127.0.0.1" if listen.is_unspecified else str(listen)
    told = str(settings.sip_address or listen)
    return Bridge(host, settings.sip_port, told, settings.sip_rtp_ports)


def running_bridge(address: str, settings: RunSettings) -> Bridge:
    """The bridge of the stack that runs on this machine.

    Args:
        address: where telephones find it, `HOST:PORT`.
        settings: of `parley run`, which need not be those that it was started with.
    """
    told, _, port = address.rpartition(":")
    own = own_bridge(settings)
    # behind NAT nothing on this machine may reach the address that callers are told
    return replace(
        own, host=told if told in _own_addresses() else own.host, port=int(port), told=told
    )


async def examine(
    settings: AgentSettings, bridge: Bridge, worker_url: str
) -> AsyncIterator[Finding]:
    """Check everything, in the order in which a call meets it.

    Args:
        settings: of the worker, for LiveKit's address, the agent's name and the personas.
        bridge: livekit-sip.
        worker_url: the worker's health page.
    """
    yield await check_signalling(bridge)
    for finding in (*check_media_ports(bridge), *check_address(bridge)):
        yield finding
    provisioned: Provisioned | None = None
    try:
        async with livekit_api(settings) as client:
            provisioned = await read_provisioned(client.sip)
    except PhoneError as error:
        yield Finding("LiveKit and Redis", "problem", error.message, error.fix)
    if provisioned is not None:
        yield Finding("LiveKit and Redis", "ok", "answers, knows the key and keeps trunks")
        for finding in check_provisioned(provisioned, settings.agent_name, settings.personas_dir):
            yield finding
        async for finding in check_providers(provisioned):
            yield finding
    yield await check_worker(worker_url, settings.agent_name)


async def check_signalling(bridge: Bridge) -> Finding:
    """Whether livekit-sip answers, over UDP and over TCP."""
    subject = f"signalling {bridge.host}:{bridge.port}"
    answers = []
    try:
        for transport in ("udp", "tcp"):
            status = await ask_options(bridge.host, bridge.port, transport)
            answers.append(f"{transport} {status}")
    except NoSipAnswer as error:
        return Finding(
            subject,
            "problem",
            "; ".join([*answers, f"{transport}: {error}"]),
            "Start livekit-sip (`make run PHONE=1`); if it runs, look for a firewall between here "
            "and there, and at PARLEY_SIP_LISTEN and PARLEY_SIP_PORT.",
        )
    return Finding(subject, "ok", ", ".join(answers))


def check_media_ports(bridge: Bridge) -> Iterator[Finding]:
    """Whether the ports of the sound are free, and what a firewall has to let through."""
    if not bridge.rtp_ports:
        return
    ports = media_ports(bridge.rtp_ports)
    subject = f"media ports UDP {bridge.rtp_ports}"
    tried = ports[:: -(-len(ports) // MAX_PORTS_TRIED)]
    busy = [port for port in tried if not _is_free(port)]
    if len(busy) == len(tried):
        yield Finding(
            subject, "problem", "all in use", "Set PARLEY_SIP_RTP_PORTS to a range of its own."
        )
        return
    held = f", {len(busy)} in use now (calls, or another program)" if busy else ""
    detail = f"{len(ports)} calls at most{held}"
    if ipaddress.ip_address(bridge.told or "127.0.0.1").is_loopback:
        yield Finding(subject, "ok", detail)
        return
    yield Finding(
        subject,
        "note",
        detail,
        f"A firewall must let UDP {bridge.rtp_ports} and {bridge.port} (UDP and TCP) in, at best "
        f"from the provider's networks only: sudo ufw allow proto udp from NETWORK to any port "
        f"{bridge.rtp_ports.replace('-', ':')}. Silence in one direction means that it does not.",
    )


def check_address(bridge: Bridge) -> Iterator[Finding]:
    """Whether the address that callers are told for the sound can be reached by them."""
    if not bridge.told:
        return
    subject = f"address for the sound {bridge.told}"
    address = ipaddress.ip_address(bridge.told)
    if address.is_loopback:
        yield Finding(
            subject,
            "note",
            "only telephones on this machine can be heard",
            "For others set PARLEY_SIP_LISTEN=0.0.0.0 and PARLEY_SIP_ADDRESS to the address that "
            "they reach.",
        )
    elif str(address) in _own_addresses():
        reach = "this network only" if address.is_private else "everywhere"
        yield Finding(subject, "ok", f"this machine's own; reachable from {reach}")
    elif address.is_private:
        yield Finding(
            subject,
            "problem",
            "private, and not this machine's: callers hear nothing, or are not heard",
            "Set PARLEY_SIP_ADDRESS to the public address of the router in front of this machine.",
        )
    else:
        yield Finding(
            subject,
            "note",
            "public, and not this machine's: a router must pass it on (NAT)",
            f"Forward UDP {bridge.rtp_ports or 'media ports'} and {bridge.port} to this machine, "
            "with the same port numbers, and turn the router's SIP helper (SIP ALG) off.",
        )


async def check_providers(found: Provisioned) -> AsyncIterator[Finding]:
    """Whether the hosts that calls are made through answer.

    Some answer nobody whom they do not know, so silence is only worth a note.
    """
    for trunk in found.outbound:
        transport = (
            "tls"
            if trunk.transport == sip.SIPTransport.SIP_TRANSPORT_TLS
            else ("tcp" if trunk.transport == sip.SIPTransport.SIP_TRANSPORT_TCP else "udp")
        )
        yield await _check_provider(trunk.address, transport)


async def _check_provider(address: str, transport: str) -> Finding:
    host, _, port = address.partition(":")
    subject = f"provider {one_line(address)}"
    try:
        if transport == "tls":
            await _connect(host, int(port or SIP_TLS_PORT))
            return Finding(subject, "ok", "can be reached (TLS port, not asked further)")
        status = await ask_options(
            host, int(port or SIP_PORT), "tcp" if transport == "tcp" else "udp"
        )
    except (NoSipAnswer, OSError, TimeoutError, ValueError) as error:
        return Finding(
            subject,
            "note",
            f"{one_line(str(error)) or type(error).__name__} ({transport})",
            "Some providers answer only whom they know. If calls fail: address and transport of "
            "the trunk, and whether the provider knows this machine's address.",
        )
    return Finding(subject, "ok", f"answers {status}")


async def check_worker(url: str, agent_name: str) -> Finding:
    """Whether a worker of the right name runs on this machine."""
    subject = f"worker {agent_name}"
    try:
        async with client_session() as session:
            async with session.get(f"{url}/worker") as response:
                body = await response.content.read(MAX_ANSWER_BYTES)
            async with session.get(f"{url}/") as response:
                healthy = response.status == 200
        registered = json.loads(body)["agent_name"]
    except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError) as error:
        return Finding(
            subject,
            "note",
            f"none at {url} ({one_line(str(error)) or type(error).__name__})",
            "Without a worker it rings, then callers are told busy. Start it (`make run`); one on "
            "another machine cannot be seen from here.",
        )
    if registered != agent_name:
        return Finding(
            subject,
            "problem",
            f"the worker at {url} is called {registered!r}",
            "Set PARLEY_AGENT_NAME to one name for the worker and for this command.",
        )
    if not healthy:
        return Finding(
            subject,
            "problem",
            f"the worker at {url} has no connection to LiveKit",
            "Give it the LIVEKIT_URL, key and secret of the server.",
        )
    return Finding(subject, "ok", f"registered ({url})")


async def _connect(host: str, port: int) -> None:
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        _, writer = await asyncio.open_connection(host, port)
    writer.close()


def _is_free(port: int) -> bool:
    """Whether livekit-sip, whose media sockets listen on every interface, could have the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _own_addresses() -> set[str]:
    return {
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET
    }
