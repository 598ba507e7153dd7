from hypothesis import given
from hypothesis import strategies as st

from speech_plugins.audio_log import AudioLog


def pcm(samples: int, value: int = 0) -> bytes:
    return bytes([value, 0]) * samples


def test_keeps_audio_and_flushes_in_order() -> None:
    log = AudioLog()
    log.add(pcm(10, 1))
    log.flush()
    log.add(pcm(20, 2))
    assert list(log) == [pcm(10, 1), None, pcm(20, 2)]
    assert (log.start, log.end) == (0, 30)
    assert log.awaits_answer


def test_an_answer_forgets_up_to_its_flush() -> None:
    log = AudioLog()
    log.add(pcm(10))
    log.flush()
    log.add(pcm(20))
    log.flush()
    log.flush_answered()
    assert list(log) == [pcm(20), None]
    assert log.start == 10
    log.flush_answered()
    assert list(log) == []
    assert (log.start, log.end) == (30, 30)
    assert not log.awaits_answer


def test_an_answer_to_nothing_forgets_nothing() -> None:
    log = AudioLog()
    log.add(pcm(10))
    log.flush_answered()
    assert list(log) == [pcm(10)]


def test_forgets_whole_pieces_and_keeps_flushes() -> None:
    log = AudioLog()
    for _ in range(3):
        log.add(pcm(10))
        log.flush()
    log.forget_before(25)
    assert list(log) == [None, None, pcm(10), None]
    assert log.start == 20


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(1, 50)),
            st.tuples(st.just("flush"), st.just(0)),
            st.tuples(st.just("answer"), st.just(0)),
            st.tuples(st.just("forget"), st.integers(0, 200)),
        ),
        max_size=40,
    )
)
def test_positions_always_agree_with_what_is_kept(steps: list[tuple[str, int]]) -> None:
    log = AudioLog()
    for name, size in steps:
        if name == "add":
            log.add(pcm(size))
        elif name == "flush":
            log.flush()
        elif name == "answer":
            log.flush_answered()
        else:
            log.forget_before(size)
        kept = list(log)
        assert log.end - log.start == sum(len(item) // 2 for item in kept if item is not None)
        assert log.awaits_answer == (None in kept)
