import stat
from pathlib import Path

import yaml
from pydantic import SecretStr

from voice_agent.stack.livekit_server import write_config
from voice_agent.stack.redis_server import RedisAddress

SECRET = SecretStr("s" * 32)


def test_the_configuration_is_private_local_and_bounded(tmp_path: Path) -> None:
    path = write_config(tmp_path, port=17880, udp_port=17882, api_key="key", api_secret=SECRET)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["bind_addresses"] == ["127.0.0.1"]
    assert config["keys"] == {"key": "s" * 32}
    rtc = config["rtc"]
    assert rtc["tcp_port"] == 0, "left out, it opens 7881 on every interface"
    assert rtc["stun_servers"] == ["127.0.0.1:3478"], "left out, clients call public STUN servers"
    assert rtc["use_external_ip"] is False
    assert rtc["udp_port"] == 17882
    assert all(value > 0 for value in config["limit"].values())
    assert config["room"]["max_participants"] > 1
    assert "redis" not in config, "it is there for the telephone only"


def test_with_a_telephone_it_shares_a_redis(tmp_path: Path) -> None:
    path = write_config(
        tmp_path,
        port=17880,
        udp_port=17882,
        api_key="key",
        api_secret=SECRET,
        redis=RedisAddress(16399, "word"),
    )
    config = yaml.safe_load(path.read_text())
    assert config["redis"] == {"address": "127.0.0.1:16399", "password": "word"}
