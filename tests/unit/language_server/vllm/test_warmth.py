from typing import Any

from language_server.vllm.warmth import TOUCH_SHARE, WarmPrefixes

POOL = 10_000.0
STEP = TOUCH_SHARE * POOL


def body(prompt: str = "You answer.", said: str = "Hi.", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": said}]
    return {"model": "m", "messages": messages, "priority": 0, **fields}


def test_only_what_is_asked_for_is_kept() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 0, keep=False)
    assert not prefixes.due("a", 10 * POOL, POOL)


def test_a_prefix_is_touched_once_enough_was_computed_and_not_before() -> None:
    prefixes = WarmPrefixes(4)
    tools = [{"type": "function", "function": {"name": "f"}}]
    prefixes.see("a", body(tools=tools, max_completion_tokens=90), 100, keep=True)
    assert not prefixes.due("a", 100 + STEP - 1, POOL)
    (touch,) = prefixes.due("a", 100 + STEP, POOL)
    assert touch == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You answer."},
            {"role": "user", "content": "Hello."},
        ],
        "tools": tools,
        "max_completion_tokens": 1,
        "priority": 20,
    }
    assert not prefixes.due("a", 100 + STEP, POOL)


def test_an_idle_server_is_left_alone() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 100, keep=True)
    assert [prefixes.due("a", 100, POOL) for _ in range(5)] == [[]] * 5


def test_calls_that_use_it_stop_the_touching() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 0, keep=True)
    for computed in range(0, 100_000, 1000):
        prefixes.see("a", body(said=f"{computed}"), computed, keep=False)
        assert not prefixes.due("a", computed + 999, POOL)


def test_another_prompt_does_not_count_as_a_touch() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 0, keep=True)
    prefixes.see("a", body(prompt="You sell."), STEP, keep=False)
    assert len(prefixes.due("a", STEP, POOL)) == 1


def test_every_copy_is_warmed_and_again_after_it_started_anew() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 0, keep=True)
    assert not prefixes.due("a", 0, POOL)
    assert len(prefixes.due("b", 0, POOL)) == 1
    prefixes.forget("a")
    assert len(prefixes.due("a", 0, POOL)) == 1
    assert not prefixes.due("b", 0, POOL)


def test_tools_and_tenants_make_another_prefix() -> None:
    prefixes = WarmPrefixes(9)
    prefixes.see("a", body(), 0, keep=True)
    prefixes.see("a", body(cache_salt="one"), 0, keep=True)
    prefixes.see("a", body(tools=[{"a": 1}]), 0, keep=True)
    prefixes.see("a", body(said="Other words."), 0, keep=True)
    assert len(prefixes) == 3


def test_the_one_unused_for_longest_goes_first() -> None:
    prefixes = WarmPrefixes(2)
    prefixes.see("a", body("one"), 0, keep=True)
    prefixes.see("a", body("two"), 0, keep=True)
    prefixes.see("a", body("one"), 0, keep=False)
    prefixes.see("a", body("three"), 0, keep=True)
    kept = [touch["messages"][0]["content"] for touch in prefixes.due("b", 0, POOL)]
    assert kept == ["one", "three"]


def test_none_are_kept_where_none_may_be() -> None:
    prefixes = WarmPrefixes(0)
    prefixes.see("a", body(), 0, keep=True)
    assert len(prefixes) == 0


def test_a_conversation_without_a_system_message_has_no_prefix() -> None:
    prefixes = WarmPrefixes(4)
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    prefixes.see("a", request, 0, keep=True)
    assert len(prefixes) == 0


def test_a_cache_of_unknown_size_is_never_full() -> None:
    prefixes = WarmPrefixes(4)
    prefixes.see("a", body(), 0, keep=True)
    assert not prefixes.due("a", 1e12, float("inf"))
