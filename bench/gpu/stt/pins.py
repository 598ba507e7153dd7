"""Prints the wheels to carry to the GPU machine, in the versions installed here."""

from typing import Final

from bench.gpu.wheels import pinned

CARRIED: Final = (
    "annotated-doc",
    "annotated-types",
    "av",
    "ctranslate2",
    "espeakng-loader",
    "fastapi",
    "faster-whisper",
    "google-crc32c",
    "limits",
    "livekit-plugins-silero",
    "moonshine-voice",
    "num2words",
    "opentelemetry-api",
    "deprecated",
    "phonenumberslite",
    "platformdirs",
    "pydantic",
    "pydantic-core",
    "pydantic-settings",
    "python-dotenv",
    "python-multipart",
    "soxr",
    "starlette",
    "typing-inspection",
    "uvicorn",
    "websockets",
)
"""What an image with torch and transformers lacks of what the server and the bench import."""


def main() -> None:
    print("\n".join(pinned(CARRIED)))


if __name__ == "__main__":
    main()
