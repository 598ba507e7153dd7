import ssl

import pytest

from speech_plugins.tls import tls_context


def test_tls_is_checked_against_the_machines_certificates() -> None:
    context = tls_context("https://models.example/v1")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context is tls_context("https://speech.example")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8091/v1", "127.0.0.1", ""])
def test_any_other_url_trusts_nobody_it_is_sent_on_to(url: str) -> None:
    context = tls_context(url)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509"] == 0
