"""Who may speak while the agent does: holds, back-channels, interruptions."""

from tests.unit.voice_agent.turns.listening import silence, speech, windows
from tests.unit.voice_agent.turns.taker_scene import LIMIT_S, Scene
from voice_agent.turns.scorer import Evidence


class Sure:
    """A scorer that takes any pause for an end."""

    def score(self, evidence: Evidence) -> float:
        return 1.0


async def test_a_back_channel_leaves_the_agent_the_floor() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Mhm.", speech_windows=8, pause_windows=8)
    assert scene.line.asked == ["set_aside"]
    assert scene.floor.taken == 0


async def test_a_back_channel_that_is_read_at_once_is_none_the_less_one() -> None:
    scene = Scene(Sure(), agent_speaks=True)
    scene.say("Okay.", speech_windows=8, pause_windows=3)
    assert scene.line.asked == []
    scene.hear(silence(5))
    assert scene.line.asked == ["set_aside"]
    assert scene.floor.taken == 0


async def test_more_than_a_back_channel_takes_the_floor_before_it_is_over() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Wait, I meant.")
    assert scene.floor.taken == 1
    assert scene.line.asked == []


async def test_long_speech_takes_the_floor_before_any_word_is_read() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(silence(5), speech(windows(1.1)))
    assert scene.floor.taken == 0
    scene.hear(speech(windows(0.3)))
    assert scene.floor.taken == 1


async def test_a_noise_over_the_agent_is_nobodys_turn() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(speech(4), silence(windows(0.45)))
    assert scene.line.asked == ["set_aside"]


async def test_the_agent_is_silent_from_the_first_sign_of_speech_on() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(silence(5))
    assert scene.floor.holds == []
    scene.hear(speech(1))
    assert scene.floor.holds == [True]
    scene.hear(speech(20))
    assert scene.floor.holds == [True]


async def test_a_click_holds_the_agent_for_a_moment() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(silence(5), speech(1), silence(1))
    assert scene.floor.holds == [True]
    scene.hear(silence(windows(0.3)))
    assert scene.floor.holds == [True, False]
    assert scene.line.asked == []


async def test_doubt_within_the_beginning_of_a_word_is_no_reason_to_go_on() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(silence(5), speech(1), silence(windows(0.2)), speech(10))
    assert scene.floor.holds == [True]


async def test_the_agent_goes_on_after_a_back_channel() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Mhm.", speech_windows=8, pause_windows=8)
    assert scene.floor.holds == [True, False]


async def test_the_agent_stays_silent_for_who_takes_the_floor() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Wait, I meant.")
    scene.hear(silence(windows(LIMIT_S)))
    assert scene.floor.holds == [True]
    assert scene.floor.taken == 1


async def test_a_line_that_echoes_does_not_stutter() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(*([speech(1), silence(10)] * 10))
    assert scene.floor.holds == [True, False] * 2
    scene.hear(speech(windows(0.35)))
    assert scene.floor.holds[4:] == [True]


async def test_words_after_echoes_are_heard_at_once_again() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(*([speech(1), silence(10)] * 2))
    scene.say("Okay.", speech_windows=15)
    scene.hear(silence(5), speech(1))
    assert scene.floor.holds == [True, False] * 3 + [True]


async def test_nobody_is_held_who_does_not_speak() -> None:
    scene = Scene()
    scene.hear(speech(20))
    assert scene.floor.holds == []


async def test_a_stream_that_ends_lets_the_agent_go_on() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(speech(5))
    scene.taker.close()
    assert scene.floor.holds == [True, False]


async def test_a_back_channel_that_was_a_beginning_belongs_to_the_turn() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Okay.", speech_windows=8, pause_windows=8)
    scene.say("Okay, but what does it cost?")
    assert scene.line.asked == ["set_aside", "reopen", "end_turn"]
    assert scene.floor.taken == 1


async def test_a_noise_is_not_the_beginning_of_a_turn() -> None:
    scene = Scene(agent_speaks=True)
    scene.hear(speech(4), silence(windows(0.45)))
    scene.say("What does it cost?")
    assert scene.line.asked == ["set_aside", "end_turn"]


async def test_a_back_channel_long_ago_is_forgotten() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Okay.", speech_windows=8)
    scene.hear(silence(windows(2.0)))
    scene.say("What does it cost?")
    assert scene.line.asked == ["set_aside", "end_turn"]


async def test_a_yes_at_the_end_of_the_agents_question_is_its_answer() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Yes.", speech_windows=8)
    scene.hear(silence(10))
    scene.taker.agent_stopped()
    assert scene.line.asked == ["set_aside", "take_up"]


async def test_a_yes_long_before_the_agents_end_is_not() -> None:
    scene = Scene(agent_speaks=True)
    scene.say("Yes.", speech_windows=8)
    scene.hear(silence(windows(1.5)))
    scene.taker.agent_stopped()
    assert scene.line.asked == ["set_aside"]
