"""The page in Chromium against the whole stack: heard, read, typed into, interrupted, refused."""

import re
import shutil
import sqlite3
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from livekit import api
from playwright.async_api import (
    ConsoleMessage,
    Error,
    Page,
    Request,
    WebSocketRoute,
    async_playwright,
    expect,
)

from tests.spoken import silence
from tests.stack import Stack

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt)")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
)
QUESTION = Path(__file__).parents[1] / "fixtures" / "conversation" / "2-opening-hours.wav"
GREETING_S = 16.0
"""Silence before the recorded question: a cold worker picks up, and greets."""
REPLY_MS = 30_000
"""Longest wait for an answer and for its end."""

PEER_CLOSED = ("User-Initiated Abort", "closed unexpectedly")
"""What LiveKit's client logs as an error when the other side hangs up: Chromium's word for it, and
its own where the data channels close before the server's goodbye has been read."""

OpenPage = Callable[..., AbstractAsyncContextManager[Page]]


def microphone_file(folder: Path, question: Path | None = None) -> Path:
    """What the fake microphone hears: room noise, then the question once the agent has greeted."""
    rate_hz = 16_000
    parts = [silence(GREETING_S, rate_hz)]
    if question is not None:
        with wave.open(str(question)) as file:
            assert file.getframerate() == rate_hz
            parts.append(np.frombuffer(file.readframes(file.getnframes()), "<i2"))
    parts.append(silence(60.0, rate_hz))
    path = folder / "microphone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(np.concatenate(parts).astype("<i2").tobytes())
    return path


@pytest.fixture
def open_page(stack: Stack, tmp_path: Path) -> OpenPage:
    """Opens the page in a browser of its own; afterwards it must have reported no fault."""

    @asynccontextmanager
    async def open_(
        question: Path | None = None, *, microphone: bool = True
    ) -> AsyncIterator[Page]:
        faults: list[str] = []

        def note(message: ConsoleMessage) -> None:
            if message.type == "error" and not any(end in message.text for end in PEER_CLOSED):
                faults.append(message.text)

        def note_exception(error: Error) -> None:
            faults.append(str(error))

        sound = f"--use-file-for-fake-audio-capture={microphone_file(tmp_path, question)}%noloop"
        answer = [] if microphone else ["--deny-permission-prompts"]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=[*FLAGS, sound, *answer]
            )
            context = await browser.new_context(permissions=["microphone"] if microphone else [])
            page = await context.new_page()
            page.on("console", note)
            page.on("pageerror", note_exception)
            await page.goto(stack.web_url)
            await expect(page.locator("#call")).to_be_enabled()
            yield page
            await browser.close()
        assert faults == []

    return open_


async def expect_state(page: Page, **state: str) -> None:
    """Wait for the call's or the agent's state."""
    for name, value in state.items():
        await expect(page.locator("body")).to_have_attribute(
            f"data-{name}", re.compile(f"^({value})$"), timeout=REPLY_MS
        )


async def expect_greeting(page: Page) -> None:
    """The agent greets, says what it is, and listens."""
    greeting = page.locator('#transcript [data-side="agent"]').first
    await expect(greeting).to_contain_text("automated assistant", timeout=REPLY_MS)
    await expect_state(page, call="active", agent="listening")


async def expect_audible(page: Page) -> None:
    """The meter on the received track shows a voice."""
    meter = page.locator("#agent-level")
    await expect(meter).to_have_attribute(
        "aria-valuenow", re.compile(r"^([5-9]|[1-9]\d|100)$"), timeout=REPLY_MS
    )


async def ask(page: Page, text: str, answer: str) -> None:
    """Type a message; wait for its answer, in full and in words that match."""
    lines = page.locator('#transcript [data-side="agent"]')
    before = await lines.count()
    await page.fill("#message", text)
    await page.press("#message", "Enter")
    typed = page.locator('#transcript [data-side="caller"]').last
    await expect(typed).to_contain_text(text)
    await expect(lines.nth(before)).to_have_attribute("data-final", "true", timeout=REPLY_MS)
    said = page.locator(f'#transcript [data-side="agent"]:nth-last-child(-n+{3})')
    await expect(said.filter(has_text=re.compile(answer, re.IGNORECASE)).last).to_be_visible()


