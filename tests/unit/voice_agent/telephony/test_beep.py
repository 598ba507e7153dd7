import numpy as np
import numpy.typing as npt
import pytest

from voice_agent.telephony.beep import BeepDetector
from voice_agent.telephony.hold_sound import hold_phrase

RATE = 8000
Pcm = npt.NDArray[np.int16]


def tone(*hertz: float, seconds: float, level: float = 0.3, rate: int = RATE) -> Pcm:
    time = np.arange(round(seconds * rate)) / rate
    wave = sum(np.sin(2 * np.pi * each * time) for each in hertz) / max(len(hertz), 1)
    return (wave * level * 32767).astype(np.int16)


def silence(seconds: float, rate: int = RATE) -> Pcm:
    return np.zeros(round(seconds * rate), np.int16)


def noise(seconds: float, level: float) -> Pcm:
    random = np.random.default_rng(7)
    return (random.standard_normal(round(seconds * RATE)) * level * 32767).astype(np.int16)


def speech(seconds: float) -> Pcm:
    """A voice at 120 Hz whose pitch and vowels move, as speech does."""
    time = np.arange(round(seconds * RATE)) / RATE
    pitch = 120 + 15 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    wave = np.zeros_like(time)
    for harmonic in range(1, 25):
        formant = 500 + 250 * np.sin(2 * np.pi * 1.3 * time)
        wave += np.sin(harmonic * phase) * np.exp(-(((harmonic * 120 - formant) / 400) ** 2))
    syllables = np.clip(np.sin(2 * np.pi * 3 * time), 0, None)
    return (wave * syllables * 0.2 * 32767).clip(-32767, 32767).astype(np.int16)


def mu_law(pcm: Pcm) -> Pcm:
    """The audio as G.711 leaves it. Source: ITU-T G.711, mu = 255, 8 bits."""
    signal = pcm / 32767
    squeezed = np.sign(signal) * np.log1p(255 * np.abs(signal)) / np.log(256)
    stepped = np.round(squeezed * 127) / 127
    wide = np.sign(stepped) * (256 ** np.abs(stepped) - 1) / 255
    return (wide * 32767).astype(np.int16)


def beeps(*parts: Pcm, rate: int = RATE, chunk: int = 333) -> int:
    """How many beeps a detector hears, whatever the size of what comes."""
    audio = np.concatenate(parts)
    detector = BeepDetector(rate)
    return sum(detector.push(audio[at : at + chunk]) for at in range(0, len(audio), chunk))


@pytest.mark.parametrize("hertz", [420, 440, 800, 1000, 1400, 1950])
@pytest.mark.parametrize("seconds", [0.32, 0.5, 1.0, 1.4])
def test_a_beep_after_a_greeting(hertz: float, seconds: float) -> None:
    parts = (speech(2.0), silence(0.4), tone(hertz, seconds=seconds), silence(0.5))
    assert beeps(*map(mu_law, parts)) == 1


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_any_rate_will_do(rate: int) -> None:
    parts = (silence(0.2, rate), tone(1000, seconds=0.5, rate=rate), silence(0.3, rate))
    assert beeps(*parts, rate=rate) == 1


@pytest.mark.parametrize("chunk", [1, 80, 160, 8000])
def test_whatever_the_frames(chunk: int) -> None:
    assert beeps(tone(1000, seconds=0.4), silence(0.3), chunk=chunk) == 1


def test_a_beep_in_line_noise() -> None:
    audio = np.concatenate((silence(0.3), tone(1000, seconds=0.5), silence(0.3)))
    assert beeps(audio + noise(len(audio) / RATE, 0.02)[: len(audio)]) == 1


@pytest.mark.parametrize(
    "parts",
    [
        (speech(10.0),),
        (noise(5.0, 0.1),),
        (silence(5.0),),
        (tone(1000, seconds=0.1), silence(0.3)),
        (tone(1000, seconds=3.0), silence(0.3)),
        (tone(200, seconds=0.5), silence(0.3)),
        (tone(3000, seconds=0.5), silence(0.3)),
        (tone(1000, seconds=0.5, level=0.002), silence(0.3)),
        # a key (5), ringing and busy as in North America
        (tone(770, 1336, seconds=0.5), silence(0.3)),
        (tone(440, 480, seconds=1.2), silence(0.3)),
        (tone(480, 620, seconds=0.5), silence(0.5), tone(480, 620, seconds=0.5), silence(0.5)),
        # "the number is not in service"
        (tone(950, seconds=0.33), tone(1400, seconds=0.33), tone(1800, seconds=1.6), silence(0.3)),
    ],
    ids=[
        "speech", "noise", "silence", "click", "whistle", "low", "high", "faint", "key", "ringing",
        "busy", "no service",
    ],
)  # fmt: skip
def test_what_is_no_beep(parts: tuple[Pcm, ...]) -> None:
    assert beeps(*parts) == 0


def test_our_own_hold_tone_is_no_beep() -> None:
    assert beeps(np.tile(hold_phrase(RATE), 3), silence(0.3)) == 0


def test_too_little_of_the_sound_is_refused() -> None:
    with pytest.raises(ValueError, match="8 kHz"):
        BeepDetector(4000)
