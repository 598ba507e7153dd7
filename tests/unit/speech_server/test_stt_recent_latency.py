from speech_server.stt.recent_latency import RecentLatency


def test_nine_of_ten_streams_count() -> None:
    latency = RecentLatency()
    for stream in range(20):
        latency.add(stream, 0.1 if stream < 18 else 9.0, now_s=5.0)
    assert latency.p90_s(now_s=6.0) == 0.1
    latency.add(20, 9.0, now_s=6.0)
    assert latency.p90_s(now_s=6.0) == 9.0


def test_a_stream_that_waits_for_itself_does_not_count() -> None:
    latency = RecentLatency()
    for stream in range(5):
        for number in range(9):
            latency.add(stream, 0.1 + number, now_s=float(number))
    assert latency.p90_s(now_s=8.0) == 0.1


def test_a_few_say_nothing() -> None:
    latency = RecentLatency()
    for stream in range(3):
        latency.add(stream, 9.0, now_s=0.0)
    assert latency.p90_s(now_s=0.0) == 0.0


def test_what_is_over_is_forgotten() -> None:
    latency = RecentLatency()
    for stream in range(20):
        latency.add(stream, 9.0, now_s=0.0)
    assert latency.p90_s(now_s=10.0) == 9.0
    assert latency.p90_s(now_s=10.1) == 0.0
    assert not latency._shortest
