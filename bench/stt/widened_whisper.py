"""Makes a Whisper of true dimensions that hears what the micro Whisper of the tests hears.

Speed measured on random weights says nothing about words, and a small model says nothing about
speed. This widens the small one without changing what it computes: every feature is repeated, so
that layer norms see the same mean and variance; columns that read a feature are divided by the
number of copies; heads and hidden units that the small model does not have come in pairs that
cancel. All matrices are of full size and full of numbers, and yet the words are the same ones.

Not widened: the mel bands stay at the small model's 80 (large-v3 has 128), which concerns the first
convolution only, below a thousandth of the encoder's work.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.stt.ctranslate2_file import ModelFile, Weights, read_model, write_model

MICRO_WHISPER: Final = (
    Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "micro_whisper" / "model"
)
_COPIED_FILES: Final = ("config.json", "preprocessor_config.json", "tokenizer.json")
_NEVER: Final = -1e4
"""Added to the logits of tokens that the small model does not know; fits float16."""
_QUIET_SCALE: Final = 50.0
"""Divides the activations of units that cancel: they must not coarsen the others' quantisation."""
_SEED: Final = 20

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WhisperDimensions:
    """The size of a published Whisper. Source: openai/whisper, README and model card."""

    width: int
    heads: int
    layers: tuple[int, int]
    """Of the encoder and of the decoder."""
    vocabulary: int

    @property
    def hidden(self) -> int:
        """Units of a feed-forward layer."""
        return 4 * self.width


DIMENSIONS: Final = {
    "tiny": WhisperDimensions(384, 6, (4, 4), 51_865),
    "base": WhisperDimensions(512, 8, (6, 6), 51_865),
    "small": WhisperDimensions(768, 12, (12, 12), 51_865),
    "large-v3-turbo": WhisperDimensions(1280, 20, (32, 4), 51_866),
}


