import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import (
    END_OF_SPEECH_ID,
    FIRST_AUDIO_ID,
    LAST_AUDIO_ID,
    STOP_IDS,
    TOKENS_PER_S,
    Frame,
    FrameAssembler,
    TokensOutOfOrder,
    codes_of,
    from_levels,
    slot_of,
    to_levels,
    token_ids,
)

codes = st.integers(0, 4095)
frames = st.lists(st.tuples(*[codes] * 7), max_size=12)
FRAME: Frame = (11, 12, 13, 14, 15, 16, 17)


def test_ids_are_those_of_the_published_model() -> None:
    assert FIRST_AUDIO_ID == 128_256 + 10
    assert LAST_AUDIO_ID == 156_937
    assert END_OF_SPEECH_ID == 128_258
    assert pytest.approx(82.03, abs=0.01) == TOKENS_PER_S


def test_slots_do_not_overlap() -> None:
    assert [slot_of(128_266 + 4096 * slot) for slot in range(7)] == list(range(7))
    assert [slot_of(128_265 + 4096 * slot) for slot in range(1, 8)] == list(range(7))
    assert slot_of(FIRST_AUDIO_ID - 1) is None
    assert slot_of(LAST_AUDIO_ID + 1) is None
    assert slot_of(-1) is None


def test_levels_are_in_the_order_of_the_published_decoder() -> None:
    coarse, middle, fine = to_levels(codes_of([FRAME, (21, 22, 23, 24, 25, 26, 27)]))
    assert coarse.tolist() == [11, 21]
    assert middle.tolist() == [12, 15, 22, 25]
    assert fine.tolist() == [13, 14, 16, 17, 23, 24, 26, 27]


@given(frames)
def test_levels_and_frames_are_the_same_codes(spoken: list[Frame]) -> None:
    together = codes_of(spoken)
    assert together.shape == (len(spoken), 7)
    assert np.array_equal(from_levels(to_levels(together)), together)


def test_levels_of_unequal_length_are_refused() -> None:
    coarse, middle, fine = to_levels(codes_of([FRAME, FRAME]))
    with pytest.raises(ValueError, match="reshape"):
        from_levels((coarse, middle, fine[:-1]))


@pytest.mark.parametrize("code", [-1, 4096])
def test_a_code_out_of_range_has_no_id(code: int) -> None:
    with pytest.raises(ValueError, match=r"0\.\.4095"):
        token_ids((0, 0, 0, code, 0, 0, 0))


def assemble(ids: list[int]) -> list[Frame]:
    assembler = FrameAssembler()
    return [frame for id_ in ids for frame in assembler.push(id_)] + assembler.flush()


@given(frames)
def test_every_frame_comes_out_as_it_went_in(spoken: list[Frame]) -> None:
    ids = [id_ for frame in spoken for id_ in token_ids(frame)]
    assert assemble([*ids, END_OF_SPEECH_ID]) == spoken
    assert assemble(ids) == spoken


def test_a_frame_comes_with_its_last_token() -> None:
    assembler = FrameAssembler()
    *most, last = token_ids(FRAME)
    assert [assembler.push(id_) for id_ in most] == [[]] * 6
    assert assembler.push(last) == [FRAME]


def test_code_zero_and_code_4095_are_codes() -> None:
    edges: Frame = (0, 4095, 0, 4095, 0, 4095, 0)
    assert assemble(token_ids(edges) + token_ids((0,) * 7)) == [edges, (0,) * 7]


@pytest.mark.parametrize("stop", STOP_IDS)
def test_nothing_is_taken_after_a_stop(stop: int) -> None:
    assembler = FrameAssembler()
    assert not assembler.ended
    assembler.push(stop)
    assert assembler.ended
    assert [assembler.push(id_) for id_ in token_ids(FRAME)] == [[]] * 7


def test_a_frame_cut_short_is_left_out_and_counted() -> None:
    assembler = FrameAssembler()
    heard = [frame for id_ in token_ids(FRAME) * 2 for frame in assembler.push(id_)]
    for id_ in token_ids(FRAME)[:5]:
        assert assembler.push(id_) == []
    assembler.push(END_OF_SPEECH_ID)
    assert assembler.flush() == []
    assert heard == [FRAME, FRAME]
    assert assembler.dropped_tokens == 5


def test_flush_begins_afresh() -> None:
    assembler = FrameAssembler()
    for id_ in [*token_ids(FRAME)[:3], END_OF_SPEECH_ID]:
        assembler.push(id_)
    assembler.flush()
    assert [assembler.push(id_) for id_ in token_ids(FRAME)][-1] == [FRAME]


def test_a_text_token_between_codes_is_skipped() -> None:
    assembler = FrameAssembler()
    ids = token_ids(FRAME)
    spoiled = [*ids[:4], 1234, *ids[4:]]
    assert [frame for id_ in spoiled for frame in assembler.push(id_)] == [FRAME]
    assert assembler.dropped_tokens == 1


@pytest.mark.parametrize("missing", range(7))
def test_a_missing_token_costs_its_frame_and_no_other(missing: int) -> None:
    assembler = FrameAssembler()
    broken = token_ids((9,) * 7)
    del broken[missing]
    ids = token_ids(FRAME) + broken + token_ids(FRAME)
    assert [frame for id_ in ids for frame in assembler.push(id_)] == [FRAME, FRAME]
    assert assembler.dropped_tokens == 6


@pytest.mark.parametrize("doubled", range(7))
def test_a_doubled_token_costs_one_frame_at_most(doubled: int) -> None:
    assembler = FrameAssembler()
    broken = token_ids((9,) * 7)
    broken.insert(doubled, broken[doubled])
    ids = token_ids(FRAME) + broken + token_ids(FRAME)
    heard = [frame for id_ in ids for frame in assembler.push(id_)]
    assert heard[0] == heard[-1] == FRAME
    assert set(heard) <= {FRAME, (9,) * 7}
    assert 1 <= assembler.dropped_tokens <= 8


def test_a_model_that_writes_no_frames_is_given_up() -> None:
    assembler = FrameAssembler(max_dropped_tokens=20)
    for _ in range(20):
        assembler.push(1234)
    with pytest.raises(TokensOutOfOrder) as failure:
        assembler.push(1234)
    assert isinstance(failure.value, EngineFailed)


@given(
    st.lists(
        st.one_of(
            st.integers(FIRST_AUDIO_ID - 12, LAST_AUDIO_ID + 5), st.integers(-(2**40), 2**40)
        ),
        max_size=300,
    )
)
def test_whatever_comes_is_a_frame_or_dropped(ids: list[int]) -> None:
    assembler = FrameAssembler(max_dropped_tokens=10_000)
    heard: list[Frame] = []
    taken = 0
    for id_ in ids:
        if not assembler.ended:
            taken += id_ not in STOP_IDS
        heard += assembler.push(id_)
    assembler.flush()
    assert all(0 <= code < 4096 for frame in heard for code in frame)
    assert 7 * len(heard) + assembler.dropped_tokens == taken
