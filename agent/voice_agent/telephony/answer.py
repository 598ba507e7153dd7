"""Who has answered a call of ours: a person, an answering machine, or a menu. From words and times.

Pure: it is told what is heard and when, and says what it makes of it. People say a word or two and
wait; machines go on, and say what machines say.
"""

import re
from enum import StrEnum
from typing import Final

HELLO_S: Final = 2.5
"""Longest first utterance of a person, seconds of speech."""
HELLO_WORDS: Final = 8
"""Most words of it: "Good morning, Miller and Sons, Peter speaking."."""
WAITING_S: Final = 0.6
"""Silence after which somebody who has said hello is waiting for us, seconds."""
MONOLOGUE_S: Final = 6.0
"""Speech without such a silence that no person begins a call with, seconds."""
MONOLOGUE_WORDS: Final = 18
SILENT_S: Final = 4.0
"""Silence from the start after which we speak first, seconds: a person who waits for us."""
BEEP_WAIT_S: Final = 30.0
"""Wait for the beep once it is a machine, seconds."""
QUIET_WAIT_S: Final = 4.0
"""Silence of a machine that takes the place of a beep, seconds; some have none."""

_MACHINE_SAYS: Final = (
    r"leave (?:me |us )?(?:a|your) (?:short |brief |detailed )?(?:message|name)",
    r"(?:after|at) the (?:tone|beep|signal)",
    r"voice ?mail|mailbox|answering (?:machine|service)",
    r"record your (?:message|name)",
    r"(?:can ?not|can['\u2019]t|unable to|not able to) come to the phone",
    r"(?:can ?not|can['\u2019]t|unable to|not able to) (?:take|answer) (?:your|the) call",
    r"not available (?:right now|at the moment|to take)",
    r"(?:person|number|subscriber) you (?:are calling|(?:have )?(?:called|dialled|dialed))",
    r"no longer in service",
)
"""What answering machines say, in English."""
_MENU_SAYS: Final = (
    r"(?:press|dial) (?:one|two|three|four|five|six|seven|eight|nine|zero|[0-9]|star|hash|pound)",
    r"press the (?:star|hash|pound)",
    r"main menu|menu options|following options|extension number",
    r"your call (?:is important|may be recorded)",
)
"""What menus say, in English."""
_MACHINE: Final = re.compile(rf"\b(?:{'|'.join(_MACHINE_SAYS)})\b", re.IGNORECASE)
_MENU: Final = re.compile(rf"\b(?:{'|'.join(_MENU_SAYS)})\b", re.IGNORECASE)


class Answer(StrEnum):
    """Who it is."""

    UNKNOWN = "unknown"
    PERSON = "person"
    MACHINE = "machine"
    MENU = "menu"


class AnswerDetector:
    """Decides once who has answered, and for a machine when to speak.

    Times are seconds since the call was answered, never falling.
    """

    def __init__(self) -> None:
        self.answer = Answer.UNKNOWN
        self._words = ""
        self._speech_began_s: float | None = None
        """Of the first utterance, or of the one after the last long silence."""
        self._speaking = False
        self._silent_since_s = 0.0
        self._machine_since_s: float | None = None
        self._beeped = False

    def speech_started(self, at_s: float) -> None:
        """Somebody, or something, speaks."""
        if self._speech_began_s is None or at_s - self._silent_since_s >= WAITING_S:
            self._speech_began_s = at_s
        self._speaking = True

    def speech_ended(self, at_s: float) -> None:
        """It is silent."""
        self._speaking = False
        self._silent_since_s = at_s

    def words(self, text: str, at_s: float) -> None:
        """What was said since the call was answered, all of it, as far as it is known."""
        self._words = text
        if self.answer in (Answer.UNKNOWN, Answer.PERSON):
            if _MENU.search(text):
                self.answer = Answer.MENU
            elif _MACHINE.search(text) or len(text.split()) > MONOLOGUE_WORDS:
                self._found_machine(at_s)

    def beep(self, at_s: float) -> None:
        """A beep has ended."""
        self._beeped = True
        if self.answer is not Answer.MENU:
            self._found_machine(at_s)

    def decide(self, now_s: float) -> Answer:
        """Who it is, as far as can be said now."""
        if self.answer is not Answer.UNKNOWN:
            return self.answer
        began_s = self._speech_began_s
        if began_s is None:
            if now_s >= SILENT_S:
                self.answer = Answer.PERSON
        elif self._speaking:
            if now_s - began_s > MONOLOGUE_S:
                self._found_machine(now_s)
        elif now_s - self._silent_since_s >= WAITING_S:
            short = self._silent_since_s - began_s <= HELLO_S
            if short and len(self._words.split()) <= HELLO_WORDS:
                self.answer = Answer.PERSON
            elif now_s - self._silent_since_s >= 2 * WAITING_S:
                # a long greeting, and then somebody who waits
                self.answer = Answer.PERSON
        return self.answer

    def may_leave_message(self, now_s: float) -> bool:
        """Whether a machine records now: after its beep, or where none comes."""
        if self._machine_since_s is None:
            return False
        if self._beeped:
            return True
        waited_s = now_s - self._machine_since_s
        silent_s = 0.0 if self._speaking else now_s - self._silent_since_s
        return waited_s >= BEEP_WAIT_S or silent_s >= QUIET_WAIT_S

    def _found_machine(self, at_s: float) -> None:
        self.answer = Answer.MACHINE
        if self._machine_since_s is None:
            self._machine_since_s = at_s