async def test_a_spoken_question_is_answered_aloud_and_both_sides_are_written(
    stack: Stack, open_page: OpenPage
) -> None:
    asked: list[Request] = []
    async with open_page(QUESTION) as page:
        page.on(
            "request", lambda request: asked.append(request) if "token" in request.url else None
        )
        await expect(page.locator("#notice")).to_contain_text("not from a language model")
        await page.click("#call")
        await expect_state(page, agent="speaking")
        await expect_audible(page)
        await expect_greeting(page)

        caller = page.locator('#transcript [data-side="caller"]')
        await expect(caller.first).to_contain_text(re.compile("hours", re.I), timeout=REPLY_MS)
        await expect_state(page, agent="speaking")
        await expect_audible(page)
        await expect_state(page, agent="listening")
        answer = page.locator('#transcript [data-side="agent"]').nth(1)
        await expect(answer).to_contain_text(re.compile(r"Monday|Friday|eight|open", re.I))

        turn = page.locator("#turn")
        await expect(turn).to_have_attribute("data-turn", "1", timeout=REPLY_MS)
        await expect(turn.locator('[data-stage="heard"]')).to_contain_text("Heard in this page")
        await expect(turn.locator('[data-stage="heard"] .value')).to_contain_text(
            re.compile(r"\d m?s")
        )
        await page.click("#hang-up")
        await expect_state(page, call="ended")
        await expect(page.locator("#call")).to_be_focused()

        # The request is the one that every official client sends.
        (request,) = [request for request in asked if request.method == "POST"]
        assert request.post_data_json == {
            "room_config": {
                "agents": [{"agent_name": "parley", "metadata": '{"persona":"front_desk"}'}]
            }
        }
        response = await request.response()
        assert response is not None
        assert response.status == 201


async def test_the_conversation_can_be_typed(stack: Stack, open_page: OpenPage) -> None:
    async with open_page() as page:
        await page.click("#call-silently")
        await expect_greeting(page)
        await expect(page.locator("#mute")).to_be_hidden()
        await ask(page, "Hello, good morning.", r"\w")
        await ask(page, "What are your opening hours?", "Monday|Friday|eight|open")
        await ask(
            page,
            "I would like to book an appointment on Wednesday at half past ten. "
            "My name is Mary Jones.",
            "Mary Jones|half past ten|ten thirty|10:30",
        )
        with closing(sqlite3.connect(stack.database)) as database:
            rows = database.execute(
                "SELECT time FROM appointments WHERE name = 'Mary Jones' AND cancelled_at IS NULL"
            ).fetchall()
        assert rows == [("10:30",)]
        await ask(page, "When is my appointment?", "Wednesday|half past ten|ten thirty|10:30")
        await page.fill("#message", "Thank you, goodbye.")
        await page.press("#message", "Enter")
        # The agent says goodbye and hangs up; that is no fault.
        await expect_state(page, call="ended")
        await expect(page.locator("#problem")).to_be_hidden()


async def test_a_caller_who_speaks_up_makes_the_agent_stop(open_page: OpenPage) -> None:
    async with open_page() as page:
        await page.click("#call")
        await expect_greeting(page)
        await page.fill("#message", "What are your opening hours?")
        await page.press("#message", "Enter")
        await expect_state(page, agent="speaking")
        await expect_audible(page)

        await page.click('[data-question="book"]')
        # Silent while the question, which is longer than the rest of the answer, is being asked.
        await expect_state(page, agent="listening")
        await expect(page.locator("#questions [data-playing]")).to_have_count(1)
        interrupted = page.locator('#transcript [data-interrupted="true"]')
        await expect(interrupted).to_have_count(1, timeout=REPLY_MS)

        # And then answers what it was asked; the microphone is back afterwards.
        caller = page.locator('#transcript [data-side="caller"]').last
        await expect(caller).to_contain_text(re.compile("appointment", re.I), timeout=REPLY_MS)
        await expect_state(page, agent="speaking")
        await expect(page.locator("#questions [data-playing]")).to_have_count(0)
        await expect_state(page, agent="listening")
        await page.click("#hang-up")
        await expect_state(page, call="ended")


