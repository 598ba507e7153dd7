"""A network of its own with no way out, and a watch on whatever tries to leave it.

Run inside a fresh network namespace (`unshare --map-root-user --net`): it makes a pair of connected
interfaces with default routes that lead to the far end, where every packet is captured. So what
wants to leave is not just blocked but seen.
"""

import re
import shutil
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, field

ISOLATE = ("unshare", "--map-root-user", "--net")
"""Starts a command in a network namespace of its own."""
NEAR, FAR = "parley0", "parley1"
NEAR_IPV4, FAR_IPV4 = "10.99.0.1", "10.99.0.2"
NEAR_IPV6, FAR_IPV6 = "fd99::1", "fd99::2"
FAR_MAC = "02:00:00:00:00:02"
OUTSIDE_IPV4, OUTSIDE_IPV6 = "203.0.113.7", "2001:db8::7"
"""Addresses that nobody has: the documentation ranges of RFC 5737 and RFC 3849."""

ETH_P_ALL, ETH_P_IPV4, ETH_P_IPV6 = 0x0003, 0x0800, 0x86DD
PACKET_OUTGOING = 4
TCP, UDP, ICMPV6 = 6, 17, 58
DNS_PORT = 53
NAME_QUERY = re.compile(rf":{DNS_PORT}( asks |$)")
NEIGHBOUR_DISCOVERY = frozenset(range(130, 138)) | {143}
"""ICMPv6 types the kernel itself sends on any link: MLD, router and neighbour messages."""


def why_not() -> str | None:
    """Why no network namespace can be made here; None when one can."""
    for program in ("unshare", "ip"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: apt-get install util-linux iproute2)"
    probe = f"ip link add {NEAR} type veth peer name {FAR}"
    result = subprocess.run([*ISOLATE, "sh", "-c", probe], capture_output=True, text=True)
    return None if result.returncode == 0 else f"no network namespace here: {result.stderr.strip()}"


def make_network() -> None:
    """Bring up loopback and the pair, with default routes for IPv4 and IPv6 to the far end.

    Raises:
        subprocess.CalledProcessError: not in a namespace of one's own, or `ip` is missing.
    """
    for command in (
        "link set lo up",
        f"link add {NEAR} type veth peer name {FAR}",
        f"link set {FAR} address {FAR_MAC}",
        f"link set {NEAR} up",
        f"link set {FAR} up",
        f"addr add {NEAR_IPV4}/24 dev {NEAR}",
        f"addr add {NEAR_IPV6}/64 dev {NEAR} nodad",
        # A neighbour that is known needs no asking, so the first packet itself is seen.
        f"neigh add {FAR_IPV4} lladdr {FAR_MAC} dev {NEAR} nud permanent",
        f"neigh add {FAR_IPV6} lladdr {FAR_MAC} dev {NEAR} nud permanent",
        f"route add default via {FAR_IPV4} dev {NEAR}",
        f"-6 route add default via {FAR_IPV6} dev {NEAR}",
    ):
        subprocess.run(["ip", *command.split()], check=True, capture_output=True, timeout=10)


@dataclass
class Watch:
    """Captures what leaves by the pair, and what asks a name server on this machine."""

    attempts: list[str] = field(default_factory=list)
    """`PROTOCOL DESTINATION:PORT` of every packet, in order."""

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        for interface in (FAR, "lo"):
            capture = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
            capture.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_194_304)
            capture.bind((interface, ETH_P_ALL))
            threading.Thread(target=self._capture, args=(capture, interface), daemon=True).start()

    def take(self) -> list[str]:
        """Everything seen so far; it is then forgotten.

        A datagram of our own is sent first and waited for: all that was sent before it was seen.
        """
        for family, address in (
            (socket.AF_INET, OUTSIDE_IPV4),
            (socket.AF_INET6, OUTSIDE_IPV6),
        ):
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.sendto(b"control", (address, 9))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.sendto(b"control", ("127.0.0.9", DNS_PORT))
        control = {f"udp {OUTSIDE_IPV4}:9", f"udp {OUTSIDE_IPV6}:9", f"udp 127.0.0.9:{DNS_PORT}"}
        with self._changed:
            if not self._changed.wait_for(lambda: control <= set(self.attempts), timeout=10):
                raise AssertionError(
                    "the watch does not see what leaves; its answer proves nothing"
                )
            seen = [attempt for attempt in self.attempts if attempt not in control]
            self.attempts.clear()
        return seen

    def _capture(self, capture: socket.socket, interface: str) -> None:
        while True:
            packet, (_, protocol, direction, *_) = capture.recvfrom(256)
            if interface == "lo" and direction != PACKET_OUTGOING:
                continue
            attempt = describe(packet, protocol)
            if attempt is None or (interface == "lo" and not NAME_QUERY.search(attempt)):
                continue
            with self._changed:
                self.attempts.append(attempt)
                self._changed.notify_all()


def describe(packet: bytes, protocol: int) -> str | None:
    """`udp 8.8.8.8:53 asks NAME` of an IP packet; None for what the kernel sends on any link."""
    if protocol == ETH_P_IPV4 and len(packet) >= 20:
        transport, header = packet[9], (packet[0] & 0x0F) * 4
        destination = socket.inet_ntop(socket.AF_INET, packet[16:20])
    elif protocol == ETH_P_IPV6 and len(packet) >= 40:
        transport, header = packet[6], 40
        destination = socket.inet_ntop(socket.AF_INET6, packet[24:40])
        if transport == 0 and len(packet) >= 48:  # MLD reports carry a hop-by-hop header
            transport, header = packet[40], 40 + 8 * (packet[41] + 1)
        if transport == ICMPV6 and packet[header : header + 1] and (
            packet[header] in NEIGHBOUR_DISCOVERY
        ):  # fmt: skip
            return None
    else:
        return None
    name = {TCP: "tcp", UDP: "udp"}.get(transport)
    if name is None or len(packet) < header + 4:
        return f"protocol-{transport} {destination}:0"
    port = struct.unpack_from("!H", packet, header + 2)[0]
    question = _question(packet[header + 20 :]) if (name, port) == ("udp", DNS_PORT) else ""
    return f"{name} {destination}:{port}{question}"


def _question(rest: bytes) -> str:
    """` asks example.com` from what follows the header of a name server query."""
    labels = []
    while rest and 0 < rest[0] < 64:
        labels.append(rest[1 : 1 + rest[0]].decode("ascii", "replace"))
        rest = rest[1 + rest[0] :]
    return f" asks {'.'.join(labels)}" if labels else ""
