import os
import time

from bench.server_load import LoadMeter, largest_bucket, parse_metrics

METRICS = """\
# HELP speech_batch_size Requests in one engine call.
# TYPE speech_batch_size histogram
speech_batch_size_bucket{le="1.0",service="stt"} 3.0
speech_batch_size_bucket{le="2.0",service="stt"} 5.0
speech_batch_size_bucket{le="4.0",service="stt"} 5.0
speech_batch_size_bucket{le="+Inf",service="stt"} 5.0
speech_batch_size_count{service="stt"} 5.0
speech_batch_size_sum{service="stt"} 7.0
"""


def test_the_largest_batch_is_bounded_by_its_bucket() -> None:
    assert largest_bucket(parse_metrics(METRICS), "speech_batch_size_bucket") == "2"


def test_where_nothing_ran_there_is_no_largest_batch() -> None:
    idle = dict.fromkeys(parse_metrics(METRICS), 0.0)
    assert largest_bucket(idle, "speech_batch_size_bucket") is None


def test_a_server_without_metrics_is_measured_from_outside() -> None:
    meter = LoadMeter(os.getpid())
    enough = time.process_time() + 0.1  # the system counts in hundredths of a second
    while time.process_time() < enough:
        pass
    load = meter.read(1.0)
    assert load.event_loop_cores > 0
    assert load.cpu_cores > 0
    assert load.rss_bytes > 0
    assert load.engine_busy is None
