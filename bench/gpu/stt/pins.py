"""Prints the wheels to carry to the GPU machine, in the versions installed here."""

from importlib import metadata
from typing import Final

CARRIED: Final = (
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
    "opentelemetry-api",
    "deprecated",
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
    for package in CARRIED:
        try:
            print(f"{package}=={metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue


if __name__ == "__main__":
    main()
