from speech_server.tts.engine import WordTime
from speech_server.tts.normalise import SpokenText
from speech_server.tts.word_times import WrittenWordTimes

SPOKEN = SpokenText(
    text="It is three thirty now",
    words=("It", "is", "three", "thirty", "now"),
    written=("It", "is", "3:30", "now"),
    origin=(0, 1, 2, 2, 3),
)


def timed(*words: str) -> tuple[WordTime, ...]:
    """The words, each a second long, by their place in the text."""
    places = [SPOKEN.words.index(word) for word in words]
    return tuple(WordTime(word, at, at + 1) for word, at in zip(words, places, strict=True))


def test_a_word_is_told_when_the_next_one_comes() -> None:
    """Not before: a client whose line breaks would hear it again and have it twice in its text."""
    times = WrittenWordTimes(SPOKEN)
    told = [list(times.push((word,), 0.0)) for word in timed(*SPOKEN.words)]
    assert told == [
        [],
        [WordTime("It", 0, 1)],
        [WordTime("is", 1, 2)],
        [],
        [WordTime("3:30", 2, 4)],
    ]
    assert list(times.finish()) == [WordTime("now", 4, 5)]


def test_what_the_engine_leaves_out_is_not_waited_for_at_the_next_word() -> None:
    times = WrittenWordTimes(SPOKEN)
    assert list(times.push(timed("three", "now"), 0.0)) == [WordTime("3:30", 2, 3)]


def test_nor_at_the_end() -> None:
    times = WrittenWordTimes(SPOKEN)
    assert list(times.push(timed("three"), 0.0)) == []
    assert list(times.finish()) == [WordTime("3:30", 2, 3)]


def test_times_are_moved_and_never_before_the_start() -> None:
    times = WrittenWordTimes(SPOKEN)
    told = [*times.push(timed("It", "is"), -1.5), *times.finish()]
    assert told == [WordTime("It", 0.0, 0.0), WordTime("is", 0.0, 0.5)]
