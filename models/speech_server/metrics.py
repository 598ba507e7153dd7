"""Every Prometheus instrument of the speech server. Base units; dimensions are labels."""

from prometheus_client import Counter, Gauge, Histogram

_LATENCY_BUCKETS_S = (
    0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0, 2.0, 5.0,
)  # fmt: skip
"""Dense around the budget of one turn (tens of milliseconds), sparse beyond it."""

STREAMS_ACTIVE = Gauge("speech_streams_active", "Streams running now.", ["service"])
STREAMS_CAPACITY = Gauge("speech_streams_capacity", "Streams admitted at most.", ["service"])
STREAMS_REFUSED = Counter(
    "speech_streams_refused_total", "Streams refused because capacity was in use.", ["service"]
)
QUEUE_WAIT = Histogram(
    "speech_queue_wait_seconds",
    "Time from asking for work until the engine began it.",
    ["service"],
    buckets=_LATENCY_BUCKETS_S,
)
BATCH_SIZE = Histogram(
    "speech_batch_size",
    "Requests in one engine call.",
    ["service"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)
INFERENCE = Histogram(
    "speech_inference_seconds",
    "Time of one engine call.",
    ["engine"],
    buckets=_LATENCY_BUCKETS_S,
)
TTFB = Histogram(
    "speech_ttfb_seconds",
    "Time from the request to the first byte of its answer.",
    ["service"],
    buckets=_LATENCY_BUCKETS_S,
)
RTF = Histogram(
    "speech_rtf_ratio",
    "Processing time divided by audio time; below 1 is faster than real time.",
    ["engine"],
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0),
)
DROPPED = Counter(
    "speech_work_dropped_total",
    "Work dropped before or while it ran, by reason (stale, cancelled).",
    ["service", "reason"],
)
DOUBTED = Counter(
    "speech_transcripts_doubted_total",
    "Transcripts that a guard against invented text did not take as they were, by reason.",
    ["reason"],
)
TOKENS = Counter("speech_tokens_total", "Tokens of speech generated and used.", ["engine"])
TOKENS_BEFORE_AUDIO = Histogram(
    "speech_tokens_before_audio",
    "Tokens that a segment had when its first audio was made, silent or not.",
    ["engine"],
    buckets=(7, 14, 21, 28, 35, 49, 70, 105, 140),
)
LEAD = Histogram(
    "speech_leading_silence_seconds",
    "Silence that a voice opened a segment with, and that was cut off.",
    ["engine"],
    buckets=(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0),
)
TOKENS_AFTER_CANCEL = Counter(
    "speech_tokens_after_cancel_total",
    "Tokens that a model made for requests after they were cancelled.",
)
RESUMED = Counter(
    "speech_segments_resumed_total",
    "Segments that went wrong and were taken up again after their last good frame, by reason.",
    ["engine", "reason"],
)
CUT_SHORT = Counter(
    "speech_segments_cut_short_total",
    "Segments that were ended because the model ran away, by reason.",
    ["engine", "reason"],
)
ERRORS = Counter("speech_errors_total", "Errors told to clients, by code.", ["service", "code"])
