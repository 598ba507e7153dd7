"""JSON as a broken or hostile client would send it."""

import json
from typing import Any

from hypothesis import strategies as st

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from((10**30, -(10**30), 1e308, "\x00", "\ud800", "true", ""))
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=8), v, max_size=3)
)


def messages(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[str]:
    """Texts that are nearly a message of these fields: some right, some wrong, some unknown.

    Args:
        fields: name to values that are right.
    """
    right = st.fixed_dictionaries({}, optional=fields)
    wrong = st.dictionaries(
        st.sampled_from(sorted(fields)) | st.text(max_size=8), VALUES, max_size=2
    )
    both = st.builds(lambda a, b: a | b, right, wrong)
    nested = st.integers(1, 3_000).map(lambda depth: "[" * depth)
    return (
        both.map(json.dumps) | right.map(json.dumps) | VALUES.map(json.dumps) | nested | st.text()
    )
