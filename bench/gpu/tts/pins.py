"""Prints the wheels to carry to the GPU machine, in the versions installed here."""

from typing import Final

from bench.gpu.wheels import pinned

CARRIED: Final = (
    "aiohappyeyeballs",
    "aiohttp",
    "aiosignal",
    "annotated-doc",
    "annotated-types",
    "attrs",
    "av",
    "espeakng-loader",
    "fastapi",
    "frozenlist",
    "google-crc32c",
    "moonshine-voice",
    "multidict",
    "num2words",
    "phonenumberslite",
    "platformdirs",
    "propcache",
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
    "yarl",
)
"""What an image with torch and transformers lacks of what the server and the bench import, the part
of the server that listens included."""
NOT_INSTALLED_HERE: Final = ("snac==1.2.1", "einops==0.8.2")
"""SNAC with its one dependency that torch and transformers do not bring; see pyproject.toml."""


def main() -> None:
    print("\n".join([*pinned(CARRIED), *NOT_INSTALLED_HERE]))


if __name__ == "__main__":
    main()
