"""SNAC's decoder for one window of frames: the only place that imports torch and snac.

A window brings context that is decoded with it and thrown away. The deeper a layer, the less of
that context it still needs: here each layer is given what it needs and no more. That is exact, and
for one frame with three of context on each side it is a quarter of the work of decoding all seven.
"""

import pickle
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from snac import SNAC
from snac.layers import NoiseBlock, ResidualUnit
from torch import Tensor, nn

from speech_server.tts.orpheus_codes import CODEBOOK_SIZE, FRAME_SAMPLES, SAMPLE_RATE_HZ
from speech_server.tts.snac_stream import CONTEXT_FRAMES

STRIDES: Final = (4, 2, 1)
"""Latent steps of a code on each level. Source: config.json of hubertsiuzdak/snac_24khz."""


class UnsuitableModel(ValueError):
    """The files are no SNAC that Orpheus's codes are made for; the message says why."""


class _Step(NamedTuple):
    """One layer of the decoder."""

    layer: nn.Module
    per_frame: int
    """Samples of a frame in its input."""
    context: int
    """Samples of its input that its output needs beyond the frames wanted, on each side."""


class WindowDecoder(nn.Module):  # type: ignore[misc]  # torch is not installed where this is checked
    """Codes of a window to the audio of its middle, without SNAC's noise.

    SNAC adds noise in proportion to what it plays. Without it a frame sounds the same whatever the
    window that it is decoded in.

    Args:
        model: a SNAC for 24 kHz, which is taken apart.

    Raises:
        UnsuitableModel: other dimensions than Orpheus's.
    """

    def __init__(self, model: SNAC) -> None:
        super().__init__()
        _check(model)
        for module in model.modules():
            if nn.utils.parametrize.is_parametrized(module):
                nn.utils.parametrize.remove_parametrizations(module, "weight")
        self.quantizers = model.quantizer.quantizers
        self.layers = nn.ModuleList(_flatten(model.decoder.model))
        self._steps = _plan(list(self.layers))

    def forward(
        self, coarse: Tensor, middle: Tensor, fine: Tensor, left: Tensor, right: Tensor
    ) -> Tensor:
        """Decode.

        Args:
            coarse: int64, (batch, frames), codes 0..4095.
            middle: int64, (batch, 2 x frames).
            fine: int64, (batch, 4 x frames).
            left: int64, (), frames of context before those wanted, fewer than there are.
            right: int64, (), frames of context after them.

        Returns:
            float32, (batch, (frames - left - right) x 2048).
        """
        levels = zip((coarse, middle, fine), self.quantizers, STRIDES, strict=True)
        x = sum(_latents(codes, quantizer, stride) for codes, quantizer, stride in levels)
        held_left, held_right = left * STRIDES[0], right * STRIDES[0]
        per_frame = STRIDES[0]
        for step in self._steps:
            held_left = held_left * (step.per_frame // per_frame)
            held_right = held_right * (step.per_frame // per_frame)
            per_frame = step.per_frame
            x, held_left, held_right = _crop(x, held_left, held_right, step.context)
            x = step.layer(x)
        scale = FRAME_SAMPLES // per_frame
        x, _, _ = _crop(x, held_left * scale, held_right * scale, 0)
        return x[:, 0]


def _latents(codes: Tensor, quantizer: nn.Module, stride: int) -> Tensor:
    """What the codes of one level add to the decoder's input: (batch, channels, steps)."""
    latents = quantizer.out_proj(quantizer.codebook(codes).transpose(1, 2))
    # Not repeat_interleave: traced, that would hold for one number of frames only.
    return latents.unsqueeze(-1).expand(-1, -1, -1, stride).flatten(2)


def _crop(x: Tensor, left: Tensor, right: Tensor, context: int) -> tuple[Tensor, Tensor, Tensor]:
    """Leave no more than `context` samples on each side of what is wanted."""
    keep_left, keep_right = left.clamp(max=context), right.clamp(max=context)
    start = left - keep_left
    end = x.shape[-1] - (right - keep_right)
    return x[:, :, start:end], keep_left, keep_right


def _flatten(layers: nn.Module) -> list[nn.Module]:
    """The decoder's layers one after the other, without the noise."""
    flat: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, NoiseBlock):
            continue
        nested = getattr(layer, "block", None)
        # A residual unit adds its input to its output: it stays whole.
        if nested is None or isinstance(layer, ResidualUnit):
            flat.append(layer)
        else:
            flat.extend(_flatten(nested))
    return flat


def _plan(layers: list[nn.Module]) -> list[_Step]:
    """From the last layer to the first: how much context each one's input must have."""
    per_frame, context = FRAME_SAMPLES, 0
    steps = []
    for layer in reversed(layers):
        for convolution in reversed([m for m in layer.modules() if not list(m.children())]):
            if isinstance(convolution, nn.ConvTranspose1d):
                (stride,), (kernel,) = convolution.stride, convolution.kernel_size
                context = -(-(context + kernel) // stride)
                per_frame //= stride
            elif isinstance(convolution, nn.Conv1d):
                (kernel,), (dilation,) = convolution.kernel_size, convolution.dilation
                context += (kernel - 1) * dilation // 2
        steps.append(_Step(layer, per_frame, context))
    steps.reverse()
    if context > CONTEXT_FRAMES * per_frame:
        raise UnsuitableModel(f"the decoder looks beyond {CONTEXT_FRAMES} frames on each side")
    return steps


def _check(model: SNAC) -> None:
    wanted = {
        "sampling_rate": SAMPLE_RATE_HZ,
        "codebook_size": CODEBOOK_SIZE,
        "attn_window_size": None,
        "vq_strides": list(STRIDES),
        "hop_length": FRAME_SAMPLES // STRIDES[0],
    }
    for name, value in wanted.items():
        found = getattr(model, name)
        if found != value:
            raise UnsuitableModel(f"{name} is {found}; Orpheus speaks with a SNAC of {value}")


def read_snac(folder: Path) -> WindowDecoder:
    """Load a model in SNAC's own format.

    Args:
        folder: holds config.json and pytorch_model.bin, as hubertsiuzdak/snac_24khz.

    Raises:
        UnsuitableModel: the files are damaged, or of another model.
        OSError: a file is missing or cannot be read.
    """
    try:
        model = SNAC.from_config(folder / "config.json")
        # The weights only: a pickle may run anything.
        weights: dict[str, Any] = torch.load(
            folder / "pytorch_model.bin", map_location="cpu", weights_only=True
        )
        model.load_state_dict(weights)
    except (ValueError, TypeError, KeyError, RuntimeError, EOFError) as error:
        raise UnsuitableModel(f"{folder}: {error}") from error
    except pickle.UnpicklingError as error:
        raise UnsuitableModel(f"{folder}/pytorch_model.bin: not a file of weights") from error
    decoder: WindowDecoder = WindowDecoder(model).eval()
    return decoder
