"""The telephone's sound: its code, its packets, its band."""

import av
import numpy as np
import pytest

from bench.call.sayings import Saying
from bench.phone import g711
from bench.phone.narrowband import for_the_line, thickened, thinned
from bench.phone.rtp import Packet, Reception, unpack
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ, audible_indices
from voice_agent.caller.wav import Utterance

EVERY_SAMPLE = np.arange(-(2**15), 2**15).astype(np.int16)
EVERY_BYTE = bytes(range(2**8))


def test_every_byte_means_what_it_means_to_others() -> None:
    decoder = av.CodecContext.create("pcm_mulaw", "r")
    decoder.sample_rate, decoder.layout = g711.RATE_HZ, "mono"
    (frame,) = decoder.decode(av.Packet(EVERY_BYTE))
    np.testing.assert_array_equal(g711.decode(EVERY_BYTE), frame.to_ndarray()[0])


def test_every_sample_is_off_by_half_a_step_at_most() -> None:
    magnitude = np.abs(EVERY_SAMPLE.astype(np.int32))
    heard = g711.decode(g711.encode(EVERY_SAMPLE)).astype(np.int32)
    # sixteen steps for each doubling of what the bias of 132 has been added to
    assert (np.abs(heard - EVERY_SAMPLE) <= (magnitude + 132) / 32).all()


def test_what_was_encoded_once_stays_as_it_is() -> None:
    once = g711.decode(g711.encode(EVERY_SAMPLE))
    np.testing.assert_array_equal(g711.decode(g711.encode(once)), once)


def test_a_packet_is_read_as_it_was_written() -> None:
    packet = Packet(g711.PAYLOAD_TYPE, 65_535, 2**32 - 1, b"\x01\x02")
    assert unpack(packet.pack(source=7)) == packet


def test_what_a_header_may_hold_beside_is_left_out() -> None:
    plain = Packet(0, 5, 160, b"abc").pack(1)
    with_sources = bytes([plain[0] | 2]) + plain[1:12] + bytes(8) + b"abc"
    extended = bytes([plain[0] | 0x10]) + plain[1:12] + b"\x00\x00\x00\x01" + bytes(4) + b"abc"
    padded = bytes([plain[0] | 0x20]) + plain[1:] + b"\x00\x02"
    for data in (with_sources, extended, padded):
        assert unpack(data) == Packet(0, 5, 160, b"abc")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80" * 11,
        b"\x00" * 20,
        b"\x90" + bytes(11),
        b"\x8f" + bytes(11),
        b"\xa0" + bytes(10) + b"\xff",
    ],
)
def test_what_is_no_packet_is_left(data: bytes) -> None:
    assert unpack(data) is None


def received(*sequence: int) -> tuple[Reception, list[bool]]:
    reception = Reception()
    return reception, [reception.take(number) for number in sequence]


def test_missing_packets_are_counted_across_the_end_of_the_numbers() -> None:
    reception, in_order = received(65_533, 65_534, 1, 2)
    assert reception.lost == 2
    assert reception.received == 4
    assert all(in_order)


def test_a_packet_that_was_overtaken_is_not_lost_but_late() -> None:
    reception, in_order = received(10, 12, 11, 12, 13)
    assert (reception.lost, reception.received, reception.duplicates) == (0, 4, 1)
    assert in_order == [True, True, False, False, True]


def tone(hz: float) -> np.ndarray:
    seconds = np.arange(RATE_HZ) / RATE_HZ
    return (6000 * np.sin(2 * np.pi * hz * seconds)).astype(np.int16)


def saying(samples: np.ndarray) -> Saying:
    audible = audible_indices(samples)
    assert audible is not None
    utterance = Utterance("one", "one", samples, audible[1])
    return Saying("tuned", "complete", "slt", (), audible[0] / RATE_HZ, utterance)


def test_what_fits_the_line_is_neither_moved_nor_changed() -> None:
    samples = np.concatenate([np.zeros(2400, np.int16), tone(700), np.zeros(2400, np.int16)])
    line = for_the_line(saying(samples))
    sent = thickened(thinned(line.utterance.samples))
    both = samples[: len(sent)].astype(np.float64), sent.astype(np.float64)
    shifts = [float(np.dot(both[0][300:-300], np.roll(both[1], n)[300:-300])) for n in (-6, 0, 6)]
    assert max(shifts) == shifts[1]
    assert line.onset_s == pytest.approx(0.1, abs=0.002)
    assert line.utterance.last_audible == pytest.approx(2400 + RATE_HZ, abs=60)
    assert len(line.utterance.samples) % FRAME_SAMPLES == 0


def test_what_the_line_does_not_carry_is_not_said() -> None:
    hiss_at_the_end = np.concatenate([tone(700), tone(6000)])
    line = for_the_line(saying(hiss_at_the_end))
    assert line.utterance.last_audible == pytest.approx(RATE_HZ, abs=200)
