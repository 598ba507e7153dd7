"""Why a model cannot be served: what is told to the operator, in one line."""


class ModelError(Exception):
    """The model, or a setting of it, will not do; the message names the setting and the remedy."""
