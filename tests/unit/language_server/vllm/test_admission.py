from contextlib import ExitStack

import pytest

from language_server.vllm.admission import Class, Places, Rate, class_of


@pytest.mark.parametrize(
    ("priority", "kind"),
    [(0, "committed"), (9, "committed"), (10, "speculative"), (19, "speculative"),
     (20, "background")],
)  # fmt: skip
def test_classes(priority: int, kind: Class) -> None:
    assert class_of(priority) == kind


def test_speculation_leaves_places_and_background_work_twice_as_many() -> None:
    places = Places(8, reserved=2)
    assert places.limits == {"committed": 8, "speculative": 6, "background": 4}
    with ExitStack() as taken:
        for _ in range(5):
            assert places.has_room("speculative")
            taken.enter_context(places.place("speculative"))
        with places.place("committed"):
            assert (places.taken, places.taken_by("committed")) == (6, 1)
            assert not places.has_room("speculative")
            assert places.has_room("committed")
        assert places.has_room("speculative")
        assert not places.has_room("background")
    assert places.taken == 0


def test_more_reserved_than_there_is_leaves_committed_turns_alone() -> None:
    assert Places(2, reserved=5).limits == {"committed": 2, "speculative": 0, "background": 0}


def test_a_place_comes_back_after_a_failure() -> None:
    places = Places(1, reserved=0)
    with pytest.raises(ValueError, match="no"), places.place("committed"):
        raise ValueError("no")
    assert places.has_room("committed")


def test_a_second_s_worth_may_come_at_once_and_then_one_by_one() -> None:
    rate = Rate(4.0)
    assert [rate.take(100.0) for _ in range(5)] == [True] * 4 + [False]
    assert [rate.take(100.2), rate.take(100.25)] == [False, True]
    assert [rate.take(200.0) for _ in range(5)] == [True] * 4 + [False]


def test_slow_rates_still_let_one_in() -> None:
    rate = Rate(0.5)
    assert [rate.take(second) for second in (1.0, 2.0, 3.0)] == [True, False, True]