async def test_a_sample_question_needs_no_microphone_and_no_call(open_page: OpenPage) -> None:
    async with open_page(microphone=False) as page:
        await page.click('[data-question="hours"]')
        await expect_greeting(page)
        caller = page.locator('#transcript [data-side="caller"]').first
        await expect(caller).to_contain_text(re.compile("hours", re.I), timeout=REPLY_MS)
        await expect_state(page, agent="speaking")
        await page.click("#hang-up")
        await expect_state(page, call="ended")


async def test_a_blocked_microphone_is_explained_and_not_the_end(open_page: OpenPage) -> None:
    async with open_page(microphone=False) as page:
        await page.click("#call")
        problem = page.locator("#problem")
        await expect(problem).to_have_attribute("data-code", "microphone-denied")
        await expect(problem).to_contain_text("Allow")
        await expect_state(page, call="idle")
        await page.get_by_role("button", name="Call without a microphone").click()
        await expect(problem).to_be_hidden()
        await expect_greeting(page)
        await page.click("#hang-up")


async def test_a_lost_connection_is_regained(open_page: OpenPage) -> None:
    connections: list[WebSocketRoute] = []

    def pass_on(route: WebSocketRoute) -> None:
        route.connect_to_server()
        connections.append(route)

    async with open_page() as page:
        await page.route_web_socket(re.compile("/rtc"), pass_on)
        await page.click("#call-silently")
        await expect_greeting(page)
        await connections[0].close(code=3000, reason="cut by the test")
        await expect_state(page, call="reconnecting")
        await expect(page.locator("#state")).to_contain_text("Reconnecting")
        await expect_state(page, call="active")
        assert len(connections) > 1
        await ask(page, "What are your opening hours?", "Monday|Friday|eight|open")
        await page.click("#hang-up")


async def test_a_call_without_an_agent_says_so_and_ends_with_its_room(
    stack: Stack, open_page: OpenPage
) -> None:
    room = "page-test-without-agent"
    token = (
        api.AccessToken(stack.livekit_api_key, stack.livekit_api_secret)
        .with_identity("caller")
        .with_ttl(timedelta(minutes=2))
        .with_grants(api.VideoGrants(room_join=True, room=room))
        .to_jwt()
    )
    async with open_page() as page:
        await page.route(
            "**/api/token",
            lambda route: route.fulfill(
                status=201, json={"server_url": stack.livekit_url, "participant_token": token}
            ),
        )
        await page.click("#call-silently")
        problem = page.locator("#problem")
        await expect(problem).to_have_attribute("data-code", "no-agent", timeout=REPLY_MS)
        await expect(problem).to_contain_text("parley doctor")
        await expect_state(page, call="waiting")
        url = stack.livekit_url.replace("ws", "http", 1)
        async with api.LiveKitAPI(url, stack.livekit_api_key, stack.livekit_api_secret) as livekit:
            await livekit.room.delete_room(api.DeleteRoomRequest(room=room))
        await expect_state(page, call="ended")
        await expect(page.locator("#call")).to_be_enabled()


async def test_a_phone_and_a_keyboard_are_enough(open_page: OpenPage) -> None:
    async with open_page() as page:
        await page.set_viewport_size({"width": 360, "height": 640})
        call, hang_up = page.locator("#call"), page.locator("#hang-up")
        await page.keyboard.press("Tab")
        await expect(page.locator(".skip")).to_be_focused()
        await page.keyboard.press("Tab")
        await expect(call).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(hang_up).to_be_focused(timeout=REPLY_MS)
        await expect_greeting(page)
        await expect(hang_up).to_be_in_viewport()
        assert await page.evaluate("() => document.documentElement.scrollWidth") == 360

        await page.keyboard.press("Shift+Tab")
        mute = page.locator("#mute")
        await page.keyboard.press("Space")
        await expect(mute).to_have_attribute("aria-pressed", "true")
        await expect(mute).to_have_accessible_name("Mute")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect_state(page, call="ended")
        await expect(call).to_be_focused()