def widened_whisper(name: str, cache: Path, source: Path = MICRO_WHISPER) -> Path:
    """The model's directory in faster-whisper's format; made on first use.

    Args:
        name: a key of `DIMENSIONS`.
        cache: folder to keep it in.
        source: the small model, int8.

    Raises:
        ValueError: the small model's width does not divide the large one's.
    """
    folder = cache / f"whisper-{name}-widened"
    if (folder / "model.bin").is_file():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    # Made aside and moved, so that a run that was interrupted leaves no half of a model.
    making = Path(mkdtemp(dir=cache, prefix=folder.name))
    dimensions = DIMENSIONS[name]
    write_model(making / "model.bin", widen(read_model(source / "model.bin"), dimensions))
    for file in _COPIED_FILES:
        shutil.copy(source / file, making / file)
    words: list[str] = json.loads((source / "vocabulary.json").read_text(encoding="utf-8"))
    words += [f"<unused{index}>" for index in range(len(words), dimensions.vocabulary)]
    (making / "vocabulary.json").write_text(json.dumps(words), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    return making.rename(folder)


def widen(small: ModelFile, dimensions: WhisperDimensions) -> ModelFile:
    """The same function in the given dimensions.

    Raises:
        ValueError: the small model's width does not divide the large one's.
    """
    return _Widening(small, dimensions).model()


class _Widening:
    """Works on int8 rows and their scales, so that nothing is rounded anew."""

    def __init__(self, small: ModelFile, dimensions: WhisperDimensions) -> None:
        self._small = small
        self._new = dimensions
        self._width = small["encoder/layer_norm/gamma"].size
        self._copies, rest = divmod(dimensions.width, self._width)
        if rest:
            raise ValueError(f"width {dimensions.width} is no multiple of {self._width}")
        self._random = np.random.default_rng(_SEED)
        self._variables: dict[str, Weights] = {}
        heads = int(small["encoder/num_heads"])
        self._head_ratio = np.sqrt((dimensions.width / dimensions.heads) / (self._width / heads))
        """Attention divides by the root of the head's size; the queries make up for it."""
        head, new_head = self._width // heads, dimensions.width // dimensions.heads
        self._seats: Indices = np.concatenate(
            [np.arange(head) + index * new_head for index in range(heads)]
        )
        """Where the small model's head features sit among the new ones."""

    def model(self) -> ModelFile:
        for name, value in self._small.variables.items():
            if "/layer_" not in name:
                self._variables[name] = value
        self._front()
        self._embeddings()
        for index, part in enumerate(("encoder", "decoder")):
            self._variables[f"{part}/num_heads"] = np.array(self._new.heads, np.int16)
            self._tile(f"{part}/layer_norm/gamma", f"{part}/layer_norm/beta")
            self._tile(f"{part}/position_encodings/encodings")
            for layer in range(self._new.layers[index]):
                self._layer(f"{part}/layer_{layer}", part == "decoder")
        # The output layer reads every copy of a feature.
        for name in ("decoder/layer_norm/gamma", "decoder/layer_norm/beta"):
            self._variables[name] = self._variables[name] / np.float32(self._copies)
        small = self._small
        return ModelFile(small.spec, small.revision, self._variables, small.aliases)

    def _front(self) -> None:
        for conv in ("encoder/conv1", "encoder/conv2"):
            weight = np.tile(self._small[f"{conv}/weight"], (self._copies, 1, 1))
            scale = np.tile(self._small[f"{conv}/weight_scale"], self._copies)
            if conv == "encoder/conv2":
                weight = np.tile(weight, (1, self._copies, 1))
                scale = scale * np.float32(self._copies)
            self._variables[f"{conv}/weight"] = weight
            self._variables[f"{conv}/weight_scale"] = scale
            self._tile(f"{conv}/bias")

    def _embeddings(self) -> None:
        name = "decoder/embeddings/weight"
        known = np.tile(self._small[name], (1, self._copies))
        scale = self._small[f"{name}_scale"]
        extra = self._new.vocabulary - len(known)
        unknown = self._random.integers(-127, 128, (extra, self._new.width), np.int8)
        bias = np.zeros(self._new.vocabulary, np.float32)
        bias[len(known) :] = _NEVER
        self._variables[name] = np.concatenate((known, unknown))
        self._variables[f"{name}_scale"] = np.concatenate(
            (scale, np.full(extra, np.median(scale), np.float32))
        )
        self._variables["decoder/projection/bias"] = bias

    def _layer(self, layer: str, is_decoder: bool) -> None:
        self._attention(f"{layer}/self_attention", ("qkv", "out"))
        if is_decoder:
            self._attention(f"{layer}/attention", ("q", "kv", "out"))
        seats = np.arange(4 * self._width)
        self._norm(f"{layer}/ffn/layer_norm")
        self._inward(f"{layer}/ffn/linear_0", [(seats, self._new.hidden, 1, 1.0)])
        self._outward(f"{layer}/ffn/linear_1", seats, self._new.hidden)

    def _attention(self, name: str, linears: tuple[str, ...]) -> None:
        self._norm(f"{name}/layer_norm")
        for index, role in enumerate(linears):
            if role == "out":
                self._outward(f"{name}/linear_{index}", self._seats, self._new.width)
                continue
            # Within a pair: equal queries, opposite keys, equal values.
            blocks = [
                (self._seats, self._new.width, -1 if part == "k" else 1, ratio)
                for part in role
                for ratio in [self._head_ratio if part == "q" else 1.0]
            ]
            self._inward(f"{name}/linear_{index}", blocks)

    def _inward(self, name: str, blocks: list[tuple[Indices, int, int, float]]) -> None:
        """A linear that reads the repeated features.

        Args:
            name: of the linear.
            blocks: of rows, one below the other: seats of the small model's rows, rows in all, sign
                within a pair of the other rows, and what to multiply the small model's rows by.
        """
        weights: list[Weights] = []
        scales: list[Weights] = []
        biases: list[Weights] = []
        small = self._small_linear(name)
        done = 0
        for seats, rows, sign, ratio in blocks:
            weight = self._pairs(rows // 2, self._new.width, sign)
            typical = 73.0 * np.sqrt(self._new.width)  # the deviation of evenly spread int8
            scale = np.full(rows, _QUIET_SCALE * typical, np.float32)
            bias = np.zeros(rows, np.float32)
            if small is not None:
                old = slice(done, done + len(seats))
                weight[seats] = np.tile(small[0][old], (1, self._copies))
                scale[seats] = small[1][old] * np.float32(self._copies / ratio)
                bias[seats] = small[2][old] * np.float32(ratio)
                done += len(seats)
            weights.append(weight)
            scales.append(scale)
            biases.append(bias)
        self._set_linear(
            name, np.concatenate(weights), np.concatenate(scales), np.concatenate(biases)
        )

    def _outward(self, name: str, seats: Indices, columns: int) -> None:
        """A linear that adds to the repeated features; pairs of other columns are opposite."""
        width = self._new.width
        weight = np.ascontiguousarray(self._pairs(columns // 2, width, -1).T)
        scale = np.full(width, 73.0 * np.sqrt(columns), np.float32)
        bias = np.zeros(width, np.float32)
        if (small := self._small_linear(name)) is not None:
            weight[:, seats] = np.tile(small[0], (self._copies, 1))
            scale, bias = np.tile(small[1], self._copies), np.tile(small[2], self._copies)
        self._set_linear(name, weight, scale, bias)

    def _pairs(self, pairs: int, length: int, sign: int) -> npt.NDArray[np.int8]:
        """Random rows, each followed by itself times the sign."""
        rows = self._random.integers(-127, 128, (pairs, length), np.int8)
        return np.stack((rows, np.int8(sign) * rows), axis=1).reshape(2 * pairs, length)

    def _small_linear(self, name: str) -> tuple[Weights, Weights, Weights] | None:
        if f"{name}/weight" not in self._small:
            return None  # a layer that the small model does not have
        return tuple(self._small[f"{name}/{part}"] for part in ("weight", "weight_scale", "bias"))  # type: ignore[return-value]

    def _set_linear(self, name: str, weight: Weights, scale: Weights, bias: Weights) -> None:
        self._variables[f"{name}/weight"] = weight
        self._variables[f"{name}/weight_scale"] = scale
        self._variables[f"{name}/bias"] = bias

    def _norm(self, name: str) -> None:
        defaults: dict[str, Callable[..., Weights]] = {"gamma": np.ones, "beta": np.zeros}
        for part, default in defaults.items():
            if f"{name}/{part}" in self._small:
                self._tile(f"{name}/{part}")
            else:
                self._variables[f"{name}/{part}"] = default(self._new.width, np.float32)

    def _tile(self, *names: str) -> None:
        for name in names:
            value = self._small[name]
            repeats = (1,) * (value.ndim - 1) + (self._copies,)
            self._variables[name] = np.tile(value, repeats)
