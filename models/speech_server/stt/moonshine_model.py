"""Moonshine on ONNX Runtime: audio in, the logits of the next tokens out, and tokens as text.

Reads the folder that the `moonshine-voice` wheel has for its own library: `encoder_model.ort`,
`decoder_model_merged.ort` and `tokenizer.bin`. Source of the architecture: Jeffries et al. 2024,
"Moonshine: Speech Recognition for Live Transcription and Voice Commands" (arXiv:2410.15608).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from speech_server.stt.beam_search import Logits
from speech_server.stt.engine import Pcm

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

START: Final = 1
END: Final = 2
"""Tokens before the first and after the last of a text. Source: `<s>` and `</s>` are these entries
of `tokenizer.bin`."""

_CONTROL_TOKENS: Final = (b"<unk>", b"<s>", b"</s>", b"<<ST_")
"""What an entry of the vocabulary begins with that is no text."""
_BLANK: Final = "\N{LOWER ONE EIGHTH BLOCK}"
"""Stands for a blank in a token. Source: SentencePiece's format."""
_LONG_TOKEN: Final = 128
"""Lengths from here on take two bytes in `tokenizer.bin`, the first of which is raised by this."""

_Array = npt.NDArray[Any]


class MoonshineModel:
    """The sessions and the vocabulary of one model.

    Args:
        folder: with the three files.

    Raises:
        FileNotFoundError: one of them is missing.
        ValueError: the vocabulary is none.
    """

    def __init__(self, folder: Path) -> None:
        self.tokens = Vocabulary((folder / "tokenizer.bin").read_bytes())
        self._encoder = _session(folder / "encoder_model.ort")
        self._decoder = _Decoder(_session(folder / "decoder_model_merged.ort"))

    def write(self, pcm: Pcm, width: int) -> "MoonshineWriter":
        """Encode audio; what was said is then asked of the writer.

        Args:
            pcm: float32, (samples,), 16 kHz, 0.06 s or more.
            width: most attempts that it will be asked to go on with at once.
        """
        feeds = {
            "input_values": pcm[np.newaxis],
            "attention_mask": np.ones((1, pcm.size), np.int64),
        }
        (states,) = self._encoder.run(None, feeds)
        return MoonshineWriter(self._decoder, states, pcm.size, width)


class _Decoder:
    """The merged decoder, and what it remembers between two tokens."""

    def __init__(self, session: "InferenceSession") -> None:
        self.session = session
        inputs = {value.name: value.shape for value in session.get_inputs()}
        self.of_text = [name for name in inputs if ".decoder." in name]
        self.of_audio = [name for name in inputs if ".encoder." in name]
        # (attempts, heads, tokens or frames, width of a head): empty before the first token.
        _, heads, _, head_width = inputs[self.of_text[0]]
        self.empty = np.zeros((1, heads, 0, head_width), np.float32)


class MoonshineWriter:
    """Writes what was said in one stretch of audio. Implements `beam_search.Writer`.

    Args:
        decoder: the merged decoder.
        states: what the encoder made of the audio, float32, (1, frames, width of the model).
        samples: length of the audio.
        width: most attempts at once.
    """

    def __init__(self, decoder: _Decoder, states: _Array, samples: int, width: int) -> None:
        self._decoder = decoder
        self._width = width
        self._states = np.repeat(states, width, axis=0)
        self._mask = np.ones((width, samples), np.int64)
        self._text = [decoder.empty] * len(decoder.of_text)
        self._audio = [decoder.empty] * len(decoder.of_audio)

    def begin(self) -> Logits:
        """See `Writer.begin`."""
        of_text, of_audio = self._decoder.of_text, self._decoder.of_audio
        logits, new = self._run([START], [*of_text, *of_audio], known=False)
        self._text = new[: len(of_text)]
        # The same for every attempt and every step: laid out once.
        audio = new[len(of_text) :]
        self._audio = [np.repeat(values, self._width, axis=0) for values in audio]
        return logits

    def go_on(self, attempts: Sequence[int], tokens: Sequence[int]) -> Logits:
        """See `Writer.go_on`."""
        self._text = [values[list(attempts)] for values in self._text]
        logits, self._text = self._run(tokens, self._decoder.of_text, known=True)
        return logits

    def _run(
        self, tokens: Sequence[int], wanted: list[str], known: bool
    ) -> tuple[Logits, list[_Array]]:
        """The logits after these tokens, and the new keys and values of the wanted inputs."""
        rows = len(tokens)
        feeds = {
            "input_ids": np.array(tokens, np.int64)[:, np.newaxis],
            "encoder_hidden_states": self._states[:rows],
            "encoder_attention_mask": self._mask[:rows],
            "use_cache_branch": np.array([known]),
            **dict(zip(self._decoder.of_text, self._text, strict=True)),
            **{
                name: values[:rows]
                for name, values in zip(self._decoder.of_audio, self._audio, strict=True)
            },
        }
        outputs = [name.replace("past_key_values", "present") for name in wanted]
        logits, *new = self._decoder.session.run(["logits", *outputs], feeds)
        return logits[:, -1], new


class Vocabulary:
    """Tokens as text.

    Args:
        data: `tokenizer.bin`: the bytes of each token in order, each after its length.

    Raises:
        ValueError: the last token is cut off.
    """

    def __init__(self, data: bytes) -> None:
        self._tokens: list[bytes] = []
        position = 0
        while position < len(data):
            length, more = data[position], data[position + 1 : position + 2]
            position += 1
            if length >= _LONG_TOKEN:
                length += (int.from_bytes(more) - 1) * _LONG_TOKEN
                position += 1
            self._tokens.append(data[position : position + length])
            position += length
        if position != len(data):
            raise ValueError("the last token of tokenizer.bin is cut off")

    def text(self, tokens: Sequence[int]) -> str:
        """What these tokens say; marks of control say nothing."""
        parts = [self._tokens[token] for token in tokens]
        said = b"".join(part for part in parts if not part.startswith(_CONTROL_TOKENS))
        return said.decode(errors="replace").replace(_BLANK, " ").strip()


def _session(path: Path) -> "InferenceSession":
    # Not above: ONNX Runtime reads when it is imported what our settings tell it.
    from onnxruntime import InferenceSession, SessionOptions

    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: reinstall moonshine-voice==0.1.0")
    options = SessionOptions()
    # More threads wait for each other at every token: two on two cores are no sooner, spend twice
    # the processor time, and take many times as long when other work keeps the cores busy.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])
