import pytest

from speech_server.stt.spare_time import SpareTime, Work

SECOND = 16_000


def test_an_engine_that_has_not_run_may_try() -> None:
    spare = SpareTime()
    assert spare.interims_at == 0.0
    assert spare.fits(Work.INTERIM, 10 * SECOND)


@pytest.mark.parametrize(("call_s", "rest_s"), [(0.15, 2.1), (0.1, 0.9), (0.02, 0.04)])
def test_the_longer_an_interim_the_rarer(call_s: float, rest_s: float) -> None:
    spare = SpareTime()
    spare.worked(Work.INTERIM, SECOND, call_s, now_s=10.0)
    assert spare.interims_at == pytest.approx(10.0 + rest_s)
    share = call_s / (call_s + rest_s)
    assert share * call_s / 2 <= 0.005 + 1e-9
    assert share <= 1 / 3 + 1e-9


def test_urgent_work_and_files_do_not_delay_interims() -> None:
    spare = SpareTime()
    spare.worked(Work.URGENT, SECOND, 0.1, now_s=10.0)
    spare.worked(Work.FILE, SECOND, 0.1, now_s=10.0)
    assert spare.interims_at == 0.0


@pytest.mark.parametrize(("work", "longest"), [(Work.INTERIM, 1), (Work.FILE, 5)])
def test_a_call_that_would_take_long_is_left_out(work: Work, longest: int) -> None:
    spare = SpareTime()
    spare.worked(work, 2 * SECOND, 0.2, now_s=0.0)
    assert spare.fits(work, longest * SECOND)
    assert not spare.fits(work, (longest + 1) * SECOND)


def test_urgent_work_is_never_left_out() -> None:
    spare = SpareTime()
    spare.worked(Work.URGENT, SECOND, 10.0, now_s=0.0)
    assert spare.fits(Work.URGENT, 30 * SECOND)


def test_the_estimate_follows_a_machine_that_becomes_slower_and_recovers() -> None:
    spare = SpareTime()
    for _ in range(10):
        spare.worked(Work.URGENT, SECOND, 0.5, now_s=0.0)
        spare.worked(Work.INTERIM, SECOND, 0.5, now_s=0.0)
    assert not spare.fits(Work.INTERIM, SECOND)
    for _ in range(20):
        spare.worked(Work.URGENT, SECOND, 0.05, now_s=0.0)
    assert spare.fits(Work.INTERIM, SECOND)


def test_a_call_without_audio_teaches_nothing() -> None:
    spare = SpareTime()
    spare.worked(Work.URGENT, 0, 3.0, now_s=0.0)
    assert spare.expected_s(Work.URGENT, SECOND) == 0.0
